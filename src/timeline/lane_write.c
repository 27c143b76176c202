/* lane_write.c: the writing half of lane_drain.h: names, tracks and packets of a lane. */
#include "timeline/lane_drain_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include <plumb/collector.h>

enum {
    TRACK_LANE = 5, /* 1 to 4 are perfetto.c's */
    TRACK_LEVEL = 6,
    TRACK_VALUES = 7,
    TRACK_WAITS = 8,
    TRACK_MARKS = 9,
    TRACK_DEVICE = 10,
    TRACK_CONTINUED = 16
};
enum { KEY_BOUND = 1, KEY_STEP, KEY_NODE, KEY_EVENTS, KEY_TID, KEY_NAMES = 16 };
/* Numbers of names other than those of lanes, which begin at 1. */
enum { NAME_NODES = 1 << 20, NAME_DROPPED = 1 << 24, NAME_WAITS = 1 << 25 };

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

void plumb_drain_start(struct plumb_lane_drain *d, struct plumb_drain_lane *l)
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
    l->seq.told[PLUMB_PF_NAMES] = (struct plumb_pf_told){bits, PLUMB_DRAIN_NAME_IDS};
    bits += PLUMB_DRAIN_NAME_IDS / 64;
    l->seq.told[PLUMB_PF_CATEGORIES] = (struct plumb_pf_told){bits, 256};
    bits += 256 / 64;
    l->seq.told[PLUMB_PF_KEYS] = (struct plumb_pf_told){bits, PLUMB_DRAIN_KEY_IDS};
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
    if (i == PLUMB_DRAIN_WAITERS)
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
static bool fits(const struct plumb_drain_level *v, uint64_t *begin, uint64_t end, uint64_t bound)
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
    struct plumb_drain_level *v;
    while (i < l->levels && !fits(&l->level[i], begin, end, bound))
        i++;
    if (i == PLUMB_DRAIN_LEVELS)
        i = PLUMB_DRAIN_LEVELS - 1;
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

void plumb_drain_put(struct plumb_drain_lane *l, const struct plumb_drain_entry *x)
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

void plumb_drain_put_missing(struct plumb_drain_lane *l, uint64_t n, uint64_t at)
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

void plumb_drain_put_dropped(struct plumb_drain_lane *l, uint64_t at)
{
    uint64_t dropped = PLUMB_LOAD(l->live->dropped), n = dropped - l->live->told_dropped;
    if (n)
        plumb_drain_put_missing(l, n, at);
    l->live->told_dropped = dropped;
}
