#!/bin/sh
# labels: notsan
# plumb serve --otlp: requests of running, ended and killed processes reach a collector once each; it may be
# away or refuse; certificates are verified; nothing but http and https; headers come from the environment.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
serve=${PLUMB_BIN%/*}/plumb-serve
[ -x "$serve" ] || { echo 'this build has no plumb-serve'; exit 77; }
"$serve" --otlp=ftp://x --listen=unix:x.sock 2>err.txt
grep -q 'http' err.txt || { echo 'this plumb-serve has no OTLP'; exit 77; }
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_otlp.c" service
mkdir runs runtime
chmod 700 runtime
# In a folder of its own, so that nobody else's processes are found.
export XDG_RUNTIME_DIR="$PWD/runtime" PLUMB_DIR="$PWD/runs" PLUMB_QUIET=1 OTEL_BSP_SCHEDULE_DELAY=100
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
started=
# Ends only what this test has started.
trap 'for p in $started; do kill -9 "$p" 2>/dev/null; done' EXIT

# until_true WHAT COMMAND...: waits for it, a minute at most
until_true() {
    what=$1
    shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -le 600 ] || { fail "$name: waited in vain for $what: $(cat serve.err)"; return 1; }
        sleep 0.1
    done
}
# collect DIR [CERT]: a collector in the background, whose port is $port
collect() {
    mkdir -p "$1"
    rm -f "$1/port"
    PYTHONPATH="$PLUMB_SOURCE_DIR/tests/cli" /usr/bin/python3 -B "$PLUMB_SOURCE_DIR/tests/serve/_collector.py" "$@" &
    collector=$!
    started="$started $collector"
    until_true 'the collector' test -s "$1/port" && port=$(cat "$1/port")
}
# A server exports what any process of the user records, and finds those of other tests and programs in the folders that are
# the same for all: it gets empty ones, where the system lets a process have mounts of its own.
folders="/tmp/plumb-$(id -u) /run/user/$(id -u)/plumb"
mkdir -p -m 700 "/tmp/plumb-$(id -u)"
alone() { # COMMAND...: instead of this shell
    # shellcheck disable=SC2016,SC2086 # of the inner shell; none or one option
    exec unshare $in_own_mounts -m sh -c 'for f in $0; do [ ! -d "$f" ] || mount -t tmpfs -o mode=700 none "$f" || exit 1; done
        exec "$@"' "$folders" "$@"
}
in_own_mounts=
(alone true) 2>/dev/null || in_own_mounts=--map-current-user
(alone true) 2>/dev/null || alone() { exec "$@"; }
# serve_to URL: plumb serve in the background, with what it says in serve.err
serve_to() {
    rm -f serve.err # what is waited for is in that of the server before
    alone "$serve" --otlp="$1" "--listen=unix:$PWD/s.sock" --runs="$PWD/runs" --drain=5 2>serve.err &
    server=$!
    started="$started $server"
    until_true 'the server' grep -q 'otlp: sends' serve.err
}
end_server() {
    kill -TERM "$server"
    wait "$server" || fail "$name: plumb serve ends with status $?: $(cat serve.err)"
}
requests() { # DIR: ids of the requests that it got
    cat "$1/spans" 2>/dev/null | jq -r 'select(.name == "request") | .attributes["plumb.request.id"]'
}
has_requests() { # DIR N
    [ "$(requests "$1" | wc -l)" -ge "$2" ]
}
record() {
    PLUMB=1 ./service "$@" >"$1.out" 2>/dev/null
}

name='a run that was over before'
record old
name='runs while it serves'
sleep 0.02 # the file of the run before is older than the server, by more than a tick of the kernel's clock
collect first
OTEL_EXPORTER_OTLP_HEADERS='x-tenant=a%20b, authorization=Bearer s3cret' serve_to "http://user:pw@127.0.0.1:$port"
PLUMB=1 ./service wait >wait.out 2>/dev/null &
service=$!
started="$started $service"
until_true 'requests of a running process' has_requests first 6
kill -0 "$service" || fail 'the process does not run any more'
record killed
until_true 'requests of a killed process' has_requests first 13
record ended
until_true 'requests of a run that ended' has_requests first 19
kill -9 "$service"
sleep 0.5
end_server
[ ! -e first/wrong ] || fail "$name: the collector refuses: $(cat first/wrong)"
[ "$(requests first | sort | tr '\n' ' ')" = \
    'called called called cut failed failed failed invalid invalid invalid later later later plain plain plain twice twice twice ' ] ||
    fail "$name: $(requests first | sort | tr '\n' ' ')"
[ "$(jq -r '.traceId + .spanId' first/spans | sort | uniq -d)" = '' ] || fail "$name: a span came twice"
jq -s -e 'map(select(.attributes["plumb.request.id"] == "called")) | map(.parentSpanId) | unique == ["b7ad6b7169203331"]' first/spans >/dev/null ||
    fail "$name: the caller's span"
jq -s -e 'map(select(.attributes["plumb.request.id"] == "cut"))[0].status.message == "the process was killed"' first/spans >/dev/null ||
    fail "$name: the killed one"
[ "$(jq -r '."x-tenant" + "," + .authorization' first/headers)" = 'a b,Bearer s3cret' ] || fail "headers: $(cat first/headers)"
has serve.err 'a traceparent is ignored: its parent id is zero' 'sent 19 requests'
lacks serve.err s3cret
lacks serve.err 'pw@'
kill "$collector"

name='a collector that is away, and then refuses'
serve_to "http://127.0.0.1:$port" # nobody listens there now
record away
until_true 'the first refusal' grep -q 'tries again' serve.err
mkdir second
printf '503\n429\n200\n' >second/answer
COLLECTOR_PORT=$port collect second
until_true 'what waited' has_requests second 6
has serve.err 'answers again'
[ "$(grep -c 'tries again' serve.err)" = 1 ] || fail "$name: $(cat serve.err)"
[ "$(requests second | sort -u | wc -l)" = 6 ] || fail "$name: $(requests second)"
[ "$(requests second | wc -l)" = 6 ] || fail "$name: a request came twice"
printf 'for-ever-400' >second/answer
record refused
until_true 'the drop' grep -q 'requests are dropped: it answers with status 400' serve.err
printf '302\n' >second/answer
record elsewhere
until_true 'the answer that leads elsewhere' test ! -s second/answer
rm second/answer
record fine
until_true 'the next run' has_requests second 12
end_server
# How many of the six had been sent when it began to take them again is a matter of time.
sent=$(sed -n 's/.* sent \([0-9]*\) requests.*/\1/p' serve.err)
dropped=$(sed -n 's/.* \([0-9]*\) requests\{0,1\} dropped$/\1/p' serve.err)
[ "$((sent + dropped))" = 24 ] && [ "$dropped" -ge 1 ] && [ "$(requests second | wc -l)" = "$sent" ] ||
    fail "$name: sent $sent, dropped $dropped: $(cat serve.err)"
[ "$(grep -c 'are dropped' serve.err)" = 1 ] || fail "$name: $(cat serve.err)"
[ ! -e second/elsewhere ] || fail "$name: it went where the collector sent it: $(cat second/elsewhere)"
[ ! -e second/wrong ] || fail "$name: $(cat second/wrong)"

name='a collector that asks for a pause'
kill "$collector"
mkdir third
echo 3 >third/pause
printf '429\n503\n200\n' >third/answer
collect third
serve_to "http://127.0.0.1:$port"
record paused
until_true 'what waited for the pauses' has_requests third 6
end_server
# Without the header it asks again after 0.5 s and 1 s.
awk 'NR > 1 && $3 - before < 2.9 { exit 1 } { before = $3 } NR == 3 { exit 0 }' third/asked ||
    fail "$name: it was asked again too early: $(cat third/asked)"
[ "$(cut -d' ' -f1 third/asked | head -3 | tr '\n' ' ')" = '429 503 200 ' ] || fail "$name: $(cat third/asked)"
[ "$(requests third | wc -l)" = 6 ] || fail "$name: a request came twice"

name='an end while it is away'
kill "$collector"
serve_to "http://127.0.0.1:$port"
record many 600 # more than a batch
until_true 'the first refusal' grep -q 'tries again' serve.err
end_server
has serve.err ' 606 requests dropped'

if command -v openssl >/dev/null; then
    name='certificates'
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' \
        -keyout key.pem -out cert.pem >/dev/null 2>&1
    cat key.pem cert.pem >both.pem
    collect secure both.pem
    serve_to "https://127.0.0.1:$port"
    record untrusted
    until_true 'the refusal' grep -q 'certificate' serve.err
    end_server
    [ ! -e secure/spans ] || fail "$name: it sent to an unknown certificate"
    OTEL_EXPORTER_OTLP_CERTIFICATE=$PWD/cert.pem serve_to "https://127.0.0.1:$port"
    record trusted
    until_true 'a trusted one' has_requests secure 6
    end_server
    kill "$collector"
fi

for bad in ftp://127.0.0.1/ file:///etc/passwd 127.0.0.1:4318 'http://' ''; do
    expect "the URL '$bad'" 2 "$serve" "--otlp=$bad" --listen=unix:x.sock
    [ "$(grep -c '^plumb serve: ' err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
done
expect 'headers' 2 env 'OTEL_EXPORTER_OTLP_HEADERS=no header' "$serve" --otlp=http://127.0.0.1:1 --listen=unix:x.sock
has err.txt 'OTEL_EXPORTER_OTLP_HEADERS is not NAME=VALUE'
expect 'a line end in a header' 2 env 'OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0ac: d' "$serve" --otlp=http://127.0.0.1:1 --listen=unix:x.sock
has err.txt "the value of 'a' has a control character"
finish
