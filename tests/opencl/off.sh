#!/bin/sh
# labels: plain
# The layer without a recording changes nothing: without a runtime in the process, with one that is off, and with one that
# does not want this collector.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"

for way in in_order info; do
    name=$way
    ./prog $way >alone.txt || fail "alone: status $?"
    OPENCL_LAYERS=$layer ./prog $way >out.txt 2>err.txt || fail "without plumb: status $?"
    cmp alone.txt out.txt || fail "without plumb: another output"
    empty err.txt
    LD_PRELOAD=$PLUMB_LIB OPENCL_LAYERS=$layer ./prog $way >out.txt 2>err.txt || fail "off: status $?"
    cmp alone.txt out.txt || fail "off: another output"
    empty err.txt
    CHECK_OUT=$PWD/check.txt LD_PRELOAD=$PLUMB_LIB OPENCL_LAYERS=$PWD/check.so:$layer PLUMB=1 PLUMB_COLLECT=none \
        PLUMB_RUN_DIR=$PWD/none-$way PLUMB_QUIET=1 ./prog $way >out.txt 2>err.txt || fail "none: status $?"
    cmp alone.txt out.txt || fail "none: another output"
    grep -q 'left 0' check.txt || fail "none: $(cat check.txt)"
done
# Nobody's event was asked for: that of the blocking read, which the program does not want, is not made.
CHECK_OUT=$PWD/check.txt LD_PRELOAD=$PLUMB_LIB OPENCL_LAYERS=$PWD/check.so:$layer PLUMB=1 PLUMB_COLLECT=none \
    PLUMB_RUN_DIR=$PWD/none PLUMB_QUIET=1 ./prog in_order >out.txt 2>err.txt
grep -q 'made 0 left 0' check.txt || fail "none: $(cat check.txt)"

# Nothing of OpenCL in the program, and a layer that is not installed.
expect nothing 0 "$PLUMB_BIN" record --collect opencl --dir nothing -- true
has err.txt 'nothing was recorded' 'made no queue of OpenCL'
mkdir bare
cp "$lib_dir/libplumb.so.0" bare/
PLUMB_LIBRARY=$PWD/bare/libplumb.so.0 expect missing 125 "$PLUMB_BIN" record --collect opencl -- true
has err.txt "--collect opencl needs '$PWD/bare/libplumb-opencl.so', which is not there"
exit "$((failures > 0))"
