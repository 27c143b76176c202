/* steps.c: the steps of a window (switch.h). Threads that set a step count it, so that the end of a
 * window does not wait for their blocks to be folded. A step is counted once, by the thread that
 * first begins a higher one than any thread before: the threads of a data loader run ahead, and
 * those of a pipeline set the same step. */
#include "record/runtime/helper.h"
#include "record/trace/switch.h"

static struct {
    int64_t highest; /* atomic, all of them */
    uint64_t begun, wanted;
    uint32_t over;
} watch;

void plumb_trace_steps_watch(uint64_t wanted, int64_t highest)
{
    PLUMB_STORE(plumb_rt.step_watch, 0);
    PLUMB_STORE(watch.highest, highest);
    PLUMB_STORE(watch.begun, 0);
    PLUMB_STORE(watch.wanted, wanted);
    PLUMB_STORE(watch.over, 0);
    PLUMB_RELEASE(plumb_rt.step_watch, wanted != 0);
}

bool plumb_trace_steps_over(void)
{
    return PLUMB_ACQUIRE(watch.over) != 0;
}

static void is_over(void)
{
    PLUMB_STORE(plumb_rt.step_watch, 0);
    PLUMB_RELEASE(watch.over, 1);
    plumb_helper_ask(PLUMB_JOB_SWITCH);
}

static bool is_new(int64_t step)
{
    int64_t highest = PLUMB_LOAD(watch.highest);
    while (step > highest)
        if (__atomic_compare_exchange_n(&watch.highest, &highest, step, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

void plumb_trace_step_counted(int64_t from, int64_t to)
{
    uint64_t wanted = PLUMB_LOAD(watch.wanted), begun = PLUMB_LOAD(watch.begun);
    if (from == to || !PLUMB_ACQUIRE(plumb_rt.step_watch))
        return;
    if (from >= 0 && begun >= wanted && from == PLUMB_LOAD(watch.highest))
        is_over();
    else if (to >= 0 && is_new(to) && PLUMB_ADD(watch.begun, 1) >= wanted)
        is_over();
}
