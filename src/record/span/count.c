/* count.c: named counters, of a pipeline and of the nodes in which they were raised. A raise is two
 * atomic adds in the live mapping, four in a step of a node: it has one place, and the sum of the
 * pipeline is that of all places. Looking the name up walks a list that only grows at its end,
 * without a lock. */
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

/* Returns the counter of the name that this thread raised last, if it is that of the place. */
static struct plumb_live_count *recent_of(const struct plumb_count_recent *r,
                                          const struct plumb_run *run, uint32_t pipeline,
                                          uint32_t within)
{
    struct plumb_live_count *c = r && r->generation == run->generation ? r->count : NULL;
    return c && c->pipeline == pipeline && c->within == within ? c : NULL;
}

static void remember(struct plumb_count_recent *r, const struct plumb_run *run,
                     struct plumb_live_count *c)
{
    if (!r)
        return;
    if (r->generation != run->generation)
        r->cell = NULL;
    r->generation = run->generation;
    r->count = c;
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

/* A trace shows the sum of the pipeline from count to count. */
static void trace(struct plumb_in in, struct plumb_live_count *whole, int64_t n)
{
    int64_t before;
    if (PLUMB_LOAD(in.run->h->trace.mode) == PLUMB_LIVE_TRACE_NONE)
        return;
    before = PLUMB_ADD(whole->running, n);
    plumb_trace_counter(in, PLUMB_COUNTER_I64, whole->name_off, (uint64_t)before + (uint64_t)n);
}

/* Returns the counter of the node, or the pipeline's if there is no place for it; NULL: neither. */
static struct plumb_live_count *place_of(struct plumb_in in, const struct plumb_count_event *e,
                                         uint32_t within, struct plumb_count_recent *recent)
{
    uint32_t pipeline = e->group >> 8;
    struct plumb_live_count *c = recent_of(recent, in.run, pipeline, within), *whole = NULL;
    if (!c || PLUMB_LOAD(in.run->h->trace.mode) != PLUMB_LIVE_TRACE_NONE) {
        if (!(whole = get(in.run, e->name, pipeline, 0)))
            return NULL;
        trace(in, whole, e->value);
    }
    if (!c)
        c = within ? get(in.run, e->name, pipeline, within) : whole;
    remember(recent, in.run, c);
    return c ? c : whole;
}

static void add(struct plumb_live_count *c, int64_t n)
{
    PLUMB_ADD(c->events, 1);
    PLUMB_ADD(c->total, n);
}

void plumb_counter_add_impl(const char *name, int64_t n)
{
    struct plumb_in in;
    struct plumb_count_event e;
    struct plumb_count_recent *recent;
    struct plumb_live_count *c;
    uint32_t within;
    if (!name || !plumb_enter(&in, false))
        return;
    plumb_count_here(&e, in.th, PLUMB_COUNT_USER, name, n);
    within = plumb_count_within(e.group & 0xff, e.node);
    e.node = within ? e.node : 0;
    recent = plumb_tally_add(in.th, &e);
    if ((c = place_of(in, &e, within, recent)) != NULL) {
        bool apart = !within && ((e.group & 0xff) || e.step >= 0);
        if (!apart || !plumb_cell_add_recent(in.run, &e, recent))
            add(c, n);
        if (c->within && e.step >= 0)
            plumb_cell_add_recent(in.run, &e, recent);
    }
    plumb_leave(in);
}

int64_t plumb_count_value(const char *name)
{
    struct plumb_in in;
    int64_t total = 0;
    if (!name || !plumb_enter(&in, true))
        return 0;
    total = plumb_count_user_sum(in.run, in.th->group >> 8, name);
    plumb_leave(in);
    return total;
}
