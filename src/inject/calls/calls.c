/* calls.c: the two functions that the compiler calls at the entry and the return of every function
 * (-finstrument-functions). libc has empty ones; these are in front of them where the library is
 * preloaded, and make spans of the calls of the functions in the table.
 *
 * A return belongs to the innermost entry of the same function and caller. longjmp() passes over
 * returns: the next entry from a frame further out, or the return of one, ends what is left open
 * inside it. Calls deeper than DEPTH are not recorded. The span path of libplumb may be entered
 * from anywhere, so these may run in signal handlers, too.
 *
 * Nothing here names a symbol of libplumb: a process that refers to it gets a second thread when it
 * starts (base/process/references.h), which a program without functions in the table should not. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "inject/calls/table.h"
#include <plumb/detail/lookup.h>

#define FACE __attribute__((visibility("default")))

enum { DEPTH = 512, SAME_STACK = 1 << 20 };

static const struct plumb_api *api; /* NULL: nothing is recorded. Released */

static __thread struct {
    uint32_t depth;
    struct {
        const void *function, *call_site;
        const char *frame; /* some address in it */
        plumb_span span;   /* all-zero: libplumb does not record it */
    } open[DEPTH];
} mine __attribute__((tls_model("initial-exec")));

FACE void __cyg_profile_func_enter(void *function, void *call_site);
FACE void __cyg_profile_func_exit(void *function, void *call_site);

/* Returns how many entries are of frames around `frame`: those below it were left by a jump. An
 * inlined function has the frame of the one around it. A frame that is far away is on another
 * stack, about which nothing is known. */
static uint32_t still_open(const struct plumb_api *a, const char *frame)
{
    uint32_t at = mine.depth, left = at;
    while (left && frame > mine.open[left - 1].frame &&
           (uintptr_t)frame - (uintptr_t)mine.open[left - 1].frame < SAME_STACK)
        left--;
    if (PLUMB_LIKELY(left == at))
        return at;
    mine.depth = left;
    /* An end of the outermost one closes those inside it. */
    if (mine.open[left].span.id)
        a->span_end(mine.open[left].span);
    return left;
}

FACE void __cyg_profile_func_enter(void *function, void *call_site)
{
    const struct plumb_api *a = PLUMB_ACQUIRE(api);
    plumb_node node = PLUMB_LIKELY(a != NULL) ? plumb_function_node(function) : 0;
    uint32_t at;
    if (!node)
        return;
    at = still_open(a, __builtin_frame_address(0));
    if (at >= DEPTH)
        return;
    mine.open[at].function = function;
    mine.open[at].call_site = call_site;
    mine.open[at].frame = __builtin_frame_address(0);
    mine.open[at].span = a->span_begin_node(node);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine.depth = at + 1;
}

/* Returns 1 + the place of the innermost entry of the call that returns; 0: it has none. */
static uint32_t find(const void *function, const void *call_site, const char *frame)
{
    uint32_t at = mine.depth;
    /* Beyond the last place: a call further in, which may be of the same function. */
    if (at == DEPTH && frame < mine.open[at - 1].frame)
        return 0;
    while (at &&
           (mine.open[at - 1].function != function || mine.open[at - 1].call_site != call_site))
        at--;
    return at;
}

FACE void __cyg_profile_func_exit(void *function, void *call_site)
{
    const struct plumb_api *a = PLUMB_ACQUIRE(api);
    uint32_t at;
    plumb_span span;
    if (PLUMB_UNLIKELY(!a) || !mine.depth || !plumb_function_node(function))
        return;
    at = find(function, call_site, __builtin_frame_address(0));
    if (!at)
        return;
    span = mine.open[at - 1].span;
    mine.depth = at - 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (span.id)
        a->span_end(span);
}

/* ---- The beginning --------------------------------------------------------------------------- */

static const struct plumb_api *runtime(void)
{
    const struct plumb_api *(*fn)(void) = NULL;
    *(void **)(void *)&fn = dlsym(RTLD_DEFAULT, "plumb_api_1");
    return fn ? fn() : plumb_lookup_();
}

__attribute__((constructor)) static void begin(void)
{
    const char *table = getenv("PLUMB_CALLS_TABLE");
    const struct plumb_api *found;
    int saved = errno;
    if (table && *table && (found = runtime()) != NULL && found->version == 1 &&
        plumb_functions_read(table, found))
        PLUMB_RELEASE(api, found);
    errno = saved;
}
