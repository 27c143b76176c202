/* perfetto_clocks.c: how the clocks of a trace relate to each other.
 *
 * A snapshot holds the readings of several clocks at one moment. For each clock, those moments are
 * kept at which the trace's own clock is known too. Between two of them the clock is taken to run
 * like the trace's: the offset of the earlier moment applies. */
#include "read/trace/perfetto_parts.h"

enum { FIRST_OF_SEQUENCE = 64, LAST_OF_SEQUENCE = 127 };

static bool is_of_sequence(uint32_t id)
{
    return id >= FIRST_OF_SEQUENCE && id <= LAST_OF_SEQUENCE;
}

static struct plumb_pfr_clock *find_clock(struct plumb_pfr *r, struct plumb_pfr_sequence *s,
                                          uint32_t id, bool make)
{
    struct plumb_pfr_clock **list = is_of_sequence(id) ? &s->clocks : &r->clocks, *c;
    for (c = *list; c; c = c->next)
        if (c->id == id)
            return c;
    if (!make)
        return NULL;
    if (!(c = plumb_arena_alloc(&r->arena, sizeof *c))) {
        r->failed = true;
        return NULL;
    }
    c->id = id;
    c->unit_ns = 1;
    c->next = *list;
    *list = c;
    return c;
}

/* The last point at or before `from`, otherwise the first. */
static const struct plumb_pfr_point *point_at(const struct plumb_pfr_clock *c, int64_t from)
{
    size_t low = 0, high = c->count;
    if (c->points[high - 1].from <= from)
        return &c->points[high - 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->points[middle].from <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return &c->points[low > 0 ? low - 1 : 0];
}

/* Wraps around, as hostile times may. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static bool convert(const struct plumb_pfr_clock *c, int64_t from, int64_t *out)
{
    if (c->count == 0)
        return false;
    const struct plumb_pfr_point *p = point_at(c, from);
    *out = plus(p->to, minus(from, p->from));
    return true;
}

/* A clock that went back began again, as one does whose sequence has another owner. */
static void add_point(struct plumb_pfr *r, struct plumb_pfr_clock *c, int64_t from, int64_t to)
{
    struct plumb_pfr_point *points;
    if (c->count > 0) {
        const struct plumb_pfr_point *last = &c->points[c->count - 1];
        if (from < last->from)
            c->count = 0;
        else if (minus(to, from) == minus(last->to, last->from))
            return;
    }
    points = plumb_arena_grow(&r->arena, c->points, &c->cap, c->count + 1, sizeof *points);
    if (!points) {
        r->failed = true;
        return;
    }
    c->points = points;
    points[c->count++] = (struct plumb_pfr_point){from, to};
}

struct reading {
    uint32_t id;
    bool incremental;
    uint64_t shows, unit_ns;
};

static struct reading read_clock(struct plumb_wire w)
{
    struct reading c = {0, false, 0, 1};
    while (plumb_wire_next(&w)) {
        if (w.field == PF_CLOCK_ID)
            c.id = (uint32_t)w.v;
        else if (w.field == PF_CLOCK_TIMESTAMP)
            c.shows = w.v;
        else if (w.field == PF_CLOCK_IS_INCREMENTAL)
            c.incremental = w.v != 0;
        else if (w.field == PF_CLOCK_UNIT_NS && w.v > 0)
            c.unit_ns = w.v;
    }
    c.shows *= c.unit_ns;
    return c;
}

/* The trace's clock, if the file does not name one: BOOTTIME, otherwise MONOTONIC, otherwise the
 * first. */
static void choose_trace_clock(struct plumb_pfr *r, struct plumb_wire w)
{
    uint32_t primary = 0, first = 0;
    bool boottime = false, monotonic = false;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_SNAPSHOT_PRIMARY_TRACE_CLOCK)
            primary = (uint32_t)w.v;
        if (w.field != PF_SNAPSHOT_CLOCKS)
            continue;
        struct reading c = read_clock(plumb_wire_inner(&w));
        boottime |= c.id == PF_CLOCK_BOOTTIME;
        monotonic |= c.id == PF_CLOCK_MONOTONIC;
        first = first || is_of_sequence(c.id) ? first : c.id;
    }
    r->trace_clock = primary     ? primary
                     : boottime  ? PF_CLOCK_BOOTTIME
                     : monotonic ? PF_CLOCK_MONOTONIC
                     : first     ? first
                                 : PF_CLOCK_BOOTTIME;
}

/* Finds the reading of the trace's clock at the moment of the snapshot. */
static bool find_moment(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w,
                        int64_t *out)
{
    bool found = false;
    while (plumb_wire_next(&w)) {
        if (w.field != PF_SNAPSHOT_CLOCKS)
            continue;
        struct reading c = read_clock(plumb_wire_inner(&w));
        const struct plumb_pfr_clock *clock = find_clock(r, s, c.id, false);
        if (c.id == r->trace_clock) {
            *out = (int64_t)c.shows;
            return true;
        }
        if (!found && clock)
            found = convert(clock, (int64_t)c.shows, out);
    }
    return found;
}

static void anchor_unix(struct plumb_pfr *r, int64_t moment, uint64_t unix_ns)
{
    if (r->has_unix || unix_ns == 0)
        return;
    r->has_unix = true;
    plumb_table_set_zero(r->t, r->first_ns, unix_ns - (uint64_t)minus(moment, r->first_ns));
}

void plumb_pfr_snapshot(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w)
{
    struct plumb_wire again = w;
    int64_t moment;
    if (!r->has_snapshot)
        choose_trace_clock(r, w);
    bool known = find_moment(r, s, w, &moment);
    if (known && !r->has_snapshot)
        r->first_ns = moment;
    r->has_snapshot = true;
    while (plumb_wire_next(&again)) {
        if (again.field != PF_SNAPSHOT_CLOCKS)
            continue;
        struct reading c = read_clock(plumb_wire_inner(&again));
        struct plumb_pfr_clock *clock = c.id ? find_clock(r, s, c.id, true) : NULL;
        if (!clock)
            continue;
        clock->incremental = c.incremental;
        clock->unit_ns = c.unit_ns;
        clock->last = c.shows;
        if (known && c.id != r->trace_clock)
            add_point(r, clock, (int64_t)c.shows, moment);
        if (known && c.id == PF_CLOCK_REALTIME)
            anchor_unix(r, moment, c.shows);
    }
}

/* A clock that is in no snapshot counts as the trace's own if it is the trace's default, or if it
 * is one of the system's and the file has no snapshot at all. */
static bool is_trace_time(const struct plumb_pfr *r, uint32_t clock)
{
    uint32_t own = r->trace_clock ? r->trace_clock : PF_CLOCK_BOOTTIME;
    return clock == own || (!r->has_snapshot && clock < FIRST_OF_SEQUENCE);
}

bool plumb_pfr_time(struct plumb_pfr *r, struct plumb_pfr_sequence *s, uint32_t clock,
                    uint64_t timestamp, int64_t *out)
{
    struct plumb_pfr_clock *c = s->clock;
    clock = clock ? clock : s->default_clock;
    if (clock == 0)
        clock = r->trace_clock ? r->trace_clock : PF_CLOCK_BOOTTIME;
    if (!c || c->id != clock)
        s->clock = c = find_clock(r, s, clock, false);
    if (!c || clock == r->trace_clock) {
        *out = (int64_t)timestamp;
        return is_trace_time(r, clock);
    }
    timestamp *= c->unit_ns;
    if (c->incremental)
        timestamp = c->last += timestamp;
    return convert(c, (int64_t)timestamp, out);
}
