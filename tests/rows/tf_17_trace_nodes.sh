#!/bin/sh
# labels: plain
# TF-17: a list of names, of shell patterns, or * selects the nodes that get a trace of their own;
# selected nodes may nest. TF-20: files are named by node and rank, with unsafe characters replaced.
# TF-21: the breakdown lists what ran inside by own time.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

# spans FILE: the names of its spans, sorted, with how often they are there
spans() {
    gzip -dc "$1" | python3 -c 'import json, sys, collections
t = json.load(sys.stdin)
n = collections.Counter(e["name"] for e in t["traceEvents"] if e["ph"] == "X")
print(" ".join("%s:%d" % k for k in sorted(n.items())))'
}
# holds FILE SPANS
holds() {
    gzip -t "$1" || fail "$name: $1 is damaged"
    [ "$(spans "$1")" = "$2" ] || fail "$name: $1 holds $(spans "$1")"
}

expect 'patterns' 7 env PLUMB_RUN_DIR=run 'PLUMB_TRACE_NODES= before , plumb.*step,no*such' ./prog
step=plumb.region::profiler_region_training_train_one_step
holds run/before_rank0.trace.json.gz 'before:1 work:1'
holds run/${step}_rank0.trace.json.gz "$step:2 work:2"
[ "$(find run -name '*_rank0.trace.json.gz' | wc -l)" = 2 ] || fail "patterns: $(ls run)"
[ "$(find run -name '*.part' -o -name '*.tmp')" = '' ] || fail "patterns: $(ls run)"
has err.txt "PLUMB_TRACE_NODES: no node that ran matches 'no*such'"
python3 - run/before_rank0.breakdown.json <<'END' || fail 'patterns: the breakdown'
import json, sys
b = json.load(open(sys.argv[1]))
assert list(b)[:2] == ["name", "rank"], b
assert b["name"] == "before" and b["rank"] == 0 and b["runs"] == 1, b
assert b["top_kernels"] == [] and b["num_kernels"] == 0 and b["total_kernel_time_ms"] == 0, b
assert b["num_host_ops"] == len(b["top_host_ops"]) <= 50, b
END

expect 'nested' 7 env PLUMB_RUN_DIR=nested 'PLUMB_TRACE_NODES=before,work' RANK=3 WORLD_SIZE=4 ./prog
holds nested/before_rank3.trace.json.gz 'before:1 work:1'
holds nested/work_rank3.trace.json.gz 'work:4'
grep -q '"rank": 3' nested/work_rank3.breakdown.json || fail "nested: $(cat nested/*.json)"

expect 'all' 7 env PLUMB_RUN_DIR=all 'PLUMB_TRACE_NODES=*' ./prog '../own "region"'
has err.txt 'expect large files'
[ "$(find all -name '*_rank0.trace.json.gz' | wc -l)" = 8 ] || fail "all: $(ls all)"
[ "$(find all -name '*_rank0.breakdown.json' | wc -l)" = 8 ] || fail "all: $(ls all)"
[ "$(find . -name '*region"*' | grep -vc '^\./all/')" = 0 ] || fail 'all: a name left its folder'

# Alone it keeps the trace to these nodes as well; with PLUMB_TRACE that has the whole run.
strings run/trace.pftrace | grep -q before || fail 'alone: no trace'
strings run/trace.pftrace | grep -q between && fail 'alone: the trace has other nodes'
expect 'both' 7 env PLUMB_RUN_DIR=both PLUMB_TRACE=1 PLUMB_TRACE_NODES=before ./prog
strings both/trace.pftrace | grep -q between || fail 'both: the trace lacks other nodes'
holds both/before_rank0.trace.json.gz 'before:1 work:1'

# Of a killed process the files are made by whoever reads the run, and nothing of its own is left.
expect 'killed' 137 env PLUMB_RUN_DIR=killed 'PLUMB_TRACE_NODES=before,plumb.*step' ./prog own kill
expect 'recovered' 0 "$PLUMB_BIN" report killed
holds killed/before_rank0.trace.json.gz 'before:1 work:1'
holds killed/${step}_rank0.trace.json.gz "$step:2 work:2"
grep -q '"runs": 2' killed/${step}_rank0.breakdown.json || fail "recovered: $(cat killed/*.json)"
[ "$(find killed -name '*.part' -o -name '*.tmp*')" = '' ] || fail "recovered: $(ls killed)"
expect 'killed in a region' 137 env PLUMB_RUN_DIR=region PLUMB_REGIONS=training_step ./prog own kill
expect 'recovered' 0 "$PLUMB_BIN" report region
strings region/trace.pftrace | grep -q "$step" || fail 'recovered: the trace has no region'
strings region/trace.pftrace | grep -qx before && fail 'recovered: the trace has more than the region'
finish
