#!/bin/sh
# labels: plain
# TX-14: each of five symptoms yields its cause and its cure, with the rule that found it and the figures; figures on
# the other side of a threshold yield nothing. On a simulated device, and in traces made by hand.
set -u
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

cat >host.c <<'C'
#include <plumb/fake.h>
#include <plumb/plumb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits until the device is done. */
static void finish(uint64_t ns)
{
    plumb_fake_advance(ns);
}

/* Parts two spans: a launch at an end that is also a beginning would be of either. */
static void part(void)
{
    plumb_fake_advance(1000);
}

/* One kernel after the other, all for one filter. */
static void cascade(int launches, uint64_t ns)
{
    PLUMB_SPAN("filter");
    for (int i = 0; i < launches; i++) {
        plumb_fake_enqueue(0, 0, "biquad", ns);
        plumb_fake_advance(ns);
    }
    finish(1000000);
}

static void float64(uint64_t wide_ns, uint64_t narrow_ns)
{
    PLUMB_SPAN("resample");
    plumb_fake_enqueue(0, 0, "fir_f64_kernel", wide_ns);
    plumb_fake_enqueue(0, 0, "fir_f32_kernel", narrow_ns);
    plumb_fake_enqueue(0, 0, "doubled_window", narrow_ns); /* another word */
    finish(wide_ns + 2 * narrow_ns);
}

static void chunks(int steps, int kernels, uint64_t gap_ns)
{
    char name[32];
    for (int s = 0; s < steps; s++) {
        part();
        PLUMB_STEP(s);
        PLUMB_SPAN("chunk");
        for (int i = 0; i < kernels; i++) {
            snprintf(name, sizeof name, "stage%d", i);
            plumb_fake_enqueue(0, 0, name, 5000);
            plumb_fake_advance(5000 + gap_ns);
        }
        finish(100000);
    }
}

static void files(int count, uint64_t idle_ns)
{
    for (int i = 0; i < count; i++) {
        part();
        PLUMB_SPAN("file");
        plumb_fake_enqueue(0, 0, "decode", 30000);
        plumb_fake_enqueue(0, 0, "encode", 30000);
        plumb_fake_advance(60000 + idle_ns);
    }
    finish(1000000);
}

int main(int argc, char **argv)
{
    long a[3] = {0};
    {
        PLUMB_SPAN("warm-up"); /* opens the run */
    }
    for (int i = 2; i < argc && i < 5; i++)
        a[i - 2] = strtol(argv[i], NULL, 10);
    if (strcmp(argv[1], "cascade") == 0)
        cascade((int)a[0], (uint64_t)a[1]);
    else if (strcmp(argv[1], "float64") == 0)
        float64((uint64_t)a[0], (uint64_t)a[1]);
    else if (strcmp(argv[1], "chunks") == 0)
        chunks((int)a[0], (int)a[1], (uint64_t)a[2]);
    else
        files((int)a[0], (uint64_t)a[1]);
    return 0;
}
C
$CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" host.c -o host -ldl -lpthread || fail 'the host is not built'

# advice SOURCE WHAT ID WORDS: the report has exactly this advice, with words in its evidence; ID "": none
advice() {
    "$PLUMB_BIN" report kernels --format json "$1" >out.json 2>err.txt || fail "$2: $(cat err.txt)"
    jq -e --arg id "$3" --arg words "$4" 'if $id == "" then .advice == [] else
        (.advice | length) == 1 and (.advice[0] | .id == $id and (.evidence | contains($words)) and
        (.symptom | length) > 9 and (.rule | length) > 9 and (.cause | length) > 9 and (.cure | length) > 9) end' \
        out.json >/dev/null || fail "$2: $(jq -c .advice out.json)"
}

# device ID WORDS ARGUMENT...
device() {
    id=$1 words=$2
    shift 2
    rm -rf run
    PLUMB_CLOCK=virtual PLUMB_COLLECT=fake PLUMB_TRACE=1 "$PLUMB_BIN" record --run-dir run -- ./host "$@" >/dev/null \
        2>err.txt || fail "$*: $(cat err.txt)"
    advice run "$*" "$id" "$words"
}

device fuse 'biquad: 32 launches, mean 19.0 us, 31 directly after' cascade 32 19000
device '' '' cascade 31 19000
device '' '' cascade 32 20000
device float64 '10 % of the time of devices; the longest: fir_f64_kernel' float64 20000 90000
device '' '' float64 10000 90000
device replay '3 steps with the same 8 kernels, mean 5.0 us' chunks 3 8 6000
device '' '' chunks 2 8 6000
device '' '' chunks 3 7 6000
device '' '' chunks 3 8 4000
device batch 'file: 16 runs with the same 2 kernels, mean 130.0 us; the kernels take 46 %' files 16 70000
device '' '' files 15 70000
device '' '' files 16 50000
device '' '' files 16 9950000

# hand FILE EVENT...: kernels launched by operators. An event is NAME TIME SHAPE TYPE of a kernel.
hand() {
    file=$1 at=1000
    shift
    printf '{"traceEvents": [' >"$file"
    while [ $# -gt 0 ]; do
        [ $at = 1000 ] || printf ',\n' >>"$file"
        printf '{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":%d,"dur":9,
            "args":{"Input Dims":[%s],"Input type":["%s"]}},
            {"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{}},
            {"ph":"s","cat":"ac2g","name":"ac2g","pid":1,"tid":1,"ts":%d,"id":%d},
            {"ph":"f","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":%d,"id":%d,"bp":"e"}' \
            $at "$3" "$4" "$1" $((at + 20)) "$2" $((at + 1)) $at $((at + 20)) $at >>"$file"
        at=$((at + 1000))
        shift 4
    done
    printf ']}\n' >>"$file"
}

hand float.json 'gemm<double>' 90 '[4,4]' float 'gemm<float>' 10 '[4,4]' float
advice float.json 'converted to float64' float64 '90 % of the time of devices; the longest: gemm<double>, types of its inputs: float'
hand wanted.json 'gemm<double>' 90 '[4,4]' double
advice wanted.json 'float64 that was asked for' '' ''
hand high.json scan_sequential 80 '[2,4096]' float scan_parallel 60 '[2,8192]' float
advice high.json 'the parallel scan is faster' threshold \
    'scan_sequential: mean 80.0 us for 8192 elements, and scan_parallel 60.0 us for 16384: the threshold is too high'
hand low.json scan_sequential 50 '[2,4096]' float scan_parallel 60 '[2,2048]' float
advice low.json 'the sequential scan is faster' threshold 'the threshold is too low'
hand right.json scan_sequential 50 '[2,4096]' float scan_parallel 60 '[2,8192]' float
advice right.json 'they cross in between' '' ''
hand others.json scan_a_sequential 80 '[2,4096]' float scan_b_parallel 60 '[2,8192]' float
advice others.json 'two scans' '' ''

"$PLUMB_BIN" report kernels high.json >out.txt || fail 'as text'
for line in '^Advice$' '^threshold: the slower of two variants of a scan is chosen$' '^  found: scan_sequential: mean' \
    '^  rule: ' '^  cause: ' '^  cure: set the threshold (threshold=)'; do
    grep -q "$line" out.txt || fail "no line '$line': $(cat out.txt)"
done
"$PLUMB_BIN" report kernels --format md high.json | grep -q '^- cure: set the threshold' || fail 'as Markdown'

exit $((failures > 0))
