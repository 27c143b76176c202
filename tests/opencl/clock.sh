#!/bin/sh
# labels: plain
# Kernels lie in the trace where they ran on the host's clock, within the stated bound: where the driver's clock is seen
# in the times of commands alone, and where it can be read. A clock that is not that of commands is not believed.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"
build _clock.c clock -lOpenCL || exit 1

# timed NAME CHECK: recorded over the layer that can pretend
timed() {
    name=$1
    CHECK=$2 CHECK_OUT=$PWD/$1.check OPENCL_LAYERS=$PWD/check.so record "$1" ./clock >"$1.txt" 2>"$1.err" || fail "$1: $(cat "$1.err")"
    "$PLUMB_BIN" export --format csv -o "$1.csv" "$1" >out.txt 2>&1 || fail "$1: $(cat out.txt)"
    /usr/bin/python3 "$here/_clock.py" "$1.csv" "$1.txt" || fail "$1: times are wrong"
}

timed plain ''
grep -q 'timers none' plain.check || fail "the timer was read: $(cat plain.check)"
timed timer timer
grep -q 'timers read' timer.check || fail "the timer was not read: $(cat timer.check)"
[ "$(state timer '.clocks[0].bound_ns < 100000')" = true ] || fail "timer: $(state timer .clocks)"
timed wrong wrong-timer
grep -q 'timers read' wrong.check || fail "the timer was not tried: $(cat wrong.check)"
[ "$(state plain '.clocks[0].jumps')" = 0 ] || fail "plain: $(state plain .clocks)"

# Device time counts for the stage that launched it, waiting for the one that waited.
"$PLUMB_BIN" report plain >out.txt 2>&1
grep -q '^launch .* 120 ' out.txt || fail "no works of launch in: $(cat out.txt)"
grep -q '^wait .* waiting for launch' out.txt || fail "no wait in: $(cat out.txt)"
exit "$((failures > 0))"
