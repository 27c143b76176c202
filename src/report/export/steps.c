/* steps.c: see steps.h. A reader counts each span of a step as one step, so it must not be repeated
 * by threads that have adopted its context, by waits, or by queues of devices. */
#include "report/export/steps.h"

#include <stdlib.h>

#include "base/map.h"

/* Facts about a track. */
struct stepper {
    uint32_t steps; /* different ones */
    bool adopts;    /* contexts of other threads, and their steps with them */
};

struct plumb_export_step plumb_export_step_of(const struct plumb_table *t, uint32_t slice,
                                              uint32_t key)
{
    uint32_t arg = t->slices.args[slice] != t->slices.args[slice + 1]
                       ? plumb_table_arg(t, slice, key)
                       : PLUMB_TABLE_NONE;
    if (arg == PLUMB_TABLE_NONE || t->slice_args.type[arg] != PLUMB_ARG_I64)
        return (struct plumb_export_step){.known = false};
    return (struct plumb_export_step){true, t->slices.parent[slice], t->slice_args.value[arg].i64};
}

/* In traces of plumb, other tracks than threads have the steps of the threads that launched the
 * work. */
static bool may_step(const struct plumb_table *t, const struct plumb_export_track *tracks,
                     uint32_t track)
{
    return t->tracks[track].kind == PLUMB_TRACK_THREAD || (!t->plumb && !tracks[track].device);
}

static bool count_steps(const struct plumb_table *t, uint32_t key, struct stepper *of)
{
    struct plumb_map seen = {0};
    bool done = true;
    for (uint32_t i = 0; i < t->slices.count && done; i++) {
        struct plumb_export_step step = plumb_export_step_of(t, i, key);
        uint32_t track = t->slices.track[i];
        uint64_t pair = ((uint64_t)step.step * UINT64_C(0x9e3779b97f4a7c15)) ^ track;
        pair += pair == 0;
        if (!step.known || plumb_map_get(&seen, pair))
            continue;
        of[track].steps++;
        done = plumb_map_put(&seen, pair, 1) == 0;
    }
    plumb_map_fini(&seen);
    return done;
}

static void look_for_adoptions(const struct plumb_table *t, struct stepper *of)
{
    uint32_t capture = plumb_strings_find(&t->strings, "plumb.capture");
    for (uint32_t i = 0; i < t->flow_count; i++) {
        const struct plumb_table_flow *f = &t->flows[i];
        if (f->from.instant && !f->to.instant && t->instants.name[f->from.row] == capture &&
            t->instants.track[f->from.row] != t->slices.track[f->to.row])
            of[t->slices.track[f->to.row]].adopts = true;
    }
}

/* Whether track `a`, which comes after track `b`, is the better choice. */
static bool is_better(const struct plumb_table *t, const struct stepper *of, uint32_t a, uint32_t b)
{
    if (of[a].steps != of[b].steps)
        return of[a].steps > of[b].steps;
    if (of[a].adopts != of[b].adopts)
        return of[b].adopts;
    return t->tracks[a].kind == PLUMB_TRACK_THREAD && t->tracks[a].tid == t->tracks[a].pid;
}

uint8_t *plumb_export_steppers(const struct plumb_table *t, const struct plumb_export_track *tracks,
                               uint32_t key)
{
    struct stepper *of = calloc(t->track_count + (size_t)1, sizeof *of);
    uint8_t *chosen = calloc(t->track_count + (size_t)1, 1);
    struct plumb_map best = {0}; /* pid + 1 -> track + 1 */
    bool done = of && chosen && (key == UINT32_MAX || count_steps(t, key, of));
    if (done)
        look_for_adoptions(t, of);
    for (uint32_t i = 0; done && i < t->track_count; i++) {
        uint64_t pid = (uint64_t)tracks[i].pid + 1, known = plumb_map_get(&best, pid);
        if (!of[i].steps || !may_step(t, tracks, i) ||
            (known && !is_better(t, of, i, (uint32_t)known - 1)))
            continue;
        if (known)
            chosen[known - 1] = 0;
        chosen[i] = 1;
        done = plumb_map_put(&best, pid, (uint64_t)i + 1) == 0;
    }
    plumb_map_fini(&best);
    free(of);
    if (!done) {
        free(chosen);
        chosen = NULL;
    }
    return chosen;
}
