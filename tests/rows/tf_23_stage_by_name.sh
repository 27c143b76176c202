#!/bin/sh
# labels: plain
# TF-23: a stage is loaded from a signature file by name; flags that it lacks have defaults.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

"$PLUMB_BIN" bench --stage denoise --from ./libdenoise.so run >out.txt 2>err.txt && fail 'an unknown stage'
grep -q "timing_io_signature.json' has no stage 'denoise'; it has plain, guided" err.txt || fail "$(cat err.txt)"
bench --stage plain --repeat 1
hash=$(jq -r .plumb.output_hash run/bench.json)
mkdir file
jq 'walk(if type == "object" then del(.requires_grad, .bytes) else . end)' run/timing_io_signature.json \
    >file/timing_io_signature.json
cmp -s file/timing_io_signature.json run/timing_io_signature.json && fail 'the signature had no flag'
"$PLUMB_BIN" bench --stage plain --from ./libdenoise.so --repeat 1 file/timing_io_signature.json >out.txt 2>err.txt ||
    fail "without flags: $(cat err.txt)"
is ".plumb.output_hash == \"$hash\"" file/bench.json
"$PLUMB_BIN" bench --stage guided --from ./libdenoise.so --repeat 1 file/timing_io_signature.json >out.txt 2>err.txt ||
    fail "another stage: $(cat err.txt)"
grep -q ' guidance 2.5 ' err.txt || fail "inputs of another stage: $(cat err.txt)"
