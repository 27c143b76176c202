/* record_shown.h: what the trace of the calling thread shows, read from its queue, which ring mode
 * leaves alone: counts of spans inside and outside of regions, of ends and of marks, without a
 * file. For tests linked with every internal symbol. Include record_region.h before. */
#ifndef TESTS_RECORD_SHOWN_H
#define TESTS_RECORD_SHOWN_H

#include "live/trace_regions.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "timeline/mapping.h"

/* The trace of this thread, read from its queue. */
struct shown {
    struct plumb_live_view source;
    struct plumb_trace_regions regions;
    struct plumb_trace_state state;
    uint64_t taken;
    uint32_t inside; /* node */
    uint64_t begun, ended, cut, inside_begun, other, on, off;
};

static inline void shown_on_begin_more(void *self, const struct plumb_trace_state *s,
                                       const struct plumb_trace_frame *f)
{
    struct shown *t = self;
    const char *name = plumb_live_node_name(&t->source, plumb_key_node(f->key));
    (void)s;
    if (plumb_key_node(f->key) == t->inside)
        t->inside_begun++;
    else if (strncmp(name, "plumb.region::", 14) == 0)
        t->begun++;
    else
        t->other++;
}

static inline void shown_on_begin(void *self, uint64_t ticks, uint32_t node)
{
    (void)ticks;
    shown_on_begin_more(self, NULL, &(struct plumb_trace_frame){.key = node});
}

static inline void shown_on_end(void *self, uint64_t ticks)
{
    (void)ticks;
    ((struct shown *)self)->ended++;
}

static inline void shown_on_end_more(void *self, const struct plumb_trace_state *s,
                                     const struct plumb_trace_frame *f, uint64_t ticks,
                                     enum plumb_trace_end how)
{
    struct shown *t = self;
    (void)s, (void)f, (void)ticks;
    t->ended += how == PLUMB_TRACE_END_SAID;
    t->cut += how == PLUMB_TRACE_END_CUT;
}

static inline void shown_on_instant(void *self, const struct plumb_trace_state *s, uint64_t ticks,
                                    uint64_t text)
{
    struct shown *t = self;
    (void)s, (void)ticks;
    t->on += text == t->source.h->regions.on_off;
    t->off += text == t->source.h->regions.off_off;
}

static const struct plumb_trace_sink shown_sink = {.begin = shown_on_begin,
                                                   .end = shown_on_end,
                                                   .begin_more = shown_on_begin_more,
                                                   .end_more = shown_on_end_more,
                                                   .instant = shown_on_instant};

static inline void shown_open(struct shown *t)
{
    struct plumb_run *run = plumb_rt.run;
    memset(t, 0, sizeof *t);
    t->source = plumb_live_view_of(run->base, run->mapped);
    t->inside = plumb_node_get("inside");
    t->taken = plumb_tls->queue->put; /* before that: of a thread that had the record */
    plumb_trace_regions_open(&t->regions, &t->source, false, false);
}

/* Takes the slots that came since, and all that the thread has recorded by then; false: some were
 * overwritten before. Asserts nothing: any thread may call it. */
static inline bool shown_take(struct shown *t)
{
    struct plumb_live_queue *q = plumb_tls->queue;
    struct plumb_trace_decoder d = {&shown_sink, t, &t->regions.filter, &t->state};
    struct plumb_trace_slot slot;
    plumb_context context;
    plumb_context_capture(&context); /* folds */
    for (; t->taken < q->put; t->taken++) {
        if (!plumb_trace_copy_slot(&t->source, q, t->taken + 1, &slot))
            return false;
        plumb_trace_slot(&d, &slot);
    }
    return true;
}

static inline void shown_start(const char *regions, uint32_t scope)
{
    plumb_options o = plumb_options_default();
    o.regions = regions;
    o.region_scope = scope;
    o.trace_mode = PLUMB_TRACE_RING;
    o.trace_ring_bytes = 4 << 20;
    record_start_with(o);
    region_spans("outside", 1);
}

#endif
