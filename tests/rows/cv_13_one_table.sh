#!/bin/sh
# CV-13: plumb_summary_text() in the program and `plumb report` of the run print the same bytes: rows,
# order, title, TOTAL, averages; of work adopted by threads, failed runs, skipped runs, phases, pipelines.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_one_table.sh"

# total SECONDS
total() {
    grep -qE "^TOTAL +$1\$" out.txt || fail "$name: no TOTAL of $1: $(cat out.txt)"
}

same_table adopt
total 0.400
same_table nested
total 0.045
PLUMB_SKIP_FIRST=3 same_table nested
total 0.032
same_table failing
total 0.675
same_table phases
total 2.200
same_table reset
total 0.009
same_table skip 103
total 1.500
PLUMB_MEDIAN=p2 same_table adopt
has out.txt 'Median of tile [inference]: of the sketch (within 0.8 %), not P2: several threads ran it'
expect 'nothing' 0 ./one_table
[ "$(cat out.txt)" = 'No profiling data collected.' ] || fail 'the empty sentence differs'
finish
