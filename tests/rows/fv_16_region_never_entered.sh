#!/bin/sh
# labels: plain
# FV-16: a region that was selected and never entered is named at the end of the run, in the report, and
# after a kill by whoever recovers the run. A region that is entered is not.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

expect 'one of two' 7 env PLUMB_REGIONS=training_validation,model_loading,inference_denoising ./prog
has err.txt "selected by PLUMB_REGIONS and never entered: 'profiler_region_inference_denoising', \
'profiler_region_training_validation'"
lacks err.txt model_loading
[ "$(grep -c 'never entered' err.txt)" = 1 ] || fail "$name: said more than once"
expect 'report' 0 "$PLUMB_BIN" report --format json
has out.txt 'never entered'

expect 'none' 7 env PLUMB_REGIONS=training_validation ./prog
has err.txt "never entered: 'profiler_region_training_validation'; the trace holds no work"
expect 'all' 7 env PLUMB_REGIONS='*' ./prog
lacks err.txt 'never entered'
expect 'entered' 7 env PLUMB_REGIONS=model_loading ./prog
lacks err.txt 'never entered'

# A killed process cannot say it: the reader does.
expect 'killed' 137 env PLUMB_RUN_DIR=killed PLUMB_REGIONS=training_validation,model_loading \
    ./prog own kill
expect 'recovered' 0 "$PLUMB_BIN" report killed
cat out.txt err.txt >both.txt
has both.txt "never entered: 'profiler_region_training_validation'"
grep -qa profiler_region_model_loading killed/trace.pftrace || fail 'recovered: no region in the trace'
grep -qa between killed/trace.pftrace && fail 'recovered: the trace has more than the regions'
finish
