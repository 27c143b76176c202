/* glance_general.c: the quick half of open_node.c. Compiled for general registers alone: the vector
 * registers hold arguments of a call that is about to be made. */
#include "record/calls/calls.h"
#include "record/runtime/enter.h"

/* Another thread may be folding; however far it is, a deeper span is later (record/span/ring.c). */
static PLUMB_RACY bool is_deeper(const struct plumb_thread *th)
{
    return plumb_depth(th) > PLUMB_LOAD(th->live->context.depth);
}

void plumb_open_node_glance(struct plumb_open_node *out)
{
    struct plumb_thread *th = plumb_tls;
    out->known = 0;
    if (!th || PLUMB_LOAD(th->busy))
        return;
    PLUMB_STORE(th->busy, PLUMB_BUSY_RECORDING);
    plumb_order();
    if (plumb_is_attached(th) && plumb_run_inside(th) && is_deeper(th)) {
        const uint64_t *record = (const uint64_t *)(uintptr_t)(*th->top & ~(uint64_t)7);
        out->key = plumb_key(th->group, plumb_record_node(PLUMB_LOAD(*record)));
        out->step = th->step;
        out->known = 1;
    }
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
}
