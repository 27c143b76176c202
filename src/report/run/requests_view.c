/* requests_view.c: `plumb report requests`: an index of the requests, or one of them with its
 * stages. Any thread; no state. */
#include <string.h>

#include "model/timing_memory.h"
#include "model/timing_parts.h"
#include "report/picture/chart.h"
#include "report/run/devices.h"
#include "report/run/render.h"
#include "report/table/escape.h"
#include "report/table/page.h"

#define PLUMB_REQUESTS_EMPTY                                                                       \
    "No requests were recorded: mark them with plumb_request_begin() and plumb_request_end()."

/* ---- The index ------------------------------------------------------------------------------- */

static const struct plumb_grid_column index_columns[] = {
    {"id", "Request", PLUMB_GRID_TEXT, NULL},
    {"state", "State", PLUMB_GRID_TEXT, "ended, failed, or open when the run ended"},
    {"begin", "Started", PLUMB_GRID_TEXT, "UTC"},
    {"wall_clock_ns", "Wall(ms)", PLUMB_GRID_NS, "from its begin to its end"},
    {"total_stages_ns", "Stages(ms)", PLUMB_GRID_NS,
     "time of its outermost stages, over all threads"},
    {"num_stages", "Runs", PLUMB_GRID_COUNT, "runs of its stages, nested ones too"},
    {"peak_rss_bytes", "Peak RSS", PLUMB_GRID_BYTES, "MiB resident, the highest in that time"},
    {"peak_allocated_bytes", "Peak alloc", PLUMB_GRID_BYTES,
     "MiB allocated in pools, the sum of their peaks"},
    {"peak_reserved_bytes", "Peak res", PLUMB_GRID_BYTES,
     "MiB reserved by pools, the sum of their peaks"},
    {"why", "Why", PLUMB_GRID_TEXT, "what the program said of the failure"},
};

/* Three cells. */
static void add_peaks(struct plumb_grid *g, const struct plumb_timing *t,
                      const struct plumb_timing_memory *m)
{
    struct plumb_timing_bytes bytes = plumb_timing_bytes_of(t, m);
    if (m->samples > 0)
        plumb_grid_whole(g, m->peak_rss);
    else
        plumb_grid_none(g);
    if (m->use_count > 0) {
        plumb_grid_whole(g, bytes.peak_allocated);
        plumb_grid_whole(g, bytes.peak_reserved);
    } else {
        plumb_grid_none(g);
        plumb_grid_none(g);
    }
}

static void add_request(struct plumb_grid *g, const struct plumb_timing *t,
                        const struct plumb_timing_request *r)
{
    char begin[PLUMB_TIME_TEXT];
    plumb_time_text(begin, r->begin_unix_ns);
    plumb_grid_text(g, r->id);
    plumb_grid_text(g, plumb_timing_request_state_name(r->state));
    plumb_grid_copy(g, begin);
    plumb_grid_whole(g, r->wall_ns);
    plumb_grid_whole(g, r->stages_ns);
    plumb_grid_whole(g, r->records);
    add_peaks(g, t, &r->memory);
    plumb_grid_text(g, r->why);
}

/* Of `top` the newest. */
static size_t first_shown(const struct plumb_render_input *in)
{
    size_t n = in->timing->request_count;
    size_t top = in->options->summary.top;
    return top > 0 && top < n ? n - top : 0;
}

static void fill_index(struct plumb_grid *g, const struct plumb_render_input *in)
{
    plumb_grid_init(g, index_columns, sizeof index_columns / sizeof *index_columns);
    for (size_t i = first_shown(in); i < in->timing->request_count; i++)
        add_request(g, in->timing, &in->timing->requests[i]);
}

static void put_index(struct plumb_page *p)
{
    const struct plumb_timing *t = p->in->timing;
    struct plumb_grid g;
    uint64_t older = t->requests_lost + first_shown(p->in);
    if (t->request_count == 0) {
        plumb_buf_str(p->out, PLUMB_REQUESTS_EMPTY);
        return;
    }
    fill_index(&g, p->in);
    plumb_page_title(p, "Requests");
    plumb_page_grid(p, &g);
    if (older > 0) {
        plumb_buf_str(p->out, p->md ? "\n\n(" : "\n(");
        plumb_put_count(p->out, older, 0);
        plumb_buf_str(p->out, " older)");
    }
}

/* ---- One request ----------------------------------------------------------------------------- */

static const struct plumb_grid_column stage_columns[] = {
    {"name", "Node", PLUMB_GRID_TEXT, NULL},
    {"phase", "Stage", PLUMB_GRID_TEXT, NULL},
    {"count", "Count", PLUMB_GRID_COUNT, "runs that ended"},
    {"failures", "Failed", PLUMB_GRID_COUNT, "runs marked as failed"},
    {"total_ns", "Total(ms)", PLUMB_GRID_NS, "sum of its runs, nested stages included"},
    {"own_ns", "Own(ms)", PLUMB_GRID_NS, "the same without the stages nested in it"},
    {"last_ns", "Last(ms)", PLUMB_GRID_NS, "the run that ended last"},
    {"peak_rss_bytes", "Peak RSS", PLUMB_GRID_BYTES, "MiB resident, the highest in that time"},
    {"peak_allocated_bytes", "Peak alloc", PLUMB_GRID_BYTES,
     "MiB allocated in pools, the sum of their peaks"},
    {"peak_reserved_bytes", "Peak res", PLUMB_GRID_BYTES,
     "MiB reserved by pools, the sum of their peaks"},
    {"exclusive_ns", "Exclusive(ms)", PLUMB_GRID_NS,
     "own time on the request's thread, of failed runs too: with what is unaccounted for it adds "
     "up "
     "to the request"},
    {"device_ns", "Device(ms)", PLUMB_GRID_NS, "time on devices of the work that it launched"},
    {"wait_ns", "Waited(ms)", PLUMB_GRID_NS, "time that it waited for work of devices"},
    {"waits", "Note", PLUMB_GRID_TEXT, "whose work that was"},
};

/* Three cells. */
static void add_use(struct plumb_grid *g, const struct plumb_timing *t,
                    const struct plumb_timing_device_use *use)
{
    if (use->launches || use->works || use->wait_count) {
        plumb_grid_whole(g, use->device_ns);
        plumb_grid_whole(g, use->wait_ns);
    } else {
        plumb_grid_nones(g, 2);
    }
    plumb_grid_text(g, plumb_devices_waits(&g->copies, t, use));
}

static void fill_stages(struct plumb_grid *g, const struct plumb_render_input *in,
                        const struct plumb_timing_request *r)
{
    const struct plumb_summary_options *o = &in->options->summary;
    plumb_grid_init(g, stage_columns, sizeof stage_columns / sizeof *stage_columns);
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct plumb_timing_request_stage *s = &r->stages[i];
        const struct plumb_timing_node *node = &in->timing->nodes[s->node];
        if ((o->phase && strcmp(o->phase, node->phase) != 0) ||
            (o->pipeline && strcmp(o->pipeline, node->pipeline) != 0))
            continue;
        plumb_grid_text(g, node->name);
        plumb_grid_text(g, node->phase);
        plumb_grid_whole(g, s->count);
        plumb_grid_whole(g, s->failures);
        plumb_grid_whole(g, s->total_ns);
        plumb_grid_whole(g, s->own_ns);
        plumb_grid_whole(g, s->last_ns);
        add_peaks(g, in->timing, &s->memory);
        plumb_grid_whole(g, s->exclusive_ns);
        add_use(g, in->timing, &s->use);
    }
}

static void put_place(struct plumb_page *p, uint32_t node, const char *none)
{
    if (node == PLUMB_TIMING_NONE)
        plumb_buf_str(p->out, none);
    else
        plumb_page_name(p, p->in->timing->nodes[node].name);
}

/* The time of the request that none of its stages covers. */
static void put_account(struct plumb_page *p, const struct plumb_timing_request *r)
{
    uint64_t ns = plumb_timing_unaccounted_ns(r);
    if (r->records == 0)
        return;
    plumb_page_item(p, "unaccounted: ");
    plumb_put_duration(p->out, (double)ns);
    plumb_buf_str(p->out, " (");
    plumb_put_fixed(p->out, r->wall_ns ? 100 * (double)ns / (double)r->wall_ns : 0, 1, 0);
    plumb_buf_str(p->out, " %); longest gap: ");
    plumb_put_duration(p->out, (double)r->gap.ns);
    plumb_buf_str(p->out, ", between ");
    put_place(p, r->gap.after, "its begin");
    plumb_buf_str(p->out, " and ");
    put_place(p, r->gap.before, "its end");
}

static void put_facts(struct plumb_page *p, const struct plumb_timing_request *r)
{
    char begin[PLUMB_TIME_TEXT];
    plumb_time_text(begin, r->begin_unix_ns);
    plumb_page_paragraph(p);
    plumb_buf_str(p->out, p->md ? "### Request " : "Request ");
    plumb_page_name(p, r->id);
    plumb_buf_str(p->out, p->md ? "\n" : "");
    plumb_page_item(p, "state: ");
    plumb_buf_str(p->out, plumb_timing_request_state_name(r->state));
    if (r->why) {
        plumb_buf_str(p->out, ", ");
        plumb_page_name(p, r->why);
    }
    plumb_page_item(p, "started: ");
    plumb_buf_str(p->out, begin);
    plumb_page_item(p, "wall clock: ");
    plumb_put_duration(p->out, (double)r->wall_ns);
    plumb_page_item(p, "stages: ");
    plumb_put_duration(p->out, (double)r->stages_ns);
    plumb_buf_str(p->out, " in ");
    plumb_put_count(p->out, r->records, 0);
    plumb_buf_str(p->out, r->records == 1 ? " run" : " runs");
    put_account(p, r);
    for (size_t i = 0; i < r->metadata_count; i++) {
        plumb_page_item(p, "");
        plumb_page_name(p, r->metadata[i].key);
        plumb_buf_str(p->out, ": ");
        plumb_page_name(p, r->metadata[i].value);
    }
}

static void put_one(struct plumb_page *p, const struct plumb_timing_request *r)
{
    struct plumb_grid g;
    put_facts(p, r);
    fill_stages(&g, p->in, r);
    if (plumb_grid_rows(&g) > 0) {
        plumb_page_title(p, "Its stages");
        plumb_page_grid(p, &g);
        return;
    }
    plumb_grid_fini(&g);
    plumb_page_paragraph(p);
    plumb_buf_str(p->out, r->records > 0 && r->stage_count == 0
                              ? "Its stages are not kept: newer requests took their place."
                              : "It has no stages.");
}

/* ---- Formats --------------------------------------------------------------------------------- */

static void put_page(const struct plumb_render_input *in, struct plumb_buf *out, bool md)
{
    struct plumb_page p;
    plumb_page_begin(&p, in, out, md, in->options->explain);
    if (in->request == PLUMB_TIMING_NONE)
        put_index(&p);
    else
        put_one(&p, &in->timing->requests[in->request]);
    plumb_page_end(&p);
}

void plumb_render_requests_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, false);
}

void plumb_render_requests_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, true);
}

void plumb_render_requests_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_grid g;
    if (in->request == PLUMB_TIMING_NONE)
        fill_index(&g, in);
    else
        fill_stages(&g, in, &in->timing->requests[in->request]);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

void plumb_render_requests_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    const struct plumb_timing *t = in->timing;
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_report(&j, in);
    plumb_put_array(&j, "requests");
    for (size_t i = first_shown(in); i < t->request_count; i++)
        if (in->request == PLUMB_TIMING_NONE || in->request == i)
            plumb_timing_write_request(t, &j, &t->requests[i]);
    plumb_json_array_end(&j);
    plumb_put_u64(&j, "requests_lost", t->requests_lost);
    plumb_put_u64(&j, "requests_not_shown",
                  in->request == PLUMB_TIMING_NONE ? first_shown(in) : t->request_count - 1);
    plumb_json_report_end(&j, in);
}
