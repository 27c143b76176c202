# Shared by the tests of traces of single nodes; sourced after _regions.sh.
# shellcheck shell=sh
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
step=plumb.region::profiler_region_training_train_one_step
