#!/bin/sh
# TF-34: the report on one kernel has workload, environment, stage times, kernel, evidence,
# uncertainty, artifacts and the next experiment, with the figures of the run and of the profile.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
corpus=$PLUMB_SOURCE_DIR/tests/fuzz/corpus/ncu
cat >app.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(stage, "denoise");
    }
    return 0;
}
END
build_linked app.c app
export PLUMB_DIR="$PWD/runs"
expect 'recorded' 0 "$PLUMB_BIN" record -- ./app
expect 'report' 0 "$PLUMB_BIN" deep --report md --run "$PLUMB_DIR" "$corpus/details_labels.csv"
grep '^#' out.txt >headings.txt
cat >want.txt <<'END'
# Kernel report: gemm\_bf16(int, int)
## Workload
## Environment
## Stage times
## Kernel
## Evidence
## Uncertainty
## Artifacts
## Next experiment
END
cmp headings.txt want.txt || fail "$name: $(cat headings.txt)"
has out.txt 'Command: ./app' 'CPU: ' '| denoise | 3 |' 'Name: gemm\_bf16(int, int)' '2500.000 us in all' \
    'Verdict: **compute_bound**' 'dram__throughput.avg.pct_of_peak_sustained_elapsed`: 10.00 %' \
    'sm__throughput.avg.pct_of_peak_sustained_elapsed`: 61.00 %' '1 of 1 measured launches' 'within 5 points' \
    'details\_labels.csv' 'tensor cores' 'plumb compare' 'measured again'
expect 'without a run' 0 "$PLUMB_BIN" deep --report md "$corpus/metrics_names.csv"
has out.txt '# Kernel report: saxpy' 'no run was named' 'Verdict: **unknown**' '`dram__throughput.avg.pct_of_peak_sustained_elapsed`: missing' \
    'A metric that the verdict needs is missing' 'Collect the missing metrics'
expect 'no such run' 2 "$PLUMB_BIN" deep --report md --run nothing "$corpus/raw_wide.csv"
expect 'no such report' 2 "$PLUMB_BIN" deep --report html "$corpus/raw_wide.csv"
finish
