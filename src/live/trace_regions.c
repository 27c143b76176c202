/* trace_regions.c: see trace_regions.h. */
#include "live/trace_regions.h"

#include <sched.h>

#include <plumb/run.h>

enum { WAITS = 1000 }; /* bounds the wait for some instructions of another thread */

bool plumb_trace_is_selected(const struct plumb_live_view *s, uint32_t node)
{
    const struct plumb_live_node *n =
        node ? plumb_live_element(s, &s->h->nodes, node, sizeof *n) : NULL;
    return n && PLUMB_LOAD(n->flags) & PLUMB_NODE_SELECTED;
}

bool plumb_trace_path_is_selected(const struct plumb_live_view *s, const uint32_t *path, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (plumb_trace_is_selected(s, path[i]))
            return true;
    return false;
}

/* ---- When --------------------------------------------------------------------------------------
 */

static struct plumb_live_interval *interval_at(const struct plumb_live_view *s, uint32_t i)
{
    return plumb_live_element(s, &s->h->intervals, i, sizeof(struct plumb_live_interval));
}

/* Waits until the word is no longer `unsettled` and returns it; returns `unsettled` if that takes
 * too long. */
static uint64_t settled(const uint64_t *word, uint64_t unsettled, bool alive)
{
    uint64_t value = PLUMB_ACQUIRE(*word);
    for (int i = 0; value == unsettled && alive && i < WAITS; i++) {
        sched_yield();
        value = PLUMB_ACQUIRE(*word);
    }
    return value;
}

bool plumb_trace_any_region(const struct plumb_live_view *s, uint64_t ticks, bool alive)
{
    uint32_t low = 0, high = PLUMB_ACQUIRE(s->h->intervals.count);
    const struct plumb_live_interval *in = NULL;
    uint64_t off;
    if (high > PLUMB_INTERVALS_MAX)
        return false;
    /* Finds the last interval that begins at or before `ticks`, most likely the newest. */
    while (low < high) {
        uint32_t middle = high - low > 8 ? low + (high - low) / 2 : high - 1;
        const struct plumb_live_interval *i = interval_at(s, middle);
        uint64_t on = i ? settled(&i->on_ticks, 0, alive) : 0;
        if (!on || on > ticks) {
            high = middle;
        } else {
            in = i;
            low = middle + 1;
        }
    }
    if (!in)
        return false;
    off = settled(&in->off_ticks, PLUMB_INTERVAL_CLOSING, alive);
    return off <= PLUMB_INTERVAL_CLOSING || ticks <= off;
}

/* ---- The filter ------------------------------------------------------------------------------ */

static bool thread_is_inside(const struct plumb_live_view *s, const struct plumb_trace_state *st)
{
    for (uint32_t d = st->depth; d > 0; d--)
        if (!(st->frames[d].flags & PLUMB_TRACE_LEFT) &&
            plumb_trace_is_selected(s, plumb_key_node(st->frames[d].key)))
            return true;
    return plumb_trace_path_is_selected(s, st->path, st->path_depth);
}

static bool wants_of_thread(const struct plumb_trace_filter *self,
                            const struct plumb_trace_state *s, const struct plumb_trace_frame *f)
{
    const struct plumb_trace_regions *r = self->arg;
    if (thread_is_inside(r->source, s))
        return true;
    if (f && r->counts && plumb_trace_any_region(r->source, f->begin_ticks, r->alive))
        PLUMB_ADD(r->source->h->regions.left_out, 1);
    return false;
}

static bool wants_of_process(const struct plumb_trace_filter *self,
                             const struct plumb_trace_state *s, const struct plumb_trace_frame *f)
{
    const struct plumb_trace_regions *r = self->arg;
    return plumb_trace_any_region(r->source, f ? f->begin_ticks : s->last_ticks, r->alive);
}

bool plumb_trace_regions_open(struct plumb_trace_regions *r, const struct plumb_live_view *s,
                              bool counts, bool alive)
{
    if (s->h->regions.selection != PLUMB_SELECT_REGIONS)
        return false;
    *r = (struct plumb_trace_regions){.source = s, .counts = counts, .alive = alive};
    r->filter = (struct plumb_trace_filter){
        s->h->regions.scope == PLUMB_REGION_PROCESS ? wants_of_process : wants_of_thread, r, NULL};
    return true;
}
