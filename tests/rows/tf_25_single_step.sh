#!/bin/sh
# labels: plain
# TF-25: an iterative stage runs one step with its code unchanged, a plain one as it is, and one that offers neither is refused.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --repeat 1 --warmup 0
is '.plumb | .shape == "loop" and .steps == 1 and .loop_steps == 6'
grep -q '^call steps 1 sum 0 ' err.txt || fail "the first step: $(cat err.txt)"
bench --stage plain --repeat 1 --warmup 0 --first-step 4
grep -q '^call steps 1 sum 4 ' err.txt || fail "step 4: $(cat err.txt)"
[ "$(spans run/plain_trace.json.gz denoise_step)" = 1 ] || fail 'not one step in the trace'

# Without the limit the same code is a plain stage: all of its steps are one run.
sed 's/PLUMB_STAGE_OPS_BEGIN/sizeof(plumb_stage_ops), NULL/' "$PLUMB_SOURCE_DIR/tests/rows/_denoise.c" >unlimited.c
$CC -std=gnu11 -O1 -I "$PLUMB_SOURCE_DIR/include" -DAS_LIBRARY -shared -fPIC unlimited.c -o libunlimited.so
"$PLUMB_BIN" bench --stage plain --from ./libunlimited.so --repeat 1 --warmup 0 run >out.txt 2>err.txt || fail "$(cat err.txt)"
is '.plumb | .shape == "whole" and .first_step == -1'
grep -q '^call steps 6 sum 15 ' err.txt || fail "as it is: $(cat err.txt)"
"$PLUMB_BIN" bench --stage plain --from ./libunlimited.so --first-step 2 run >out.txt 2>err.txt && fail 'a step of it'
grep -q "stage 'plain' has no loop that can be limited" err.txt || fail "$(cat err.txt)"

denoise libnone.so -DAS_LIBRARY -DWITH_NONE -shared -fPIC
"$PLUMB_BIN" bench --stage plain --from ./libnone.so run >out.txt 2>err.txt && fail 'neither run nor step'
grep -q "'./libnone.so': stage 'none' has neither 'run' nor 'step': one of them is needed" err.txt || fail "$(cat err.txt)"
