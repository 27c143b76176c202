#!/bin/sh
# labels: plain
# TF-20: trace and breakdown of a node are named by node and rank, with unsafe characters replaced; also
# where the process was killed.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_nodes.sh"

expect 'rank' 7 env PLUMB_RUN_DIR=rank PLUMB_TRACE_NODES=work RANK=3 WORLD_SIZE=4 ./prog
holds rank/work_rank3.trace.json.gz 'work:4'
grep -q '"rank": 3' rank/work_rank3.breakdown.json || fail "rank: $(cat rank/*.json)"
[ "$(find rank -name '*.part' -o -name '*.tmp')" = '' ] || fail "rank: $(ls rank)"

expect 'hostile' 7 env PLUMB_RUN_DIR=hostile 'PLUMB_TRACE_NODES=*own*' ./prog '../own "region"'
[ "$(find . -name '*region"*' | wc -l)" = 2 ] || fail "hostile: $(ls hostile)"
[ "$(find . -name '*region"*' | grep -vc '^\./hostile/')" = 0 ] || fail 'hostile: a name left its folder'
for file in hostile/*.json.gz; do
    holds "$file" 'plumb.region::profiler_region_../own "region":1 work:1'
done

expect 'a folder that is full' 7 env PLUMB_TRACE=1 PLUMB_RUN_DIR=/dev/full/x PLUMB_TRACE_NODES=work ./prog
has out.txt done

# Of a killed process the files are made by whoever reads the run, and nothing of its own is left.
expect 'killed' 137 env PLUMB_RUN_DIR=killed 'PLUMB_TRACE_NODES=before,plumb.*step' ./prog own kill
expect 'recovered' 0 "$PLUMB_BIN" report killed
holds killed/before_rank0.trace.json.gz 'before:1 work:1'
holds killed/${step}_rank0.trace.json.gz "$step:2 work:2"
grep -q '"runs": 2' killed/${step}_rank0.breakdown.json || fail "recovered: $(cat killed/*.json)"
[ "$(find killed -name '*.part' -o -name '*.tmp*')" = '' ] || fail "recovered: $(ls killed)"
finish
