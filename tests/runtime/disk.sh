#!/bin/sh
# labels: plain
# A disk that fills up while a run records to it: the host's result and status are the same, figures
# are printed or kept, and kept figures are recovered once the disk has free space.
set -eu
mkdir small
if [ "$(id -u)" != 0 ] || ! unshare -m mount -t tmpfs -o size=2m none small 2>/dev/null; then
    echo 'disk: mounting a small disk needs root' >&2
    exit 77
fi
lib_dir=$(dirname "$PLUMB_LIB")
$CC -std=gnu11 -O2 -Wall -Wextra -Werror -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" \
    "$PLUMB_SOURCE_DIR/tests/runtime/_disk.c" -o disk -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# A mount namespace of its own: nothing stays mounted, however this ends.
unshare -m sh -eu -s "$PLUMB_BIN" <<'INNER'
plumb=$1
mount -t tmpfs -o size=2m none small
fail() {
    echo "disk: $case: $*; it said:" >&2
    tail -n 5 err.txt >&2
    exit 1
}

# record BEFORE AFTER: must end as it does without plumb.
record() {
    rm -rf small/*
    status=0
    PLUMB_RUN_DIR=$PWD/small/run ./disk small/filler "$1" "$2" >out.txt 2>err.txt || status=$?
    [ "$status" = 5 ] || fail "status $status"
    [ "$(cat out.txt)" = done ] || fail "printed '$(cat out.txt)'"
}

# recovered NODES: frees the disk, and checks the nodes of the recovered report.
recovered() {
    rm small/filler
    [ -z "$(find small/run -name "*.tmp")" ] || fail 'a temporary file stays'
    "$plumb" recover small/run >/dev/null 2>>err.txt || fail 'it cannot be recovered'
    for i in $(seq 0 $(($1 - 1))); do
        [ "$(jq --arg node "node.$i" '.nodes[] | select(.name == $node) | .count' \
            small/run/timing.json)" = 10 ] || fail "node.$i: $(jq -c '.nodes[].count' small/run/timing.json)"
    done
}

case='full at the end'
record 5 0
[ ! -e small/run/timing.json ] || fail 'a report on a full disk'
[ -e small/run/live.plumb ] || fail 'nothing was kept'
grep -q 'plumb recover' err.txt || fail 'it does not say how to go on'
recovered 5

case='full in the middle'
record 5 300
[ -e small/run/live.plumb ] || fail 'nothing was kept'
grep -q 'No space left' err.txt || fail 'it does not say why'
grep -q '^node\.304 ' err.txt || fail 'what no file takes is not printed'
recovered 5

case='full before it begins'
rm -rf small/*
dd if=/dev/zero of=small/filler bs=4096 2>/dev/null || true
status=0
PLUMB_RUN_DIR=$PWD/small/run ./disk small/filler 5 5 >out.txt 2>err.txt || status=$?
[ "$status" = 5 ] || fail "status $status"
grep -q 'No space left' err.txt || fail 'it does not say why'
grep -q 'node.9 ' err.txt || fail 'nothing is printed'

case='full before plumb record begins'
rm -rf small/run
status=0
"$plumb" record --run-dir small/run -- ./disk small/filler 5 5 >out.txt 2>err.txt || status=$?
[ "$status" = 5 ] || fail "status $status"
grep -q 'node.9 ' err.txt || fail 'nothing is printed'
grep -q 'plumb record:' err.txt && fail 'it denies what was recorded'

case='full where plumb record keeps its own file'
mkdir -p tmp
mount --bind small tmp
status=0
TMPDIR=$PWD/tmp "$plumb" record --run-dir elsewhere -- ./disk no/filler 5 5 >out.txt 2>err.txt || status=$?
grep -q 'plumb record: no temporary file (No space left' err.txt || fail 'it does not say what is full'
grep -q 'nothing was recorded' err.txt && fail 'it denies what was recorded'
ls small | grep -q plumb-record && fail 'a temporary file stays'
[ -e elsewhere/timing.json ] || fail 'no report'
INNER
