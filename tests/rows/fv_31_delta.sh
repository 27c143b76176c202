#!/bin/sh
# FV-31: a change counts only beyond both floors, in the direction that is worse; a baseline of zero or
# none is skipped.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
floors() {
    printf '{"regression_thresholds": {"%s": {"threshold_percent": %s, "threshold_absolute": %s}}}' "$@"
}
baseline 10
perf a.json 09 10.6 "$(floors latency 0.05 0.5)"
status a.json REGRESSION 1
jq -e '.results[0].metrics[0] | (.worse_relative - 0.06 | fabs < 1e-9) and (.worse_absolute - 0.6 | fabs < 1e-9)' \
    out.txt >/dev/null || fail 'the change of the latency'
perf a.json 09 10.6 "$(floors latency 0.05 0.75)"
status a.json PASS 0
perf a.json 09 10.6 "$(floors latency 0.1 0.5)"
status a.json PASS 0
perf a.json 09 12 "$(floors latency 0.2 0.5)" # the floor itself is not beyond
status a.json PASS 0
perf a.json 09 8
status a.json PASS 0
perf a.json 09 10 '{"throughput_fps": 4.0}'
status a.json REGRESSION 1
perf a.json 09 10 '{"throughput_fps": 5.0}'
status a.json PASS 0
perf a.json 09 10 '{"max_peak_memory_mb": 10600}'
status a.json REGRESSION 1
perf a.json 09 10 '{"throughput_fps": 1, "regression_thresholds": {"throughput": {"gated": false}}}'
status a.json PASS 0
jq -e '.results[0].metrics[] | select(.name == "throughput") | .exceeded and (.regressed | not)' out.txt \
    >/dev/null || fail 'a metric that is not gated does not show'
rm -rf .plumb
perf zero.json 01 10 '{"dit_time_s": 0}'
history_of add --baseline yes zero.json >/dev/null 2>&1
perf a.json 09 10 '{"dit_time_s": 100}'
status a.json PASS 0
jq -e '.results[0].metrics[] | select(.name == "dit_time_s") | has("worse_relative") | not' out.txt >/dev/null ||
    fail 'a baseline of 0 was compared with'
finish
