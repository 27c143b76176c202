/* steps.c: the steps of a window (switch.h). Threads that set a step count it, so that the end of a
 * window does not wait for their blocks to be folded.
 *
 * Which numbers are new steps depends on the program, so each of two counts can reach the end:
 *   - that of one thread: a loop that begins again at 0, for the next request, begins new steps;
 *   - that of all, of numbers higher than any before: a thread may do one step and hand over, and
 *     the threads of a pipeline set the same number one after the other, for one step.
 * The last step is over when the thread that began it ends its scope or begins the next one. */
#include "record/runtime/helper.h"
#include "record/runtime/thread.h"
#include "record/trace/switch.h"

static struct {
    int64_t highest; /* atomic, all of them */
    uint64_t begun, wanted;
    uint32_t over; /* the number of a watch */
} watch;
static uint32_t
    numbers; /* of watches so far; 0 stands for no watch. Atomic, stored by the helper */

void plumb_trace_steps_watch(uint64_t wanted, int64_t highest)
{
    uint32_t number = PLUMB_LOAD(numbers);
    PLUMB_STORE(plumb_rt.step_watch, 0);
    PLUMB_STORE(watch.highest, highest);
    PLUMB_STORE(watch.begun, 0);
    PLUMB_STORE(watch.wanted, wanted);
    PLUMB_STORE(watch.over, 0);
    PLUMB_STORE(numbers, number + 1 ? number + 1 : 1);
    PLUMB_RELEASE(plumb_rt.step_watch, wanted ? PLUMB_LOAD(numbers) : 0);
}

bool plumb_trace_steps_over(void)
{
    uint32_t over = PLUMB_ACQUIRE(watch.over);
    return over != 0 && over == PLUMB_LOAD(numbers);
}

/* A thread that was slow may say so of the watch before: that ends nothing. */
static void is_over(uint32_t number)
{
    uint32_t now = number;
    if (__atomic_compare_exchange_n(&plumb_rt.step_watch, &now, 0, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        PLUMB_RELEASE(watch.over, number);
        plumb_helper_ask(PLUMB_JOB_SWITCH);
    }
}

static bool is_higher(int64_t step)
{
    int64_t highest = PLUMB_LOAD(watch.highest);
    while (step > highest)
        if (__atomic_compare_exchange_n(&watch.highest, &highest, step, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

/* Returns the thread's count in the watch that is on; NULL: none is. */
static struct plumb_step_count *own_count(struct plumb_thread *th)
{
    uint32_t number = PLUMB_ACQUIRE(plumb_rt.step_watch);
    if (number && th->steps.watch != number)
        th->steps = (struct plumb_step_count){.watch = number, .step = -1};
    return number ? &th->steps : NULL;
}

void plumb_trace_step_counted(struct plumb_thread *th, int64_t step, uint32_t depth, bool loop)
{
    struct plumb_step_count *own = own_count(th);
    uint64_t wanted = PLUMB_LOAD(watch.wanted), all = 0;
    if (!own)
        return;
    if (own->last) { /* inside of the last step, or after it */
        if (depth <= own->last)
            is_over(own->watch);
        return;
    }
    if (step < 0 || (!loop && step == own->step))
        return;
    own->step = step;
    own->begun++;
    if (is_higher(step))
        all = PLUMB_ADD(watch.begun, 1) + 1;
    if (own->begun == wanted || all == wanted)
        own->last = depth;
    if (all > wanted)
        is_over(own->watch);
}

void plumb_trace_scope_counted(struct plumb_thread *th)
{
    struct plumb_step_count *own = own_count(th);
    if (own && own->last > th->scopes)
        is_over(own->watch);
}
