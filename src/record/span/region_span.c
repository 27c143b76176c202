/* region_span.c: being inside a region: an ordinary span, whose handle has the bit of stages', so
 * its end takes the long path and the spans inside keep the short one. The selection of the trace
 * follows from the records (live/region.h). This file counts the threads that are inside, and lists
 * the intervals in which any thread is. */
#include <string.h>

#include "base/log.h"
#include "live/trace_regions.h"
#include "record/runtime/caller.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/region_state.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/region.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"
#include "record/trace/trace.h"

static const plumb_span no_span = {0};

static struct plumb_region_entry *at(uint32_t i)
{
    return &plumb_rt.regions.entry[i];
}

/* ---- When the process is inside -------------------------------------------------------------- */

/* Under the ledger's lock, like all of the list. When the list is full, its last interval stays
 * open. */
static void interval_begin(struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->intervals;
    struct plumb_live_interval *i = NULL;
    plumb_lock();
    if (t->count < PLUMB_INTERVALS_MAX)
        i = plumb_table_add(run, t);
    if (i) {
        i->on_ticks = i->off_ticks = 0;
        plumb_table_commit(t);
    }
    plumb_unlock();
    if (!i)
        return;
    /* Every reader of the list sees this store before the clock read. */
    __atomic_exchange_n(&i->on_ticks, 0, __ATOMIC_SEQ_CST);
    PLUMB_RELEASE(i->on_ticks, plumb_ticks_next(plumb_rt.clock));
}

static void interval_end(struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->intervals;
    struct plumb_live_interval *i;
    if (!t->count || t->count == PLUMB_INTERVALS_MAX)
        return;
    i = plumb_table_at(run, t, t->count - 1);
    __atomic_exchange_n(&i->off_ticks, PLUMB_INTERVAL_CLOSING, __ATOMIC_SEQ_CST);
    PLUMB_RELEASE(i->off_ticks, plumb_ticks_from(plumb_rt.clock));
    plumb_ticks_next(plumb_rt.clock); /* spans that this thread begins now come after it */
}

/* ---- Entering and leaving -------------------------------------------------------------------- */

/* Writes an instant to the trace, on the switching thread; inside enter. */
static void mark(struct plumb_in in, uint64_t text_off)
{
    if (plumb_traced(in.th) && text_off)
        plumb_wide(in, PLUMB_WIDE_INSTANT, 0, &text_off, 2);
}

/* Returns whether each thread's outermost region switches collection, instead of the process's. */
static bool is_per_thread(const struct plumb_run *run)
{
    return run->h->regions.scope == PLUMB_REGION_THREAD;
}

/* Counts the entry. Returns whether it switches collection on. */
static bool count_in(struct plumb_in in, uint32_t index)
{
    struct plumb_thread *th = in.th;
    struct plumb_run *run = in.run;
    bool first = false;
    if (index < run->h->region.count) {
        struct plumb_live_region *r = plumb_table_at(run, &run->h->region, index);
        PLUMB_STORE(r->entered, r->entered + 1);
    }
    if (plumb_rt.regions.selection != PLUMB_SELECT_REGIONS || !at(index)->selected)
        return false;
    th->regions.seen = 1;
    if (th->regions.selected++)
        return false;
    first = run->h->regions.open++ == 0;
    if (first)
        interval_begin(run);
    return first || is_per_thread(run);
}

/* Subtracts an entry of region `index` that was just removed. `marked`: its begin is in the trace,
 * and its end will be. */
static void count_out(struct plumb_in in, uint32_t index, bool marked)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_regions *live = &in.run->h->regions;
    bool last;
    if (!th->regions.selected || !at(index)->selected || --th->regions.selected)
        return;
    th->regions.closing = marked;
    last = live->open && --live->open == 0;
    if (marked && (last || is_per_thread(in.run))) {
        th->regions.ended = index + 1;
        mark(in, live->off_off);
    }
    if (last)
        interval_end(in.run);
}

/* Removes the entries of spans deeper than `depth`. */
static void close_to(struct plumb_in in, uint32_t depth, bool marked)
{
    struct plumb_region_stack *s = &in.th->regions;
    if (!s->count || s->open[s->count - 1].depth <= depth)
        return;
    plumb_ledger_lock();
    while (s->count && s->open[s->count - 1].depth > depth)
        count_out(in, s->open[--s->count].index, marked);
    plumb_ledger_unlock();
}

/* A jump has left the region of entry `i`, while its span stays open until one around it ends. From
 * now on the entry is not counted and selects nothing. Under the ledger's lock. */
static void leave_open(struct plumb_in in, uint32_t i)
{
    struct plumb_region_stack *s = &in.th->regions;
    struct plumb_region_open left = s->open[i];
    uint64_t payload[2] = {left.depth, 0};
    memmove(&s->open[i], &s->open[i + 1], (--s->count - i) * sizeof left);
    count_out(in, left.index, true);
    plumb_wide(in, PLUMB_WIDE_MARK, PLUMB_FRAME_LEFT, payload, 3);
}

void plumb_regions_scopes_ended(struct plumb_in in, uint32_t scopes)
{
    struct plumb_region_stack *s = &in.th->regions;
    if (!s->count || s->open[s->count - 1].scopes <= scopes)
        return;
    plumb_ledger_lock();
    for (uint32_t i = s->count; i-- > 0;)
        if (s->open[i].point && s->open[i].scopes > scopes)
            leave_open(in, i);
    plumb_ledger_unlock();
}

/* A declaration is reached again in the same frame before its region has ended: a jump has left
 * that region. */
static void declared_again(struct plumb_thread *th, const void *point, const void *frame)
{
    struct plumb_region_stack *s = &th->regions;
    struct plumb_in in;
    if (!s->count || !plumb_ledger_enter(&in, true))
        return;
    for (uint32_t i = s->count; i-- > 0;)
        if (s->open[i].point == point && s->open[i].frame == frame)
            leave_open(in, i);
    plumb_ledger_leave(in);
    if (s->closing)
        plumb_regions_closed(th);
}

void plumb_regions_closing(struct plumb_in in, uint32_t depth)
{
    close_to(in, depth, true);
}

void plumb_regions_closed(struct plumb_thread *th)
{
    uint32_t number = th->regions.ended;
    th->regions.ended = 0;
    th->regions.closing = 0;
    if (number && plumb_log_level() >= PLUMB_LOG_INFO && plumb_regions_speak())
        plumb_log(PLUMB_LOG_INFO,
                  "PROFILER: setting collection False: left %s (depth 0, thread %u)",
                  at(number - 1)->short_name, th->tid);
}

static void log_entered(const struct plumb_thread *th, uint32_t index)
{
    if (plumb_log_level() >= PLUMB_LOG_INFO && plumb_regions_speak())
        plumb_log(PLUMB_LOG_INFO,
                  "PROFILER: setting collection True: entered %s (depth 1, thread %u)",
                  at(index)->short_name, th->tid);
}

/* The node of region `index`, made when it is entered for the first time. */
static uint32_t node_of(uint32_t index)
{
    struct plumb_region_entry *e = at(index);
    uint32_t node = PLUMB_ACQUIRE(e->node);
    if (node)
        return node;
    node = plumb_node_intern(e->node_name);
    if (!node || plumb_locked)
        return node;
    plumb_lock();
    /* Beyond PLUMB_MAX_NODES, other names share the node. */
    if (node != PLUMB_NODE_OTHER) {
        PLUMB_STORE(plumb_node_at(node)->region, index + 1);
        plumb_node_add_flags(node, PLUMB_POINT_REGION | (e->selected ? PLUMB_NODE_SELECTED : 0));
    }
    PLUMB_RELEASE(e->node, node);
    plumb_unlock();
    return node;
}

static plumb_span begin(struct plumb_thread *th, uint32_t index, uint32_t node, const void *point,
                        const void *frame)
{
    struct plumb_region_stack *s = &th->regions;
    plumb_span span = no_span;
    struct plumb_in in;
    bool switches = false;
    if (s->count == PLUMB_REGIONS_OPEN)
        return plumb_begin_plain(th, node);
    plumb_begin_wait(th, node);
    if (!plumb_ledger_enter(&in, false))
        return no_span;
    s->open[s->count++] =
        (struct plumb_region_open){plumb_depth(th) + 1, index, th->scopes, point, frame};
    switches = count_in(in, index);
    plumb_ledger_unlock();
    span = plumb_begin_inside(in, node, NULL);
    if (span.id)
        span.id |= PLUMB_STAGE_BIT;
    else
        close_to(in, plumb_depth(th), false);
    /* After the begin of the region's span, so the mark is inside it. */
    if (span.id && switches)
        mark(in, in.run->h->regions.on_off);
    plumb_leave(in);
    if (span.id)
        plumb_begin_report(th, node);
    if (span.id && switches)
        log_entered(th, index);
    return span;
}

/* ---- What the trace is kept to ----------------------------------------------------------------
 */

void plumb_regions_adopted(struct plumb_thread *th)
{
    uint32_t before = th->regions.adopted;
    th->regions.adopted = 0;
    for (uint32_t i = 0; i < th->path_depth; i++)
        if (PLUMB_LOAD(plumb_node_at(th->path[i])->flags) & PLUMB_NODE_SELECTED)
            th->regions.adopted = 1;
    th->regions.seen |= before | th->regions.adopted;
}

/* Returns how many spans of a block were begun while a selected region was open on another
 * thread. */
static uint64_t begun_elsewhere(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_view s = plumb_live_view_of(in.run->base, in.run->mapped);
    uint64_t n = 0;
    for (const uint64_t *w = th->block + PLUMB_BLOCK_HEAD; w < th->head; w++) {
        if ((*w & 3) == PLUMB_REC_WIDE)
            w += (*w >> 8 & 255) - 1;
        else if ((*w & 3) == PLUMB_REC_BEGIN)
            n += plumb_trace_any_region(&s, th->base + plumb_record_ticks(*w), false);
    }
    return n;
}

/* Returns whether a selected region was open anywhere after `ticks`. */
static bool any_after(struct plumb_run *run, uint64_t ticks)
{
    const struct plumb_live_table *t = &run->h->intervals;
    uint32_t n = PLUMB_ACQUIRE(t->count);
    const struct plumb_live_interval *last = n ? plumb_table_at(run, t, n - 1) : NULL;
    uint64_t off = last ? PLUMB_ACQUIRE(last->off_ticks) : 0;
    return last && (off <= PLUMB_INTERVAL_CLOSING || off >= ticks);
}

/* Returns whether a span that was open at the begin of the block is in the trace of the process.
 * Then its end, which may come long after the regions were left, belongs there too. */
static bool holds_shown(struct plumb_in in)
{
    const struct plumb_live_thread *live = in.th->live;
    struct plumb_live_view s = plumb_live_view_of(in.run->base, in.run->mapped);
    for (uint32_t d = live->context.depth; d > 0; d--)
        if (plumb_trace_any_region(&s, live->frames[d].begin_ticks, false))
            return true;
    return false;
}

bool plumb_regions_want_block(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    struct plumb_region_stack *s = &th->regions;
    bool elsewhere;
    if (in.run->h->regions.selection != PLUMB_SELECT_REGIONS)
        return true;
    if (s->seen) {
        /* A region that is being left is no longer counted, but its end has not been recorded
         * yet. */
        s->seen = s->selected || s->adopted || s->closing;
        return true;
    }
    elsewhere = any_after(in.run, th->base);
    if (!is_per_thread(in.run))
        return elsewhere || holds_shown(in);
    if (!elsewhere)
        return false;
    PLUMB_ADD(in.run->h->regions.left_out, begun_elsewhere(in));
    return false;
}

/* ---- Unregistered names ---------------------------------------------------------------------- */

/* Returns whether the name is new; under the lock. */
static bool is_new(const char *name)
{
    struct plumb_regions *all = &plumb_rt.regions;
    for (uint32_t i = 0; i < all->stranges; i++)
        if (strcmp(all->strange[i], name) == 0)
            return false;
    if (all->stranges == PLUMB_REGIONS_STRANGE)
        return false;
    all->strange[all->stranges] = plumb_keep_text(name);
    return all->strange[all->stranges] && ++all->stranges;
}

static plumb_span strange(const char *name)
{
    const char *best;
    bool new;
    plumb_lock();
    new = is_new(name);
    plumb_unlock();
    if (!new || PLUMB_LOAD(plumb_rt.settings.quiet) || !plumb_regions_speak())
        return no_span;
    best = plumb_region_nearest(name, strlen(name));
    plumb_say("plumb: region '%.200s' is not registered, entering it does nothing%s%s%s", name,
              best ? ": did you mean '" : "", best ? best : "", best ? "'?" : "");
    return no_span;
}

/* ---- The entries ----------------------------------------------------------------------------- */

/* Returns the thread if it records; otherwise NULL. */
static struct plumb_thread *recording(void)
{
    struct plumb_thread *th = plumb_wanted() ? plumb_attached() : NULL;
    return th && !(PLUMB_LOAD(th->gate) & PLUMB_GATE_OFF) ? th : NULL;
}

plumb_span plumb_region_begin_impl(const char *name)
{
    struct plumb_thread *th = recording();
    uint32_t number, node;
    if (!th)
        return no_span;
    number = plumb_region_number(name);
    if (!number)
        return strange(name ? name : "");
    node = node_of(number - 1);
    th->caller = PLUMB_CALLER();
    return node ? begin(th, number - 1, node, NULL, NULL) : no_span;
}

plumb_span plumb_region_begin_point(struct plumb_point *point, const void *frame,
                                    struct plumb_caller caller)
{
    struct plumb_thread *th = recording();
    uint32_t node = PLUMB_ACQUIRE(point->node), number;
    if (!th)
        return no_span;
    number = node ? PLUMB_LOAD(plumb_node_at(node)->region) : plumb_region_number(point->name);
    if (!number)
        return strange(point->name);
    if (!node) {
        node = node_of(number - 1);
        if (!node)
            return no_span;
        plumb_lock();
        plumb_node_add_site(node, point->file, point->line, point->flags);
        if (node != PLUMB_NODE_OTHER)
            PLUMB_RELEASE(point->node, node); /* and with it its region */
        plumb_unlock();
    }
    declared_again(th, point, frame);
    th->caller = caller;
    return begin(th, number - 1, node, point, frame);
}
