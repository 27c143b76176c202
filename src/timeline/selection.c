/* selection.c: see selection.h. */
#include "timeline/selection.h"

#include <string.h>

static void second_reading(void *arg, uint32_t track, const struct plumb_trace_slot *slot)
{
    plumb_trace_nodes_slot(arg, track, slot);
}

static void work_of_lanes(void *arg, const struct plumb_lane_work *work)
{
    plumb_trace_nodes_work(arg, work);
}

static bool is_in_steps(const struct plumb_trace_filter *self, const struct plumb_trace_state *s,
                        const struct plumb_trace_frame *f)
{
    return plumb_step_list_has(self->arg, f ? f->step : s->step);
}

/* The filter of PLUMB_TRACE_STEPS before those of `t`. */
static int open_steps(struct plumb_trace_parts *p, struct plumb_trace_live *t, plumb_error *err)
{
    const struct plumb_live_view *s = &t->file.source;
    int rc;
    if (!s->h->trace.steps_off)
        return PLUMB_OK;
    rc = plumb_step_list_parse(&p->steps, plumb_live_text(s, s->h->trace.steps_off), err);
    if (rc < 0 || p->steps.count == 0)
        return rc;
    p->in_steps = (struct plumb_trace_filter){is_in_steps, &p->steps, t->filter};
    t->filter = &p->in_steps;
    return rc;
}

/* Puts a filter for the nodes of a list before those of `t`. Returns whether it did. */
static bool keep_to(struct plumb_trace_only *o, struct plumb_trace_live *t, uint64_t list_off)
{
    if (!list_off || plumb_trace_only_open(o, &t->file.source, list_off) < 0)
        return false;
    o->filter.next = t->filter;
    t->filter = &o->filter;
    return true;
}

int plumb_trace_parts_open(struct plumb_trace_parts *p, struct plumb_trace_live *t, const char *dir,
                           bool alive, plumb_error *err)
{
    const struct plumb_live_view *s = &t->file.source;
    const struct plumb_trace_filter *around;
    bool regions;
    int rc, nodes = PLUMB_OK;
    memset(p, 0, sizeof *p);
    rc = open_steps(p, t, err);
    around = t->filter;
    regions = plumb_trace_regions_open(&p->regions, s, true, alive) &&
              plumb_trace_regions_open(&p->uncounted, s, false, alive);
    if (regions) {
        p->regions.filter.next = p->uncounted.filter.next = around;
        t->filter = &p->regions.filter;
    }
    if (dir)
        nodes = plumb_trace_nodes_open(&p->nodes, &t->file, regions ? &p->uncounted.filter : around,
                                       dir, rc < 0 ? NULL : err);
    p->has_only =
        keep_to(&p->only, t, s->h->trace.what & PLUMB_TRACE_ONLY_NODES ? s->h->trace.nodes_off : 0);
    p->has_within = keep_to(&p->within, t, s->h->trace.within_off);
    if (p->nodes) {
        t->also = second_reading;
        t->also_arg = p->nodes;
        t->drain.also = work_of_lanes;
        t->drain.also_arg = p->nodes;
    }
    return rc < 0 ? rc : nodes;
}

static void close_filters(struct plumb_trace_parts *p)
{
    if (p->has_only)
        plumb_trace_only_close(&p->only);
    if (p->has_within)
        plumb_trace_only_close(&p->within);
}

void plumb_trace_parts_forget(struct plumb_trace_parts *p)
{
    plumb_trace_nodes_forget(p->nodes);
    close_filters(p);
    memset(p, 0, sizeof *p);
}

int plumb_trace_parts_close(struct plumb_trace_parts *p, bool whole, struct plumb_buf *told,
                            plumb_error *err)
{
    int rc = PLUMB_OK;
    if (whole)
        rc = plumb_trace_nodes_close(p->nodes, told, err);
    else
        plumb_trace_nodes_drop(p->nodes);
    close_filters(p);
    memset(p, 0, sizeof *p);
    return rc;
}
