#!/bin/sh
# labels: plain
# Debian's Prometheus scrapes plumb serve, which reads a recording process: every panel of the dashboard
# has data, the rules load, and histogram_quantile() is right within a bucket.
. "$PLUMB_SOURCE_DIR/tests/serve/_http.sh"
for need in prometheus promtool; do
    command -v $need >/dev/null || { echo "skipped: no $need"; exit 77; }
done
share=$PLUMB_SOURCE_DIR/share
mkdir fake
$CC -shared -fPIC "$PLUMB_SOURCE_DIR/tests/serve/_fake_gpu.c" -o fake/libnvidia-ml.so.1 || exit 1
start_program busy loop
LD_LIBRARY_PATH=$PWD/fake start_serve serve.log --http 127.0.0.1:0
cat >prometheus.yml <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$share/prometheus/plumb.rules.yml"]
scrape_configs:
  - job_name: plumb
    static_configs: [{targets: ["${url#http://}"]}]
END
expect 'rules' 0 promtool check rules "$share/prometheus/plumb.rules.yml"
prometheus --config.file=prometheus.yml --storage.tsdb.path="$PWD/data" --web.listen-address=127.0.0.1:0 \
    --log.level=info >prometheus.log 2>&1 &
started="$started $!"
port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*Listening on.*address=127.0.0.1:\([0-9]*\).*/\1/p' prometheus.log | head -1)
    [ -n "$port" ] && break
    sleep 0.1
done
[ -n "$port" ] || fail "Prometheus does not start: $(tail -3 prometheus.log)"
/usr/bin/python3 "$PLUMB_SOURCE_DIR/tests/serve/_panels.py" "http://127.0.0.1:$port" "$share/grafana/plumb.json" 2>py.txt ||
    fail "$(tail -2 py.txt)"
finish
