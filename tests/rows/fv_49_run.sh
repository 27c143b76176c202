#!/bin/sh
# FV-49: model FLOPs utilisation of a whole run, to four decimals, from the operations of its kernels and
# the measured peaks, by hand: 600 MFLOP of f32 at 1 TFLOP/s need 0.6 ms, 1400 MFLOP of int8 at 2 TOP/s
# 0.7 ms; together 1.3 ms of the 8 ms from the first span to the last are 16.25 %.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
"$PLUMB_SOURCE_DIR/tests/cli/_peaks.py" cache/plumb/peaks.json memory=50,100 f32=500,1000 int8=1000,2000 || exit 1
cat >run.json <<'END_JSON'
{"traceEvents": [
 {"ph":"X","pid":1,"tid":1,"ts":1000,"dur":4000,"cat":"user_annotation","name":"denoise"},
 {"ph":"X","pid":1,"tid":1,"ts":1000,"dur":1000,"name":"attention","args":{"flops":600000000,"dtypes":"f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":1100,"dur":100,"name":"matmul","args":{"flops":400000000,"dtypes":"f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":6000,"dur":3000,"name":"matmul","args":{"flops":1400000000,"dtypes":"s8"}}
]}
END_JSON
expect 'each type at its peak' 0 "$PLUMB_BIN" deep --mfu run run.json
[ "$(head -1 out.txt)" = 'Run MFU: 16.2500%' ] || fail "$name: $(cat out.txt)"
has out.txt '0.002 TFLOP in 2 runs of kernels: 0.0006 of f32, 0.0014 of int8' 'time of the run: 0.008 s' \
    'peak: 1 TFLOP/s of f32, 2 TFLOP/s of int8, all cores of this machine'
grep -q '^denoise  *15.0 ' out.txt || fail "$name: the stage: $(cat out.txt)"
expect 'of one core' 0 "$PLUMB_BIN" deep --mfu run,cores=one run.json
[ "$(head -1 out.txt)" = 'Run MFU: 32.5000%' ] || fail "$name: $(cat out.txt)"
expect 'one type for all' 0 "$PLUMB_BIN" deep --mfu run,dtype=f32 run.json
[ "$(head -1 out.txt)" = 'Run MFU: 25.0000%' ] || fail "$name: $(cat out.txt)"
expect 'a peak that is given, on two devices' 0 "$PLUMB_BIN" deep --mfu run,peak_tflops=0.5,world_size=2 run.json
[ "$(head -1 out.txt)" = 'Run MFU: 25.0000%' ] || fail "$name: $(cat out.txt)"
expect 'JSON' 0 "$PLUMB_BIN" deep --mfu run --format json run.json
jq -e '(.mfu_pct * 10000 | round) == 162500 and .run_flop == 2000000000 and .kernels == 2 and .flop_by_type.int8 == 1400000000 and
    .stages[0].stage == "denoise" and .stages[0].flop == 600000000' out.txt >/dev/null || fail "$name: $(cat out.txt)"

# What is left out is said.
"$PLUMB_SOURCE_DIR/tests/cli/_peaks.py" cache/plumb/peaks.json f32=500,1000 || exit 1
expect 'a type without a peak' 0 "$PLUMB_BIN" deep --mfu run run.json
[ "$(head -1 out.txt)" = 'Run MFU: 7.5000%' ] || fail "$name: $(cat out.txt)"
has out.txt 'left out: 0.0014 TFLOP of types without a peak'
"$PLUMB_SOURCE_DIR/tests/cli/_peaks.py" cache/plumb/peaks.json f64=500,1000 || exit 1
expect 'no peak' 2 "$PLUMB_BIN" deep --mfu run run.json
has err.txt "no peak is measured for the types of the kernels of 'run.json': give dtype= or peak_tflops="
echo '{"traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":0,"dur":5,"name":"other"}]}' >plain.json
expect 'no kernels' 2 "$PLUMB_BIN" deep --mfu run plain.json
has err.txt "'plain.json' has no kernel with operations: record with"
expect 'shapes of a model' 2 "$PLUMB_BIN" deep --mfu run,hidden_dim=8 run.json
has err.txt 'leave hidden_dim= out'
expect 'a step' 2 "$PLUMB_BIN" deep --mfu run,step=denoise run.json
has err.txt 'leave step= out'
expect 'no such cores' 2 "$PLUMB_BIN" deep --mfu run,cores=3 run.json
has err.txt "cores wants all or one, not '3'"
expect 'no such format' 2 "$PLUMB_BIN" deep --mfu run --format csv run.json
finish
