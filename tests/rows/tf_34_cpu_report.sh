#!/bin/sh
# TF-34: the report on one kernel of a processor has workload, environment, stage times, kernel, evidence,
# uncertainty, artifacts and the next experiment, with the figures of the recording and of the peaks.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
"$PLUMB_SOURCE_DIR/tests/cli/_peaks.py" cache/plumb/peaks.json memory=50,100 f32=500,1000 || exit 1
cat >app.c <<'END_C'
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_POINT(matmul, "matmul");
    PLUMB_POINT(reorder, "reorder");
    for (int i = 0; i < 3; i++) {
        PLUMB_SPAN("whole");
        PLUMB_STAGE(stage, "denoise");
        plumb_span span = plumb_begin(&matmul);
        plumb_arg_i64(span, "flops", 4000);
        plumb_arg_i64(span, "bytes", 2000);
        plumb_arg_str(span, "dtype", "f32");
        for (volatile int k = 0; k < 100000; k++)
            ;
        plumb_end(span);
        span = plumb_begin(&reorder);
        plumb_arg_i64(span, "bytes", 1000);
        plumb_end(span);
    }
    return 0;
}
END_C
build_linked app.c app
export PLUMB_DIR="$PWD/runs"
expect 'recorded' 0 env PLUMB_TRACE_FLOPS=1 "$PLUMB_BIN" record --trace -- ./app
expect 'report' 0 "$PLUMB_BIN" deep --report md
empty err.txt
grep '^#' out.txt >headings.txt
cat >want.txt <<'END_MD'
# Kernel report: matmul
## Workload
## Environment
## Stage times
## Kernel
## Evidence
## Uncertainty
## Artifacts
## Next experiment
END_MD
cmp headings.txt want.txt || fail "$name: $(cat headings.txt)"
has out.txt 'Command: ./app' 'with 6 runs of kernels and 1.2e-05 GFLOP' 'Model FLOPs utilisation' 'CPU of the recording: ' \
    'measured 2026-01-02T03:04:05Z' '| denoise | 3 |' 'Stage: denoise' '- Runs: 3, ' 'The kernels with the largest times:' \
    '| reorder |' 'Verdict: **latency_bound**' 'of the peak of 1000 GFLOP/s (compute_bound from 60 %' \
    'of the peak of 100 GB/s (memory_bound from 60 %' 'Intensity: 2 FLOP/B; the ridge is at 10' 'at most 200 GFLOP/s are possible' \
    'the mean of 3 runs; the longest took' 'trace.pftrace' 'peaks.json' '--format svg' 'run stage denoise alone' \
    'plumb compare' 'measured again'
lacks out.txt '| whole |'
cp runs/*/latest/trace.pftrace alone.pftrace
expect 'a trace alone' 0 "$PLUMB_BIN" deep --report md alone.pftrace
has out.txt 'does not lie in a run directory' '# Kernel report: matmul' '| whole | 3 |'
expect 'a trace and a run' 0 "$PLUMB_BIN" deep --report md --run runs alone.pftrace
has out.txt 'Command: ./app'
lacks out.txt 'does not lie'

# Verdicts, what is near a threshold, what is missing.
cat >planted.json <<'END_JSON'
{"traceEvents": [
 {"ph":"X","pid":1,"tid":1,"ts":0,"dur":1000,"name":"matmul","args":{"flops":630000000,"bytes":1000000,"shapes":"a|b","dtypes":"f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":2000,"dur":900,"name":"copy","args":{"bytes":80000000,"dtypes":"f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":4000,"dur":800,"name":"<b>*odd*","args":{"flops":1000}}
]}
END_JSON
expect 'compute bound' 0 "$PLUMB_BIN" deep --report md planted.json
has out.txt 'Verdict: **compute_bound**' 'one run shows no spread' 'within 5 points of its threshold' 'a\|b' 'Need fewer operations'
expect 'memory bound' 0 "$PLUMB_BIN" deep --report md --kernel copy planted.json
has out.txt '# Kernel report: copy' 'Verdict: **memory_bound**' 'Arithmetic: not recorded' 'Move fewer bytes'
lacks out.txt 'within 5 points'
expect 'unknown' 0 "$PLUMB_BIN" deep --report md --kernel odd planted.json
has out.txt 'Kernel report: \<b>\*odd\*' 'Verdict: **unknown**' 'A figure that the verdict needs is missing' 'Record what is missing'

# The times of a stage apart: 4 ms open, 2.5 ms of kernels, 0.5 ms of them a copy.
cat >stage.json <<'END_JSON'
{"traceEvents": [
 {"ph":"X","pid":1,"tid":1,"ts":0,"dur":4000,"cat":"user_annotation","name":"denoise"},
 {"ph":"X","pid":1,"tid":1,"ts":100,"dur":2000,"name":"matmul","args":{"flops":800000000,"bytes":1000000,"dtypes":"f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":3000,"dur":500,"name":"reorder","args":{"bytes":1000000}},
 {"ph":"X","pid":1,"tid":1,"ts":4000,"dur":1000,"cat":"user_annotation","name":"decode"},
 {"ph":"X","pid":1,"tid":1,"ts":4100,"dur":900,"name":"reorder","args":{"bytes":1000000}}
]}
END_JSON
expect 'the times of a stage' 0 "$PLUMB_BIN" deep --report md stage.json
has out.txt '| denoise | 1 | 4.00 | 2.50 | 0.50 | 1.50 | 200 | latency\_bound |' '- Model FLOPs utilisation of that time: 16.0 %' \
    '- Stage: denoise'

expect 'no such run' 2 "$PLUMB_BIN" deep --report md --run nothing alone.pftrace
expect 'not a table' 2 "$PLUMB_BIN" deep --report md --format csv alone.pftrace
has err.txt "the report on a kernel has no format 'csv'"
expect 'of the peaks' 2 "$PLUMB_BIN" deep --report md --peaks
has err.txt '--report takes a recording'
expect 'no kernels' 2 "$PLUMB_BIN" deep --report md --kernel nothing planted.json
finish
