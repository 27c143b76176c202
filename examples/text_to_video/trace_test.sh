#!/bin/sh
# labels: notsan
# (libgomp and oneDNN are not instrumented.)
# The trace of the pipeline has each span that its report counts, and no other, with times that agree.
#
#   trace_test.sh TEXT_TO_VIDEO
set -eu
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY

PLUMB=1 PLUMB_TRACE=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/run "$1" --quick --out a.mp4 >/dev/null
"$PLUMB_BIN" report trace --format json run >trace.json
jq -e -n --slurpfile trace trace.json --slurpfile timing run/timing.json '
    ($trace[0].nodes | map({(.name): {count, total_ns}}) | add) as $traced |
    ($timing[0].nodes | map({(.name): {count, total_ns: (.total_ns | tonumber)}}) | add) as $timed |
    ($traced | keys) == ($timed | keys) and ($timed | length) > 10 and
    all($timed | keys[]; $traced[.].count == $timed[.].count and
        ($traced[.].total_ns - $timed[.].total_ns | fabs) <= 1e-4 * $timed[.].total_ns + 1000) and
    $trace[0].open == 0 and $trace[0].cut == 0 and $trace[0].spans_dropped == 0 and
    ($trace[0].stepped_nodes[] | select(.name == "denoise_step") | .steps == 4)' >/dev/null || {
    jq -c '[.nodes[] | [.name, .count, .total_ns]]' trace.json >&2
    jq -c '[.nodes[] | [.name, .count, .total_ns]]' run/timing.json >&2
    echo 'text_to_video: the trace is not what the report says' >&2
    exit 1
}
