#!/bin/sh
# labels: plain
# FV-13: the name of a trace file holds host, process, time and (+) rank; two processes never collide;
# gzip loads with a stock decompressor; the folder is made on demand.
set -eu

cat >prog.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_SPAN("node");
    return 0;
}
END
$CC -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog "$PLUMB_LIB" \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")"

fail()
{
    echo "fv_13: $*" >&2
    exit 1
}

# Four ranks of one start, at once.
for rank in 0 1 2 3; do
    PLUMB_TRACE=1 PLUMB_QUIET=1 RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank PLUMB_RUN_DIR=$PWD/run$rank \
        ./prog &
done
wait
for rank in 0 1 2 3; do
    file=$("$PLUMB_BIN" export "run$rank" -o new/traces$rank/ 2>/dev/null) && fail 'a missing parent was made'
    file=$("$PLUMB_BIN" export "run$rank" -o all/ 2>/dev/null) || fail "rank $rank: no export"
    pid=$(jq .run.pid "run$rank/timing.json")
    start=$(zcat "$file" | jq -r .baseTimeNanoseconds)
    case $(basename "$file") in
    "$(hostname)_${pid}_rank$rank".[1-9]*.pt.trace.json.gz) ;;
    *) fail "rank $rank: the file is called '$file'" ;;
    esac
    gzip -t "$file" || fail "gzip does not accept '$file'"
    /usr/bin/python3 -c 'import gzip, json, sys
trace = json.load(gzip.open(sys.argv[1]))
assert trace["distributedInfo"] == {"rank": int(sys.argv[2]), "world_size": 4}, trace["distributedInfo"]
assert any(e.get("name") == "node" for e in trace["traceEvents"])' "$file" "$rank" ||
        fail "'$file' is not that of rank $rank"
    [ "${#start}" -ge 16 ] || fail "no start: '$start'"
    # The trace and its exports name the rank that recorded them.
    for trace in "run$rank" "$file"; do
        "$PLUMB_BIN" report trace "$trace" | grep -q ", rank $rank of 4$" || fail "$trace does not say its rank"
        "$PLUMB_BIN" report trace --format json "$trace" | jq -e ".rank == $rank and .world_size == 4" >/dev/null ||
            fail "$trace does not say its rank in JSON"
    done
    "$PLUMB_BIN" report trace --format json "run$rank" | jq -e ".facts[\"plumb.local_rank\"] == $rank" >/dev/null ||
        fail "run$rank does not say its local rank"
done
[ "$(ls all | wc -l)" = 4 ] || fail "files: $(ls all)"

# Four ranks that begin two runs each, in one second, below one folder; all traces go into one folder at
# once. No two writers share a file: process and rank distinguish the ranks, the time the runs of a process.
cat >twice.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    for (int run = 0; run < 2; run++) {
        if (plumb_start(NULL, NULL) < 0)
            return 1;
        {
            PLUMB_SPAN("node");
        }
        if (plumb_stop(NULL) < 0)
            return 1;
    }
    return 0;
}
END
$CC -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" twice.c -o twice "$PLUMB_LIB" \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")"
for rank in 0 1 2 3; do
    PLUMB_TRACE=1 PLUMB_QUIET=1 RANK=$rank WORLD_SIZE=4 PLUMB_DIR=$PWD/shared ./twice &
done
wait
find shared -name trace.pftrace >traces.txt
[ "$(wc -l <traces.txt)" = 8 ] || fail "8 runs left $(wc -l <traces.txt) traces: $(find shared)"
while read -r trace; do
    "$PLUMB_BIN" export "$(dirname "$trace")" -o together/ >>exported.txt 2>>exported_err.txt &
done <traces.txt
wait
[ "$(ls together | wc -l)" = 8 ] || fail "8 runs, $(ls together | wc -l) files: $(cat exported_err.txt; ls together)"
[ "$(sort -u exported.txt | wc -l)" = 8 ] || fail "two exports name one file: $(sort exported.txt)"
/usr/bin/python3 -c 'import collections, gzip, json, pathlib
ranks = collections.Counter()
for file in pathlib.Path("together").iterdir():
    trace = json.load(gzip.open(file))
    rank = trace["distributedInfo"]["rank"]
    assert "_rank%d." % rank in file.name, (file, rank)
    ranks[rank] += 1
assert ranks == {0: 2, 1: 2, 2: 2, 3: 2}, ranks' || fail 'a file holds the trace of another'
