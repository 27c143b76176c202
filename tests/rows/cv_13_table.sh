#!/bin/sh
# CV-13: `plumb report` prints the table byte for byte, the title with what is known, and one sentence
# when nothing was collected.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

golden=ed3864a6c5087bd6defc8fde990e73b7b9397a62e68f247c46cb4b3ad4bc1594

expect 'golden table' 0 "$PLUMB_BIN" report --frames 103 "$data/golden.json"
empty err.txt
printf '%s' "$(cat out.txt)" >text.txt
[ "$(sha256sum <text.txt)" = "$golden  -" ] || {
    fail 'the golden bytes differ'
    cat out.txt >&2
}
lengths=$(awk '{ printf "%s%d", sep, length($0); sep = "," }' out.txt)
[ "$lengths" = 46,125,125,125,125,125,125,52 ] || fail "line lengths are $lengths"

expect 'no frames' 0 "$PLUMB_BIN" report "$data/golden.json"
[ "$(head -n 1 out.txt)" = 'Profiling Summary (skip_first_n=3)' ] || fail 'title without frames'
sed 's/"skip_first_n": 3/"skip_first_n": 0/' "$data/golden.json" >no_skip.json
expect 'no skip' 0 "$PLUMB_BIN" report no_skip.json
[ "$(head -n 1 out.txt)" = 'Profiling Summary' ] || fail 'title with neither'
expect 'frames alone' 0 "$PLUMB_BIN" report no_skip.json --frames 100
[ "$(head -n 1 out.txt)" = 'Profiling Summary (100 frames)' ] || fail 'title with frames alone'

jq '.nodes = [] | .tree = []' "$data/golden.json" >nothing.json
expect 'nothing collected' 0 "$PLUMB_BIN" report --phase train nothing.json
[ "$(cat out.txt)" = 'No profiling data collected.' ] || fail 'the empty sentence differs'
finish
