#!/bin/sh
# labels: plain
# The call stack of a span names the function that has the mark, and those that called it, however the
# program is optimised and however its marks begin.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
lib_dir=$(dirname "$PLUMB_LIB")
export PLUMB_QUIET=1

cat >stacks.c <<'END'
#include <plumb/plumb.h>
volatile double sink;
static volatile int laps;
#define MARKED __attribute__((noinline)) void
MARKED in_span(void) { PLUMB_SPAN("span"); sink += 1; }
MARKED in_node(void) { PLUMB_SPAN_NODE(plumb_node_get("node")); sink += 1; }
MARKED in_stage(void) { PLUMB_STAGE(s, "stage"); sink += 1; }
MARKED in_region(void) { PLUMB_REGION("region"); sink += 1; }
MARKED in_laps(void)
{
    PLUMB_LAPS(l);
    for (int i = 0; i < laps; i++) {
        PLUMB_LAP(l, "lap1");
        sink += 1;
        PLUMB_LAP(l, "lap2");
        sink += 1;
    }
}
MARKED in_caller(void)
{
    in_span();
    sink += 1;
    in_node();
    sink += 1;
    in_stage();
    sink += 1;
    in_region();
    sink += 1;
    in_laps();
    sink += 1;
}
int main(void)
{
    laps = 2;
    plumb_region_register("region", "a part", NULL);
    for (int i = 0; i < 3; i++) {
        in_caller();
        sink += 1;
    }
    return 0;
}
END

# check DIR NODE FUNCTION RUNS: the stack of every run of the node.
check() {
    expect "$2 in $1" 0 "$PLUMB_BIN" report slowest "$2" --top 20 "$1"
    n=$(grep -Ec "=$3 \(stacked\) stack\.[0-9]+=in_caller \(stacked\) stack\.[0-9]+=main \(stacked\)" out.txt)
    [ "$n" = "$4" ] || fail "$1: $n of $4 stacks lead from $3 to main: $(cat out.txt)"
}

for level in -O0 -O1 -O2; do
    $CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" "$level" -fno-omit-frame-pointer \
        stacks.c -o stacked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir" || exit 1
    for clock in tsc monotonic virtual; do
        PLUMB=1 PLUMB_TRACE=1 PLUMB_TRACE_STACK=1 PLUMB_CLOCK=$clock PLUMB_RUN_DIR=$PWD/run$level-$clock ./stacked
        check "run$level-$clock" span in_span 3
        check "run$level-$clock" node in_node 3
        check "run$level-$clock" stage in_stage 3
        check "run$level-$clock" plumb.region::profiler_region_region in_region 3
        check "run$level-$clock" lap1 in_laps 6
        check "run$level-$clock" lap2 in_laps 6
    done
done
finish
