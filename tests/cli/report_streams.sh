#!/bin/sh
# plumb report streams: the stall of 50 ms is that of its input, as text, Markdown, CSV and JSON; of a killed
# run too; options; a run without streams.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_streams.c" streams
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/run ./streams || fail "the program: status $?"
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/killed ./streams killed >/dev/null 2>&1

expect text 0 "$PLUMB_BIN" report streams run
# name, streams, figure, count, min, p50, p95, max, mean
has out.txt 'video         1  first output           1   130.00   130.00   130.00   130.00    130.00' \
    'video         1  control to output     30   130.00' \
    'video         1  chunk period          29   100.00   100.00   100.00   150.00    101.72' \
    'video   denoise  control              1      50.00     50.00        50.00' '(40 older)'
expect 'the old spelling' 0 "$PLUMB_BIN" report --streams run
cp out.txt old.txt
expect 'the view' 0 "$PLUMB_BIN" report streams run
cmp -s old.txt out.txt || fail 'report --streams is not report streams'
expect explain 0 "$PLUMB_BIN" report streams --explain run
has out.txt 'inputs_not_ready'
expect top 0 "$PLUMB_BIN" report streams --top 3 run
has out.txt '(57 older)'
expect markdown 0 "$PLUMB_BIN" report streams --format md run
has out.txt '| video' '| control'

expect csv 0 "$PLUMB_BIN" report streams --format csv run
[ "$(wc -l <out.txt)" = 61 ] || fail "csv: $(wc -l <out.txt) lines"
[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["idle_inputs"] == "control" { print $at["stage"], $at["sequence"], $at["idle_inputs_ns"] }' out.txt)" = 'denoise 10 50000000' ] ||
    fail "csv: $(grep control out.txt)"

# check RUN FILTER
check() {
    expect "json of $1" 0 "$PLUMB_BIN" report streams --format json "$1"
    jq -e "$2" out.txt >/dev/null || fail "$name: not $2: $(head -60 out.txt)"
}
stall='[.sequences[] | select(.idle_before[].cause == "control") | .stage, .sequence, .idle_before[0].ns] == ["denoise", 10, 50000000]'
for run in run killed; do
    check $run "$stall"
    check $run '.names[0].chunk_period | .count == 29 and .min_ns == 100000000 and .max_ns == 150000000 and .p50_ns == 1e8 and .total_ns == 2950000000'
    check $run '.names[0].stages[0] | .name == "denoise" and .inputs == ["latents", "control"] and .ran.count == 30 and .ran.min_ns == 60000000'
    check $run '.sequences | length == 60'
    check $run '.sequences[4] | .completed_at_ns - .admitted_at_ns == 100000000'
done
check run '.streams[0] | (.open | not) and .lasted_ns == 4000000000 and .outputs == 30'
check killed '.streams[0].open'
jq -e '.streams.names[0].control_to_output | .count == 30 and .mean_ns == 130000000' run/timing.json >/dev/null ||
    fail "timing.json: $(jq .streams.names run/timing.json)"

expect 'no picture' 2 "$PLUMB_BIN" report streams --format svg run
has err.txt "no format 'svg' of the report on streams"
expect 'an option of another view' 2 "$PLUMB_BIN" report streams --by node run
printf '#include <plumb/plumb.h>\nint main(void) { PLUMB_SPAN("a"); return 0; }\n' >none.c
build_linked none.c none_of_them
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/without ./none_of_them
expect 'no streams' 0 "$PLUMB_BIN" report streams without
has out.txt 'No streams were recorded'
expect 'no streams as JSON' 0 "$PLUMB_BIN" report streams --format json without
jq -e '.names == [] and .sequences == []' out.txt >/dev/null || fail "$name: $(cat out.txt)"
grep -q '"streams"' without/timing.json && fail 'timing.json has streams that are none'
finish
