#!/bin/sh
# labels: notsan
# TF-37: /metrics of a recording process in both formats, by content negotiation; /api/summary,
# /healthz; devices by the drivers' libraries; tokens; what is refused.
. "$PLUMB_SOURCE_DIR/tests/serve/_http.sh"
rows=$PLUMB_SOURCE_DIR/tests/rows
mkdir fake
$CC -shared -fPIC "$PLUMB_SOURCE_DIR/tests/serve/_fake_gpu.c" -o fake/libnvidia-ml.so.1 || exit 1
$CC -shared -fPIC -DROCM "$PLUMB_SOURCE_DIR/tests/serve/_fake_gpu.c" -o fake/librocm_smi64.so.5 || exit 1
mkfifo hold
exec 4<>hold
start_program static wait hold
LD_LIBRARY_PATH=$PWD/fake start_serve serve.log --http 127.0.0.1:0 --device-interval 1

get() { # FILE CURL-OPTION...
    out=$1
    shift
    curl -s -m 60 -D head.txt -o "$out" "$@" || fail "$name: curl failed"
}
type_of() { tr -d '\r' <head.txt | sed -n 's/^[Cc]ontent-[Tt]ype: //p'; }
status_of() { head -1 head.txt | cut -d' ' -f2; }

name='text'
get text.prom "$url/metrics"
[ "$(type_of)" = 'text/plain; version=0.0.4; charset=utf-8' ] || fail "$name: $(cat head.txt)"
name='OpenMetrics'
get open.prom -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1' "$url/metrics"
[ "$(type_of)" = 'application/openmetrics-text; version=1.0.0; charset=utf-8' ] || fail "$name: $(cat head.txt)"
for accept in 'text/plain' '*/*' 'application/openmetrics-text;q=0' 'application/openmetrics-text;q=0.2, text/plain;q=0.9'; do
    name="Accept: $accept"
    get x.prom -H "$name" "$url/metrics"
    [ "$(type_of)" = 'text/plain; version=0.0.4; charset=utf-8' ] || fail "$name: $(cat head.txt)"
done
if /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; then
    /usr/bin/python3 "$rows/_metrics.py" text text.prom values.txt 2>py.txt || fail "text: $(tail -3 py.txt)"
    /usr/bin/python3 "$rows/_metrics.py" openmetrics open.prom values.txt 2>py.txt || fail "OpenMetrics: $(tail -3 py.txt)"
fi
has text.prom "plumb_recording{program=\"program\",pid=\"$program_pid\"" 'plumb_serve_processes '

name='devices'
has text.prom \
    'plumb_device_memory_total_bytes{device="0",name="Simulated GPU",uuid="GPU-fake-0",vendor="nvidia"} 8589934592' \
    'plumb_device_utilization_ratio{device="0",name="Simulated GPU",uuid="GPU-fake-0",vendor="nvidia"} 0.75' \
    'plumb_device_temperature_celsius{device="1",name="Simulated GPU",uuid="GPU-fake-1",vendor="nvidia"} 55' \
    'plumb_device_power_watts{device="0",name="Simulated GPU",uuid="GPU-fake-0",vendor="nvidia"} 123.456' \
    'plumb_device_memory_used_bytes{device="0",name="Simulated \"Instinct\"",uuid="",vendor="amd"} 4194304' \
    'plumb_device_temperature_celsius{device="0",name="Simulated \"Instinct\"",uuid="",vendor="amd"} 61.5'
grep -q 'plumb_device_utilization_ratio{device="1",name="Simulated GPU"' text.prom && fail 'a figure that the driver does not give'
for _ in $(seq 300); do # another reading comes, whether or not somebody asks
    get later.prom "$url/metrics"
    [ "$(sed -n 's/^plumb_device_readings_total //p' later.prom)" -ge 2 ] && break
    sleep 0.1
done
grep -q 'plumb_device_memory_used_bytes{device="0",name="Simulated GPU",uuid="GPU-fake-0",vendor="nvidia"} 1073741824$' later.prom &&
    fail 'the figures are those of the first reading'

name='summary'
get summary.json "$url/api/summary"
[ "$(type_of)" = application/json ] || fail "$name: $(cat head.txt)"
jq -e --argjson pid "$program_pid" '[.processes[] | select(.pid == $pid)] |
    length == 1 and .[0].recording and (.[0].rows[] | select(.node == "known") | .count == 101)' summary.json >/dev/null ||
    fail "$name: $(head -c 600 summary.json)"
name='health'
get health.txt "$url/healthz"
[ "$(cat health.txt)" = ok ] || fail "$name: $(cat health.txt)"
name='HEAD'
curl -s -m 60 -I "$url/metrics" | grep -q '200 OK' || fail 'HEAD'
for bad in "-X POST $url/metrics 405" "-X DELETE $url/api/summary 405" "$url/ 404" "$url/metricsx 404"; do
    name="refuses $bad"
    # shellcheck disable=SC2086 # words
    get x.txt ${bad% *}
    [ "$(status_of)" = "${bad##* }" ] || fail "$name: $(cat head.txt)"
done
[ "$(grep -c 'http: refuses .*: 40[45]: ' serve.log)" = 4 ] || fail "refusals in the log: $(cat serve.log)"
has serve.log ': 405: only GET and HEAD: POST /metrics' ': 404: there are /metrics, /api/summary and /healthz: GET /metricsx'
kill -9 "$program_pid"
name='the process is gone'
wait "$program_pid" 2>/dev/null
get gone.prom "$url/metrics"
grep -q "pid=\"$program_pid\"" gone.prom && fail "$name: $(grep plumb_serve gone.prom)"
grep -q '^plumb_serve_processes ' gone.prom || fail "$name: $(cat gone.prom)"
[ ! -e runs/p/static/timing.json ] || fail 'a scrape recovered the run'
name='a run that cannot be read'
grep -q '^plumb_serve_unreadable_total 0$' gone.prom || fail "$name: $(grep unreadable gone.prom)"
mkdir runs/p/broken
head -c 100 /dev/zero >runs/p/broken/live.plumb
for _ in $(seq 300); do # the folder is searched again
    get broken.prom "$url/metrics"
    [ "$(sed -n 's/^plumb_serve_unreadable_total //p' broken.prom)" -ge 3 ] && break
    sleep 0.1
done
[ "$(grep -c "http: .*/p/broken/live.plumb': " serve.log)" = 1 ] || fail "$name: $(cat serve.log)"
rm -r runs/p/broken
exec 4>&-
stop_serve

name='token'
printf 'secret-of-readers-0123456789\n' >token
chmod 600 token
start_serve token.log --http 127.0.0.1:0 --read-token token --device-interval 0
get x.txt "$url/metrics"
[ "$(status_of)" = 401 ] || fail "$name: $(cat head.txt)"
get x.txt -H 'Authorization: Bearer secret-of-readers-0123456789' "$url/metrics"
[ "$(status_of)" = 200 ] || fail "$name: $(cat head.txt)"
get x.txt "$url/healthz"
[ "$(status_of)" = 200 ] || fail "$name: health $(cat head.txt)"
has token.log 'http: refuses 127.0.0.1: 401: ' ': GET /metrics'
lacks token.log secret-of-readers

name='TLS'
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' \
        -keyout key.pem -out cert.pem >/dev/null 2>&1
    stop_serve
    start_serve tls.log --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --device-interval 0
    case $url in https://*) ;; *) fail "$name: '$url'" ;; esac
    get x.txt --cacert cert.pem "$url/metrics"
    has x.txt plumb_serve_processes
    curl -s -m 60 -o x.txt "http${url#https}/metrics" && fail "$name: an answer without TLS"
    curl -s -m 60 -o x.txt "$url/metrics" && fail "$name: an unknown certificate is trusted"
    stop_serve
    name='mutual TLS'
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem >/dev/null 2>&1
    openssl req -newkey rsa:2048 -nodes -subj /CN=client -keyout client.key -out client.csr >/dev/null 2>&1
    openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out client.pem >/dev/null 2>&1
    set -- --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --client-ca ca.pem --device-interval 0
    start_serve mutual.log "$@"
    get x.txt --cacert cert.pem "$url/metrics"
    [ "$(status_of)" = 403 ] || fail "$name: no certificate: $(cat head.txt)"
    get x.txt --cacert cert.pem --cert cert.pem --key key.pem "$url/metrics"
    [ "$(status_of)" = 403 ] || fail "$name: a certificate of nobody: $(cat head.txt)"
    get x.txt --cacert cert.pem --cert client.pem --key client.key "$url/metrics"
    [ "$(status_of)" = 200 ] || fail "$name: $(cat head.txt)"
    get x.txt --cacert cert.pem "$url/healthz"
    [ "$(status_of)" = 200 ] || fail "$name: health $(cat head.txt)"
    [ "$(grep -c 'http: refuses 127.0.0.1: 403: no certificate of --client-ca: GET /metrics' mutual.log)" = 2 ] ||
        fail "$name: $(cat mutual.log)"
    stop_serve
    name='mutual TLS and a token'
    start_serve both.log --read-token token "$@"
    get x.txt --cacert cert.pem -H 'Authorization: Bearer secret-of-readers-0123456789' "$url/metrics"
    [ "$(status_of)" = 403 ] || fail "$name: no certificate: $(cat head.txt)"
    get x.txt --cacert cert.pem --cert client.pem --key client.key "$url/metrics"
    [ "$(status_of)" = 401 ] || fail "$name: no token: $(cat head.txt)"
    get x.txt --cacert cert.pem --cert client.pem --key client.key -H 'Authorization: Bearer secret-of-readers-0123456789' "$url/metrics"
    [ "$(status_of)" = 200 ] || fail "$name: $(cat head.txt)"
    printf 'no certificate\n' >bad.pem
    expect 'a wrong authority' 2 timeout 60 "$PLUMB_BIN" serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem \
        --client-ca bad.pem
    has err.txt "cannot read 'bad.pem'"
fi
stop_serve

name='unix socket'
start_serve unix.log --http "unix:$PWD/h" --device-interval 0
get x.txt --unix-socket h http://localhost/metrics
[ "$(status_of)" = 200 ] || fail "$name: $(cat head.txt)"
[ "$(stat -c %a h)" = 600 ] || fail "$name: mode $(stat -c %a h)"
stop_serve
[ ! -e h ] || fail 'the socket stays'

expect 'network' 2 timeout 60 "$PLUMB_BIN" serve --http 0.0.0.0:0
has err.txt 'can be reached from other machines'
expect 'address' 2 timeout 60 "$PLUMB_BIN" serve --http nowhere
finish
