#!/bin/sh
# CV-14: the rate of a run is that of its pipeline and phase: a skip set by plumb_configure() is taken
# from the frames of its own pipeline and of no other, and frames are those of one phase.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_one_table.sh"

# lines TEXT: the titles and averages of the table, which is the program's too
lines() {
    got=$(grep -E '^(Profiling Summary|Average)' out.txt)
    [ "$got" = "$1" ] || fail "$name: $got"
}

# The predecessor's own flow.
same_table skip 103
lines 'Profiling Summary (103 frames, skip_first_n=3)
Average per-frame pipeline time: 15.00 ms (66.7 FPS)'
jq -e '.skip_first_n == 3 and (.pipelines | length) == 1 and .pipelines[0].skip_first_n == 3' \
    run/timing.json >/dev/null || fail 'timing.json has another skip'
same_table pipelines 103
lines 'Profiling Summary (103 frames, skip_first_n=3)
Average per-frame pipeline time: 15.00 ms (66.7 FPS)
Profiling Summary (103 frames)
Average per-frame pipeline time: 16.89 ms (59.2 FPS)
Profiling Summary (103 frames, skip_first_n=13)
Average per-frame pipeline time: 15.00 ms (66.7 FPS)'
expect 'one pipeline' 0 "$PLUMB_BIN" report --frames 113 --pipeline third run
lines 'Profiling Summary (113 frames, skip_first_n=13)
Average per-frame pipeline time: 13.50 ms (74.1 FPS)'
# A report of before has one skip for all.
jq 'del(.pipelines) | .skip_first_n = 5' run/timing.json >old.json
expect 'an older report' 0 "$PLUMB_BIN" report --pipeline third old.json
has out.txt 'Profiling Summary (skip_first_n=5)'

same_table phases 103
lines 'Profiling Summary
Average per-frame pipeline time [inference]: 15.00 ms (66.7 FPS)
Average per-frame pipeline time [train]: 70.00 ms (14.3 FPS)'
has out.txt '103 frames are not used: the table has several phases, and they are of one'
expect 'one phase' 0 "$PLUMB_BIN" report --frames 20 --phase train run
lines 'Profiling Summary (20 frames)
Average per-frame pipeline time: 35.00 ms (28.6 FPS)'
same_table nested
lines 'Profiling Summary
Average per-frame pipeline time: 4.50 ms (222.2 FPS)'
same_table adopt
lines 'Profiling Summary
Average per-frame pipeline time: 40.00 ms (25.0 FPS)'
same_table failing
lines 'Profiling Summary
Average per-frame pipeline time: 4.50 ms (222.2 FPS)'
finish
