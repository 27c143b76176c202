#!/bin/sh
# labels: plain
# TF-30: stages are listed without one, and a stage is run from the command line.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

"$PLUMB_BIN" bench --list-stages run/timing_io_signature.json >out.txt || fail 'a file'
printf '  - plain\n  - guided\n' | cmp -s - out.txt || fail "$(cat out.txt)"
for missing in '--stage plain' '--from ./libdenoise.so'; do
    # shellcheck disable=SC2086 # words
    "$PLUMB_BIN" bench $missing run >out.txt 2>err.txt && fail "$missing alone"
    grep -q 'is needed' err.txt || fail "$(cat err.txt)"
done
bench --stage guided --repeat 1 --format json
jq -e '.plumb.stage == "guided" and .plumb.outputs == 1' out.txt >/dev/null || fail "$(cat out.txt)"
