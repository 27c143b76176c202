/* open_node.c: the node that is open on the calling thread, for libplumb-count.so, which asks in
 * the middle of any call of the program.
 *
 * Not through plumb_enter(): that may attach the thread, or open a run. The words that are
 * published are `head` and `base` of the thread's record: each begin and end of a span, and each
 * change of the phase, the step or the adopted path, is a record at `head`. Where records go to a
 * new block, so that `head` may return to an old value, `base` is another one. */
#include <errno.h>
#include <stddef.h>

#include "record/calls/calls.h"
#include "record/runtime/enter.h"
#include "record/runtime/open_spans.h"

static bool enter(struct plumb_thread *th)
{
    if (PLUMB_LOAD(th->busy))
        return false;
    PLUMB_STORE(th->busy, PLUMB_BUSY_RECORDING);
    plumb_order();
    return true;
}

static void leave(struct plumb_thread *th)
{
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
}

static void set(struct plumb_open_node *out, const struct plumb_thread *th, uint32_t node)
{
    out->key = plumb_key(th ? th->group : 0, node);
    out->step = th ? th->step : -1;
    out->known = 1;
}

static void look(struct plumb_open_node *out)
{
    struct plumb_thread *th = plumb_tls;
    int saved = errno;
    out->known = 0;
    if (!th) {
        set(out, NULL, 0);
    } else if (enter(th)) {
        bool records = plumb_is_attached(th) && plumb_run_inside(th);
        set(out, th, records ? plumb_innermost_node(th) : 0);
        leave(th);
    }
    errno = saved;
}

void plumb_open_place_impl(struct plumb_open_place *out)
{
    if (out->size < sizeof *out)
        return;
    out->thread_at = (int64_t)((uintptr_t)&plumb_tls - (uintptr_t)__builtin_thread_pointer());
    out->head_at = (uint32_t)offsetof(struct plumb_thread, head);
    out->base_at = (uint32_t)offsetof(struct plumb_thread, base);
    out->glance = plumb_open_node_glance;
    out->look = look;
}
