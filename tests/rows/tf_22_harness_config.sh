#!/bin/sh
# labels: plain
# TF-22: one warm-up and one step in each run, next to the signature; no warm-ups means none.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain
is '.plumb | .warmups == 1 and .steps == 1 and .first_step == 0 and .warmup_ms > 0'
[ -f run/plain_trace.json.gz ] && [ -f run/profile_plain.c ] || fail "not next to the signature: $(ls run)"
bench --stage plain --warmup 0 --repeat 1 --out elsewhere
is '.plumb | .warmups == 0 and .warmup_ms == null' elsewhere/bench.json
[ "$(grep -c '^call run' err.txt)" = 1 ] || fail "a warm-up ran: $(cat err.txt)"
[ -f elsewhere/plain_trace.json.gz ] || fail "not in --out: $(ls elsewhere)"
