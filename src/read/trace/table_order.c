/* table_order.c: events in the order in which they are nested: by track and time.
 *
 * Writers hand out a thread's events in order, some hundred at a time, so the events of one track
 * are mostly in order already. The tracks that are not were noted while they were filled, and only
 * those are sorted. */
#include <stdlib.h>
#include <string.h>

#include "read/trace/table_build.h"

struct sorting {
    const struct plumb_build_event *events;
    const uint64_t *durations;
    uint32_t *order, *spare;
};

/* Among events of one time: complete slices after others, and points that refer to slices last. */
static int rank(const struct plumb_build_event *e)
{
    enum plumb_build_type type = plumb_build_type(e);
    return type == PLUMB_BUILD_COMPLETE ? 1 : type == PLUMB_BUILD_POINT ? 2 : 0;
}

/* Whether event `b`, which may come later in the file, must stand before `a`. */
static bool is_before(const struct sorting *s, uint32_t b, uint32_t a)
{
    const struct plumb_build_event *x = &s->events[a], *y = &s->events[b];
    if (x->ns != y->ns)
        return y->ns < x->ns;
    int first = rank(x), second = rank(y);
    if (first == 1 && second == 1 && s->durations[x->extra] != s->durations[y->extra])
        return s->durations[y->extra] > s->durations[x->extra];
    return first == second ? b < a : second < first;
}

static bool is_sorted(const struct sorting *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from + 1; i < to; i++)
        if (is_before(s, s->order[i], s->order[i - 1]))
            return false;
    return true;
}

static void merge(struct sorting *s, uint32_t from, uint32_t middle, uint32_t to)
{
    uint32_t a = from, b = middle, out = from;
    memcpy(s->spare + from, s->order + from, (size_t)(middle - from) * sizeof *s->order);
    while (a < middle && b < to)
        s->order[out++] = is_before(s, s->order[b], s->spare[a]) ? s->order[b++] : s->spare[a++];
    memcpy(s->order + out, s->spare + a, (size_t)(middle - a) * sizeof *s->order);
}

static void sort(struct sorting *s, uint32_t from, uint32_t to)
{
    if (to - from < 2)
        return;
    uint32_t middle = from + (to - from) / 2;
    sort(s, from, middle);
    sort(s, middle, to);
    if (is_before(s, s->order[middle], s->order[middle - 1]))
        merge(s, from, middle, to);
}

static bool sort_tracks(struct sorting *s, const struct plumb_build_track *ways,
                        const uint32_t *first, size_t tracks, size_t count)
{
    for (size_t track = 0; track < tracks; track++) {
        if ((ways && !ways[track].unsorted) || is_sorted(s, first[track], first[track + 1]))
            continue;
        if (!s->spare && !(s->spare = malloc(count * sizeof *s->spare)))
            return false;
        sort(s, first[track], first[track + 1]);
    }
    return true;
}

static void count_tracks(const struct plumb_build_event *events, size_t count,
                         const struct plumb_build_track *ways, uint32_t *first, size_t tracks)
{
    memset(first, 0, (tracks + 1) * sizeof *first);
    for (size_t track = 0; ways && track < tracks; track++)
        first[track] = ways[track].events;
    for (size_t i = 0; !ways && i < count; i++)
        first[plumb_build_track(&events[i])]++;
    for (uint32_t track = 0, sum = 0; track <= tracks; track++) {
        uint32_t n = first[track];
        first[track] = sum;
        sum += n;
    }
}

uint32_t *plumb_build_order(const struct plumb_table_build *b,
                            const struct plumb_build_event *events, size_t count,
                            const struct plumb_build_track *ways, uint32_t *first, size_t tracks)
{
    struct sorting s = {events, b->durations.at, malloc((count + 1) * sizeof *s.order), NULL};
    if (!s.order)
        return NULL;
    count_tracks(events, count, ways, first, tracks);
    for (size_t i = 0; i < count; i++)
        s.order[first[plumb_build_track(&events[i])]++] = (uint32_t)i;
    memmove(first + 1, first, tracks * sizeof *first); /* each has moved to where the next began */
    first[0] = 0;
    bool done = sort_tracks(&s, ways, first, tracks, count);
    free(s.spare);
    if (!done) {
        free(s.order);
        s.order = NULL;
    }
    return s.order;
}
