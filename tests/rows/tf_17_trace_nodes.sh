#!/bin/sh
# labels: plain
# TF-17: a list of names, of shell patterns, or * selects the nodes that get a trace of their own;
# selected nodes may nest.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_nodes.sh"

expect 'patterns' 7 env PLUMB_RUN_DIR=run 'PLUMB_TRACE_NODES= before , plumb.*step,no*such' ./prog
holds run/before_rank0.trace.json.gz 'before:1 work:1'
holds run/${step}_rank0.trace.json.gz "$step:2 work:2"
[ "$(find run -name '*_rank0.trace.json.gz' | wc -l)" = 2 ] || fail "patterns: $(ls run)"
has err.txt 'traces of single nodes: 2, <node>_rank0.trace.json.gz' \
    "PLUMB_TRACE_NODES: no node that ran matches 'no*such'"

expect 'nested' 7 env PLUMB_RUN_DIR=nested 'PLUMB_TRACE_NODES=before,work' ./prog
holds nested/before_rank0.trace.json.gz 'before:1 work:1'
holds nested/work_rank0.trace.json.gz 'work:4'

expect 'all' 7 env PLUMB_RUN_DIR=all 'PLUMB_TRACE_NODES=*' ./prog
has err.txt 'expect large files'
[ "$(find all -name '*_rank0.trace.json.gz' | wc -l)" = 7 ] || fail "all: $(ls all)"
[ "$(find all -name '*_rank0.breakdown.json' | wc -l)" = 7 ] || fail "all: $(ls all)"

# A name that reads as a pattern is a name too; escaped it is only a name.
cat >brackets.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_SPAN("x[1]");
    }
    PLUMB_SPAN("x1");
    return 0;
}
END
$CC -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" brackets.c -o brackets -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" || fail 'the program with brackets'
expect 'brackets' 0 env PLUMB_RUN_DIR=brackets.run 'PLUMB_TRACE_NODES=x[1]' ./brackets
[ "$(find brackets.run -name '*.trace.json.gz' | wc -l)" = 2 ] || fail "brackets: $(ls brackets.run)"
expect 'escaped' 0 env PLUMB_RUN_DIR=escaped 'PLUMB_TRACE_NODES=x\[1]' ./brackets
holds "$(find escaped -name '*.trace.json.gz')" 'x[1]:3'

# Alone it keeps the trace to these nodes as well; with PLUMB_TRACE that has the whole run.
grep -qa before run/trace.pftrace || fail 'alone: no trace'
grep -qa between run/trace.pftrace && fail 'alone: the trace has other nodes'
expect 'both' 7 env PLUMB_RUN_DIR=both PLUMB_TRACE=1 PLUMB_TRACE_NODES=before ./prog
grep -qa between both/trace.pftrace || fail 'both: the trace lacks other nodes'
holds both/before_rank0.trace.json.gz 'before:1 work:1'

expect 'ring' 7 env PLUMB_RUN_DIR=ring PLUMB_TRACE_MODE=ring PLUMB_TRACE_NODES=before ./prog
has err.txt 'PLUMB_TRACE_NODES does nothing with PLUMB_TRACE_MODE=ring'
finish
