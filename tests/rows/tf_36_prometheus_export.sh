#!/bin/sh
# TF-35 (+), TF-36, TF-37: the metrics of a run as a file for the textfile collector. promtool finds
# nothing to complain about in plumb's own, and Debian's client library reads the file, counts the same
# observations into the same buckets, and finds hostile names apart.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || { echo 'skipped: no python3-prometheus-client'; exit 77; }
rows=$PLUMB_SOURCE_DIR/tests/rows
build_linked "$rows/_metrics.c" ./program
name='record'
PLUMB_RUN_DIR=$PWD/run PLUMB_QUIET=1 ./program 2>err.txt || fail "the program failed: $(cat err.txt)"

name='file'
expect "$name" 0 "$PLUMB_BIN" export --to prometheus -o out.prom run
[ "$(cat out.txt)" = out.prom ] || fail "it printed '$(cat out.txt)'"
/usr/bin/python3 "$rows/_metrics.py" text out.prom values.txt 2>py.txt || fail "$(tail -3 py.txt)"
mkdir folder
expect 'folder' 0 "$PLUMB_BIN" export --to prometheus -o folder run
cmp out.prom folder/plumb.prom || fail 'the file in the folder differs'
[ -z "$(find folder ! -name plumb.prom -type f)" ] || fail "left behind: $(ls folder)"
expect 'stdout' 0 "$PLUMB_BIN" export --format prometheus -o - run
cmp out.prom out.txt || fail 'standard output differs'

name='promtool'
if command -v promtool >/dev/null; then
    grep -E '^(# (HELP|TYPE) )?plumb_' out.prom >ours.prom
    promtool check metrics <ours.prom >tool.txt 2>&1 || fail "$(head -5 tool.txt)"
    promtool check metrics <out.prom >tool.txt 2>&1
    [ $? != 1 ] || fail "promtool cannot read it: $(head -5 tool.txt)"
fi

name='killed'
mkfifo hold
PLUMB_RUN_DIR=$PWD/killed PLUMB_QUIET=1 ./program wait <hold 2>ready.txt &
pid=$!
exec 4>hold
for _ in $(seq 600); do grep -q ready ready.txt && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
exec 4>&-
expect "$name" 0 "$PLUMB_BIN" export --to prometheus -o killed.prom killed
/usr/bin/python3 "$rows/_metrics.py" text killed.prom values.txt 2>py.txt || fail "killed: $(tail -3 py.txt)"

# Of a process that records, the same reading as plumb top's: whole, or refused.
name='recording'
build_linked "$rows/_metrics_growing.c" ./growing
records() { # LIMIT (blocks of 512 bytes), DIR: starts the process, which may make no larger file
    rm -f hold2 ready.txt
    mkfifo hold2
    (ulimit -f "$1" && PLUMB_RUN_DIR=$PWD/$2 PLUMB_QUIET=1 exec ./growing) <hold2 >ready.txt 2>/dev/null &
    pid=$!
    exec 5>hold2
    for _ in $(seq 600); do grep -q ready ready.txt && break; sleep 0.1; done
}
ends() {
    exec 5>&-
    wait $pid 2>/dev/null
}
records unlimited open
expect "$name" 0 "$PLUMB_BIN" export --to prometheus -o - open
has out.txt "plumb_recording{program=\"growing\",pid=\"$pid\"} 1" 'plumb_node_runs_total{program="growing"' 'node="n.299"'
expect 'its mapping' 0 "$PLUMB_BIN" export --to prometheus -o - open/live.plumb
has out.txt "pid=\"$pid\""
ends
expect 'ended' 0 "$PLUMB_BIN" export --to prometheus -o - open
has out.txt 'plumb_recording{program="growing"} 0'
records 512 full
expect 'a full disk' 2 "$PLUMB_BIN" export --to prometheus -o - full
empty out.txt
has err.txt 'could not grow'
ends
expect 'no run' 2 "$PLUMB_BIN" export --to prometheus no-such-run
finish
