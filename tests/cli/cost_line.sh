#!/bin/sh
# labels: plain
# The cost of plumb itself, in the end block and in timing.json: of spans around work and in a loop, and
# the processor time of its own threads.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
lib_dir=$(dirname "$PLUMB_LIB")
cat >prog.c <<'C'
#include <plumb/plumb.h>
#include <time.h>
int main(void)
{
    const struct timespec ms = {0, 1000000};
    for (int i = 0; i < 50; i++) {
        PLUMB_SPAN("work");
        nanosleep(&ms, NULL);
    }
    return 0;
}
C
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog -L"$lib_dir" \
    -lplumb -Wl,-rpath,"$lib_dir" || exit 1
expect "a run" 0 env PLUMB_RUN_DIR="$PWD/run" PLUMB_TRACE=1 ./prog
grep -qE '^plumb: 1 node, 50 spans in [0-9.]+ s; cost about [0-9.]+ ms \([0-9.]+ ns a span around work, [0-9.]+ in a loop\) and [0-9.]+ ms of processor time in plumb.s own threads$' err.txt ||
    fail "the end block: $(cat err.txt)"
jq -e '.overhead | .spans == 50 and .span_ns > 0 and .work_span_ns >= .span_ns and .threads_ns > 0 and
    .threads_ms * 1e6 - .threads_ns < 1 and .total_ns > 49.9 * .work_span_ns' run/timing.json >/dev/null ||
    fail "timing.json: $(jq -c .overhead run/timing.json)"
finish
