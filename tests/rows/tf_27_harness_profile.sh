#!/bin/sh
# labels: plain
# TF-27: warm-ups are not among the times, there is one time for each run, and each run is synchronised.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --warmup 2 --repeat 4 --format csv
[ "$(wc -l <out.txt)" = 5 ] || fail "not four times: $(cat out.txt)"
[ "$(grep -c '^call run' err.txt)" = 6 ] || fail "not six runs: $(cat err.txt)"
[ "$(grep -c '^call sync' err.txt)" = 12 ] || fail "not synchronised: $(cat err.txt)"
[ "$(spans run/plain_trace.json.gz bench)" = 4 ] || fail 'not four runs in the trace'
[ "$(spans run/plain_trace.json.gz denoise_step)" = 4 ] || fail 'steps of warm-ups are in the trace'
