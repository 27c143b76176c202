#!/bin/sh
# plumb report counts: exact, by node, phase and step; the same bytes for the same program, whatever the
# order of its threads; one more dispatch is seen; a killed run has its counts; more steps than are kept.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_counts.c" counts
record() {
    run=$1
    shift
    PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/$run PLUMB_COLLECT=fake ./counts "$@" >/dev/null 2>"$run.err"
}
report() {
    "$PLUMB_BIN" report counts "$@"
}
# is STEP KIND NAME VALUE FILTER: the value of these rows is that
is() {
    got=$(jq "[.counts[] | select(.step == $1 and .kind == \"$2\" and .name == \"$3\" and ($5)) | .value] | add" out.txt)
    [ "$got" = "$4" ] || fail "$name: $2 of $3 at step $1 is $got, not $4"
}

record first
expect 'the whole run' 0 report --format json first
cp out.txt first.json
# 4 threads, 20 steps; layers: 0 1 2 0 1 2 ... = 6 * 3 + 1 = 19 of 20 steps
is null dispatches gemm 80 '.node == "step"'
is null dispatches gemm 40 '.phase == "train"'
is null dispatches conv 52 true
is null dispatches relu 24 '.node == "layer"'
is null user elements $((19 * 4 * 1000 + 19 * 6)) true
is null user started 1 '.node == "" and .phase == "inference"'
is null user started 310 '.node == "" and .phase == "val"'
is null user started 3000 '.node == "start" and .phase == "inference"'
is null user started 30000 '.node == "start" and .phase == "train"'
is 1 user started 1100 '.phase != "train"'
is 1 user started 10000 '.phase == "train"'
jq -e '[.counts[] | select(.name == "started" and .step == null) | .calls] | add == 11' out.txt >/dev/null ||
    fail "started: $(grep started out.txt)"
[ "$(jq '.counts[] | select(.name == "started") | .total' first/timing.json)" = 33311 ] ||
    fail "the pipeline's sum: $(jq .counts first/timing.json)"
is null launches fake:0 80 '.node == "step"'
is null synchronisations fake:0 80 true
is null allocations dev:3/pool 19 '.phase == "train"'
is null allocated_bytes dev:3/pool $((13 * 64 + 6 * 128)) true
is null peak_bytes dev:3/pool 192 '.node == "step"'
is 1 peak_bytes dev:3/pool 64 '.node == "step"'
is 2 peak_bytes dev:3/pool 192 '.node == "step"'
is 3 peak_bytes dev:3/pool null true
is 2 dispatches conv 4 true
is 2 dispatches relu 2 '.phase == "val"'
is 3 dispatches conv null true
is 5 user elements $((2 * 4 * 1000 + 2 * 6)) true
is 5 launches fake:0 4 true
is 5 allocations dev:1/pool 2 true
jq -e '[.counts[] | select(.runs != null and .node == "step" and .name == "gemm") | .runs] == [40, 40]' out.txt >/dev/null ||
    fail "runs: $(grep gemm out.txt)"
jq -e '[.counts[] | select(.step != null and .kind == "dispatches") | .value] | add == 156' out.txt >/dev/null ||
    fail 'the steps do not add up to the run'

for again in 1 2 3 4 5; do
    record again$again
    expect "again $again" 0 report --format json again$again
    cmp -s first.json out.txt || fail "$name: other counts: $(diff first.json out.txt | head -20)"
done
for by in node step phase; do
    expect "by $by" 0 report --format csv --by $by first
    [ "$(awk -F, '$5 == "dispatches" { n += $8 } END { print n }' out.txt)" = 156 ] || fail "$name: $(cat out.txt)"
done

# Page faults have parts too, which add up, over the phases of a node as well.
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/faults PLUMB_COLLECT=fake,perf ./counts >/dev/null 2>faults.err
expect 'page faults' 0 report --format json faults
jq -e '[.counts[] | select(.kind == "page_faults")] | map(select(.step == null)) as $whole |
    ($whole | length == 2) and ($whole | map(.runs) == [40, 40]) and
    (map(select(.step != null).value) | add) == ($whole | map(.value) | add)' out.txt >/dev/null ||
    fail "$name: $(jq -c '.counts[] | select(.kind == "page_faults")' out.txt | head -60)"
whole=$(jq '[.counts[] | select(.kind == "page_faults" and .step == null) | .value] | add' out.txt)
expect 'page faults by node' 0 report --format json --by node faults
is null page_faults '' "$whole" '.node == "step"'

record more extra
expect 'one more dispatch' 0 report --format json more
[ "$(diff first.json out.txt | grep -c '^>')" = 2 ] || fail "$name: $(diff first.json out.txt)"
is null dispatches gemm 41 '.phase == "val" and .node == "step"'
is 7 dispatches gemm 3 '.phase == "val"'

record killed killed
[ -e killed/timing.json ] && fail 'the killed run has a report already'
expect 'a killed run' 0 report --format json killed
jq -S '[.counts[] | select(.kind != "peak_bytes")]' out.txt >killed.json
jq -S '[.counts[] | select(.kind != "peak_bytes")]' first.json >whole.json
cmp -s whole.json killed.json || fail "$name: $(diff whole.json killed.json | head -20)"

record many many
expect 'more steps than are kept' 0 report --format json --by node many
jq -e '.counts[] | select(.node == "step" and .kind == "dispatches") | .calls == 70000 and .value == 70000' out.txt >/dev/null ||
    fail "$name: $(cat out.txt)"
expect 'their steps' 0 report --format json many
jq -e '([.counts[] | select(.step != null and .kind == "dispatches") | .value] | add) + .steps_lost == 70000 and .steps_lost > 0' out.txt >/dev/null ||
    fail "$name: $(tail -3 out.txt)"
expect 'in words' 0 report --by node many
has out.txt 'counts are in the rows of the whole run alone'

# Bytes of malloc are those of blocks, which are a little larger at times; how often it is called is exact. Sanitizers have
# an allocator of their own.
if [ "$PLUMB_BUILD_KIND" = plain ]; then
    for run in malloc1 malloc2 malloc3; do
        PLUMB_RUN_DIR=$PWD/$run PLUMB_QUIET=1 PLUMB_COLLECT=fake "$PLUMB_BIN" record --malloc -- ./counts >/dev/null 2>$run.err
        expect "malloc of $run" 0 report --format json $run
        is null allocations cpu/malloc 28 '.node == "step"'
        is 0 allocations cpu/malloc 4 '.node == "step"'
        is 1 allocations cpu/malloc null true
        is 3 allocations cpu/malloc 4 true
        jq '[.counts[] | select(.kind == "allocations")]' out.txt >$run.json
    done
    cmp -s malloc1.json malloc2.json && cmp -s malloc1.json malloc3.json ||
        fail "allocations differ: $(diff malloc1.json malloc2.json | head -20; diff malloc1.json malloc3.json | head -20)"
fi
[ "$failures" = 0 ]
