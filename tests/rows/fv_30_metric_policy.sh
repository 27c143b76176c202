#!/bin/sh
# FV-30: each gated metric has a direction, a relative and an absolute floor; overrides are taken field
# by field, and those that cannot be used leave the default.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
policy() {
    jq -r --arg m "$1" '.results[0].metrics[] | select(.name == $m) |
        "\(.higher_is_better) \(.floor_relative) \(.floor_absolute) \(.gated)"' out.txt
}
is() {
    [ "$(policy "$1")" = "$2" ] || fail "$name: $1 is '$(policy "$1")', not '$2'"
}
baseline 10
perf a.json 09 10
status a.json PASS 0
is latency 'false 0.08 0.5 true'
is throughput 'true 0.08 0.05 true'
is memory 'false 0.05 256 true'
for metric in text_encoder_time_s dit_time_s vae_decode_time_s; do
    is $metric 'false 0.05 0.25 true'
done
perf a.json 09 10 '{"regression_thresholds": {"latency": {"threshold_percent": 0.2, "gated": "no"},
    "memory": {"threshold_absolute": "100", "gated": "maybe", "threshold_percent": true},
    "throughput": ["junk"], "dit_time_s": {"gated": false}}}'
status a.json PASS 0
is latency 'false 0.2 0.5 false'
is memory 'false 0.05 100 true'
is throughput 'true 0.08 0.05 true'
is dit_time_s 'false 0.05 0.25 false'
perf a.json 09 10 '{"regression_thresholds": "junk"}'
status a.json PASS 0
is latency 'false 0.08 0.5 true'
finish
