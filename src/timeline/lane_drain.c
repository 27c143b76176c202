/* lane_drain.c: see lane_drain.h. The mapping may be a damaged file: queues are checked before they
 * are read, and slots that make no sense are skipped. */
#include "timeline/lane_drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "live/lane_clock.h"
#include "timeline/lane_ring.h"
#include <plumb/collector.h>

enum {
    TRACK_LANE = 5, /* 1 to 4 are perfetto.c's */
    TRACK_LEVEL = 6,
    TRACK_VALUES = 7,
    TRACK_WAITS = 8,
    TRACK_MARKS = 9,
    TRACK_DEVICE = 10,
    TRACK_CONTINUED = 16,
    LEVELS = 16,
    SETTLE_NS = 2000000, /* after this time no event is expected that began before */
    NAME_IDS = 8192,     /* that are interned */
    KEY_IDS = 1024,
    WAITERS = 16
};
enum { KEY_BOUND = 1, KEY_STEP, KEY_NODE, KEY_EVENTS, KEY_TID, KEY_NAMES = 16 };
/* Numbers of names other than those of lanes, which begin at 1. */
enum { NAME_NODES = 1 << 20, NAME_DROPPED = 1 << 24, NAME_WAITS = 1 << 25 };

struct level {
    uint64_t track, end; /* of its last span, ns */
};
struct plumb_drain_lane {
    struct plumb_live_lane *live;
    union plumb_live_slot *slots;
    uint64_t taken, track, values, marks; /* tracks; 0: not yet */
    bool touched, current, ready;
    bool opened; /* the file has packets of its sequence */
    struct plumb_pf_sequence seq;
    struct plumb_pf_texts texts;
    struct plumb_trace_file *file;
    uint32_t levels, waiters;
    struct level level[LEVELS];
    struct {
        uint32_t tid;
        uint64_t track;
    } waiter[WAITERS];
    char scratch[160];
    uint64_t bits[(NAME_IDS + 256 + KEY_IDS) / 64];
};
struct plumb_drain_entry {
    uint64_t begin, end; /* ns */
    const struct plumb_live_event *event;
    uint64_t bound_ns;
    uint64_t next;  /* position of the event after it */
    uint64_t least; /* begin of the earliest from it on */
};

/* ---- Texts ----------------------------------------------------------------------------------- */

static const char *name_text(const struct plumb_trace_file *f, uint32_t name)
{
    return plumb_lane_name_text(&f->source, name);
}

static const char *key_text(const struct plumb_trace_file *f, uint32_t id)
{
    static const char *const fixed[] = {[KEY_BOUND] = "clock_bound_ns",
                                        [KEY_STEP] = "step",
                                        [KEY_NODE] = "node",
                                        [KEY_EVENTS] = "events",
                                        [KEY_TID] = "tid"};
    if (id >= KEY_NAMES)
        return name_text(f, id - KEY_NAMES);
    return id < sizeof fixed / sizeof *fixed && fixed[id] ? fixed[id] : "?";
}

static const char *text_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    struct plumb_drain_lane *l = arg;
    if (index == PLUMB_PF_CATEGORIES)
        return plumb_live_phase_name(&l->file->source, (id - 1) & 0xff);
    if (index == PLUMB_PF_KEYS)
        return key_text(l->file, id);
    if (index == PLUMB_PF_VALUES)
        return plumb_live_node_name(&l->file->source, id);
    if (id == NAME_WAITS)
        return "waiting"; /* for work that was launched in no node */
    if (id >= NAME_WAITS) {
        snprintf(l->scratch, sizeof l->scratch, "waiting for %.120s",
                 plumb_live_node_name(&l->file->source, id - NAME_WAITS));
        return l->scratch;
    }
    if (id >= NAME_DROPPED)
        return "plumb.dropped";
    if (id >= NAME_NODES)
        return plumb_live_node_name(&l->file->source, id - NAME_NODES);
    return name_text(l->file, id);
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static uint64_t add_track(struct plumb_drain_lane *l, uint32_t kind, uint64_t what, uint64_t parent,
                          const char *name)
{
    struct plumb_trace_file *f = l->file;
    struct plumb_pf_track t = {.kind =
                                   kind == TRACK_VALUES ? PLUMB_PF_COUNTER_TRACK : PLUMB_PF_LANE,
                               .parent = parent,
                               .name = name};
    /* A file that continues that of a killed process has tracks of its own, so that nothing
     * overlaps the spans that the process wrote. */
    if (f->continues && kind != TRACK_LANE)
        kind += TRACK_CONTINUED;
    t.uuid = plumb_pf_uuid(f->seed, kind, l->live->sequence, what);
    while (!plumb_pf_track(&f->out, &t))
        plumb_trace_file_flush(f);
    return t.uuid;
}

/* One for all lanes of the device, whichever collector opened them. */
static uint64_t device_track(struct plumb_trace_file *f, const char *device)
{
    struct plumb_pf_track t = {.kind = PLUMB_PF_LANE, .parent = f->process_track, .name = device};
    t.uuid = plumb_pf_uuid(f->seed, TRACK_DEVICE, plumb_hash_text(device), 0);
    if (!plumb_map_get(&f->tracks, t.uuid)) {
        while (!plumb_pf_track(&f->out, &t))
            plumb_trace_file_flush(f);
        plumb_map_put(&f->tracks, t.uuid, 1); /* a failure only describes it again */
    }
    return t.uuid;
}

static uint64_t parent_track(const struct plumb_lane_drain *d, const struct plumb_drain_lane *l)
{
    uint32_t parent = l->live->parent;
    if (parent && parent <= d->count && d->lanes[parent - 1].track)
        return d->lanes[parent - 1].track;
    if (l->live->device_off)
        return device_track(l->file, plumb_live_text(&l->file->source, l->live->device_off));
    return l->file->process_track;
}

static void start(struct plumb_lane_drain *d, struct plumb_drain_lane *l)
{
    struct plumb_trace_file *f = l->file;
    struct plumb_live_trace *h = &f->source.h->trace;
    uint64_t *bits = l->bits;
    if (l->ready)
        return;
    /* A number that was given and not used before a kill is as good as a new one. */
    if (!l->live->sequence)
        l->live->sequence = ++h->sequences + PLUMB_PF_HEAD_SEQUENCE;
    l->texts = (struct plumb_pf_texts){text_of, l};
    l->seq = (struct plumb_pf_sequence){
        .id = l->live->sequence, .opened = l->opened, .texts = &l->texts};
    l->seq.told[PLUMB_PF_NAMES] = (struct plumb_pf_told){bits, NAME_IDS};
    bits += NAME_IDS / 64;
    l->seq.told[PLUMB_PF_CATEGORIES] = (struct plumb_pf_told){bits, 256};
    bits += 256 / 64;
    l->seq.told[PLUMB_PF_KEYS] = (struct plumb_pf_told){bits, KEY_IDS};
    l->track = add_track(l, TRACK_LANE, 0, parent_track(d, l),
                         plumb_live_text(&f->source, l->live->name_off));
    if (l->live->kind == PLUMB_LANE_OF_VALUES)
        l->values =
            add_track(l, TRACK_VALUES, 0, l->track, plumb_live_text(&f->source, l->live->name_off));
    while (!plumb_pf_sequence_open(&f->out, &l->seq, l->track, &f->zero))
        plumb_trace_file_flush(f);
    l->ready = l->touched = true;
}

/* The track of events without a duration. Among spans, whose ends are written with their begins,
 * their times would go back. */
static uint64_t marks_track(struct plumb_drain_lane *l)
{
    char name[160];
    snprintf(name, sizeof name, "%.100s: marks",
             plumb_live_text(&l->file->source, l->live->name_off));
    if (!l->marks)
        l->marks = add_track(l, TRACK_MARKS, 0, l->track, name);
    return l->marks;
}

static uint64_t waiter_track(struct plumb_drain_lane *l, uint32_t tid)
{
    uint32_t i = 0;
    while (i < l->waiters && l->waiter[i].tid != tid)
        i++;
    if (i == WAITERS)
        return l->track;
    if (i == l->waiters) {
        char name[160];
        snprintf(name, sizeof name, "%.100s: thread %u waits",
                 plumb_live_text(&l->file->source, l->live->name_off), tid);
        l->waiter[i].tid = tid;
        l->waiter[i].track = add_track(l, TRACK_WAITS, tid, l->track, name);
        l->waiters++;
    }
    return l->waiter[i].track;
}

/* Whether a span can follow on the level, on which time never goes back. A span that begins a
 * little early, within its clock's bound, begins at the end of the one before. */
static bool fits(const struct level *v, uint64_t *begin, uint64_t end, uint64_t bound)
{
    if (*begin >= v->end)
        return true;
    if (v->end - *begin > 2 * bound || end < v->end)
        return false;
    *begin = v->end;
    return true;
}

static uint64_t level_track(struct plumb_drain_lane *l, uint64_t *begin, uint64_t end,
                            uint64_t bound)
{
    uint32_t i = 0;
    struct level *v;
    while (i < l->levels && !fits(&l->level[i], begin, end, bound))
        i++;
    if (i == LEVELS)
        i = LEVELS - 1;
    v = &l->level[i];
    if (i == l->levels) {
        char name[160];
        snprintf(name, sizeof name, "%.100s %u",
                 plumb_live_text(&l->file->source, l->live->name_off), i + 1);
        v->track =
            i == 0 && !l->file->continues ? l->track : add_track(l, TRACK_LEVEL, i, l->track, name);
        l->levels++;
    }
    /* More spans at once than there are levels: on the last one the begins are moved up. */
    if (*begin < v->end)
        *begin = v->end;
    v->end = end > *begin ? end : *begin;
    return v->track;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void put(struct plumb_drain_lane *l, const struct plumb_pf_event *e)
{
    while (!plumb_pf_event(&l->file->out, &l->seq, e))
        plumb_trace_file_flush(l->file);
}

static size_t add_args(const struct plumb_drain_lane *l, struct plumb_pf_arg *args,
                       const struct plumb_drain_entry *x)
{
    const struct plumb_live_event *v = x->event;
    size_t n = 0, slots = l->live->slots;
    for (uint32_t i = 0; i < v->args && i < PLUMB_EVENT_ARGS; i++) {
        uint64_t position = v->seq + i / PLUMB_LANE_ARGS; /* seq is its own + 1 */
        const struct plumb_live_event_args *from = &l->slots[position & (slots - 1)].args;
        uint32_t k = i % PLUMB_LANE_ARGS, type = from->arg[k].type;
        args[n] = (struct plumb_pf_arg){.key = from->arg[k].key + KEY_NAMES,
                                        .type = type == 2   ? PLUMB_PF_F64
                                                : type == 3 ? PLUMB_PF_TEXT
                                                            : PLUMB_PF_I64};
        if (type == 3)
            args[n].v.text = name_text(l->file, (uint32_t)from->arg[k].value);
        else
            args[n].v.u64 = from->arg[k].value;
        n++;
    }
    if (v->node) {
        args[n++] =
            (struct plumb_pf_arg){.key = KEY_NODE,
                                  .type = PLUMB_PF_TEXT,
                                  .v.text = plumb_live_node_name(&l->file->source, v->node)};
    }
    if (v->step >= 0)
        args[n++] = (struct plumb_pf_arg){.key = KEY_STEP, .type = PLUMB_PF_I64, .v.i64 = v->step};
    /* Work on the host took time of the thread whose spans are around it. */
    if (v->tid && l->live->kind == PLUMB_LANE_OF_HOST)
        args[n++] = (struct plumb_pf_arg){.key = KEY_TID, .type = PLUMB_PF_U64, .v.u64 = v->tid};
    if (v->clock)
        args[n++] =
            (struct plumb_pf_arg){.key = KEY_BOUND, .type = PLUMB_PF_U64, .v.u64 = x->bound_ns};
    return n;
}

/* Whether a flow leads to it. Work on the host has one too, but was not launched. */
static bool is_launched(const struct plumb_drain_lane *l, const struct plumb_live_event *v)
{
    return v->flow != 0 && l->live->kind != PLUMB_LANE_OF_HOST;
}

static void put_span(struct plumb_drain_lane *l, const struct plumb_drain_entry *x)
{
    const struct plumb_live_event *v = x->event;
    struct plumb_pf_arg args[PLUMB_EVENT_ARGS + 4];
    bool waits = v->kind == PLUMB_EVENT_WAIT;
    uint64_t begin = x->begin;
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN, .args = args, .ending = &v->flow};
    e.track = waits ? waiter_track(l, v->tid) : level_track(l, &begin, x->end, x->bound_ns);
    e.ns = begin;
    e.name = waits ? NAME_WAITS + v->node : v->name ? v->name : NAME_NODES + v->node;
    e.category = v->node ? (uint32_t)(v->group & 0xff) + 1 : 0;
    e.ending_count = is_launched(l, v) && !waits;
    e.arg_count = add_args(l, args, x);
    put(l, &e);
    e = (struct plumb_pf_event){.type = PLUMB_PF_END, .track = e.track};
    e.ns = x->end > begin ? x->end : begin;
    put(l, &e);
}

static void put_value(struct plumb_drain_lane *l, const struct plumb_drain_entry *x)
{
    struct plumb_pf_event e = {.type = PLUMB_PF_COUNTER, .ns = x->begin};
    const char *name = x->event->name ? name_text(l->file, x->event->name)
                                      : plumb_live_text(&l->file->source, l->live->name_off);
    e.value_type = PLUMB_PF_F64;
    memcpy(&e.value.f64, &x->event->length, sizeof e.value.f64);
    if (!l->values)
        l->values = add_track(l, TRACK_VALUES, x->event->name, l->track, name);
    e.track = l->values;
    put(l, &e);
}

static void put_point(struct plumb_drain_lane *l, const struct plumb_drain_entry *x)
{
    const struct plumb_live_event *v = x->event;
    struct plumb_pf_arg args[PLUMB_EVENT_ARGS + 4];
    bool flow = v->kind == PLUMB_EVENT_FLOW;
    struct plumb_pf_event e = {.type = PLUMB_PF_INSTANT,
                               .ns = x->begin,
                               .track = marks_track(l),
                               .name = v->name ? v->name : NAME_NODES + v->node,
                               .flows = flow ? &v->length : &v->flow,
                               .flow_count = flow ? v->length != 0 : is_launched(l, v),
                               .args = args};
    e.arg_count = add_args(l, args, x);
    put(l, &e);
}

static void put_entry(struct plumb_drain_lane *l, const struct plumb_drain_entry *x)
{
    switch (x->event->kind) {
    case PLUMB_EVENT_SPAN:
    case PLUMB_EVENT_WAIT:
        put_span(l, x);
        break;
    case PLUMB_EVENT_COUNTER:
        put_value(l, x);
        break;
    case PLUMB_EVENT_INSTANT:
    case PLUMB_EVENT_FLOW:
        put_point(l, x);
        break;
    default:
        break; /* of a newer version, or damaged */
    }
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

/* Writes an instant for `n` events that are not in the file, after the lane's events so far. */
static void put_missing(struct plumb_drain_lane *l, uint64_t n, uint64_t at)
{
    struct plumb_pf_arg arg = {.key = KEY_EVENTS, .type = PLUMB_PF_U64, .v.u64 = n};
    struct plumb_pf_event e = {.type = PLUMB_PF_INSTANT,
                               .ns = at,
                               .track = marks_track(l),
                               .name = NAME_DROPPED,
                               .args = &arg,
                               .arg_count = 1};
    while (!plumb_pf_sequence_lost(&l->file->out, &l->seq, l->track, &l->file->zero))
        plumb_trace_file_flush(l->file);
    put(l, &e);
}

static void put_dropped(struct plumb_drain_lane *l, uint64_t at)
{
    uint64_t dropped = PLUMB_LOAD(l->live->dropped), n = dropped - l->live->told_dropped;
    if (n)
        put_missing(l, n, at);
    l->live->told_dropped = dropped;
}

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
    start(d, l);
    put_dropped(l, l->seq.last_ns);
    l->taken = tail;
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
        start(d, l);
    qsort(d->sorted, whole, sizeof *d->sorted, by_begin);
    for (size_t i = 0; i < whole && !l->file->failed; i++) {
        put_entry(l, &d->sorted[i]);
        pass_on(d, l, &d->sorted[i]);
    }
    if (l->ready)
        put_dropped(l, whole ? d->sorted[whole - 1].end : l->seq.last_ns);
    d->events += whole;
    l->touched |= l->taken != before;
    return part;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Where the last commit left the lane. */
static uint64_t committed(const struct plumb_trace_file *f, struct plumb_drain_lane *l)
{
    uint64_t batch = PLUMB_ACQUIRE(f->source.h->trace.batch), taken = 0, best = 0;
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
            start(d, l);
            put_missing(l, missing, l->seq.last_ns);
            l->file->lane_losses[l->file->lane_loss_count++] = l->live->sequence;
        }
        return;
    }
    plumb_lane_ring_copy(d->copy, slots, count, tail, &position);
    l->slots = d->copy;
    n = gather(d, l, tail, true, &position);
    if (n)
        start(d, l);
    qsort(d->sorted, n, sizeof *d->sorted, by_begin);
    for (size_t i = 0; i < n && !l->file->failed; i++)
        put_entry(l, &d->sorted[i]);
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
