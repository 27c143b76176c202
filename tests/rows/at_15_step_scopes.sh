#!/bin/sh
# labels: plain
# AT-15: leaving an inner step scope brings the outer step back, however it is left: at its end, by break,
# return, goto, or an exception; each thread has its own.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"
cat >scopes.cc <<'END'
#include <stdexcept>
#include <thread>

#include <dlpack/dlpack.h>
#include <plumb/plumb.h>

static float values[4] = {1, 2, 3, 4};
static int64_t shape[1] = {4};

static void here(const char *name)
{
    DLTensor t = {};
    t.data = values;
    t.device.device_type = kDLCPU;
    t.ndim = 1;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    plumb_activation(plumb_node_get(name), NULL, &t);
}

static void fails()
{
    for (PLUMB_STEPS(inner, 9)) {
        PLUMB_STEP(100);
        if (inner == 2)
            throw std::runtime_error("in the middle");
    }
}

static void returns()
{
    for (PLUMB_STEPS(inner, 9))
        if (inner == 5)
            return;
}

static void goes()
{
    for (PLUMB_STEPS(inner, 9))
        if (inner == 4)
            goto out;
out:
    here("after_goto");
}

int main()
{
    here("before");
    for (PLUMB_STEPS(outer, 2)) {
        here("outer");
        for (PLUMB_STEPS(inner, 3))
            here("inner");
        here("after_inner");
        for (PLUMB_STEPS(inner, 9))
            if (inner == 7)
                break;
        here("after_break");
        returns();
        here("after_return");
        goes();
        try {
            fails();
        } catch (const std::exception &) {
            here("in_catch");
        }
        here("after_throw");
        std::thread([] {
            here("thread_outside");
            PLUMB_STEP(50);
            here("thread_inside");
        }).join();
        here("after_thread");
    }
    here("after");
}
END
"$CXX" -std=c++11 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" scopes.cc -o scopes -L"$lib_dir" -lplumb -lpthread \
    -Wl,-rpath,"$lib_dir" || exit 1
trace 'scopes' 0 run ./scopes
steps() {
    same run/activations.jsonl "map(select(.module == \"$1\").step)" "$2"
}
steps before '[null]'
steps outer '[0,1]'
steps inner '[0,1,2,0,1,2]'
for place in after_inner after_break after_return after_goto in_catch after_throw after_thread; do
    steps $place '[0,1]'
done
steps thread_outside '[null,null]'
steps thread_inside '[50,50]'
steps after '[null]'
finish
