/* table_finish.c: the end of building: times become those since zero, events become rows, and args,
 * flows and drops refer to rows instead of events. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/trace/table_build.h"

/* ---- Time ----------------------------------------------------------------------------------- */

static void find_times(struct plumb_table *t)
{
    const struct plumb_table_build *b = t->build;
    int64_t first = b->timed ? b->least : b->zero, last = b->timed ? b->most : b->zero;
    if (b->has_zero) {
        first = b->zero < first ? b->zero : first;
        last = b->zero > last ? b->zero : last;
    }
    t->zero_ns = (uint64_t)first;
    t->end_ns = (uint64_t)last - (uint64_t)first;
    if (t->unix_ns) /* of what was called zero */
        t->unix_ns -= (uint64_t)b->zero - (uint64_t)first;
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

enum { UNSEEN, ON_THE_WAY, DONE };

/* Walks up from `track` until a track that is known, then down again; a circle is cut where it
 * closes. */
static void settle(struct plumb_table *t, uint32_t track, uint8_t *state, uint32_t *way)
{
    size_t n = 0;
    while (track != PLUMB_TABLE_NONE && state[track] == UNSEEN) {
        state[track] = ON_THE_WAY;
        way[n++] = track;
        uint32_t parent = t->tracks[track].parent;
        if (parent != PLUMB_TABLE_NONE && (parent >= t->track_count || state[parent] == ON_THE_WAY))
            parent = t->tracks[track].parent = PLUMB_TABLE_NONE;
        track = parent;
    }
    while (n-- > 0) {
        struct plumb_table_track *l = &t->tracks[way[n]];
        const struct plumb_table_track *up =
            l->parent == PLUMB_TABLE_NONE ? NULL : &t->tracks[l->parent];
        if (l->kind == PLUMB_TRACK_PROCESS)
            l->process = way[n];
        else if (up && l->process == PLUMB_TABLE_NONE)
            l->process = up->process;
        if (up && !l->has_pid && up->has_pid) {
            l->pid = up->pid;
            l->has_pid = true;
        }
        if (up && !l->has_tid && up->has_tid) {
            l->tid = up->tid;
            l->has_tid = true;
        }
        state[way[n]] = DONE;
    }
}

static int by_pid(const void *a, const void *b)
{
    const struct plumb_table_track *const *x = a, *const *y = b;
    if ((*x)->pid != (*y)->pid)
        return (*x)->pid < (*y)->pid ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Threads that have no parent belong to the process track with their number, where there is one. */
static bool find_processes(struct plumb_table *t)
{
    struct plumb_table_track **known = malloc((t->track_count + (size_t)1) * sizeof *known);
    size_t n = 0;
    if (!known)
        return false;
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].kind == PLUMB_TRACK_PROCESS && t->tracks[i].has_pid)
            known[n++] = &t->tracks[i];
    qsort(known, n, sizeof *known, by_pid);
    for (uint32_t i = 0; i < t->track_count; i++) {
        struct plumb_table_track *l = &t->tracks[i];
        size_t low = 0, high = n;
        if (l->kind == PLUMB_TRACK_PROCESS || l->process != PLUMB_TABLE_NONE || !l->has_pid)
            continue;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (known[middle]->pid < l->pid)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < n && known[low]->pid == l->pid)
            l->process = (uint32_t)(known[low] - t->tracks);
    }
    free(known);
    return true;
}

static bool settle_tracks(struct plumb_table *t)
{
    uint8_t *state = calloc(t->track_count + (size_t)1, 1);
    uint32_t *way = malloc((t->track_count + (size_t)1) * sizeof *way);
    bool done = state && way;
    for (uint32_t i = 0; done && i < t->track_count; i++)
        settle(t, i, state, way);
    free(state);
    free(way);
    return done && find_processes(t);
}

/* ---- Counters ------------------------------------------------------------------------------- */

static bool place_counters(struct plumb_table *t)
{
    struct plumb_table_build *b = t->build;
    struct plumb_table_counters *c = &t->counters;
    const struct plumb_build_event *events = b->counters.at;
    size_t count = b->counters.count;
    uint32_t *first = malloc((t->track_count + (size_t)1) * sizeof *first);
    uint32_t *order =
        first ? plumb_build_order(b, events, count, NULL, first, t->track_count) : NULL;
    c->ts_ns = malloc((count + 1) * sizeof *c->ts_ns);
    c->track = malloc((count + 1) * sizeof *c->track);
    c->value = malloc((count + 1) * sizeof *c->value);
    bool done = order && c->ts_ns && c->track && c->value;
    for (uint32_t track = 0; done && track < t->track_count; track++)
        t->tracks[track].counters =
            (struct plumb_table_range){first[track], first[track + 1] - first[track]};
    for (size_t i = 0; done && i < count; i++) {
        const struct plumb_build_event *e = &events[order[i]];
        uint32_t track = plumb_build_track(e);
        c->ts_ns[i] = (uint64_t)e->ns - t->zero_ns;
        c->track[i] = track;
        c->value[i] = e->u.value;
        if (!t->tracks[track].whole && plumb_build_type(e) == PLUMB_BUILD_I64)
            c->value[i].f64 = (double)e->u.value.i64;
    }
    c->count = done ? (uint32_t)count : 0;
    free(first);
    free(order);
    return done;
}

/* ---- Args ----------------------------------------------------------------------------------- */

static bool is_instant(const struct plumb_build_event *e)
{
    return plumb_build_type(e) == PLUMB_BUILD_INSTANT;
}

/* Args of instants, or of slices: counted by row, then put where the counts say. */
static bool place_args(struct plumb_table *t, struct plumb_table_args *out, uint32_t **starts,
                       uint32_t rows, bool instants)
{
    const struct plumb_build_event *events = t->build->events.at;
    const struct plumb_build_arg *args = t->build->args.at;
    uint32_t *start = *starts = calloc(rows + (size_t)2, sizeof *start);
    size_t count = t->build->args.count, kept = 0;
    for (size_t i = 0; start && i < count; i++) {
        const struct plumb_build_event *e = &events[args[i].event];
        if (is_instant(e) == instants && e->u.row != PLUMB_TABLE_NONE) {
            start[e->u.row + 2]++;
            kept++;
        }
    }
    out->key = malloc((kept + 1) * sizeof *out->key);
    out->type = malloc(kept + 1);
    out->value = malloc((kept + 1) * sizeof *out->value);
    if (!start || !out->key || !out->type || !out->value)
        return false;
    for (size_t i = 2; i < rows + (size_t)2; i++)
        start[i] += start[i - 1];
    for (size_t i = 0; i < count; i++) {
        const struct plumb_build_event *e = &events[args[i].event];
        if (is_instant(e) != instants || e->u.row == PLUMB_TABLE_NONE)
            continue;
        uint32_t at = start[e->u.row + 1]++;
        out->key[at] = args[i].key_type >> PLUMB_BUILD_TYPE_BITS;
        out->type[at] = args[i].key_type & PLUMB_BUILD_TYPE_MASK;
        out->value[at] = args[i].value;
    }
    out->count = (uint32_t)kept;
    return true;
}

static bool is_false(const struct plumb_table_args *args, uint32_t i)
{
    return args->type[i] == PLUMB_ARG_BOOL && args->value[i].u64 == 0;
}

static void flag_by_args(struct plumb_table *t)
{
    static const char *const keys[] = {"cut", "failed", "abandoned", "unbalanced",
                                       "clock_bound_ns"};
    static const uint8_t flags[] = {PLUMB_SLICE_CUT, PLUMB_SLICE_FAILED, PLUMB_SLICE_VOID,
                                    PLUMB_SLICE_VOID, 0};
    enum { KEYS = sizeof keys / sizeof *keys };
    const struct plumb_table_slices *s = &t->slices;
    uint32_t ids[KEYS];
    for (int k = 0; k < KEYS; k++)
        ids[k] = plumb_strings_find(&t->strings, keys[k]);
    for (uint32_t row = 0; row < s->count; row++)
        for (uint32_t i = s->args[row]; i < s->args[row + 1]; i++)
            for (int k = 0; k < KEYS; k++) {
                if (t->slice_args.key[i] != ids[k] || is_false(&t->slice_args, i))
                    continue;
                s->flags[row] |= flags[k];
                if (!flags[k] && t->tracks[s->track[row]].kind == PLUMB_TRACK_OTHER)
                    t->tracks[s->track[row]].kind = PLUMB_TRACK_DEVICE;
            }
}

static void flag_slices(struct plumb_table *t)
{
    if (t->slice_args.count > 0)
        flag_by_args(t);
    for (uint32_t row = 0; row < t->slices.count; row++) {
        t->open += (t->slices.flags[row] & PLUMB_SLICE_OPEN) != 0;
        t->cut += (t->slices.flags[row] & PLUMB_SLICE_CUT) != 0;
        t->failed += (t->slices.flags[row] & PLUMB_SLICE_FAILED) != 0;
    }
}

/* ---- Flows and drops ------------------------------------------------------------------------ */

static int by_id_and_time(const void *a, const void *b)
{
    const struct plumb_build_flow *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static int by_start(const void *a, const void *b)
{
    const struct plumb_table_flow *x = a, *y = b;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    if (x->to_ns != y->to_ns)
        return x->to_ns < y->to_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void add_arrow(struct plumb_table *t, const struct plumb_build_flow *tail,
                      const struct plumb_build_flow *head)
{
    const struct plumb_build_event *events = t->build->events.at;
    const struct plumb_build_event *from = &events[tail->event], *to = &events[head->event];
    t->flows[t->flow_count++] = (struct plumb_table_flow){tail->id,
                                                          (uint64_t)tail->ns - t->zero_ns,
                                                          (uint64_t)head->ns - t->zero_ns,
                                                          {from->u.row, is_instant(from)},
                                                          {to->u.row, is_instant(to)}};
}

/* Clocks are known within a bound alone, so a kernel may seem to begin before its launch. Returns
 * whether the flow at `i` ends before it begins: nothing but these two events has its id. */
static bool is_turned(const struct plumb_table *t, size_t i)
{
    const struct plumb_build_flow *f = (const struct plumb_build_flow *)t->build->flows.at + i;
    const struct plumb_build_event *events = t->build->events.at;
    size_t count = t->build->flows.count;
    return f->role == PLUMB_FLOW_ENDS && i + 1 < count && f[1].id == f->id &&
           f[1].role == PLUMB_FLOW_ON && (i == 0 || f[-1].id != f->id) &&
           (i + 2 == count || f[2].id != f->id) && events[f[1].event].u.row != PLUMB_TABLE_NONE;
}

static bool place_flows(struct plumb_table *t)
{
    struct plumb_build_flow *flows = t->build->flows.at;
    const struct plumb_build_event *events = t->build->events.at;
    size_t count = t->build->flows.count;
    const struct plumb_build_flow *last = NULL;
    if (count == 0)
        return true;
    if (!(t->flows = malloc(count * sizeof *t->flows)))
        return false;
    qsort(flows, count, sizeof *flows, by_id_and_time);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_build_flow *f = &flows[i];
        const struct plumb_build_event *to = &events[f->event];
        if (to->u.row == PLUMB_TABLE_NONE)
            continue;
        if (last && last->id == f->id)
            add_arrow(t, last, f);
        else if (is_turned(t, i))
            add_arrow(t, f + 1, f);
        if (f->role != PLUMB_FLOW_LEAF)
            last = f->role == PLUMB_FLOW_ENDS ? NULL : f;
    }
    qsort(t->flows, t->flow_count, sizeof *t->flows, by_start);
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct plumb_table_drop *x = a, *y = b;
    if (x->ts_ns != y->ts_ns)
        return x->ts_ns < y->ts_ns ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_count(const struct plumb_table_args *args, uint32_t i)
{
    return args->type[i] == PLUMB_ARG_U64 ||
           (args->type[i] == PLUMB_ARG_I64 && args->value[i].i64 >= 0);
}

static bool is_sum(const char *key)
{
    return strcmp(key, "spans") == 0 || strcmp(key, "events") == 0;
}

/* Counts the drops that an instant records and appends them to `out`, unless it is NULL. The first
 * arg of the instant may be the sum of the others. */
static uint32_t add_drops(struct plumb_table *t, uint32_t instant, struct plumb_table_drop *out)
{
    const struct plumb_table_instants *m = &t->instants;
    const struct plumb_table_args *args = &t->instant_args;
    uint32_t first = m->args[instant], end = m->args[instant + 1];
    struct plumb_table_drop drop = {m->ts_ns[instant], 0, m->track[instant], 0};
    uint32_t n = 0;
    if (first < end && is_count(args, first) && is_sum(plumb_table_text(t, args->key[first])))
        drop.count = args->value[first++].u64;
    for (uint32_t i = first; i < end; i++) {
        if (!is_count(args, i))
            continue;
        if (out)
            out[n] =
                (struct plumb_table_drop){drop.ts_ns, args->value[i].u64, drop.track, args->key[i]};
        n++;
    }
    if (n == 0 && out)
        out[0] = drop;
    return n ? n : 1;
}

static bool place_drops(struct plumb_table *t)
{
    uint32_t name = plumb_strings_find(&t->strings, PLUMB_DROPPED_NAME);
    uint32_t jump = plumb_strings_find(&t->strings, "plumb.clock_jumped");
    size_t count = 0;
    for (uint32_t i = 0; i < t->instants.count; i++) {
        if (t->instants.name[i] == name)
            count += add_drops(t, i, NULL);
        t->clock_jumps += t->instants.name[i] == jump;
    }
    if (count == 0)
        return true;
    if (!(t->drops = malloc(count * sizeof *t->drops)))
        return false;
    for (uint32_t i = 0; i < t->instants.count; i++)
        if (t->instants.name[i] == name)
            t->drop_count += add_drops(t, i, t->drops + t->drop_count);
    qsort(t->drops, count, sizeof *t->drops, by_time);
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------ */

int plumb_table_finish(struct plumb_table *t, plumb_error *err)
{
    struct plumb_table_build *b = t->build;
    bool done = !b->failed && !t->strings.text.failed;
    find_times(t);
    done = done && place_counters(t) && plumb_build_nest(t) && settle_tracks(t) &&
           place_args(t, &t->slice_args, &t->slices.args, t->slices.count, false) &&
           place_args(t, &t->instant_args, &t->instants.args, t->instants.count, true) &&
           place_flows(t) && place_drops(t);
    if (!done)
        return plumb_fail(err, PLUMB_ERR_MEMORY,
                          "out of memory for a trace of %zu events, or it has more than 2^31",
                          b->events.count + b->counters.count);
    flag_slices(t);
    plumb_build_free(b);
    t->build = NULL;
    return PLUMB_OK;
}
