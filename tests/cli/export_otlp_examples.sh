#!/bin/sh
# labels: traces
# The strict reader of _otlp.py takes the examples of OTLP, so that what it takes of plumb is of the same
# form; and it refuses each of a few changes of them.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
example=${PLUMB_TRACES:-}/otlp-examples/trace.json
if [ ! -e "$example" ]; then
    [ "${PLUMB_REQUIRE_TRACES:-}" = 1 ] && { echo "no '$example'" >&2; exit 1; }
    echo 'skipped: PLUMB_TRACES has no otlp-examples'
    exit 77
fi
check() {
    /usr/bin/python3 -B "$PLUMB_SOURCE_DIR/tests/cli/_otlp.py" "$1"
}
expect 'the example' 0 check "$example"
[ "$(jq -r '[.name, .kind, .start, .end, .resource["service.name"]] | @csv' out.txt)" = \
    "\"I'm a server span\",2,\"1544712660000000000\",\"1544712661000000000\",\"my.service\"" ] || fail "the example: $(cat out.txt)"
# change NAME FILTER
change() {
    jq "$2" "$example" >changed.json
    expect "$1" 1 check changed.json
}
span='.resourceSpans[0].scopeSpans[0].spans[0]'
change 'a time as a number' "$span.startTimeUnixNano = 5"
change 'an id in base64' "$span.spanId = \"7uGbfsPBsXM=\""
change 'a short id' "$span.traceId = \"5b8e\""
change 'a kind as a string' "$span.kind = \"SERVER\""
change 'a name in snake case' "$span.start_time_unix_nano = \"5\""
change 'an integer as a number' "$span.attributes[0].value = {intValue: 5}"

# Every member of the example is one of ours too, at the same place and of the same type.
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_otlp.c" service
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/run ./service
expect 'our export' 0 "$PLUMB_BIN" export --to otlp -o ours.json run
shape='[paths(scalars) as $p | ($p | map(if type == "number" then 0 else . end)) + [getpath($p) | type]] | unique'
jq -c "$shape" "$example" >theirs.txt
jq -c "$shape" ours.json >ours.txt
jq -n -e --slurpfile a theirs.txt --slurpfile b ours.txt '$a[0] - $b[0] | map(select(contains(["scope", "attributes"]) | not)) == []' >/dev/null ||
    fail "the example has what we lack: $(jq -n -c --slurpfile a theirs.txt --slurpfile b ours.txt '$a[0] - $b[0]')"
finish
