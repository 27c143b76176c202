/* text.c: what a person reads: the figures of the stage alone next to those in its pipeline, and
 * whether the one can stand for the other. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bench/view.h"
#include "report/table/page.h"

static const struct plumb_grid_column columns[] = {
    {"figure", "Figure", PLUMB_GRID_TEXT, NULL},
    {"alone", "Alone", PLUMB_GRID_TEXT, NULL},
    {"pipeline", "In the pipeline", PLUMB_GRID_TEXT, NULL},
};

static void ms_text(char out[32], double ms)
{
    if (isnan(ms))
        strcpy(out, "-");
    else
        snprintf(out, 32, "%.*f", ms < 10 ? 4 : ms < 1000 ? 3 : 1, ms);
}

static void mib_text(char out[32], uint64_t bytes)
{
    if (bytes == 0)
        strcpy(out, "-");
    else
        snprintf(out, 32, "%.2f", (double)bytes / 1048576.0);
}

static void count_text(char out[32], uint64_t count)
{
    if (count == 0)
        strcpy(out, "-");
    else
        snprintf(out, 32, "%" PRIu64, count);
}

static void row(struct plumb_grid *g, const char *name, const char *alone, const char *pipeline)
{
    plumb_grid_text(g, name);
    plumb_grid_copy(g, alone);
    plumb_grid_copy(g, pipeline);
}

static void put_shape(struct plumb_page *p, const struct plumb_bench_view *v)
{
    const plumb_bench_result *r = v->result;
    plumb_page_paragraph(p);
    plumb_page_name(p, v->facts->stage);
    plumb_buf_str(p->out, ": ");
    if (r->shape == PLUMB_BENCH_WHOLE)
        plumb_buf_str(p->out, "a run is one whole call (the stage has no loop of PLUMB_STEPS)");
    else if (r->steps == 1)
        plumb_buf_printf(p->out, "a run is step %" PRId64, r->first_step);
    else
        plumb_buf_printf(p->out, "a run is steps %" PRId64 " to %" PRId64, r->first_step,
                         r->first_step + r->steps - 1);
    if (r->shape != PLUMB_BENCH_WHOLE && r->loop_steps > 0)
        plumb_buf_printf(p->out, " of %" PRId64, r->loop_steps);
    plumb_buf_printf(p->out,
                     "; %u %s after %u warm-up%s, each with the same inputs (%s), right after each "
                     "other, and timed until its work was done",
                     r->runs, r->runs == 1 ? "run" : "runs", r->warmups, r->warmups == 1 ? "" : "s",
                     r->captured ? "captured" : "random");
}

static void put_comparison(struct plumb_page *p, const struct plumb_bench_view *v)
{
    const plumb_bench_result *r = v->result;
    const plumb_bench_facts *f = v->facts;
    struct plumb_grid g;
    char alone[32], there[32];
    plumb_grid_init(&g, columns, 3);
    ms_text(alone, r->median_ms);
    ms_text(there, f->pipeline_ms);
    row(&g, "Time, median (ms)", alone, there);
    count_text(alone, (uint64_t)r->steps);
    count_text(there, f->pipeline_iterations);
    row(&g, r->shape == PLUMB_BENCH_WHOLE ? "Runs" : "Steps", alone, there);
    mib_text(alone, f->trace_bytes);
    mib_text(there, f->pipeline_trace_bytes);
    row(&g, "Trace (MiB)", alone, there);
    mib_text(alone, r->peak_bytes);
    mib_text(there, f->pipeline_peak_bytes);
    row(&g, "Peak memory (MiB)", alone, there);
    plumb_page_grid(p, &g);
}

static void put_ms(struct plumb_page *p, const char *name, double ms)
{
    char text[32];
    if (isnan(ms))
        return;
    ms_text(text, ms);
    plumb_buf_printf(p->out, ", %s %s", name, text);
}

static void put_spread(struct plumb_page *p, const plumb_bench_result *r)
{
    char low[32], high[32];
    ms_text(low, r->median_ms);
    plumb_page_paragraph(p);
    plumb_buf_printf(p->out, "ms of a run: median %s", low);
    if (r->runs > 1) {
        put_ms(p, "mean", r->mean_ms);
        put_ms(p, "min", r->min_ms);
        put_ms(p, "p95", r->p95_ms);
        put_ms(p, "p99", r->p99_ms);
        put_ms(p, "max", r->max_ms);
        put_ms(p, "std", r->std_ms);
    }
    if (!isnan(r->low_ms)) {
        ms_text(low, r->low_ms);
        ms_text(high, r->high_ms);
        plumb_buf_printf(p->out, "; 95 %% interval of the median %s to %s", low, high);
    }
    put_ms(p, "first warm-up", r->warmup_ms);
}

/* Returns what probably makes a run alone take another time than the same work in the pipeline. */
static const char *likely_cause(const struct plumb_bench_view *v, double off)
{
    if (off < 0 && v->facts->pipeline_count == 1 && v->result->warmups)
        return "in the pipeline it ran once, and that run paid for what a first run sets up; here "
               "the warm-up paid (--warmup 0 compares like with like)";
    if (v->result->preemptions > v->result->runs / 2)
        return off < 0 ? "a busy machine, which was busier while the pipeline ran"
                       : "a busy machine";
    if (off < 0)
        return "caches are warm alone; in the pipeline other threads and stages use the processor "
               "and the memory";
    if (!v->result->captured)
        return "random inputs that take another path than the real ones (PLUMB_CAPTURE), or a "
               "busier machine";
    return "too few warm-ups, or a busier machine";
}

static void put_agreement(struct plumb_page *p, const struct plumb_bench_view *v)
{
    double there = v->facts->pipeline_ms, off = v->result->median_ms / there - 1;
    bool agrees = fabs(off) <= PLUMB_BENCH_AGREE;
    if (isnan(there) || !(there > 0))
        return;
    plumb_page_paragraph(p);
    plumb_buf_printf(p->out, "%s: alone it takes %.1f %% %s than in the pipeline",
                     agrees ? "agreement" : "warning: no agreement", 100 * fabs(off),
                     off < 0 ? "less" : "more");
    if (!v->facts->pipeline_node[0] && v->result->shape != PLUMB_BENCH_WHOLE)
        plumb_buf_str(p->out, " (there: the mean over all steps, because no node covers a step)");
    if (!agrees)
        plumb_buf_printf(p->out, ". Likely cause: %s", likely_cause(v, off));
}

static void put_deadline(struct plumb_page *p, const plumb_bench_result *r)
{
    if (!(r->deadline_ms > 0))
        return;
    plumb_page_paragraph(p);
    plumb_buf_printf(
        p->out,
        "deadline %g ms: %" PRIu64 " of %u runs took longer; left of it %.1f %% at the "
        "p99, %.1f %% at the maximum",
        r->deadline_ms, r->overruns, r->runs, 100 * r->budget_p99, 100 * r->budget_max);
}

static void put_energy(struct plumb_page *p, const plumb_bench_result *r)
{
    if (isnan(r->cpu_joules) || r->cpu_joules <= 0)
        return;
    plumb_page_paragraph(p);
    plumb_buf_printf(p->out, "energy of the processor: %.4g J a run, %.4g W", r->cpu_joules,
                     r->cpu_watts);
}

static void put_outputs(struct plumb_page *p, const plumb_bench_result *r)
{
    plumb_page_paragraph(p);
    if (r->outputs)
        plumb_buf_printf(p->out, "outputs: %u, hash %016" PRIx64 "%s", r->outputs, r->output_hash,
                         r->outputs_vary ? "; the outputs of the first run differ: the stage does "
                                           "not repeat its results"
                                         : "");
    else
        plumb_buf_str(p->out, "outputs: none (plumb_call_output)");
    if (r->outputs_equal != PLUMB_BENCH_NOT_COMPARED)
        plumb_buf_printf(
            p->out, "; %u compared with the captured call in the pipeline: %s", r->outputs_compared,
            r->outputs_equal == PLUMB_BENCH_EQUAL ? "equal, byte for byte" : "not equal");
}

static void put_remarks(struct plumb_page *p, const char *remarks)
{
    for (const char *line = remarks; line && *line;) {
        size_t n = strcspn(line, "\n");
        plumb_page_paragraph(p);
        plumb_buf_append(p->out, line, n);
        line += n + (line[n] == '\n');
    }
}

void plumb_bench_text(struct plumb_buf *out, const struct plumb_bench_view *view, bool md)
{
    struct plumb_page page;
    plumb_page_begin(&page, NULL, out, md, false);
    put_shape(&page, view);
    put_comparison(&page, view);
    put_spread(&page, view->result);
    put_agreement(&page, view);
    put_deadline(&page, view->result);
    put_energy(&page, view->result);
    put_outputs(&page, view->result);
    put_remarks(&page, view->result->remarks);
    plumb_page_end(&page);
}

void plumb_bench_csv(struct plumb_buf *out, const struct plumb_bench_view *view)
{
    plumb_buf_str(out, "run,ns");
    for (uint32_t i = 0; i < view->result->runs; i++)
        plumb_buf_printf(out, "\n%u,%" PRIu64, i, view->result->run_ns[i]);
}
