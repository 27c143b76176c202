#!/bin/sh
# labels: plain
# TF-29: the generated program builds unedited by its first line, computes the same steps, takes the time that they take, and leaves trace and breakdown under plumb record.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --config sleep --first-step 2 --steps 2 --warmup 1 --repeat 2
is '.plumb.min_ms >= 100'
mkdir alone
cp run/profile_plain.c alone
cd alone || exit 1
sh -c "$(sed -n '1s,^/\* ,,p' profile_plain.c)" || fail 'its first line does not build it'
./profile_plain --runs 3 >result.json 2>err.txt || fail "$(cat err.txt)"
[ "$(grep -c '^call steps 2 sum 5 ' err.txt)" = 4 ] || fail "other steps: $(cat err.txt)"
jq -e --slurpfile bench ../run/bench.json '.min_ms >= 100 and .output_hash == $bench[0].plumb.output_hash and
    (.run_ms | length) == 3 and .warmup == 1' result.json >/dev/null || fail "$(cat result.json)"
PLUMB_TRACE=1 PLUMB_TRACE_NODES=denoise_step "$PLUMB_BIN" record --run-dir run -- ./profile_plain --runs 1 --warmup 0 \
    >result.json 2>err.txt || fail "recorded: $(cat err.txt)"
"$PLUMB_BIN" report trace --format json run >trace.json
jq -e 'any(.nodes[]; .name == "denoise_step" and .count == 2)' trace.json >/dev/null || fail "$(jq -c .nodes trace.json)"
jq -e . run/denoise_step_rank0.breakdown.json >/dev/null || fail "no breakdown: $(ls run)"
