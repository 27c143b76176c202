/* streams_view.c: `plumb report streams`: latencies of streams, the idle time of their stages by
 * cause, and the newest sequences. CSV has a line for each sequence at each stage. Any thread; no
 * state. */
#include "model/timing_parts.h"
#include "report/run/render.h"
#include "report/table/page.h"

#define PLUMB_STREAMS_EMPTY                                                                        \
    "No streams were recorded: mark them with plumb_stream_begin() and what follows it in "        \
    "docs/streams.md."

enum { SHOWN = 20 }; /* sequences of a page, unless the options say otherwise */

/* ---- Latencies ------------------------------------------------------------------------------- */

static const struct plumb_grid_column latency_columns[] = {
    {"name", "Stream", PLUMB_GRID_TEXT, NULL},
    {"streams", "Streams", PLUMB_GRID_COUNT, "that were begun"},
    {"figure", "Figure", PLUMB_GRID_TEXT,
     "first output: since the stream's begin; control to output: until the first output that shows "
     "it; chunk period: between two outputs"},
    {"count", "Count", PLUMB_GRID_COUNT, NULL},
    {"min_ns", "Min(ms)", PLUMB_GRID_NS, NULL},
    {"p50_ns", "p50(ms)", PLUMB_GRID_NS, "percentiles: of the newest 1024"},
    {"p95_ns", "p95(ms)", PLUMB_GRID_NS, NULL},
    {"max_ns", "Max(ms)", PLUMB_GRID_NS, NULL},
    {"mean_ns", "Mean(ms)", PLUMB_GRID_NS, NULL},
};

static uint64_t whole(double ns)
{
    return (uint64_t)(ns + 0.5);
}

static void add_latency(struct plumb_grid *g, const struct plumb_timing_channel_of_streams *c,
                        const char *figure, const struct plumb_timing_latency *l)
{
    plumb_grid_text(g, c->name);
    plumb_grid_whole(g, c->streams);
    plumb_grid_text(g, figure);
    plumb_grid_whole(g, l->sum.count);
    if (l->sum.count == 0) {
        plumb_grid_nones(g, 5);
        return;
    }
    plumb_grid_whole(g, l->sum.min_ns);
    plumb_grid_whole(g, whole(l->p50_ns));
    plumb_grid_whole(g, whole(l->p95_ns));
    plumb_grid_whole(g, l->sum.max_ns);
    plumb_grid_whole(g, whole(plumb_timing_sum_mean(&l->sum)));
}

static void fill_latencies(struct plumb_grid *g, const struct plumb_timing_streams *s)
{
    plumb_grid_init(g, latency_columns, sizeof latency_columns / sizeof *latency_columns);
    for (size_t i = 0; i < s->channel_count; i++) {
        const struct plumb_timing_channel_of_streams *c = &s->channels[i];
        add_latency(g, c, "first output", &c->first_output);
        add_latency(g, c, "control to output", &c->control_to_output);
        add_latency(g, c, "chunk period", &c->chunk_period);
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static const struct plumb_grid_column stage_columns[] = {
    {"name", "Stream", PLUMB_GRID_TEXT, NULL},
    {"stage", "Stage", PLUMB_GRID_TEXT, NULL},
    {"count", "Count", PLUMB_GRID_COUNT, "sequences that it completed"},
    {"abandoned", "Abandoned", PLUMB_GRID_COUNT, "sequences that were given up"},
    {"ran_ns", "Ran(ms)", PLUMB_GRID_NS, "mean time from admitted to completed"},
    {"waited_ns", "Waited(ms)", PLUMB_GRID_NS, "mean time from inputs ready to admitted"},
    {"waited_max_ns", "Max(ms)", PLUMB_GRID_NS, "the longest of these"},
    {"idle_ns", "Idle(ms)", PLUMB_GRID_NS, "sum of its idle times between two sequences"},
};

static void fill_stages(struct plumb_grid *g, const struct plumb_timing_streams *s)
{
    plumb_grid_init(g, stage_columns, sizeof stage_columns / sizeof *stage_columns);
    for (size_t i = 0; i < s->channel_count; i++) {
        for (size_t k = 0; k < s->channels[i].stage_count; k++) {
            const struct plumb_timing_stream_stage *stage = &s->channels[i].stages[k];
            uint64_t idle = 0;
            for (size_t n = 0; n < stage->idle_count; n++)
                idle += stage->idle[n].sum.total_ns;
            plumb_grid_text(g, s->channels[i].name);
            plumb_grid_text(g, stage->name);
            plumb_grid_whole(g, stage->ran.count);
            plumb_grid_whole(g, stage->abandoned);
            plumb_grid_whole(g, whole(plumb_timing_sum_mean(&stage->ran)));
            plumb_grid_whole(g, whole(plumb_timing_sum_mean(&stage->waited)));
            plumb_grid_whole(g, stage->waited.max_ns);
            plumb_grid_whole(g, idle);
        }
    }
}

static const struct plumb_grid_column idle_columns[] = {
    {"name", "Stream", PLUMB_GRID_TEXT, NULL},
    {"stage", "Stage", PLUMB_GRID_TEXT, NULL},
    {"cause", "Idle because of", PLUMB_GRID_TEXT,
     "the inputs that were missing, as in a+b; inputs_not_ready: the program named none; the "
     "reason "
     "of the admission, or scheduler_admission; continuous: up to 1 ms"},
    {"count", "Count", PLUMB_GRID_COUNT, "idle times"},
    {"total_ns", "Total(ms)", PLUMB_GRID_NS, NULL},
    {"mean_ns", "Mean(ms)", PLUMB_GRID_NS, NULL},
    {"max_ns", "Longest(ms)", PLUMB_GRID_NS, NULL},
};

static void fill_idle(struct plumb_grid *g, const struct plumb_timing_streams *s)
{
    plumb_grid_init(g, idle_columns, sizeof idle_columns / sizeof *idle_columns);
    for (size_t i = 0; i < s->channel_count; i++) {
        for (size_t k = 0; k < s->channels[i].stage_count; k++) {
            const struct plumb_timing_stream_stage *stage = &s->channels[i].stages[k];
            for (size_t n = 0; n < stage->idle_count; n++) {
                const struct plumb_timing_sum *sum = &stage->idle[n].sum;
                plumb_grid_text(g, s->channels[i].name);
                plumb_grid_text(g, stage->name);
                plumb_grid_text(g, stage->idle[n].cause);
                plumb_grid_whole(g, sum->count);
                plumb_grid_whole(g, sum->total_ns);
                plumb_grid_whole(g, whole(plumb_timing_sum_mean(sum)));
                plumb_grid_whole(g, sum->max_ns);
            }
        }
    }
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static const struct plumb_grid_column sequence_columns[] = {
    {"name", "Stream", PLUMB_GRID_TEXT, NULL},
    {"stream", "Number", PLUMB_GRID_COUNT, "of the stream; 1 is the first of the run"},
    {"sequence", "Sequence", PLUMB_GRID_COUNT, NULL},
    {"stage", "Stage", PLUMB_GRID_TEXT, NULL},
    {"inputs_ready_at_ns", "Ready(ms)", PLUMB_GRID_NS,
     "its inputs were ready, since the run began"},
    {"admitted_at_ns", "Admitted(ms)", PLUMB_GRID_NS, "the stage began to work on it"},
    {"completed_at_ns", "Completed(ms)", PLUMB_GRID_NS, "the stage was done"},
    {"abandoned", "Abandoned", PLUMB_GRID_FLAG, "it was given up"},
    {"idle_inputs_ns", "Idle(ms)", PLUMB_GRID_NS,
     "idle time of the stage before it, and its cause"},
    {"idle_inputs", "because of", PLUMB_GRID_TEXT, NULL},
    {"idle_admission_ns", "then(ms)", PLUMB_GRID_NS, "a second part of it, with another cause"},
    {"idle_admission", "because of", PLUMB_GRID_TEXT, NULL},
};

static void add_time(struct plumb_grid *g, bool known, uint64_t ns)
{
    if (known)
        plumb_grid_whole(g, ns);
    else
        plumb_grid_none(g);
}

static void add_sequence(struct plumb_grid *g, const struct plumb_timing_streams *s,
                         const struct plumb_timing_sequence *q)
{
    const struct plumb_timing_channel_of_streams *c = &s->channels[q->channel];
    plumb_grid_text(g, c->name);
    plumb_grid_whole(g, q->stream);
    plumb_grid_whole(g, q->sequence);
    plumb_grid_text(g, c->stages[q->stage].name);
    add_time(g, q->ready, q->ready_ns);
    add_time(g, q->admitted, q->admitted_ns);
    add_time(g, q->completed, q->completed_ns);
    if (q->abandoned)
        plumb_grid_whole(g, 1);
    else
        plumb_grid_none(g);
    for (int first = q->idle[0].cause ? 0 : 1, i = 0; i < 2; i++) {
        int part = first + i;
        if (part < 2 && q->idle[part].cause) {
            plumb_grid_whole(g, q->idle[part].ns);
            plumb_grid_text(g, q->idle[part].cause);
        } else {
            plumb_grid_nones(g, 2);
        }
    }
}

/* The index of the first one that is shown: the newest are. */
static size_t first_shown(const struct plumb_render_input *in, size_t by_default)
{
    size_t n = in->whole->streams.sequence_count;
    size_t top = in->options->summary.top ? in->options->summary.top : by_default;
    return top > 0 && top < n ? n - top : 0;
}

static void fill_sequences(struct plumb_grid *g, const struct plumb_timing_streams *s, size_t from)
{
    plumb_grid_init(g, sequence_columns, sizeof sequence_columns / sizeof *sequence_columns);
    for (size_t i = from; i < s->sequence_count; i++)
        add_sequence(g, s, &s->sequences[i]);
}

/* ---- Formats --------------------------------------------------------------------------------- */

typedef void fill_grid(struct plumb_grid *g, const struct plumb_timing_streams *s);

static void put_table(struct plumb_page *p, const char *title, fill_grid *fill)
{
    struct plumb_grid g;
    fill(&g, &p->in->whole->streams);
    if (plumb_grid_rows(&g) > 0) {
        plumb_page_title(p, title);
        plumb_page_grid(p, &g);
    } else {
        plumb_grid_fini(&g);
    }
}

static void put_sequences(struct plumb_page *p)
{
    const struct plumb_timing_streams *s = &p->in->whole->streams;
    size_t from = first_shown(p->in, SHOWN);
    struct plumb_grid g;
    if (s->sequence_count == 0)
        return;
    fill_sequences(&g, s, from);
    plumb_page_title(p, "Newest sequences");
    plumb_page_grid(p, &g);
    if (from + s->sequences_lost > 0) {
        plumb_buf_str(p->out, p->md ? "\n\n(" : "\n(");
        plumb_put_count(p->out, from + s->sequences_lost, 0);
        plumb_buf_str(p->out, " older)");
    }
}

static void put_losses(struct plumb_page *p)
{
    const struct plumb_timing_streams *s = &p->in->whole->streams;
    if (s->events_lost > 0) {
        plumb_page_paragraph(p);
        plumb_put_count(p->out, s->events_lost, 0);
        plumb_buf_str(p->out, " events are not in these figures: they are beyond the bounds of "
                              "docs/streams.md");
    }
    if (s->events_stale > 0) {
        plumb_page_paragraph(p);
        plumb_put_count(p->out, s->events_stale, 0);
        plumb_buf_str(p->out, " events do not fit and are left out: a sequence was admitted twice, "
                              "or completed before it was admitted");
    }
}

static void put_page(const struct plumb_render_input *in, struct plumb_buf *out, bool md)
{
    struct plumb_page p;
    plumb_page_begin(&p, in, out, md, in->options->explain);
    if (in->whole->streams.channel_count == 0) {
        plumb_buf_str(out, PLUMB_STREAMS_EMPTY);
    } else {
        put_table(&p, "Streams", fill_latencies);
        put_table(&p, "Stages", fill_stages);
        put_table(&p, "Idle time", fill_idle);
        put_sequences(&p);
        put_losses(&p);
    }
    plumb_page_end(&p);
}

void plumb_render_streams_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, false);
}

void plumb_render_streams_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, true);
}

void plumb_render_streams_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_grid g;
    fill_sequences(&g, &in->whole->streams, first_shown(in, 0));
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

void plumb_render_streams_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    const struct plumb_timing_streams *s = &in->whole->streams;
    size_t from = first_shown(in, 0);
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_report(&j, in);
    plumb_timing_write_stream_names(in->whole, &j);
    plumb_timing_write_stream_list(in->whole, &j);
    plumb_put_array(&j, "sequences");
    for (size_t i = from; i < s->sequence_count; i++) {
        const struct plumb_timing_channel_of_streams *c = &s->channels[s->sequences[i].channel];
        plumb_json_object_inline(&j);
        plumb_put_text(&j, "name", c->name);
        plumb_put_text(&j, "stage", c->stages[s->sequences[i].stage].name);
        plumb_timing_write_sequence(&j, &s->sequences[i]);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
    plumb_put_u64(&j, "sequences_not_shown", from);
    plumb_json_report_end(&j, in);
}
