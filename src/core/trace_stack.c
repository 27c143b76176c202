/* trace_stack.c: the call stack of a span's begin, by frame pointers (PLUMB_TRACE_STACK).
 *
 * Invariant: nothing is read but words of the stack's mapping above the frame in use, upwards, so a
 * chain of nonsense (code built without frame pointers) ends the walk and crashes nobody. Where
 * that stays readable is looked up once a thread and stack, in /proc/self/maps, with no allocation;
 * on stacks that are neither the main one nor a thread's (coroutines, signals) there is no walk.
 * Symbols are for readers: the file has the addresses, and where modules lay. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scratch.h"
#include "core/trace.h"

/* The end of what stays readable of the stack that `at` lies on; 0: unknown. `line`: "from-upto
 * ..." of its mapping. A mapping may be two that the kernel has joined, of which one goes away
 * later: on a thread's stack its control block is the end, and the main stack is joined with
 * nothing. */
static uintptr_t stack_end(const char *line, uintptr_t at)
{
    char *rest;
    uintptr_t from = strtoull(line, &rest, 16), upto = strtoull(rest + 1, NULL, 16);
    uintptr_t control = (uintptr_t)pthread_self();
    if (at < from || at >= upto)
        return 0;
    if (control > at && control < upto)
        return control & ~(uintptr_t)(sizeof(void *) - 1);
    return strstr(rest, "[stack]") ? upto : 0;
}

/* The same, from /proc/self/maps. */
static uintptr_t find_stack_end(uintptr_t at)
{
    char *text = plumb_scratch_take();
    size_t have = 0, size = PLUMB_SCRATCH_BYTES - 1;
    uintptr_t end = 0;
    int fd = text ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && !end) {
        ssize_t n = read(fd, text + have, size - have);
        char *line = text, *newline;
        if (n <= 0)
            break;
        text[have += (size_t)n] = '\0';
        while (!end && (newline = strchr(line, '\n')) != NULL) {
            *newline = '\0';
            end = stack_end(line, at);
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
    return end;
}

void plumb_trace_stack(struct plumb_in in, const struct plumb_caller *caller)
{
    struct plumb_thread *th = in.th;
    uint64_t stack[16];
    uintptr_t at = caller->frame, end = th->stack_end, begin = th->stack_begin;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uint32_t most = (uint32_t)plumb_rt.settings.trace_stack_depth, n = 0;
    int saved = errno;
    if (most && caller->address)
        stack[n++] = caller->address;
    /* Not those of the caller's frame, which is any number where code keeps no frame pointers. */
    if (here < begin || here >= end) {
        th->stack_begin = here & ~(uintptr_t)4095;
        th->stack_end = end = find_stack_end(here);
    }
    while (at % sizeof(void *) == 0 && at >= here && end - at >= 2 * sizeof(void *) && at < end) {
        const uintptr_t *words = (const uintptr_t *)at; /* the caller's frame, its return address */
        if (!words[1])
            break;
        if (n == most)
            break;
        /* Where this library keeps frame pointers, the first frame is its own. */
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
