/* count.c: named counters, of a pipeline and of the nodes in which they were raised. Each raise is
 * two atomic adds in the live mapping. Looking the name up walks a list that only grows at its
 * head, without a lock. */
#include <string.h>

#include "record/collect/collector.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/runtime/count.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/thread.h"
#include "record/trace/trace.h"

static struct plumb_live_count *find(struct plumb_run *run, const char *name, uint32_t pipeline,
                                     uint32_t within)
{
    uint32_t n = PLUMB_ACQUIRE(run->h->counts.count);
    for (uint32_t i = 0; i < n; i++) {
        struct plumb_live_count *c = plumb_table_at(run, &run->h->counts, i);
        if (c->pipeline == pipeline && c->within == within &&
            strcmp(PLUMB_AT(run, const char, c->name_off + sizeof(struct plumb_live_text)), name) ==
                0)
            return c;
    }
    return NULL;
}

static struct plumb_live_count *make(struct plumb_run *run, const char *name, uint32_t pipeline,
                                     uint32_t within)
{
    struct plumb_live_count *c;
    plumb_lock();
    c = find(run, name, pipeline, within);
    if (!c && run->h->counts.count < plumb_rt.settings.max_nodes &&
        (c = plumb_table_add(run, &run->h->counts)) != NULL) {
        c->name_off = plumb_carve_text(run, name);
        c->pipeline = pipeline;
        c->within = within;
        if (c->name_off)
            plumb_table_commit(&run->h->counts);
        else
            c = NULL;
    }
    plumb_unlock();
    return c;
}

/* Returns the counter; NULL if it is new and does not fit, which is counted. */
static struct plumb_live_count *get(struct plumb_run *run, const char *name, uint32_t pipeline,
                                    uint32_t within)
{
    struct plumb_live_count *c = find(run, name, pipeline, within);
    if (!c)
        c = make(run, name, pipeline, within);
    if (!c)
        plumb_drop(run, PLUMB_DROP_NODES);
    return c;
}

static int64_t add(struct plumb_live_count *c, int64_t n)
{
    PLUMB_ADD(c->events, 1);
    return PLUMB_ADD(c->total, n);
}

/* The thread's own sum, and the parts that the tables above have not: in a step, outside nodes. */
static void count_part(struct plumb_in in, const char *name, uint32_t within, int64_t n)
{
    struct plumb_count_event e = {.kind = PLUMB_COUNT_USER,
                                  .group = in.th->group,
                                  .node = within & 0xffffff,
                                  .step = in.th->step,
                                  .name = name,
                                  .calls = 1,
                                  .value = n};
    plumb_tally_add(in.th, &e);
    if (!within || e.step >= 0)
        plumb_cell_add(in.run, &e);
}

void plumb_counter_add_impl(const char *name, int64_t n)
{
    struct plumb_in in;
    struct plumb_live_count *c;
    uint32_t within;
    if (!name || !plumb_enter(&in, false))
        return;
    within = plumb_count_within(in.th->group & 0xff, plumb_innermost_node(in.th));
    c = get(in.run, name, in.th->group >> 8, 0);
    if (c) {
        int64_t before = add(c, n);
        plumb_trace_counter(in, PLUMB_COUNTER_I64, c->name_off, (uint64_t)before + (uint64_t)n);
    }
    if (c && within && (c = get(in.run, name, in.th->group >> 8, within)) != NULL)
        add(c, n);
    if (c)
        count_part(in, name, within, n);
    plumb_leave(in);
}

int64_t plumb_count_value(const char *name)
{
    struct plumb_in in;
    struct plumb_live_count *c;
    int64_t total = 0;
    if (!name || !plumb_enter(&in, true))
        return 0;
    c = find(in.run, name, in.th->group >> 8, 0);
    if (c)
        total = PLUMB_LOAD(c->total);
    plumb_leave(in);
    return total;
}
