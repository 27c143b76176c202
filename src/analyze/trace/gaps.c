/* gaps.c: idle time of tracks: the time between their outermost slices. */
#include <stdlib.h>

#include "analyze/trace/spans.h"
#include "base/error.h"

/* Keeps the largest, in order; the earlier of two that are equal. */
static void keep(struct plumb_gaps *g, size_t most, struct plumb_gap gap)
{
    size_t at;
    if (g->gap_count == most && (most == 0 || g->gaps[most - 1].dur_ns >= gap.dur_ns))
        return;
    at = g->gap_count < most ? g->gap_count++ : most - 1;
    for (; at > 0 && g->gaps[at - 1].dur_ns < gap.dur_ns; at--)
        g->gaps[at] = g->gaps[at - 1];
    g->gaps[at] = gap;
}

static void walk(struct plumb_gaps *g, const struct plumb_table *t, uint32_t track, size_t most)
{
    const struct plumb_table_slices *s = &t->slices;
    uint32_t first = t->tracks[track].slices.first, count = t->tracks[track].slices.count;
    uint32_t last = first;
    struct plumb_track_row *row = &g->tracks[g->track_count++];
    *row = (struct plumb_track_row){.track = track, .slices = count, .first_ns = s->ts_ns[first]};
    row->last_ns = row->first_ns;
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t end = plumb_table_end_ns(t, i);
        if (s->depth[i] != 0)
            continue;
        if (s->ts_ns[i] > row->last_ns) {
            uint64_t idle = s->ts_ns[i] - row->last_ns;
            row->idle_ns += idle;
            row->gaps++;
            keep(g, most, (struct plumb_gap){track, last, i, row->last_ns, idle});
        }
        if (end > row->last_ns) {
            row->last_ns = end;
            last = i;
        }
    }
    row->busy_ns = row->last_ns - row->first_ns - row->idle_ns;
    g->total += row->gaps;
}

int plumb_gaps_init(struct plumb_gaps *out, const struct plumb_table *t, size_t most,
                    plumb_error *err)
{
    struct plumb_gaps g = {.total = 0};
    most = most < t->slices.count ? most : t->slices.count;
    g.tracks = malloc((t->track_count + (size_t)1) * sizeof *g.tracks);
    g.gaps = malloc((most + 1) * sizeof *g.gaps);
    if (!g.tracks || !g.gaps) {
        plumb_gaps_fini(&g);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the gaps of a trace");
    }
    for (uint32_t track = 0; track < t->track_count; track++)
        if (t->tracks[track].slices.count > 0)
            walk(&g, t, track, most);
    *out = g;
    return PLUMB_OK;
}

void plumb_gaps_fini(struct plumb_gaps *g)
{
    free(g->tracks);
    free(g->gaps);
    *g = (struct plumb_gaps){.tracks = NULL};
}
