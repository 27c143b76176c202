#!/bin/sh
# labels: notsan
# docs/metrics.md lists every metric that /metrics gives, with its type and labels, and no other.
. "$PLUMB_SOURCE_DIR/tests/serve/_http.sh"
/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || { echo 'skipped: no python3-prometheus-client'; exit 77; }
mkdir fake
$CC -shared -fPIC "$PLUMB_SOURCE_DIR/tests/serve/_fake_gpu.c" -o fake/libnvidia-ml.so.1 || exit 1
mkfifo hold
exec 4<>hold
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_metrics_page.c" ./program
export PLUMB_COLLECT=fake PLUMB_MEMORY=1 RANK=1 WORLD_SIZE=2
start_program everything '' hold
cp -r runs/p/everything runs/p/copy # a backup, with the process id of the other
LD_LIBRARY_PATH=$PWD/fake start_serve serve.log --http 127.0.0.1:0
check() {
    curl -s -m 60 -o answer.prom "$url/metrics" &&
        /usr/bin/python3 -B "$PLUMB_SOURCE_DIR/tests/serve/_metrics_page.py" "$PLUMB_SOURCE_DIR/docs/metrics.md" answer.prom 2>py.txt
}
for _ in $(seq 100); do # until the device has been read, and the events of the simulated one have come
    check && break
    sleep 0.1
done
check || fail "$(tail -1 py.txt)"
has answer.prom 'rank="1"'
[ "$(grep -c '^plumb_recording{' answer.prom)" = 1 ] || fail 'the copy of a run has the metrics of the process again'
has answer.prom 'plumb_serve_processes 1'
exec 4>&-
stop_serve
finish
