#!/bin/sh
# labels: plain
# plumb report kernels: the kernels of a device with stage, step and count, apart from the operators that launched
# them; the same from the run, its trace and its export; and options that make no sense are refused.
set -u
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

cat >host.c <<'C'
#include <plumb/fake.h>
#include <plumb/plumb.h>

int main(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_STEP(i);
        PLUMB_SPAN("denoise");
        {
            PLUMB_SPAN("matmul");
            plumb_fake_enqueue(0, 0, "gemm", 200000);
        }
        uint64_t last = plumb_fake_enqueue(0, 0, "relu", 50000);
        plumb_fake_advance(400000);
        plumb_fake_wait(last);
    }
    return 0;
}
C
sed '/PLUMB_SPAN/d; s/^{$/{ plumb_start(NULL, NULL);/' host.c >alone.c
$CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" alone.c -o alone -ldl -lpthread || fail 'the host without spans is not built'
$CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" host.c -o host -ldl -lpthread || fail 'the host is not built'
PLUMB_CLOCK=virtual PLUMB_COLLECT=fake PLUMB_TRACE=1 "$PLUMB_BIN" record --run-dir run -- ./host >/dev/null 2>&1 ||
    fail 'the host is not recorded'
"$PLUMB_BIN" export run -o run/x_trace.json.gz >/dev/null 2>&1 || fail 'the run is not exported'

# is WHAT FILTER OPTION...: holds for the report as JSON
is() {
    what=$1 filter=$2
    shift 2
    "$PLUMB_BIN" report kernels --format json "$@" >out.json 2>err.txt || fail "$what: $(cat err.txt)"
    jq -e "$filter" out.json >/dev/null || fail "$what: $filter: $(jq -c '[.top_kernels, .top_ops]' out.json)"
}

for source in run run/trace.pftrace run/x_trace.json.gz; do
    is "$source" '.num_kernels == 2 and .launches == 6 and .unlinked == 0 and .queues == 1 and .threads == 1' $source
    is "$source" '.top_kernels[0] | .name == "gemm" and .ms == 0.6 and .count == 3 and .mean_us == 200 and
        .device_ms == 0.6 and .cuda_ms == null and .cpu_ms == 0 and .stage == "denoise" and .step == null' $source
    is "$source" '[.top_ops[].name] | (index("denoise") != null) and (index("gemm") == null)' $source
    is "$source" '.total_kernel_time_ms == 0.75 and .kernel_busy_ms == 0.75' $source
    is "$source" '.total_op_time_ms <= .wall_ms' $source
    is "$source: by step" '[.top_kernels[] | select(.name == "gemm") | .step] | sort == [0, 1, 2]' --by step $source
    is "$source: by stage" '[.top_kernels[].stage] == ["denoise", "denoise"]' --by stage $source
done
is 'the operator has the time of what it launched' \
    '[.top_ops[] | {(.name): .device_ms}] | add | .matmul == 0.6 and .denoise == 0.15' run
is top '(.top_kernels | length) == 1 and .top_kernels_not_shown == 1' --top 1 run

"$PLUMB_BIN" report kernels run >out.txt 2>err.txt || fail "text: $(cat err.txt)"
grep -q '^6 runs of 2 kernels: 0.750 ms' out.txt || fail "sums: $(cat out.txt)"
grep -q '^gemm  *kernel  *0.600 ' out.txt || fail "text: $(cat out.txt)"
"$PLUMB_BIN" report kernels --format csv --by shape run | head -n 1 >out.txt
[ "$(cat out.txt)" = name,kind,ms,cuda_ms,cpu_ms,device_ms,count,mean_us,grid,shape,dtype,stage,step ] ||
    fail "csv: $(cat out.txt)"
"$PLUMB_BIN" report kernels --format md --explain run | grep -q '^| gemm | kernel | 0.600 |' || fail md

# refused WORDS OPTION...
refused() {
    words=$1
    shift
    "$PLUMB_BIN" report "$@" >out.txt 2>err.txt
    [ $? = 2 ] && [ ! -s out.txt ] && grep -q "$words" err.txt || fail "$*: $(cat err.txt)"
}
refused 'name, shape, stage or step' kernels --by colour run
refused 'kernels' gaps --by name run
refused 'cannot read\|no such\|no run' kernels missing
printf 'not a trace' >text
refused 'text' kernels text

# A run without a span says what it has, and which views show it.
for trace in 0 1; do
    PLUMB_CLOCK=virtual PLUMB_COLLECT=fake PLUMB_TRACE=$trace "$PLUMB_BIN" record --run-dir alone.$trace -- ./alone >/dev/null 2>&1
    "$PLUMB_BIN" report alone.$trace >out.txt 2>err.txt || fail "no span: $(cat err.txt)"
    [ "$(cat out.txt)" = 'No profiling data collected.' ] || fail "no span: $(cat out.txt)"
done
grep -q "no span was recorded, but events of collectors: fake 9; 'plumb report kernels'" err.txt || fail "no span: $(cat err.txt)"

exit $((failures > 0))
