/* report.c: the Markdown report on one kernel of a processor. It has the headings of the report on
 * a kernel of a GPU (report/deep/report.c), whatever is known, so that a reader sees what was not
 * measured. The kernel is the one with the largest total duration. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/roofline/parts.h"
#include "report/table/escape.h"
#include "report/table/grid.h"
#include "summary/cells.h"

enum { KERNELS = 10 }; /* of the table, without --top */
#define NEAR 0.05      /* of a threshold */

static const struct plumb_kernel_row *dominant(const struct plumb_roofline_page *p)
{
    return &p->kernels.rows[0];
}

static struct plumb_roof roof_of(const struct plumb_roofline_page *p)
{
    return plumb_roof_of(&dominant(p)->of, p->v->peaks, p->v->span);
}

static void bullet(struct plumb_buf *out, const char *title, const char *text)
{
    plumb_buf_printf(out, "- %s: ", title);
    if (text && *text)
        plumb_put_md(out, text);
    else
        plumb_buf_str(out, "not known");
    plumb_buf_char(out, '\n');
}

static void put_ms(struct plumb_buf *out, uint64_t ns)
{
    plumb_put_fixed(out, (double)ns * 1e-6, 3, 0);
    plumb_buf_str(out, " ms");
}

static void put_us(struct plumb_buf *out, uint64_t ns)
{
    plumb_put_fixed(out, (double)ns * 1e-3, 1, 0);
}

static void put_percent(struct plumb_buf *out, double share)
{
    plumb_put_fixed(out, share * 100, 1, 0);
    plumb_buf_str(out, " %");
}

static void put_no_run(struct plumb_buf *out, const char *part)
{
    plumb_buf_printf(out,
                     "- Not known: the trace does not lie in a run directory. `--run RUN` adds "
                     "the %s of its recording.\n",
                     part);
}

/* ---- Workload and environment ---------------------------------------------------------------- */

static void put_workload(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    const struct plumb_timing *t = p->v->timing;
    const struct plumb_work *w = &p->totals.work;
    double without, ideal = plumb_work_ideal_s(w, p->v->peaks, p->v->span, &without);
    plumb_buf_str(out, "## Workload\n\n");
    if (t) {
        bullet(out, "Command", t->command);
        bullet(out, "Pipeline", t->pipeline);
        plumb_buf_printf(out, "- Wall clock: %.3f s\n", (double)t->wall_clock_ns / 1e9);
    } else {
        put_no_run(out, "command line");
    }
    plumb_buf_str(out, "- Traced: ");
    put_ms(out, p->totals.wall_ns);
    plumb_buf_printf(out, ", with %" PRIu64 " runs of kernels and ", w->kernels);
    plumb_put_figure(out, w->flops * 1e-9);
    plumb_buf_str(out, " GFLOP\n");
    if (ideal > 0 && p->totals.wall_ns) {
        plumb_buf_str(out, "- Model FLOPs utilisation of that time: ");
        put_percent(out, ideal / ((double)p->totals.wall_ns * 1e-9));
        plumb_buf_char(out, '\n');
    }
    if (t && t->world_size > 1)
        plumb_buf_printf(out, "- Process %" PRId32 " of %" PRId32 ": this report is of it alone\n",
                         t->rank, t->world_size);
}

static void put_environment(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    const struct plumb_peaks *peaks = p->v->peaks;
    const struct plumb_timing *t = p->v->timing;
    plumb_buf_str(out, "\n## Environment\n\n");
    bullet(out, "CPU whose peaks are compared with", peaks->cpu);
    plumb_buf_printf(out, "- Peaks: of %s of its %" PRIu32 " cores, measured %s\n",
                     p->v->span == PLUMB_PEAK_ALL ? "all" : "one", peaks->cores, peaks->date);
    if (!t) {
        put_no_run(out, "environment");
        return;
    }
    bullet(out, "CPU of the recording", t->cpu);
    bullet(out, "Kernel", t->kernel);
    bullet(out, "C library", t->runtime.libc);
    bullet(out, "Framework", t->runtime.framework);
    bullet(out, "Git commit", t->runtime.git_commit);
    bullet(out, "plumb", t->plumb_version);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static const struct plumb_timing_node *node_named(const struct plumb_timing *t, const char *name)
{
    for (size_t i = 0; t && i < t->node_count; i++)
        if (strcmp(t->nodes[i].name, name) == 0)
            return &t->nodes[i];
    return NULL;
}

static void put_whole(struct plumb_grid *g, bool known, uint64_t value)
{
    if (known)
        plumb_grid_whole(g, value);
    else
        plumb_grid_none(g);
}

/* Kernels, copies, waits and the rest apart: a stage is slow for one of them. */
static void put_stages(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"stage", "Stage", PLUMB_GRID_TEXT, NULL},
        {"runs", "Runs", PLUMB_GRID_COUNT, NULL},
        {"wall_ns", "Open (ms)", PLUMB_GRID_NS, NULL},
        {"p50_ns", "Median (ms)", PLUMB_GRID_NS, NULL},
        {"kernel_ns", "Kernels (ms)", PLUMB_GRID_NS, NULL},
        {"copy_ns", "of them copies (ms)", PLUMB_GRID_NS, NULL},
        {"rest_ns", "Outside kernels (ms)", PLUMB_GRID_NS, NULL},
        {"wait_ns", "Device waits (ms)", PLUMB_GRID_NS, NULL},
        {"preempted_ns", "Preempted (ms)", PLUMB_GRID_NS, NULL},
        {"blocked_ns", "Blocked (ms)", PLUMB_GRID_NS, NULL},
        {"gflop_per_s", "GFLOP/s", PLUMB_GRID_FIGURE, NULL},
        {"verdict", "Verdict", PLUMB_GRID_TEXT, NULL},
    };
    struct plumb_grid g;
    plumb_buf_str(out, "\n## Stage times\n\n");
    if (p->totals.stage_count == 0)
        plumb_buf_str(out, "- No stage has a kernel with operations or bytes.\n");
    if (p->totals.stage_count == 0)
        return;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->totals.stage_count; i++) {
        const struct plumb_stage_work *s = &p->totals.stages[i];
        const char *name = plumb_table_text(p->v->t, s->name);
        const struct plumb_timing_node *n = node_named(p->v->timing, name);
        struct plumb_roof_point point = plumb_work_point(&s->work, s->runs, s->wall_ns);
        struct plumb_roof roof = plumb_roof_of(&point, p->v->peaks, p->v->span);
        bool sched = n && n->sched.preemptions + n->sched.blocks > 0;
        plumb_grid_text(&g, name);
        plumb_grid_whole(&g, s->runs);
        plumb_grid_whole(&g, s->wall_ns);
        put_whole(&g, n != NULL, n ? (uint64_t)n->host.p50_ns : 0);
        plumb_grid_whole(&g, s->kernel_ns);
        plumb_grid_whole(&g, s->copy_ns);
        plumb_grid_whole(&g, s->wall_ns > s->kernel_ns ? s->wall_ns - s->kernel_ns : 0);
        put_whole(&g, n && n->use.wait_count > 0, n ? n->use.wait_ns : 0);
        put_whole(&g, sched, n ? n->sched.preempted_ns : 0);
        put_whole(&g, sched, n ? n->sched.blocked_ns : 0);
        plumb_grid_real(&g, roof.flops_rate * 1e-9);
        plumb_grid_text(&g, plumb_roof_verdict_name(roof.verdict));
    }
    plumb_grid_md(&g, out);
    plumb_grid_fini(&g);
    plumb_buf_str(out, "\n\n- Copies are kernels without operations, such as reorders. Outside "
                       "kernels are launches, other work of the program, communication, and "
                       "waiting.\n");
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* The stage in which the kernel takes the most time; NULL: none. */
static const char *stage_of(const struct plumb_roofline_page *p)
{
    const struct plumb_stage_work *best = NULL;
    for (size_t i = 0; i < p->totals.stage_count; i++)
        if (p->totals.stages[i].wanted_ns > (best ? best->wanted_ns : 0))
            best = &p->totals.stages[i];
    return best ? plumb_table_text(p->v->t, best->name) : NULL;
}

static void put_kernel(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    const struct plumb_kernel_row *k = dominant(p);
    const struct plumb_table *t = p->v->t;
    struct plumb_roofline_page few = *p;
    struct plumb_grid g;
    plumb_buf_str(out, "\n## Kernel\n\n");
    bullet(out, "Name", plumb_table_text(t, k->name));
    bullet(out, "Implementation", plumb_table_text(t, k->impl));
    bullet(out, "Shapes", plumb_table_text(t, k->shapes));
    bullet(out, "Types", plumb_table_text(t, k->dtypes));
    bullet(out, "Stage", stage_of(p));
    plumb_buf_printf(out, "- Runs: %" PRIu64 ", ", k->of.count);
    put_ms(out, k->of.total_ns);
    plumb_buf_str(out, " in all");
    if (p->totals.wall_ns) {
        plumb_buf_str(out, " (");
        put_percent(out, (double)k->of.total_ns / (double)p->totals.wall_ns);
        plumb_buf_str(out, " of the traced time)");
    }
    plumb_buf_str(out, ", ");
    put_us(out, k->min_ns);
    plumb_buf_str(out, " to ");
    put_us(out, k->max_ns);
    plumb_buf_str(out, " us a run, mean ");
    put_us(out, k->of.total_ns / k->of.count);
    plumb_buf_str(out, " us\n\nThe kernels with the largest times:\n\n");
    if (p->v->top == 0 && few.shown > KERNELS)
        few.shown = KERNELS;
    plumb_roofline_fill_kernels(&g, &few);
    plumb_grid_md(&g, out);
    plumb_grid_fini(&g);
    if (few.shown < p->kernels.count)
        plumb_buf_printf(out, "\n\n%zu more kernels are not shown (--top)",
                         p->kernels.count - few.shown);
    plumb_buf_char(out, '\n');
}

static void put_share(struct plumb_buf *out, const char *title, double rate, const char *unit,
                      double share, double peak, const char *note)
{
    plumb_buf_printf(out, "- %s: ", title);
    if (isnan(rate)) {
        plumb_buf_str(out, "not recorded\n");
        return;
    }
    plumb_put_figure(out, rate * 1e-9);
    plumb_buf_printf(out, " %s", unit);
    if (isnan(share)) {
        plumb_buf_str(out, "; this machine has no peak for it\n");
        return;
    }
    plumb_buf_str(out, ", ");
    put_percent(out, share);
    plumb_buf_str(out, " of the peak of ");
    plumb_put_figure(out, peak * 1e-9);
    plumb_buf_printf(out, " %s%s\n", unit, note);
}

static void put_evidence(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    struct plumb_roof r = roof_of(p);
    plumb_buf_printf(out, "\n## Evidence\n\nVerdict: **%s**\n\n- ",
                     plumb_roof_verdict_name(r.verdict));
    plumb_roofline_evidence(out, &r, &dominant(p)->of);
    plumb_roofline_kernel_counters(out, p->v, plumb_table_text(p->v->t, dominant(p)->name));
    plumb_buf_char(out, '\n');
    put_share(out, "Arithmetic", r.flops_rate, "GFLOP/s", r.compute_share, r.peak_flops,
              " (compute_bound from 60 % on, above the ridge)");
    put_share(out, "Memory", r.bytes_rate, "GB/s", r.memory_share, r.peak_bytes,
              " (memory_bound from 60 % on, below the ridge)");
    if (isnan(r.intensity))
        return;
    plumb_buf_str(out, "- Intensity: ");
    plumb_put_figure(out, r.intensity);
    plumb_buf_str(out, " FLOP/B");
    if (!isnan(r.ridge)) {
        plumb_buf_str(out, "; the ridge is at ");
        plumb_put_figure(out, r.ridge);
        plumb_buf_str(out, ", and at this intensity at most ");
        plumb_put_figure(out, r.roof_flops * 1e-9);
        plumb_buf_str(out, " GFLOP/s are possible");
    }
    plumb_buf_char(out, '\n');
}

/* ---- Uncertainty ----------------------------------------------------------------------------- */

static bool is_near(double share)
{
    return fabs(share - PLUMB_ROOF_SHARE) < NEAR;
}

static void put_overhead(struct plumb_buf *out, const struct plumb_timing *t)
{
    if (!t)
        return;
    plumb_buf_str(out, "- Recording took an estimated ");
    put_percent(out,
                t->wall_clock_ns ? t->overhead.total_ns / (double)t->wall_clock_ns : (double)NAN);
    plumb_buf_str(out, " of the wall clock.\n");
    if (t->trace.dropped)
        plumb_buf_printf(out, "- %" PRIu64 " spans are not in the trace: sums are too low.\n",
                         t->trace.dropped);
}

static void put_uncertainty(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    const struct plumb_kernel_row *k = dominant(p);
    struct plumb_roof r = roof_of(p);
    plumb_buf_str(out, "\n## Uncertainty\n\n");
    plumb_buf_printf(out, "- The verdict is of the mean of %" PRIu64 " runs%s", k->of.count,
                     k->of.count == 1 ? "; one run shows no spread" : "; the longest took ");
    if (k->of.count > 1) {
        plumb_put_fixed(out, (double)k->max_ns / (double)(k->min_ns ? k->min_ns : 1), 1, 0);
        plumb_buf_str(out, " times the shortest");
    }
    plumb_buf_str(out, ".\n");
    if (r.verdict == PLUMB_ROOF_UNKNOWN)
        plumb_buf_str(out, "- A figure that the verdict needs is missing.\n");
    if (is_near(r.compute_share) || is_near(r.memory_share))
        plumb_buf_str(out, "- A share lies within 5 points of its threshold: the verdict may "
                           "change from run to run.\n");
    if (plumb_roofline_spread(p->v->peaks) > PLUMB_ROOFLINE_NOISY) {
        plumb_buf_str(out, "- The runs that measured the peaks differ by up to ");
        put_percent(out, plumb_roofline_spread(p->v->peaks));
        plumb_buf_str(out, ": the peaks are too low. `plumb deep --peaks --measure`, when the "
                           "machine is idle.\n");
    }
    if (p->v->timing && p->v->timing->cpu && strcmp(p->v->timing->cpu, p->v->peaks->cpu) != 0)
        plumb_buf_str(out, "- The recording is of another processor than the peaks.\n");
    if (p->kernels.left_out)
        plumb_buf_printf(out,
                         "- %" PRIu64 " runs of kernels that failed or did not end are left "
                         "out.\n",
                         p->kernels.left_out);
    put_overhead(out, p->v->timing);
    plumb_buf_str(out,
                  "- Operations and bytes follow from the shapes, each tensor counted once: a "
                  "kernel that reads a tensor again moves more, and bytes may come from caches.\n"
                  "- Two shares are a place to look, not a cause.\n");
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_artifacts(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    plumb_buf_str(out, "\n## Artifacts\n\n");
    bullet(out, "Trace", p->v->path);
    if (p->v->run)
        bullet(out, "Run", p->v->run);
    bullet(out, "Peaks", p->v->peaks_path ? p->v->peaks_path : "not kept");
    plumb_buf_str(out, "- Picture: `plumb deep --format svg -o roofline.svg`, with the same "
                       "recording\n");
}

static void put_next(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    static const char *const advice[] = {
        [PLUMB_ROOF_UNKNOWN] = "Record what is missing: the evidence names it.",
        [PLUMB_ROOF_MEMORY] = "Move fewer bytes: fuse the kernel with the one that makes or takes "
                              "its tensors, work on blocks that fit into a cache, or use a "
                              "narrower type.",
        [PLUMB_ROOF_COMPUTE] = "The kernel is near what the processor can do. Need fewer "
                               "operations, or use a type with a higher peak.",
        [PLUMB_ROOF_LATENCY] = "Neither peak explains the time. Give each run more work (larger "
                               "batches, fused kernels), and see whether its threads run at all: "
                               "record with `PLUMB_COLLECT=sched`, and compare with `--cores one` "
                               "if the kernel has one thread.",
    };
    const char *stage = stage_of(p);
    plumb_buf_printf(out, "\n## Next experiment\n\n%s\n\n", advice[roof_of(p).verdict]);
    if (stage) {
        plumb_buf_str(out, "Change one thing, and run stage ");
        plumb_put_md(out, stage);
        plumb_buf_str(out, " alone (`plumb bench`, where the program has a stage library). ");
    }
    plumb_buf_str(out, "Then record the program again, and compare: `plumb compare BEFORE AFTER`. "
                       "Only stage times that were measured again show a speed-up.");
}

void plumb_roofline_report(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    plumb_buf_str(out, "# Kernel report: ");
    plumb_put_md(out, plumb_table_text(p->v->t, dominant(p)->name));
    plumb_buf_str(out, "\n\n");
    put_workload(out, p);
    put_environment(out, p);
    put_stages(out, p);
    put_kernel(out, p);
    put_evidence(out, p);
    put_uncertainty(out, p);
    put_artifacts(out, p);
    put_next(out, p);
}
