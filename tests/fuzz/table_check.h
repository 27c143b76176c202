/* table_check.h: what every table of a trace keeps, whatever file it was made of: rows sorted by
 * track and time, slices inside their parents, every number within what it points into. Exporters
 * and views rely on it without looking. Aborts where it does not hold. */
#ifndef TESTS_TABLE_CHECK_H
#define TESTS_TABLE_CHECK_H

#include <stdlib.h>

#include "read/trace/table.h"

static inline void demand(bool holds)
{
    if (!holds)
        abort();
}

static inline void check_text(const struct plumb_table *t, uint32_t id)
{
    demand(id < t->strings.count);
}

static inline void check_slices(const struct plumb_table *t)
{
    const struct plumb_table_slices *s = &t->slices;
    uint64_t open = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        check_text(t, s->name[i]);
        check_text(t, s->category[i]);
        demand(s->track[i] < t->track_count);
        demand(i == 0 || s->track[i] >= s->track[i - 1]);
        demand(i == 0 || s->track[i] > s->track[i - 1] || s->ts_ns[i] >= s->ts_ns[i - 1]);
        demand(s->ts_ns[i] + s->dur_ns[i] >= s->ts_ns[i]);
        demand(plumb_table_end_ns(t, i) <= t->end_ns);
        demand(s->args[i] <= s->args[i + 1] && s->args[i + 1] <= t->slice_args.count);
        demand((s->depth[i] == 0) == (s->parent[i] == PLUMB_TABLE_NONE));
        if (s->depth[i] > 0) {
            demand(s->parent[i] < i && s->track[s->parent[i]] == s->track[i]);
            demand(s->depth[s->parent[i]] == s->depth[i] - 1);
        }
        demand(plumb_table_after(t, i) > i);
        open += (s->flags[i] & PLUMB_SLICE_OPEN) != 0;
    }
    demand(open == t->open);
}

static inline void check_tracks(const struct plumb_table *t)
{
    uint64_t slices = 0, instants = 0, counters = 0;
    for (uint32_t i = 0; i < t->track_count; i++) {
        const struct plumb_table_track *l = &t->tracks[i];
        uint32_t up = i;
        check_text(t, l->name);
        check_text(t, l->unit_name);
        demand(l->process == PLUMB_TABLE_NONE || l->process < t->track_count);
        for (uint32_t steps = 0; up != PLUMB_TABLE_NONE; up = t->tracks[up].parent)
            demand(up < t->track_count && steps++ <= t->track_count);
        slices += l->slices.count;
        instants += l->instants.count;
        counters += l->counters.count;
        demand((uint64_t)l->slices.first + l->slices.count <= t->slices.count);
    }
    demand(slices == t->slices.count && instants == t->instants.count &&
           counters == t->counters.count);
}

static inline void check_rest(const struct plumb_table *t)
{
    for (uint32_t i = 0; i < t->flow_count; i++) {
        const struct plumb_table_flow *f = &t->flows[i];
        demand(f->from.row < (f->from.instant ? t->instants.count : t->slices.count));
        demand(f->to.row < (f->to.instant ? t->instants.count : t->slices.count));
        demand(f->from_ns <= f->to_ns);
    }
    for (uint32_t i = 0; i < t->instants.count; i++) {
        check_text(t, t->instants.name[i]);
        demand(t->instants.slice[i] == PLUMB_TABLE_NONE ||
               t->slices.track[t->instants.slice[i]] == t->instants.track[i]);
        demand(t->instants.args[i] <= t->instants.args[i + 1]);
    }
    for (uint32_t i = 0; i < t->slice_args.count; i++) {
        check_text(t, t->slice_args.key[i]);
        if (t->slice_args.type[i] >= PLUMB_ARG_TEXT)
            check_text(t, (uint32_t)t->slice_args.value[i].u64);
    }
    for (uint32_t i = 0; i < t->drop_count; i++)
        demand(t->drops[i].track < t->track_count);
}

static inline void table_check(const struct plumb_table *t)
{
    check_slices(t);
    check_tracks(t);
    check_rest(t);
}

#endif
