/* async.c: spans begun on one thread and ended on another. Their slots are in the live mapping, so
 * the open ones are known after a crash. Free slots form a stack, whose head has a tag against
 * reuse between read and exchange. A chunk of slots is carved, under the lock, when the stack runs
 * empty. */
#include "record/runtime/async.h"
#include "base/log.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/stage/stage.h"
#include "record/trace/nvtx.h"

static struct plumb_live_async *slot(struct plumb_run *run, uint32_t i)
{
    return PLUMB_AT(run, struct plumb_live_async, run->h->async_off[i / PLUMB_ASYNC_CHUNK]) +
           i % PLUMB_ASYNC_CHUNK;
}

static void push(struct plumb_run *run, uint32_t i)
{
    uint64_t head = PLUMB_ACQUIRE(run->async_head), next;
    do {
        PLUMB_STORE(slot(run, i)->next_free, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | (i + 1);
    } while (!__atomic_compare_exchange_n(&run->async_head, &head, next, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
}

/* Takes a free slot. Returns its index + 1, or 0. */
static uint32_t pop(struct plumb_run *run)
{
    uint64_t head = PLUMB_ACQUIRE(run->async_head), next;
    do {
        if ((uint32_t)head == 0)
            return 0;
        next = ((head >> 32) + 1) << 32 | PLUMB_LOAD(slot(run, (uint32_t)head - 1)->next_free);
    } while (!__atomic_compare_exchange_n(&run->async_head, &head, next, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return (uint32_t)head;
}

static bool more(struct plumb_run *run)
{
    uint64_t off = 0;
    uint32_t c = 0;
    plumb_lock();
    while (c < PLUMB_ASYNC_CHUNKS && run->h->async_off[c])
        c++;
    if (c < PLUMB_ASYNC_CHUNKS)
        off = plumb_carve(run, PLUMB_ASYNC_CHUNK * sizeof(struct plumb_live_async));
    if (off)
        PLUMB_RELEASE(run->h->async_off[c], off);
    plumb_unlock();
    for (uint32_t i = 0; off && i < PLUMB_ASYNC_CHUNK; i++)
        push(run, c * PLUMB_ASYNC_CHUNK + i);
    return off != 0;
}

/* The tool is called outside the runtime; the range that it returns is kept if the span's run is
 * still there. */
static PLUMB_COLD void begin_range(plumb_async span, uint32_t node, int64_t step)
{
    uint64_t range = plumb_nvtx_start(node, step);
    struct plumb_in in;
    if (range && plumb_enter(&in, true)) {
        if ((span.id >> 48) == (in.run->generation & 0xffff)) {
            plumb_nvtx_keep((uint32_t)span.id - 1, range);
            range = 0;
        }
        plumb_leave(in);
    }
    plumb_nvtx_end(range);
}

plumb_async plumb_async_begin_impl(plumb_node node)
{
    return plumb_async_begin_stage(node, NULL);
}

plumb_async plumb_async_begin_stage(plumb_node node, const struct plumb_live_async *stage)
{
    plumb_async span = {0};
    struct plumb_in in;
    struct plumb_live_async *a;
    uint32_t i, generation;
    if (node >= PLUMB_ACQUIRE(plumb_rt.node_count) || !plumb_enter(&in, false))
        return span;
    i = pop(in.run);
    if (!i && more(in.run))
        i = pop(in.run);
    if (!i) {
        plumb_drop(in.run, PLUMB_DROP_ASYNC);
        plumb_leave(in);
        return span;
    }
    a = slot(in.run, i - 1);
    generation = PLUMB_LOAD(a->state) >> 1;
    PLUMB_STORE(a->node, node);
    PLUMB_STORE(a->group, in.th->group);
    PLUMB_STORE(a->tid, in.th->tid);
    PLUMB_STORE(a->flags, stage ? stage->flags : 0);
    if (stage) {
        PLUMB_STORE(a->request, stage->request);
        PLUMB_STORE(a->begin_ns, stage->begin_ns);
        PLUMB_STORE(a->rss, stage->rss);
        PLUMB_STORE(a->within, stage->within);
    }
    PLUMB_STORE(a->begin_ticks, plumb_ticks_from(in.th->clock));
    PLUMB_RELEASE(a->state, generation << 1 | PLUMB_ASYNC_OPEN);
    /* The handle has the run's generation: one from an earlier run ends nothing. */
    span.id =
        (uint64_t)(in.run->generation & 0xffff) << 48 | (uint64_t)(generation & 0xffff) << 32 | i;
    int64_t step = in.th->step;
    plumb_leave(in);
    if (PLUMB_LOAD(in.th->gate) & PLUMB_GATE_NVTX)
        begin_range(span, node, step);
    return span;
}

/* Returns the slot of an open span, and its state; NULL if the handle is stale. */
static struct plumb_live_async *open_slot(struct plumb_run *run, plumb_async span, uint32_t *state)
{
    uint32_t i = (uint32_t)span.id - 1;
    struct plumb_live_async *a;
    if (i >= PLUMB_ASYNC_CHUNKS * PLUMB_ASYNC_CHUNK ||
        !PLUMB_ACQUIRE(run->h->async_off[i / PLUMB_ASYNC_CHUNK]) ||
        (span.id >> 48) != (run->generation & 0xffff))
        return NULL;
    a = slot(run, i);
    *state = PLUMB_ACQUIRE(a->state);
    return *state & PLUMB_ASYNC_OPEN && !(*state & PLUMB_ASYNC_ENDING) &&
                   (*state >> 1 & 0xffff) == (span.id >> 32 & 0xffff)
               ? a
               : NULL;
}

static void copy(struct plumb_live_async *out, const struct plumb_live_async *a)
{
    out->begin_ticks = PLUMB_LOAD(a->begin_ticks);
    out->node = PLUMB_LOAD(a->node);
    out->group = PLUMB_LOAD(a->group);
    out->tid = PLUMB_LOAD(a->tid);
    out->flags = PLUMB_LOAD(a->flags);
    out->request = PLUMB_LOAD(a->request);
    out->begin_ns = PLUMB_LOAD(a->begin_ns);
    out->rss = PLUMB_LOAD(a->rss);
    out->within = PLUMB_LOAD(a->within);
}

/* Returns the span's range in the tool. `was` gets the contents of its slot, without flags if this
 * is not its end. */
static uint64_t end(struct plumb_in in, plumb_async span, uint32_t mark, const char *why,
                    uint64_t now, struct plumb_live_async *was)
{
    struct plumb_run *run = in.run;
    uint32_t i = (uint32_t)span.id - 1, state = 0, sample = PLUMB_SAMPLE_ASYNC;
    struct plumb_live_async *a = open_slot(run, span, &state);
    uint64_t payload[3];
    was->flags = 0;
    if (!a) {
        plumb_drop(run, PLUMB_DROP_STALE);
        return 0;
    }
    copy(was, a);
    payload[0] = was->node | (uint64_t)was->group << 32;
    payload[1] = payload[2] = now - was->begin_ticks;
    /* Of two ends of one span, one wins. */
    if (!__atomic_compare_exchange_n(&a->state, &state, state | PLUMB_ASYNC_ENDING, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        plumb_drop(run, PLUMB_DROP_STALE);
        was->flags = 0;
        return 0;
    }
    uint64_t range = plumb_nvtx_take(i);
    if (mark == 1) {
        sample = PLUMB_SAMPLE_ASYNC_FAILED;
        plumb_lock();
        payload[1] = why ? plumb_text_why(run, why) : 0;
        plumb_unlock();
    } else if (mark == 2) {
        sample = PLUMB_SAMPLE_ASYNC_ABANDONED;
    }
    plumb_wide(in, PLUMB_WIDE_SAMPLE, sample, payload, sample == PLUMB_SAMPLE_ASYNC ? 3 : 4);
    plumb_order();
    /* Closes the slot, and begins its next generation. */
    PLUMB_RELEASE(a->state, (state + 1) & (PLUMB_ASYNC_ENDING - 1u));
    push(run, i);
    return range;
}

/* Returns the node of an open span that is a stage, otherwise 0. */
static plumb_node stage_node(plumb_async span)
{
    const struct plumb_live_async *a;
    struct plumb_in in;
    plumb_node node = 0;
    uint32_t state;
    if (!plumb_enter(&in, true))
        return 0;
    a = open_slot(in.run, span, &state);
    if (a && PLUMB_LOAD(a->flags) & PLUMB_POINT_STAGE)
        node = PLUMB_LOAD(a->node);
    plumb_leave(in);
    return node;
}

void plumb_async_end_impl(plumb_async span, uint32_t mark, const char *why)
{
    struct plumb_thread *th = plumb_tls;
    struct plumb_live_async was;
    struct plumb_in in;
    uint64_t range, now;
    if (th && PLUMB_LOAD(th->gate) & PLUMB_GATE_SYNC) {
        plumb_node node = stage_node(span);
        if (node)
            plumb_synchronise(th, node);
    }
    if (!plumb_enter(&in, true))
        return;
    now = plumb_ticks_from(in.th->clock);
    range = end(in, span, mark, why, now, &was);
    plumb_leave(in);
    plumb_nvtx_end(range);
    if (was.flags & PLUMB_POINT_STAGE)
        plumb_async_stage_ended(&was, now, mark, why);
}
