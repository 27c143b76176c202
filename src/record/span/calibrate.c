/* calibrate.c: the cost of a span, measured once per process on a separate run in private memory
 * that has only what the span path needs. It is measured in a tight loop, and between pieces of
 * work that evict plumb's data from the first-level cache, as real work does. The second is the
 * difference of two times that are a hundred times as long, so each is the minimum of several. */
#include "record/span/calibrate.h"

#include <string.h>

#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

enum { LINES = 768 /* of 64 bytes: 48 KiB */, WORK_SPANS = 16, WORK_ROUNDS = 12 };

static bool scratch_open(struct plumb_run *run)
{
    struct plumb_live_header *h;
    run->fd = -1;
    run->mapped = run->backed = 1 << 20;
    run->base = plumb_pages_map(run->mapped);
    if (!run->base)
        return false;
    h = run->h = (struct plumb_live_header *)(void *)run->base;
    h->used = 4096;
    h->keys.element_bytes = sizeof(struct plumb_live_key);
    h->pipelines.element_bytes = sizeof(struct plumb_live_pipeline);
    plumb_table_add(run, &h->pipelines);
    plumb_table_commit(&h->pipelines);
    return true;
}

/* Writes, so that other lines are evicted. */
static void touch(void *memory)
{
    volatile uint64_t *at = memory;
    for (int i = 0; i < LINES; i++)
        at[i * 8] = at[i * 8] + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a == 0 || b < a ? b : a;
}

static void measure(struct plumb_in in)
{
    uint64_t loop = 0, with = 0, without = 0;
    void *memory = plumb_pages_map(LINES * 64);
    plumb_calibrate_span(in, 200, NULL, NULL, true);
    for (int i = 0; i < 5; i++)
        loop = least(loop, plumb_calibrate_span(in, 1000, NULL, NULL, true));
    for (int i = 0; memory && i < WORK_ROUNDS; i++) {
        with = least(with, plumb_calibrate_span(in, WORK_SPANS, touch, memory, true));
        without = least(without, plumb_calibrate_span(in, WORK_SPANS, touch, memory, false));
    }
    if (memory)
        plumb_pages_unmap(memory, LINES * 64);
    plumb_rt.overhead_ticks_x1000 = loop;
    /* If the difference is disturbed, the cost in the loop is its lower bound. */
    plumb_rt.overhead_work_ticks_x1000 = with > without + loop ? with - without : loop;
}

void plumb_calibrate(void)
{
    struct plumb_run run = {0};
    struct plumb_thread *th = plumb_thread_new();
    const struct plumb_in in = {th, &run};
    bool ready = th && scratch_open(&run);
    plumb_lock();
    ready = ready && plumb_thread_attach_to(th, &run) == PLUMB_OK;
    plumb_unlock();
    if (ready) {
        PLUMB_STORE(th->gate, PLUMB_GATE_OPEN);
        measure(in);
    }
    if (th)
        plumb_thread_free(th);
    plumb_map_fini(&run.keys);
    plumb_map_fini(&run.texts);
    plumb_pages_unmap(run.base, run.mapped);
}
