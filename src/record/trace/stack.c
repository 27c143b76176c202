/* stack.c: the call stack of a span's begin, by frame pointers (PLUMB_TRACE_STACK).
 *
 * Invariant: a walk reads only words of the stack's mapping above the current frame, upwards. So an
 * invalid chain (code built without frame pointers) ends the walk and never crashes. The readable
 * range is looked up once a thread and stack: the helper reads /proc/self/maps, without allocation.
 * A thread waits for the answer for a bounded time; until it is there, stacks have only their
 * innermost address, and are counted. Stacks that are neither the main one nor a thread's
 * (coroutines, signals) are not walked. Symbols are looked up by readers: the file has the
 * addresses of frames and modules. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scratch.h"
#include "record/runtime/caller.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/thread.h"
#include "record/trace/trace.h"

#define WAIT_NS UINT64_C(20000000)

/* ---- Where stacks end ------------------------------------------------------------------------ */

/* Returns whether `s->at` is in the mapping of `line`: "from-upto ...". The kernel may have merged
 * two mappings, of which one is unmapped later. So on a thread's stack its control block is the
 * end; the main stack is never merged. */
static bool is_in(struct plumb_stack_range *s, const char *line)
{
    char *rest;
    uintptr_t from = strtoull(line, &rest, 16), upto = strtoull(rest + 1, NULL, 16);
    if (s->at < from || s->at >= upto)
        return false;
    s->answer.begin = from;
    s->answer.end = upto;
    if (s->control > s->at && s->control < upto)
        s->answer.readable_end = s->control & ~(uintptr_t)(sizeof(void *) - 1);
    else
        s->answer.readable_end = strstr(rest, "[stack]") ? upto : 0;
    return true;
}

static void find(struct plumb_stack_range *s)
{
    char *text = plumb_scratch_take();
    size_t have = 0, size = PLUMB_SCRATCH_BYTES - 1;
    bool found = false;
    int fd = text ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
    s->answer.begin = s->answer.end = s->answer.readable_end = 0;
    while (fd >= 0 && !found) {
        ssize_t n = read(fd, text + have, size - have);
        char *line = text, *newline;
        if (n <= 0)
            break;
        text[have += (size_t)n] = '\0';
        while (!found && (newline = strchr(line, '\n')) != NULL) {
            *newline = '\0';
            found = is_in(s, line);
            line = newline + 1;
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (have == size)
            break; /* a line longer than any path */
    }
    if (fd >= 0)
        close(fd);
    plumb_scratch_give(text);
}

/* Without a helper the asking threads do it, one at a time. A thread that finds another one at work
 * does not wait: a request may change once it is answered. */
static uint32_t finding; /* atomic */

void plumb_trace_stacks_do_find(void)
{
    if (__atomic_exchange_n(&finding, 1, __ATOMIC_ACQUIRE))
        return;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        uint32_t asked = PLUMB_ACQUIRE(th->stack.asked);
        if (asked == th->stack.answered)
            continue;
        find(&th->stack);
        PLUMB_RELEASE(th->stack.answered, asked);
    }
    PLUMB_RELEASE(finding, 0);
}

void plumb_trace_stacks_forget(void)
{
    PLUMB_STORE(finding, 0);
}

static uint64_t late; /* stacks whose answer was not waited for; atomic */

uint64_t plumb_trace_stacks_late(void)
{
    return __atomic_exchange_n(&late, 0, __ATOMIC_RELAXED);
}

/* All threads together wait at most an eighth of the time, plus WAIT_NS. */
static void ask(void)
{
    static uint64_t first_ns, waited_ns; /* atomic */
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC), none = 0;
    __atomic_compare_exchange_n(&first_ns, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (PLUMB_LOAD(waited_ns) > (now - PLUMB_LOAD(first_ns)) / 8 + WAIT_NS) {
        plumb_helper_ask(PLUMB_JOB_STACKS);
        return;
    }
    plumb_helper_do(PLUMB_JOB_STACKS, WAIT_NS);
    PLUMB_ADD(waited_ns, plumb_clock_gettime_ns(CLOCK_MONOTONIC) - now);
}

/* Returns the end of the readable range of the stack that `here` is on; 0: no walk. */
static uintptr_t readable_end(struct plumb_thread *th, uintptr_t here)
{
    struct plumb_stack_range *s = &th->stack;
    uint32_t asked = s->asked;
    if (here >= s->begin && here < s->end)
        return s->readable_end;
    if (PLUMB_ACQUIRE(s->answered) == asked) {
        s->at = here;
        s->control = (uintptr_t)pthread_self();
        PLUMB_RELEASE(s->asked, ++asked);
        ask();
    }
    if (PLUMB_ACQUIRE(s->answered) != asked) {
        PLUMB_ADD(late, 1);
        return 0;
    }
    s->begin = s->answer.begin;
    s->end = s->answer.end;
    s->readable_end = s->answer.readable_end;
    return here >= s->begin && here < s->end ? s->readable_end : 0;
}

/* ---- The walk -------------------------------------------------------------------------------- */

void plumb_trace_stack(struct plumb_in in, const struct plumb_caller *caller)
{
    struct plumb_thread *th = in.th;
    uint64_t stack[16];
    uintptr_t at = caller->frame, here = (uintptr_t)__builtin_frame_address(0), end;
    uint32_t most = (uint32_t)plumb_rt.settings.trace_stack_depth, n = 0;
    int saved = errno;
    if (most && caller->address)
        stack[n++] = caller->address;
    /* Not the words of the caller's frame, which may be any number in code without frame
     * pointers. */
    end = readable_end(th, here);
    while (at % sizeof(void *) == 0 && at >= here && end - at >= 2 * sizeof(void *) && at < end) {
        const uintptr_t *words = (const uintptr_t *)at; /* the caller's frame, its return address */
        if (!words[1])
            break;
        if (n == most)
            break;
        /* If this library is built with frame pointers, the first frame is its own. */
        if (n != 1 || words[1] != stack[0])
            stack[n++] = words[1];
        if (words[0] <= at)
            break;
        at = words[0];
    }
    errno = saved;
    if (n)
        plumb_wide(in, PLUMB_WIDE_STACK, n == most, stack, n + 1);
}
