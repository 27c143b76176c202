#!/bin/sh
# labels: plain
# AT-7: one line of JSON a tensor, with its keys in order.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'keys' 0 a ./layers 2
same a/activations.jsonl 'map(keys_unsorted) | unique' \
    '[["module","tensor","step","abs_mean","sum","call","rank","seq","phase","io","dtype","shape","time"]]'
same a/activations.jsonl 'map(.seq) == [range(10)]' true
same a/activations.jsonl 'map(select(.module == "block.layers.0") | [.step, .call, .tensor, .io,
    .phase, .dtype, .shape]) | .[1]' '[1,0,"out","out","inference","float32",[2,3]]'
same a/activations.jsonl 'map(select(.module == "denoise") | [.tensor, .io])' \
    '[["in.latents","in"],["out.latents","out"]]'
same a/activations.jsonl 'map(.time > 1.7e9) | all' true
# The same module twice in a step: the call distinguishes the records.
trace 'calls' 0 b PLUMB_ACTIVATIONS_LAYERS=mlp ./layers no_steps
cat >twice.c <<'C'
#include <dlpack/dlpack.h>
#include <plumb/plumb.h>
int main(void)
{
    float x[1] = {1};
    DLTensor t = {x, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, 0, 0, 0};
    for (PLUMB_STEPS(step, 2))
        for (int guidance = 0; guidance < 2; guidance++)
            plumb_activation(plumb_node_get("dit"), "out", &t);
    return 0;
}
C
build -DPLUMB_LINKED twice.c -o twice -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
trace 'twice in a step' 0 c ./twice
same c/activations.jsonl 'map([.step, .call, .shape])' '[[0,0,[]],[0,1,[]],[1,0,[]],[1,1,[]]]'
# No (module, tensor, step, call) twice: one name by two paths, and more steps than plumb remembers.
trace 'two paths to one name' 0 d ./layers collide
same d/activations.jsonl 'map([.module, .step, .call])' '[["block.0",0,0],["block.0",0,1],["block.0",1,0],["block.0",1,1]]'
has err.txt 'attached to 1 module '
trace 'many steps' 0 e PLUMB_ACTIVATIONS_OUTPUT=/dev/null PLUMB_ACTIVATIONS_STATS=sum ./layers many
finish
