#!/bin/sh
# labels: plain
# TF-26: a denoise stage runs exactly one step; optional inputs that were not recorded are absent, and defaults take their place.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --repeat 2 --warmup 1
[ "$(grep -c '^call steps 1 sum 0 guidance 5 shift 8 reference 0$' err.txt)" = 3 ] || fail "defaults: $(cat err.txt)"
[ "$(spans run/plain_trace.json.gz denoise_step)" = 2 ] || fail 'two runs are not two steps'
bench --stage guided --repeat 1 --warmup 0
grep -q '^call steps 1 sum 0 guidance 2.5 shift 3 reference 0$' err.txt || fail "recorded values: $(cat err.txt)"
