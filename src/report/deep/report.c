/* report.c: the Markdown report on one kernel.
 *
 * It has the same headings whatever is known, so that a reader sees what was not measured. The
 * kernel is the one with the largest total duration: a verdict on a kernel that takes no time
 * answers nothing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/deep/view.h"
#include "report/table/escape.h"
#include "report/table/grid.h"

/* Launches of one kernel, by name. */
struct group {
    const struct plumb_ncu_kernel *first; /* the longest of them */
    uint64_t launches;
    double total_ns, min_ns, max_ns; /* of launches whose duration is known */
    size_t rows, verdicts[PLUMB_NCU_BOUNDS];
};

static struct group group_of(const struct plumb_ncu *ncu, const char *name)
{
    struct group g = {.min_ns = INFINITY};
    for (size_t i = 0; i < ncu->count; i++) {
        const struct plumb_ncu_kernel *k = &ncu->kernels[i];
        double ns = k->metric[PLUMB_NCU_DURATION];
        if (strcmp(k->name, name) != 0)
            continue;
        if (!g.first || ns > g.first->metric[PLUMB_NCU_DURATION])
            g.first = k;
        g.launches += k->launches;
        g.rows++;
        g.verdicts[plumb_ncu_bound_of(k)]++;
        if (isnan(ns))
            continue;
        g.total_ns += ns * (double)k->launches;
        g.min_ns = ns < g.min_ns ? ns : g.min_ns;
        g.max_ns = ns > g.max_ns ? ns : g.max_ns;
    }
    return g;
}

/* The kernel with the largest total. Only the longest launches are candidates, so that a report of
 * many kernels takes one pass for each of few names. */
static struct group dominant(const struct plumb_ncu *ncu)
{
    enum { CANDIDATES = 256 };
    struct group best = {.first = NULL};
    size_t names = 0;
    const char *last = NULL;
    for (size_t i = 0; i < ncu->count && names < CANDIDATES; i++) {
        const char *name = ncu->kernels[i].name;
        if (last && strcmp(last, name) == 0)
            continue;
        last = name;
        names++;
        struct group g = group_of(ncu, name);
        if (!best.first || g.total_ns > best.total_ns)
            best = g;
    }
    return best;
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

static void put_no_run(struct plumb_buf *out, const char *part)
{
    plumb_buf_printf(out,
                     "- Not known: no run was named. `plumb deep --report md --run RUN` adds the "
                     "%s of a recording.\n",
                     part);
}

static void put_workload(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    plumb_buf_str(out, "## Workload\n\n");
    bullet(out, "Profiled process", p->ncu->kernels[0].process);
    if (p->command)
        bullet(out, "Profiled with", p->command);
    if (!p->timing) {
        put_no_run(out, "command line");
        return;
    }
    bullet(out, "Command", p->timing->command);
    bullet(out, "Pipeline", p->timing->pipeline);
    plumb_buf_printf(out, "- Wall clock: %.3f s\n", (double)p->timing->wall_clock_ns / 1e9);
}

static void put_environment(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    const struct plumb_timing *t = p->timing;
    const struct plumb_ncu_kernel *k = &p->ncu->kernels[0];
    plumb_buf_str(out, "\n## Environment\n\n");
    plumb_buf_str(out, "- Device: ");
    plumb_put_md(out, k->device[0] ? k->device : "not known");
    plumb_buf_str(out, ", compute capability ");
    plumb_put_md(out, k->capability[0] ? k->capability : "not known");
    plumb_buf_char(out, '\n');
    if (!t) {
        put_no_run(out, "environment");
        return;
    }
    for (size_t i = 0; i < t->runtime.gpu_count; i++)
        bullet(out, "GPU", t->runtime.gpus[i]);
    bullet(out, "NVIDIA driver", t->runtime.nvidia_driver);
    bullet(out, "CPU", t->cpu);
    bullet(out, "Kernel", t->kernel);
    bullet(out, "Framework", t->runtime.framework);
    bullet(out, "Git commit", t->runtime.git_commit);
    bullet(out, "plumb", t->plumb_version);
}

static void put_stages(struct plumb_buf *out, const struct plumb_timing *t)
{
    static const struct plumb_grid_column columns[] = {
        {"stage", "Stage", PLUMB_GRID_TEXT, NULL},    {"count", "Runs", PLUMB_GRID_COUNT, NULL},
        {"total", "Total (ms)", PLUMB_GRID_NS, NULL}, {"p50", "Median (ms)", PLUMB_GRID_NS, NULL},
        {"self", "Self (ms)", PLUMB_GRID_NS, NULL},
    };
    struct plumb_grid g;
    plumb_buf_str(out, "\n## Stage times\n\n");
    if (!t) {
        put_no_run(out, "stage times");
        return;
    }
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        if (!n->stage)
            continue;
        plumb_grid_text(&g, n->name);
        plumb_grid_whole(&g, n->host.ns.count);
        plumb_grid_whole(&g, (uint64_t)n->host.ns.total);
        plumb_grid_whole(&g, (uint64_t)n->host.p50_ns);
        plumb_grid_whole(&g, n->self_ns);
    }
    if (plumb_grid_rows(&g) > 0)
        plumb_grid_md(&g, out);
    else
        plumb_buf_str(out, "- The run has no stage.");
    plumb_buf_char(out, '\n');
    plumb_grid_fini(&g);
}

static void put_kernel(struct plumb_buf *out, const struct plumb_deep_page *p,
                       const struct group *g)
{
    plumb_buf_str(out, "\n## Kernel\n\n");
    bullet(out, "Name", g->first->name);
    bullet(out, "Grid", g->first->grid);
    bullet(out, "Block", g->first->block);
    plumb_buf_printf(out, "- Launches measured: %" PRIu64 "\n", g->launches);
    if (g->total_ns > 0)
        plumb_buf_printf(out, "- Duration: %.3f us in all, %.3f to %.3f us a launch\n",
                         g->total_ns / 1e3, g->min_ns / 1e3, g->max_ns / 1e3);
    else
        plumb_buf_str(out, "- Duration: not measured\n");
    plumb_buf_str(out, "\nAll kernels of the report:\n\n");
    plumb_deep_md(out, p);
    plumb_buf_char(out, '\n');
}

static void put_metric(struct plumb_buf *out, const struct plumb_ncu_kernel *k,
                       enum plumb_ncu_metric m, const char *threshold)
{
    plumb_buf_printf(out, "- `%s`: ", plumb_ncu_metric_name(m));
    if (isnan(k->metric[m]))
        plumb_buf_str(out, "missing");
    else
        plumb_buf_printf(out, "%.2f %%", k->metric[m]);
    plumb_buf_printf(out, "%s\n", threshold);
}

static void put_evidence(struct plumb_buf *out, const struct group *g)
{
    const struct plumb_ncu_kernel *k = g->first;
    plumb_buf_printf(out, "\n## Evidence\n\nVerdict: **%s**, from the longest launch:\n\n",
                     plumb_ncu_bound_name(plumb_ncu_bound_of(k)));
    put_metric(out, k, PLUMB_NCU_DRAM, " (memory_bound above 80 %)");
    put_metric(out, k, PLUMB_NCU_SM, " (otherwise compute_bound above 60 %)");
    put_metric(out, k, PLUMB_NCU_OCCUPANCY, " (not part of the verdict)");
}

static bool is_near(double value, double threshold)
{
    return fabs(value - threshold) < 5;
}

static void put_uncertainty(struct plumb_buf *out, const struct plumb_deep_page *p,
                            const struct group *g)
{
    const struct plumb_ncu_kernel *k = g->first;
    size_t same = g->verdicts[plumb_ncu_bound_of(k)];
    plumb_buf_str(out, "\n## Uncertainty\n\n");
    plumb_buf_printf(out, "- %zu of %zu measured launches of the kernel have this verdict%s.\n",
                     same, g->rows, g->rows == 1 ? "; one launch shows no spread" : "");
    if (isnan(k->metric[PLUMB_NCU_DRAM]) || isnan(k->metric[PLUMB_NCU_SM]))
        plumb_buf_str(out, "- A metric that the verdict needs is missing.\n");
    if (is_near(k->metric[PLUMB_NCU_DRAM], PLUMB_NCU_DRAM_ABOVE) ||
        is_near(k->metric[PLUMB_NCU_SM], PLUMB_NCU_SM_ABOVE))
        plumb_buf_str(out, "- A metric lies within 5 points of its threshold: the verdict may "
                           "change from launch to launch.\n");
    plumb_buf_str(out,
                  "- ncu runs a kernel several times, alone, with fixed clocks and flushed caches "
                  "(`--clock-control`, `--cache-control`): its durations are not those of the "
                  "pipeline.\n"
                  "- Launch overhead, copies, communication and synchronisation are not in this "
                  "report; stage times and the trace of a run have them.\n"
                  "- Two percentages are a place to look, not a cause.\n");
    if (p->timing)
        plumb_buf_str(out, "- Stage times are of another run than the profile.\n");
}

static void put_artifacts(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    plumb_buf_str(out, "\n## Artifacts\n\n");
    bullet(out, "CSV of ncu", p->path);
    if (p->run)
        bullet(out, "Run", p->run);
}

static void put_next(struct plumb_buf *out, const struct group *g)
{
    plumb_buf_printf(out,
                     "\n## Next experiment\n\n%s\n\nThen record the stage again without ncu, and "
                     "compare: `plumb compare BEFORE AFTER`. Only stage times that were measured "
                     "again show a speed-up.",
                     plumb_ncu_bound_advice(plumb_ncu_bound_of(g->first)));
}

void plumb_deep_report(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    struct group g = dominant(p->ncu);
    plumb_buf_str(out, "# Kernel report: ");
    plumb_put_md(out, g.first->name);
    plumb_buf_str(out, "\n\n");
    put_workload(out, p);
    put_environment(out, p);
    put_stages(out, p->timing);
    put_kernel(out, p, &g);
    put_evidence(out, &g);
    put_uncertainty(out, p, &g);
    put_artifacts(out, p);
    put_next(out, &g);
}
