/* request_summary.c: `plumb report summary`: what one request (or the run) cost, in lines of 60
 * characters that people know from older tools. Its totals are those at the top of timing.json.
 * Any thread; no state. */
#include "model/timing_memory.h"
#include "model/timing_section.h"
#include "report/run/render.h"

enum { RULE = 60, NAME = 30, TIME = 8 };

struct sheet {
    const struct plumb_timing *t;
    const struct plumb_timing_section *s;
    struct plumb_buf *out;
};

static void put_rule(struct sheet *p, char c)
{
    for (int i = 0; i < RULE; i++)
        plumb_buf_char(p->out, c);
    plumb_buf_char(p->out, '\n');
}

static void put_heading(struct sheet *p, const char *text)
{
    plumb_buf_str(p->out, text);
    plumb_buf_char(p->out, '\n');
    put_rule(p, '-');
}

/* A name as long as its column does not touch the figure. */
static void put_name(struct sheet *p, const char *name)
{
    plumb_put_left(p->out, name, NAME - 1);
    plumb_buf_char(p->out, ' ');
}

static void put_ms(struct sheet *p, const char *what, double ns)
{
    put_name(p, what);
    plumb_put_fixed(p->out, ns / 1e6, 1, TIME);
    plumb_buf_str(p->out, " ms\n");
}

static void put_mib(struct sheet *p, const char *what, double bytes)
{
    put_name(p, what);
    plumb_put_fixed(p->out, bytes / 1048576, 2, TIME);
    plumb_buf_str(p->out, " MB\n");
}

static bool anything(const struct plumb_timing_memory *m)
{
    return plumb_timing_measured(m);
}

/* "memory: 100.00/116.00 MB (peak: 330.00/432.00 MB)", as the console line has it: allocated and
 * reserved of the pools; where there are none, the resident set. */
static void put_memory(struct sheet *p, const struct plumb_timing_memory *m)
{
    struct plumb_timing_bytes b = plumb_timing_bytes_of(p->t, m);
    plumb_buf_str(p->out, "  memory: ");
    if (m->use_count > 0) {
        plumb_put_fixed(p->out, (double)b.allocated / 1048576, 2, 0);
        plumb_buf_char(p->out, '/');
        plumb_put_fixed(p->out, (double)b.reserved / 1048576, 2, 0);
        plumb_buf_str(p->out, " MB (peak: ");
        plumb_put_fixed(p->out, (double)b.peak_allocated / 1048576, 2, 0);
        plumb_buf_char(p->out, '/');
        plumb_put_fixed(p->out, (double)b.peak_reserved / 1048576, 2, 0);
    } else {
        plumb_buf_str(p->out, "resident ");
        plumb_put_fixed(p->out, (double)m->rss / 1048576, 2, 0);
        plumb_buf_str(p->out, " MB (peak: ");
        plumb_put_fixed(p->out, (double)m->peak_rss / 1048576, 2, 0);
    }
    plumb_buf_str(p->out, " MB)\n");
}

/* The part of each rank: so far a report knows only its own rank. */
static void put_rank(struct sheet *p, const struct plumb_timing_stage *stage)
{
    struct plumb_timing_bytes b = plumb_timing_bytes_of(p->t, &stage->memory);
    if (p->t->rank < 0)
        return;
    plumb_buf_printf(p->out, "  rank %d: ", (int)p->t->rank);
    plumb_put_fixed(p->out, (double)stage->total_ns / 1e6, 1, 0);
    plumb_buf_str(p->out, " ms");
    if (stage->memory.use_count > 0) {
        plumb_buf_str(p->out, ", peak ");
        plumb_put_fixed(p->out, (double)b.peak_held / 1073741824, 2, 0);
        plumb_buf_str(p->out, " GB");
    }
    plumb_buf_char(p->out, '\n');
}

static void put_stages(struct sheet *p)
{
    put_heading(p, "Stages (%: own time, without stages inside)");
    for (size_t i = 0; i < p->s->stage_count; i++) {
        const struct plumb_timing_stage *stage = &p->s->stages[i];
        put_name(p, stage->name);
        plumb_put_fixed(p->out, (double)stage->total_ns / 1e6, 1, TIME);
        plumb_buf_str(p->out, " ms (");
        plumb_put_fixed(p->out, stage->percentage, 1, 0);
        plumb_buf_str(p->out, "%)\n");
        if (anything(&stage->memory))
            put_memory(p, &stage->memory);
        put_rank(p, stage);
    }
    if (p->s->stage_count == 0)
        plumb_buf_str(p->out,
                      p->s->records > 0 ? "not kept: newer requests took their place\n" : "none\n");
    put_rule(p, '-');
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void put_statistics(struct sheet *p, const struct plumb_timing_analysis *a)
{
    const struct plumb_timing_memory *m = p->s->request ? &p->s->request->memory : NULL;
    double rss = (double)(m && m->samples > 0 ? m->rss : p->t->memory.rss);
    double peak = (double)(m && m->samples > 0 ? m->peak_rss : p->t->memory.peak_rss);
    if (peak <= 0 && !a->peak)
        return;
    put_heading(p, "Memory statistics");
    if (peak > 0) {
        put_mib(p, "resident", rss);
        put_mib(p, "peak resident", peak);
    }
    if (a->peak) {
        put_mib(p, a->host ? "peak at checkpoints" : "peak reserved at checkpoints",
                (double)a->at_peak.peak_held);
        put_name(p, "pool overhead");
        plumb_put_fixed(p->out, (double)a->overhead / 1048576, 2, TIME);
        plumb_buf_str(p->out, " MB (");
        plumb_put_fixed(p->out, a->overhead_percent, 1, 0);
        plumb_buf_str(p->out, "%)\n");
        if (a->total > 0) {
            put_mib(p, "device memory", (double)a->total);
            put_mib(p, "remaining", (double)a->remaining);
        }
        if (a->baseline)
            put_mib(p, "increase since baseline", (double)a->increase);
    }
    put_rule(p, '-');
}

static void put_checkpoints(struct sheet *p, uint32_t request)
{
    bool any = false;
    for (size_t i = 0; i < p->t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &p->t->memory.checkpoints[i];
        if (c->request != request)
            continue;
        if (!any)
            put_heading(p, "Memory checkpoints");
        any = true;
        plumb_put_left(p->out, c->name, 0);
        plumb_buf_char(p->out, '\n');
        if (anything(&c->memory))
            put_memory(p, &c->memory);
    }
    if (any)
        put_rule(p, '-');
}

/* ---- The sheet ------------------------------------------------------------------------------- */

void plumb_render_summary_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_timing_section s;
    struct plumb_timing_analysis a;
    struct sheet p = {in->timing, &s, out};
    uint32_t request =
        in->request == PLUMB_TIMING_NONE ? plumb_timing_last_request(in->timing) : in->request;
    if (plumb_timing_section_init(&s, in->timing, request, NULL) < 0) {
        out->failed = true;
        return;
    }
    plumb_timing_analyse(&a, in->timing, request);
    put_rule(&p, '=');
    plumb_buf_str(out, s.request ? "Request " : "Run ");
    plumb_put_left(out, s.id ? s.id : "(no name)", 0);
    plumb_buf_char(out, '\n');
    put_rule(&p, '=');
    put_ms(&p, "wall clock", (double)s.wall_ns);
    put_ms(&p, "stages in all", (double)s.stages_ns);
    put_rule(&p, '-');
    put_statistics(&p, &a);
    put_stages(&p);
    put_checkpoints(&p, request);
    if (out->len > 0)
        out->data[--out->len] = '\0'; /* no newline at the end */
    plumb_timing_section_fini(&s);
}
