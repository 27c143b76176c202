#!/bin/sh
# FV-32: the baseline is the median of the last five eligible records with the same six keys; names for
# people do not split it.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
latency() {
    jq -r '.results[0].metrics[0] | "\(.baseline) of \(.baseline_values | length)"' out.txt
}
is() {
    [ "$(latency)" = "$1" ] || fail "$name: the baseline is $(latency), not $1"
}
baseline 100 100 12 9 11 8 10 # the first two are too old
perf a.json 20 10
status a.json PASS 0
is '10 of 5'
baseline 8 9 11 12
status a.json PASS 0
is '10 of 4'
perf bad.json 08 1 '{"run_source": "pr"}' # does not count, nor do a breach and a failure
history_of add bad.json >/dev/null 2>&1
perf bad.json 09 200
history_of add bad.json >/dev/null 2>&1
status a.json PASS 0
is '10 of 4'
perf renamed.json 20 10 '{"device": "another name", "benchmark_id": "renamed", "model_short_name": "x"}'
status renamed.json PASS 0
is '10 of 4'
perf text.json 20 10 '{"benchmark_version": "0"}' # keys are texts
status text.json PASS 0
for change in '{"workload_id": "w"}' '{"variant_id": "v"}' '{"benchmark_version": 1}' \
    '{"hardware_profile_id": "hw-1"}' '{"software_profile_id": "sw-1"}'; do
    perf split.json 20 10 "$change"
    status split.json CALIBRATION_NEEDED 3
done
perf early.json 01 10 # before all but the first record
status early.json REGRESSION 1
is '8 of 1'
finish
