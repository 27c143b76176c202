#!/bin/sh
# labels: plain
# A request that cannot be met is reported: a setting without effect under the other settings, a rule for a node
# that does not exist, steps that no loop reached.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >prog.c <<'END'
#include <dlpack/dlpack.h>
#include <plumb/plumb.h>

int main(void)
{
    float values[2] = {1, 2};
    int64_t shape[] = {2};
    DLTensor tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    DLTensor none = {NULL, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    plumb_node layer = plumb_node_get("layer");

    for (PLUMB_STEPS(step, 3)) {
        PLUMB_SPAN("denoise_step");
        plumb_activation(layer, "out", &tensor);
        plumb_activation(layer, "none", &none);
    }
    return 0;
}
END
lib_dir=$(dirname "$PLUMB_LIB")
$CC -std=gnu11 -O2 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" || exit 1
run() {
    env PLUMB=1 "$@" ./prog
}

expect 'nothing is idle' 0 run PLUMB_TRACE=1 PLUMB_TRACE_STEPS=1
lacks err.txt 'does nothing'
lacks err.txt 'PLUMB_TRACE_STEPS'
expect 'a rule without a trace' 0 run 'PLUMB_KEEP_IF=denoise_step>1s'
has err.txt 'plumb: PLUMB_KEEP_IF does nothing without a trace that is kept in a ring: set PLUMB_TRACE=1 PLUMB_TRACE_MODE=ring'
expect 'a rule without a ring' 0 run PLUMB_TRACE=1 PLUMB_KEEP_SIGNAL=USR2
has err.txt 'PLUMB_KEEP_SIGNAL does nothing because the trace is not kept in a ring: set PLUMB_TRACE_MODE=ring'
expect 'a ring without a trace' 0 "$PLUMB_BIN" record --trace-mode ring -- ./prog
has err.txt 'plumb: PLUMB_TRACE_MODE does nothing without a trace: set PLUMB_TRACE=1'
expect 'layers without activations' 0 run PLUMB_ACTIVATIONS_LAYERS=x
has err.txt 'plumb: PLUMB_ACTIVATIONS_LAYERS does nothing without activations: set PLUMB_ACTIVATIONS=1'

expect 'rules for nodes' 0 run PLUMB_TRACE=1 PLUMB_TRACE_MODE=ring \
    'PLUMB_KEEP_IF=denoise_stap>1s,denoise_step>1s' PLUMB_RUN_DIR="$PWD/kept"
has err.txt "plumb: PLUMB_KEEP_IF: no node that ran is called 'denoise_stap': did you mean 'denoise_step'?"
[ "$(grep -c PLUMB_KEEP_IF err.txt)" = 1 ] || fail "not one line on rules: $(cat err.txt)"
expect 'the report tells it too' 0 "$PLUMB_BIN" report kept
has err.txt "no node that ran is called 'denoise_stap'"

expect 'steps of the trace' 0 run PLUMB_TRACE=1 PLUMB_TRACE_STEPS=7-9
has err.txt 'plumb: PLUMB_TRACE_STEPS: no span ran in the steps 7-9, so the trace has none'
expect 'steps of activations' 0 run PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STEPS=7-9
has err.txt "PLUMB_ACTIVATIONS_STEPS: the program came to none of the steps '7-9', its last was 2: no activations were recorded"
expect 'steps that come' 0 run PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STEPS=1
lacks err.txt PLUMB_ACTIVATIONS_STEPS

expect 'tensors that cannot be kept' 0 run PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_DUMP=layer \
    PLUMB_ACTIVATIONS_DUMP_BYTES=8
has err.txt 'plumb: 3 tensors were not kept whole: no data that can be read' \
    'plumb: 2 tensors were not kept whole: PLUMB_ACTIVATIONS_DUMP_BYTES is used up'
finish
