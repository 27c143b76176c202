/* table_nest.c: events become slices and instants, track by track, with the stack of what is open.
 *
 * Complete slices that overlap others of their track (some writers put asynchronous work on a
 * thread) go on an extra track, as viewers have it, and from there on another, up to a bound. */
#include <stdlib.h>

#include "read/trace/table_build.h"

enum { SEARCH_MAX = 256, EXTRA_TRACKS_MAX = 64 };

struct open_slice {
    uint32_t row;
    bool complete; /* its end is known */
    int64_t end;
};

/* Events that wait for an extra track. */
struct moved {
    uint32_t *events;
    size_t count, cap;
    uint32_t track, tried;
};

struct nesting {
    struct plumb_table *t;
    struct plumb_table_build *b;
    struct plumb_build_event *events;
    const uint64_t *durations;
    uint64_t zero, end;
    uint32_t track;
    struct plumb_build_list stack; /* struct open_slice */
    struct plumb_build_list moved; /* uint32_t: of this track */
    struct plumb_build_list later; /* struct moved */
    struct plumb_build_list wait;  /* uint32_t: points that stand for the next slice */
};

/* ---- The stack ------------------------------------------------------------------------------ */

static struct open_slice *top(const struct nesting *n)
{
    return n->stack.count ? (struct open_slice *)n->stack.at + n->stack.count - 1 : NULL;
}

static void close_at(struct nesting *n, uint32_t row, int64_t ns, uint8_t flag)
{
    struct plumb_table_slices *s = &n->t->slices;
    s->dur_ns[row] = (uint64_t)ns - n->zero - s->ts_ns[row];
    s->flags[row] |= flag;
}

static void pop_what_ended(struct nesting *n, int64_t ns)
{
    struct open_slice *o;
    while ((o = top(n)) && o->complete && o->end <= ns)
        n->stack.count--;
}

static void push(struct nesting *n, const struct plumb_build_event *e, bool complete, int64_t end)
{
    struct plumb_table_slices *s = &n->t->slices;
    struct open_slice *parent = top(n), *o;
    uint32_t row = s->count++;
    s->ts_ns[row] = (uint64_t)e->ns - n->zero;
    s->dur_ns[row] = complete ? (uint64_t)end - (uint64_t)e->ns : 0;
    s->track[row] = n->track;
    s->name[row] = e->u.of.name;
    s->category[row] = e->u.of.category;
    s->parent[row] = parent ? parent->row : PLUMB_TABLE_NONE;
    s->depth[row] = (uint32_t)n->stack.count;
    s->flags[row] = 0;
    while (n->wait.count > 0)
        n->events[((uint32_t *)n->wait.at)[--n->wait.count]].u.row = row;
    if ((o = plumb_build_add(n->b, &n->stack, sizeof *o)))
        *o = (struct open_slice){row, complete, end};
}

/* ---- Events --------------------------------------------------------------------------------- */

/* The place on the stack of the slice that an end is meant for, or -1. */
static ptrdiff_t find_open(const struct nesting *n, uint32_t name)
{
    const struct open_slice *stack = n->stack.at;
    ptrdiff_t i = (ptrdiff_t)n->stack.count;
    for (int tried = 0; i-- > 0 && tried < SEARCH_MAX; tried++)
        if (!stack[i].complete && (name == 0 || n->t->slices.name[stack[i].row] == name))
            return i;
    return -1;
}

/* Returns the slice, or PLUMB_TABLE_NONE. */
static uint32_t end_one(struct nesting *n, const struct plumb_build_event *e)
{
    const struct open_slice *stack = n->stack.at;
    ptrdiff_t at = find_open(n, e->u.of.name);
    if (at < 0) {
        n->t->tracks[n->track].lone_ends++;
        n->t->faults.lone_ends++;
        return PLUMB_TABLE_NONE;
    }
    while ((ptrdiff_t)n->stack.count > at) {
        const struct open_slice *o = &stack[--n->stack.count];
        bool meant = (ptrdiff_t)n->stack.count == at;
        if (!o->complete)
            close_at(n, o->row, e->ns, meant ? 0 : PLUMB_SLICE_CUT);
    }
    return stack[at].row;
}

static uint32_t begin_complete(struct nesting *n, uint32_t event, const struct plumb_build_event *e,
                               bool last_track)
{
    int64_t end = (int64_t)((uint64_t)e->ns + n->durations[e->extra]);
    const struct open_slice *o = top(n);
    if (o && o->complete && o->end < end && !last_track) {
        uint32_t *waits = plumb_build_add(n->b, &n->moved, sizeof *waits);
        if (waits)
            *waits = event;
        return PLUMB_TABLE_NONE;
    }
    push(n, e, true, end);
    return n->t->slices.count - 1;
}

static uint32_t add_instant(struct nesting *n, const struct plumb_build_event *e)
{
    struct plumb_table_instants *s = &n->t->instants;
    const struct open_slice *o = top(n);
    uint32_t row = s->count++;
    s->ts_ns[row] = (uint64_t)e->ns - n->zero;
    s->track[row] = n->track;
    s->name[row] = e->u.of.name;
    s->category[row] = e->u.of.category;
    s->slice[row] = o ? o->row : PLUMB_TABLE_NONE;
    return row;
}

/* The slice of no length that began and ended then, or PLUMB_TABLE_NONE. */
static uint32_t find_moment(const struct nesting *n, int64_t ns)
{
    const struct plumb_table_slices *s = &n->t->slices;
    uint32_t row = s->count - 1;
    return s->count > 0 && s->track[row] == n->track && s->dur_ns[row] == 0 &&
                   s->ts_ns[row] == (uint64_t)ns - n->zero
               ? row
               : PLUMB_TABLE_NONE;
}

/* Returns the slice that the point stands for; one that waits for it gets it later. */
static uint32_t find_slice(struct nesting *n, uint32_t event, const struct plumb_build_event *e)
{
    const struct open_slice *o = top(n);
    uint32_t *waits = e->extra ? plumb_build_add(n->b, &n->wait, sizeof *waits) : NULL;
    if (waits)
        *waits = event;
    if (e->extra)
        return PLUMB_TABLE_NONE;
    uint32_t moment = find_moment(n, e->ns);
    return moment == PLUMB_TABLE_NONE && o ? o->row : moment;
}

static void place(struct nesting *n, uint32_t event, bool last_track)
{
    struct plumb_build_event *e = &n->events[event];
    uint32_t row = PLUMB_TABLE_NONE;
    pop_what_ended(n, e->ns);
    switch (plumb_build_type(e)) {
    case PLUMB_BUILD_BEGIN:
        push(n, e, false, 0);
        row = n->t->slices.count - 1;
        break;
    case PLUMB_BUILD_END:
        row = end_one(n, e);
        break;
    case PLUMB_BUILD_COMPLETE:
        row = begin_complete(n, event, e, last_track);
        if (row == PLUMB_TABLE_NONE)
            return; /* it keeps its name: it comes again */
        break;
    case PLUMB_BUILD_POINT:
        row = find_slice(n, event, e);
        break;
    default:
        row = add_instant(n, e);
        break;
    }
    e->u.row = row;
}

static void close_track(struct nesting *n)
{
    const struct open_slice *o;
    for (; (o = top(n)); n->stack.count--)
        if (!o->complete)
            close_at(n, o->row, (int64_t)(n->zero + n->end), PLUMB_SLICE_OPEN);
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void keep_moved(struct nesting *n, uint32_t tried)
{
    struct moved *m = NULL;
    if (n->moved.count == 0)
        return;
    if ((m = plumb_build_add(n->b, &n->later, sizeof *m)))
        *m = (struct moved){n->moved.at, n->moved.count, n->moved.cap, n->track, tried + 1};
    else
        free(n->moved.at);
    n->moved = (struct plumb_build_list){NULL, 0, 0};
}

static void place_all(struct nesting *n, const uint32_t *events, size_t count, uint32_t tried)
{
    struct plumb_table_track *track = &n->t->tracks[n->track];
    uint32_t slices = n->t->slices.count, instants = n->t->instants.count;
    n->stack.count = n->wait.count = 0;
    for (size_t i = 0; i < count && !n->b->failed; i++)
        place(n, events[i], tried >= EXTRA_TRACKS_MAX);
    if (!n->b->failed)
        close_track(n);
    track->slices = (struct plumb_table_range){slices, n->t->slices.count - slices};
    track->instants = (struct plumb_table_range){instants, n->t->instants.count - instants};
    keep_moved(n, tried);
}

/* The extra tracks come after all others, so slices stay sorted by track. */
static void place_moved(struct nesting *n)
{
    for (size_t i = 0; i < n->later.count; i++) {
        struct moved m = ((struct moved *)n->later.at)[i];
        n->track = n->b->failed ? PLUMB_TABLE_NONE : plumb_table_new_track(n->t);
        if (n->track != PLUMB_TABLE_NONE) {
            struct plumb_table_track *extra = &n->t->tracks[n->track];
            *extra = n->t->tracks[m.track];
            extra->uuid = 0;
            extra->lone_ends = 0;
            extra->instants = extra->counters = (struct plumb_table_range){0, 0};
            if (m.tried == 1)
                n->t->faults.moved += m.count;
            place_all(n, m.events, m.count, m.tried);
        }
        free(m.events);
    }
}

static bool make_columns(struct plumb_table *t)
{
    struct plumb_table_slices *s = &t->slices;
    struct plumb_table_instants *m = &t->instants;
    size_t slices = t->build->slices + (size_t)1; /* never nothing: NULL would be a failure */
    size_t instants = t->build->instants + (size_t)1;
    uint64_t **wide[] = {&s->ts_ns, &s->dur_ns};
    uint32_t **narrow[] = {&s->track, &s->name, &s->category, &s->parent, &s->depth};
    uint32_t **of_instants[] = {&m->track, &m->name, &m->category, &m->slice};
    bool done = true;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        done &= (*wide[i] = malloc(slices * sizeof **wide[i])) != NULL;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        done &= (*narrow[i] = malloc(slices * sizeof **narrow[i])) != NULL;
    for (size_t i = 0; i < sizeof of_instants / sizeof *of_instants; i++)
        done &= (*of_instants[i] = malloc(instants * sizeof **of_instants[i])) != NULL;
    done &= (s->flags = malloc(slices)) != NULL;
    done &= (m->ts_ns = malloc(instants * sizeof *m->ts_ns)) != NULL;
    return done;
}

bool plumb_build_nest(struct plumb_table *t)
{
    struct plumb_table_build *b = t->build;
    struct nesting n = {.t = t,
                        .b = b,
                        .events = b->events.at,
                        .durations = b->durations.at,
                        .zero = t->zero_ns,
                        .end = t->end_ns};
    uint32_t tracks = t->track_count;
    uint32_t *first = malloc((tracks + (size_t)1) * sizeof *first);
    uint32_t *order = first && make_columns(t) ? plumb_build_order(b, n.events, b->events.count,
                                                                   b->ways.at, first, tracks)
                                               : NULL;
    if (order) {
        for (n.track = 0; n.track < tracks; n.track++)
            place_all(&n, order + first[n.track], first[n.track + 1] - first[n.track], 0);
        place_moved(&n);
    } else {
        b->failed = true;
    }
    free(first);
    free(order);
    free(n.stack.at);
    free(n.later.at);
    free(n.wait.at);
    return !b->failed;
}
