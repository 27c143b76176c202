/* lane_drain.c: see lane_drain.h. The mapping may be a damaged file: queues are checked before they
 * are read, and slots that make no sense are skipped. */
#include "timeline/lane_drain_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "live/lane_clock.h"
#include "timeline/lane_ring.h"
#include <plumb/collector.h>

enum { SETTLE_NS = 2000000 }; /* after this time no event is expected that began before */

/* ---- Taking ---------------------------------------------------------------------------------- */

static const struct plumb_live_clock *clock_of(const struct plumb_trace_file *f, uint8_t clock)
{
    const struct plumb_live_table *t = &f->source.h->clocks;
    return clock ? plumb_live_element(&f->source, t, clock - 1u, sizeof(struct plumb_live_clock))
                 : NULL;
}

/* False: its clock is not there. */
static bool place(struct plumb_drain_entry *x, struct plumb_trace_file *f)
{
    const struct plumb_live_event *v = x->event;
    bool lasts = v->kind == PLUMB_EVENT_SPAN || v->kind == PLUMB_EVENT_WAIT;
    const struct plumb_live_clock *c = clock_of(f, v->clock);
    struct plumb_lane_time a = {v->begin, 0}, b = {v->begin + (lasts ? v->length : 0), 0};
    if (v->clock && (!c || !plumb_lane_clock_convert(&a, c, v->begin, v->emitted) ||
                     !plumb_lane_clock_convert(&b, c, b.ticks, v->emitted)))
        return false;
    x->begin = plumb_trace_file_ns(f, a.ticks);
    x->end = plumb_trace_file_ns(f, b.ticks > a.ticks ? b.ticks : a.ticks);
    a.bound = a.bound > b.bound ? a.bound : b.bound;
    x->bound_ns = plumb_lane_bound_ns(a.bound, f->clock.ns_per_tick);
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct plumb_drain_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static bool room(struct plumb_lane_drain *d, size_t n)
{
    struct plumb_drain_entry *grown, *before = d->sorted;
    size_t bytes = d->sorted_cap * sizeof *grown;
    if (n <= d->sorted_cap)
        return true;
    grown = plumb_pages_map(n * sizeof *grown);
    if (!grown)
        return false;
    PLUMB_RELEASE(d->sorted, grown);
    PLUMB_RELEASE(d->sorted_cap, n);
    plumb_pages_unmap(before, bytes);
    return true;
}

/* Gathers complete events up to the first slot that is incomplete; with `last` it skips such slots.
 * `*position` is where it stopped. */
static size_t gather(struct plumb_lane_drain *d, const struct plumb_drain_lane *l, uint64_t tail,
                     bool last, uint64_t *position)
{
    size_t n = 0;
    while (*position < tail) {
        const struct plumb_live_event *v = &l->slots[*position & (l->live->slots - 1)].event;
        struct plumb_drain_entry *x = &d->sorted[n];
        if (PLUMB_ACQUIRE(v->seq) != *position + 1) {
            if (!last)
                break;
            ++*position;
            continue;
        }
        x->event = v;
        *position += v->slots && *position + v->slots <= tail ? v->slots : 1;
        x->next = *position;
        n += place(x, l->file);
    }
    return n;
}

/* How many of the gathered events, which are in the order of their emits, can be written now. These
 * begin before all events after them, and events that are still being emitted begin later. */
static size_t settled(struct plumb_drain_entry *x, size_t n, const struct plumb_trace_file *f)
{
    uint64_t now = plumb_trace_file_ns(f, plumb_ticks_from(f->source.h->clock_source));
    uint64_t latest = 0, least = UINT64_MAX;
    size_t best = 0;
    for (size_t i = n; i-- > 0;) {
        least = x[i].begin < least ? x[i].begin : least;
        x[i].least = least;
    }
    for (size_t i = 0; i < n; i++) {
        if (plumb_trace_file_ns(f, x[i].event->emitted) + SETTLE_NS > now)
            break;
        latest = x[i].begin > latest ? x[i].begin : latest;
        if (i + 1 == n || latest <= x[i + 1].least)
            best = i + 1;
    }
    return best;
}

/* The number of events that the queue holds from `position` on. It is all that can be recorded of
 * them if there is no memory to sort them. Other threads may go on emitting. */
static uint64_t held(const struct plumb_drain_lane *l, uint64_t position, uint64_t tail)
{
    uint64_t n = 0;
    while (position < tail) {
        const struct plumb_live_event *v = &l->slots[position & (l->live->slots - 1)].event;
        bool whole = PLUMB_ACQUIRE(v->seq) == position + 1;
        position += whole && v->slots && position + v->slots <= tail ? v->slots : 1;
        n += whole;
    }
    return n;
}

/* Counts the events in the queue as dropped: no later pass takes them. */
static void give_up(struct plumb_lane_drain *d, struct plumb_drain_lane *l, uint64_t tail)
{
    PLUMB_ADD(l->live->dropped, held(l, l->taken, tail));
    plumb_drain_start(d, l);
    plumb_drain_put_dropped(l, l->seq.last_ns);
    l->taken = tail;
}

static void pass_on(const struct plumb_lane_drain *d, const struct plumb_drain_lane *l,
                    const struct plumb_drain_entry *x)
{
    struct plumb_lane_work work;
    if (!d->also || !plumb_lane_work_of(&work, &l->file->source, l->live, l->slots, x->event))
        return;
    work.begin_ns = x->begin;
    work.end_ns = x->end;
    work.lane_id = (uint32_t)(l - d->lanes);
    d->also(d->also_arg, &work);
}

static uint32_t take(struct plumb_lane_drain *d, struct plumb_drain_lane *l, bool last)
{
    uint64_t tail = PLUMB_ACQUIRE(l->live->tail), before = l->taken, position = before;
    uint32_t part;
    size_t n, whole;
    if (tail - before > l->live->slots || (tail == before && !last))
        return 0;
    if (!room(d, l->live->slots)) {
        if (last && tail != before)
            give_up(d, l, tail);
        return 0;
    }
    part = (uint32_t)((tail - before) * 256 / l->live->slots);
    n = gather(d, l, tail, last, &position);
    whole = last || part > 128 ? n : settled(d->sorted, n, l->file);
    if (whole < n)
        position = whole ? d->sorted[whole - 1].next : before;
    l->taken = position;
    if (whole || PLUMB_LOAD(l->live->dropped) != l->live->told_dropped)
        plumb_drain_start(d, l);
    qsort(d->sorted, whole, sizeof *d->sorted, by_begin);
    for (size_t i = 0; i < whole && !l->file->failed; i++) {
        plumb_drain_put(l, &d->sorted[i]);
        pass_on(d, l, &d->sorted[i]);
    }
    if (l->ready)
        plumb_drain_put_dropped(l, whole ? d->sorted[whole - 1].end : l->seq.last_ns);
    d->events += whole;
    l->touched |= l->taken != before;
    return part;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Where the last commit left the lane. */
static uint64_t committed(const struct plumb_trace_file *f, struct plumb_drain_lane *l)
{
    uint64_t batch = PLUMB_ACQUIRE(f->source.h->trace.batch), best = 0;
    uint64_t taken = f->source.h->trace.window ? PLUMB_LOAD(l->live->taken) : 0;
    for (int i = 0; i < 2; i++) {
        if (l->live->commit[i].batch > best && l->live->commit[i].batch <= batch) {
            best = l->live->commit[i].batch;
            taken = l->live->commit[i].taken;
            l->current = i;
            l->opened = true;
        }
    }
    return taken;
}

static void meet(struct plumb_lane_drain *d, struct plumb_trace_file *f)
{
    const struct plumb_live_table *t = &f->source.h->lanes;
    uint32_t n = PLUMB_ACQUIRE(t->count);
    if (n > PLUMB_LIVE_LANES || n == d->count)
        return;
    if (!d->lanes)
        d->lanes = plumb_pages_map(PLUMB_LIVE_LANES * sizeof *d->lanes);
    while (d->lanes && d->count < n) {
        struct plumb_drain_lane *l = &d->lanes[d->count];
        struct plumb_live_lane *live = plumb_live_element(&f->source, t, d->count, sizeof *live);
        d->count++;
        if (!live || !live->queue_off || !live->slots || live->slots & (live->slots - 1) ||
            live->slots > PLUMB_LANE_SLOTS_MAX)
            continue;
        l->slots = plumb_live_at(&f->source, live->queue_off, live->slots * sizeof *l->slots);
        l->live = l->slots ? live : NULL;
        l->file = f;
        if (l->live)
            l->taken = committed(f, l);
    }
}

uint32_t plumb_lane_drain_take(struct plumb_lane_drain *d, struct plumb_trace_file *f, bool last)
{
    uint32_t fullest = 0;
    meet(d, f);
    for (uint32_t i = 0; i < d->count && !f->failed; i++) {
        uint32_t part = d->lanes[i].live ? take(d, &d->lanes[i], last) : 0;
        fullest = part > fullest ? part : fullest;
    }
    return fullest;
}

static bool copy_room(struct plumb_lane_drain *d, size_t n)
{
    union plumb_live_slot *before = d->copy;
    size_t bytes = d->copy_cap * sizeof *before;
    if (n <= d->copy_cap)
        return true;
    PLUMB_RELEASE(d->copy, NULL);
    plumb_pages_unmap(before, bytes);
    PLUMB_RELEASE(d->copy, plumb_pages_map(n * sizeof *d->copy));
    PLUMB_RELEASE(d->copy_cap, d->copy ? n : 0);
    return d->copy != NULL;
}

/* From a copy, because other threads go on overwriting. */
static void collect(struct plumb_lane_drain *d, struct plumb_drain_lane *l)
{
    union plumb_live_slot *slots = l->slots;
    uint64_t count = l->live->slots, tail = PLUMB_ACQUIRE(l->live->tail), position;
    size_t n;
    if (!tail)
        return;
    if (!room(d, count) || !copy_room(d, count)) {
        uint64_t missing = held(l, tail > count ? tail - count : 0, tail);
        if (missing) {
            plumb_drain_start(d, l);
            plumb_drain_put_missing(l, missing, l->seq.last_ns);
            l->file->lane_losses[l->file->lane_loss_count++] = l->live->sequence;
        }
        return;
    }
    plumb_lane_ring_copy(d->copy, slots, count, tail, &position);
    l->slots = d->copy;
    n = gather(d, l, tail, true, &position);
    if (n)
        plumb_drain_start(d, l);
    qsort(d->sorted, n, sizeof *d->sorted, by_begin);
    for (size_t i = 0; i < n && !l->file->failed; i++)
        plumb_drain_put(l, &d->sorted[i]);
    d->events += n;
    l->slots = slots;
}

void plumb_lane_drain_collect(struct plumb_lane_drain *d, struct plumb_trace_file *f)
{
    meet(d, f);
    for (uint32_t i = 0; i < d->count && !f->failed; i++)
        if (d->lanes[i].live)
            collect(d, &d->lanes[i]);
    plumb_lane_drain_facts(f);
}

void plumb_lane_drain_commit(struct plumb_lane_drain *d, uint64_t batch)
{
    for (uint32_t i = 0; i < d->count; i++) {
        struct plumb_drain_lane *l = &d->lanes[i];
        if (!l->touched)
            continue;
        l->live->commit[!l->current].taken = l->taken;
        PLUMB_RELEASE(l->live->commit[!l->current].batch, batch);
    }
}

void plumb_lane_drain_committed(struct plumb_lane_drain *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        struct plumb_drain_lane *l = &d->lanes[i];
        if (!l->touched)
            continue;
        l->touched = false;
        l->current = !l->current;
        PLUMB_RELEASE(l->live->taken, l->taken);
    }
}

void plumb_lane_drain_fini(struct plumb_lane_drain *d)
{
    plumb_pages_unmap(d->lanes, d->lanes ? PLUMB_LIVE_LANES * sizeof *d->lanes : 0);
    plumb_pages_unmap(d->sorted, d->sorted_cap * sizeof *d->sorted);
    plumb_pages_unmap(d->copy, d->copy_cap * sizeof *d->copy);
    memset(d, 0, sizeof *d);
}
