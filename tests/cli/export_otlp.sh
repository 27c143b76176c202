#!/bin/sh
# plumb export --to otlp: requests as traces, stages as spans in the spans that they ran in, links to the
# caller's trace; the JSON is checked by a strict reader; of a killed run too.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_otlp.c" service
record() {
    run=$1
    shift
    PLUMB=1 PLUMB_QUIET=1 PLUMB_MEMORY=off PLUMB_RUN_DIR=$PWD/$run ./service "$@" >/dev/null 2>&1
}
# spans FILE: its spans, one a line, in spans.txt
spans() {
    /usr/bin/python3 -B "$PLUMB_SOURCE_DIR/tests/cli/_otlp.py" "$1" >spans.txt || fail "$name: the JSON"
}
# is FILTER: true of the array of all spans
is() {
    jq -s -e "$1" spans.txt >/dev/null || fail "$name: not $1: $(jq -s -c ".[0:14][] | {name, spanId, parentSpanId, traceId, attributes, status}" spans.txt)"
}
request='map(select(.name == "request"))'
of() { # the one request with this id
    echo "($request | map(select(.attributes[\"plumb.request.id\"] == \"$1\"))[0])"
}

record run
expect 'to a file' 0 "$PLUMB_BIN" export --to otlp -o out.json run
has out.txt out.json
has err.txt '2 traceparents are ignored; the first: its parent id is zero' '6 requests, 42 spans'
spans out.json
is 'length == 42'
is "$request | length == 6"
is 'map(.resource) | unique | length == 1'
is ".[0].resource | .\"service.name\" == \"service\" and .\"host.name\" == \"$(hostname)\" and .\"process.executable.name\" == \"service\" and (.\"process.pid\" > 1) and .\"telemetry.sdk.name\" == \"plumb\""
# each trace has one request and its six stages, except that two of the requests are of one caller's trace
is 'group_by(.traceId) | map(length) | sort == [7, 7, 7, 7, 14]'
is "$(of called) as \$r | \$r.traceId == \"0af7651916cd43dd8448eb211c80319c\" and \$r.parentSpanId == \"b7ad6b7169203331\" and \$r.kind == 2 and \$r.flags == 769 and \$r.traceState == \"congo=t61rcWkgMzE,b=2, c=3\""
is "$(of called).attributes | .\"plumb.metadata.prompt\" == \"a \\\"cat\\\" é\" and (has(\"plumb.metadata.Traceparent\") | not)"
is "$(of later) as \$r | \$r.parentSpanId == \"b7ad6b7169203332\" and \$r.flags == 768 and (\$r | has(\"traceState\") | not)"
for id in plain invalid twice failed; do
    is "$(of $id) as \$r | (\$r | has(\"parentSpanId\") | not) and \$r.kind == 1 and (\$r | has(\"traceState\") | not) and \$r.traceId != \"0af7651916cd43dd8448eb211c80319c\""
done
is "$(of invalid).attributes[\"plumb.traceparent_ignored_because\"] == \"its parent id is zero\""
# where each stage lies
is '(map({key: (.traceId + .spanId), value: .name}) | from_entries) as $name |
    map(select(.name != "request") | [.name, $name[.traceId + .parentSpanId]]) | unique ==
    [["denoise", "generate"], ["generate", "request"], ["save", "request"], ["upload", "generate"], ["worker", "generate"]]'
is '(map({key: (.traceId + .spanId), value: .}) | from_entries) as $all |
    map(select(.name != "request") | $all[.traceId + .parentSpanId] as $p | .start >= $p.start and .end <= $p.end) | all'
is "$(of failed).status == {message: \"no space\", code: 2}"
is 'map(select(.name == "save" and .status)) | length == 1 and .[0].status == {message: "disk \"full\"", code: 2}'
# times are those of the report, to the nanosecond
begin=$(sed -n 's/^ *"begin_unix_ns": \([0-9]*\),/\1/p' run/timing.json | head -n 1)
is "$(of plain) as \$r | \$r.start == \"$begin\" and \$r.ns == $(jq '.requests[0].wall_clock_ns' run/timing.json)"

expect 'again' 0 "$PLUMB_BIN" export --to otlp -o - run
cmp -s out.txt out.json || fail 'the same run has other ids'
expect 'the default name' 0 "$PLUMB_BIN" export --to otlp run
[ -s "$(cat out.txt)" ] || fail "no file '$(cat out.txt)'"
case $(cat out.txt) in *_rank0.*.otlp.json) ;; *) fail "the name $(cat out.txt)" ;; esac
expect 'another service' 0 env OTEL_SERVICE_NAME=shop "$PLUMB_BIN" export --to otlp -o out.json run
spans out.json
is '.[0].resource["service.name"] == "shop"'

is '.[0].resource | has("plumb.rank") or has("plumb.world_size") | not'
RANK=3 WORLD_SIZE=8 record ranked
expect 'a rank' 0 "$PLUMB_BIN" export --to otlp -o out.json ranked
spans out.json
is 'map(.resource | [."plumb.rank", ."plumb.world_size"]) | unique == [[3, 8]]'
expect 'the default name of a rank' 0 "$PLUMB_BIN" export --to otlp ranked
case $(cat out.txt) in *_rank3.*.otlp.json) ;; *) fail "the name $(cat out.txt)" ;; esac

record killed killed
expect 'a killed run' 0 "$PLUMB_BIN" export --to otlp -o out.json killed
spans out.json
is "$request | length == 7"
is "$(of cut) as \$r | \$r.attributes[\"plumb.open\"] and \$r.status == {message: \"the process was killed\", code: 2} and \$r.parentSpanId == \"b7ad6b7169203331\""
is "$(of cut) as \$r | (map({key: .spanId, value: .name}) | from_entries) as \$name |
    map(select(.start >= \$r.start and .name != \"request\") | [.name, \$name[.parentSpanId], .attributes[\"plumb.open\"]]) | sort ==
    [[\"block\", \"denoise\", null], [\"denoise\", \"generate\", true], [\"generate\", \"request\", true]]"

record many many 4200
expect 'more than a run keeps' 0 "$PLUMB_BIN" export --to otlp -o out.json many
has err.txt '110 older requests are not kept' 'runs of stages are not kept by the run'
spans out.json
is "$request | length == 4096"

expect 'a run without requests' 2 "$PLUMB_BIN" export --to otlp none
printf '#include <plumb/plumb.h>\nint main(void) { PLUMB_SPAN("a"); return 0; }\n' >none.c
build_linked none.c no_requests
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/without ./no_requests
expect 'a run without requests' 2 "$PLUMB_BIN" export --to otlp without
has err.txt 'the run has no requests: mark them with plumb_request_begin()'
expect 'an unknown target' 2 "$PLUMB_BIN" export --to zipkin run
expect 'over the run' 2 "$PLUMB_BIN" export --to otlp -o run/timing.json run
finish
