#!/bin/sh
# labels: plain
# AT-5: the path of the output: process ID, folders made, fresh unless appending is asked for.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'process ID' 0 a PLUMB_ACTIVATIONS_OUTPUT='made/<pid>/x_%p.jsonl' ./layers
[ ! -e a/activations.jsonl ] || fail "$name: in the run too"
file=$(find made -type f)
pid=$(basename "$(dirname "$file")")
[ "$(basename "$file")" = "x_$pid.jsonl" ] && [ "$(wc -l <"$file")" = 18 ] || fail "$name: $file"
trace 'fresh' 0 b PLUMB_ACTIVATIONS_OUTPUT=one.jsonl ./layers 1
trace 'fresh again' 0 c PLUMB_ACTIVATIONS_OUTPUT=one.jsonl ./layers 0
[ "$(wc -l <one.jsonl)" = 2 ] || fail "$name: $(wc -l <one.jsonl) lines"
trace 'appended' 0 d PLUMB_ACTIVATIONS_OUTPUT=one.jsonl PLUMB_ACTIVATIONS_APPEND=1 ./layers 1
[ "$(wc -l <one.jsonl)" = 8 ] || fail "$name: $(wc -l <one.jsonl) lines"
trace 'each rank its own' 0 e RANK=2 WORLD_SIZE=4 PLUMB_ACTIVATIONS_OUTPUT=ranks.jsonl ./layers 1
[ ! -e ranks.jsonl ] && [ "$(wc -l <ranks.rank2.jsonl)" = 6 ] || fail "$name: left $(ls)"
same ranks.rank2.jsonl 'map(.rank) | unique' '[2]'
: >file
trace 'not to be made' 0 f PLUMB_ACTIVATIONS_OUTPUT=file/x.jsonl ./layers 1
has err.txt 'no activations are recorded'
[ -f f/timing.json ] || fail "$name: no report"
finish
