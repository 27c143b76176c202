/* counters.c: the counters of stages and kernels, what they say together, and why some are absent.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/roofline/counters.h"
#include "codec/json_fields.h"
#include "model/timing_parts.h"
#include "report/roofline/parts.h"
#include "report/table/page.h"
#include "summary/cells.h"

bool plumb_roofline_has_counters(const struct plumb_roofline_view *v)
{
    return v->timing && v->timing->perf.on;
}

/* The stage; NULL: a kernel outside every stage, or a damaged file. */
static const struct plumb_timing_node *stage_of(const struct plumb_roofline_view *v,
                                                const struct plumb_timing_counted *c)
{
    return c->node < v->timing->node_count ? &v->timing->nodes[c->node] : NULL;
}

/* The time of the runs that were counted; 0: other runs are in it too. */
static uint64_t time_of(const struct plumb_timing_node *node, const struct plumb_timing_counted *c)
{
    return node && !c->kernel && node->host.ns.count == c->runs ? node->host.ns.total : 0;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct plumb_grid_column columns[] = {
    {"kernel", "Kernel", PLUMB_GRID_TEXT, NULL},
    {"stage", "Stage", PLUMB_GRID_TEXT, NULL},
    {"runs", "Runs", PLUMB_GRID_COUNT, NULL},
    {"task_clock_ns", "CPU(ms)", PLUMB_GRID_NS, "processor time of the thread"},
    {"on_cpu_pct", "CPU%", PLUMB_GRID_PERCENT, "of the time of the runs"},
    {"sched_on_cpu_ns", "On-CPU(ms)", PLUMB_GRID_NS,
     "the time in which it was not switched out, of the collector sched"},
    {"process_over_thread", "Threads", PLUMB_GRID_MILLI,
     "processor time of the whole process, in that of the thread: above 1 other threads worked "
     "at that time, whose work no other column has"},
    {"minor_faults", "Faults", PLUMB_GRID_COUNT, "page faults without a file"},
    {"major_faults", "Major", PLUMB_GRID_COUNT, "page faults that waited for a file"},
    {"voluntary_switches", "Waits", PLUMB_GRID_COUNT, "context switches: the thread waited"},
    {"involuntary_switches", "Preempted", PLUMB_GRID_COUNT,
     "context switches: another thread took the processor"},
    {"migrations", "Moved", PLUMB_GRID_COUNT, "to another processor"},
    {"instructions", "Instructions", PLUMB_GRID_COUNT, "of user code"},
    {"ipc", "IPC", PLUMB_GRID_MILLI, "instructions a cycle"},
    {"cache_miss_pct", "Cache miss%", PLUMB_GRID_PERCENT,
     "of the references to the last-level cache"},
    {"branch_miss_pct", "Branch miss%", PLUMB_GRID_PERCENT, "of the branches"},
    {"counted_pct", "Counted%", PLUMB_GRID_PERCENT,
     "counters took turns: the least share of the time that one counted, from which its figure is "
     "estimated; empty: all are exact"},
};

static void put_count(struct plumb_grid *g, const struct plumb_timing_counted *c, uint32_t id)
{
    if (c->counter[id].runs)
        plumb_grid_whole(g, c->counter[id].total);
    else
        plumb_grid_none(g);
}

static void put_row(struct plumb_grid *g, const struct plumb_roofline_view *v,
                    const struct plumb_timing_counted *c)
{
    const struct plumb_timing_node *node = stage_of(v, c);
    struct plumb_counter_rates r = plumb_counter_rates_of(c, time_of(node, c));
    bool sched = node && !c->kernel && (node->sched.preemptions || node->sched.blocks);
    plumb_grid_text(g, c->kernel);
    plumb_grid_text(g, node ? node->name : NULL);
    plumb_grid_whole(g, c->runs);
    put_count(g, c, PLUMB_PERF_TASK_CLOCK);
    plumb_grid_real(g, r.on_cpu * 100);
    if (sched)
        plumb_grid_whole(g, plumb_timing_on_cpu_ns(node));
    else
        plumb_grid_none(g);
    plumb_grid_real(g, r.team);
    for (uint32_t i = PLUMB_PERF_MINOR_FAULTS; i <= PLUMB_PERF_MIGRATIONS; i++)
        put_count(g, c, i);
    put_count(g, c, PLUMB_PERF_INSTRUCTIONS);
    plumb_grid_real(g, r.ipc);
    plumb_grid_real(g, r.cache_miss * 100);
    plumb_grid_real(g, r.branch_miss * 100);
    plumb_grid_real(g, r.counted * 100);
}

/* Returns how many rows `--top` leaves out. */
static size_t fill(struct plumb_grid *g, const struct plumb_roofline_view *v, bool kernels)
{
    uint64_t shown = 0, hidden = 0;
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < v->timing->perf.row_count; i++) {
        const struct plumb_timing_counted *c = &v->timing->perf.rows[i];
        if ((c->kernel != NULL) != kernels || (!kernels && !stage_of(v, c)))
            continue;
        if (v->top && shown == v->top)
            hidden++;
        else
            put_row(g, v, c);
        shown += !(v->top && shown == v->top);
    }
    return hidden;
}

void plumb_roofline_counters_csv(struct plumb_buf *out, const struct plumb_roofline_view *v)
{
    struct plumb_grid g;
    fill(&g, v, false);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static void put_percent(struct plumb_buf *out, double share, const char *of)
{
    plumb_put_fixed(out, share * 100, 1, 0);
    plumb_buf_printf(out, " %% %s", of);
}

static void put_events(struct plumb_buf *out, uint64_t n, const char *what)
{
    plumb_buf_printf(out, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

static void put_sign(struct plumb_buf *out, uint32_t sign, const struct plumb_timing_counted *c,
                     const struct plumb_counter_rates *r)
{
    switch (sign) {
    case PLUMB_SIGN_OFF_CPU:
        plumb_buf_str(out, "its thread was on a processor for ");
        put_percent(out, r->on_cpu, "of its time");
        break;
    case PLUMB_SIGN_MEMORY:
        plumb_buf_str(out, "its thread stalls on memory: IPC ");
        plumb_put_fixed(out, r->ipc, 2, 0);
        plumb_buf_str(out, ", ");
        put_percent(out, r->cache_miss, "of the cache references miss");
        break;
    case PLUMB_SIGN_BRANCHES:
        put_percent(out, r->branch_miss, "of the branches are mispredicted");
        break;
    case PLUMB_SIGN_PREEMPTED:
        put_events(out, c->counter[PLUMB_PERF_INVOLUNTARY].total, "preemption");
        break;
    case PLUMB_SIGN_DISK:
        put_events(out, c->counter[PLUMB_PERF_MAJOR_FAULTS].total, "page fault");
        plumb_buf_str(out, " that waited for a file");
        break;
    case PLUMB_SIGN_FAULTS:
        plumb_buf_printf(out, "%" PRIu64 " page faults a run: memory that is new each time",
                         c->counter[PLUMB_PERF_MINOR_FAULTS].total /
                             c->counter[PLUMB_PERF_MINOR_FAULTS].runs);
        break;
    default:
        plumb_buf_str(out,
                      "other threads worked at that time, and are not counted: the process used ");
        plumb_put_fixed(out, r->team, 1, 0);
        plumb_buf_str(out, " times its processor time");
        break;
    }
}

/* A kernel is short and often has helpers, so these say nothing about its code. */
enum { SIGNS_OF_STAGES = PLUMB_SIGN_OFF_CPU | PLUMB_SIGN_PREEMPTED | PLUMB_SIGN_TEAM };

static uint32_t signs_of(const struct plumb_timing_counted *c, const struct plumb_counter_rates *r)
{
    return plumb_counter_signs(c, r) & ~(c->kernel ? (uint32_t)SIGNS_OF_STAGES : 0);
}

/* Appends the signs, joined; returns whether there is any. */
static bool put_signs(struct plumb_buf *out, const struct plumb_timing_counted *c,
                      const struct plumb_counter_rates *r)
{
    uint32_t signs = signs_of(c, r);
    bool any = false;
    for (uint32_t sign = 1; sign <= PLUMB_SIGN_TEAM; sign <<= 1) {
        if (!(signs & sign))
            continue;
        plumb_buf_str(out, any ? "; " : "");
        put_sign(out, sign, c, r);
        any = true;
    }
    return any;
}

static void put_evidence(struct plumb_page *page, const struct plumb_roofline_view *v)
{
    bool titled = false;
    for (size_t i = 0; i < v->timing->perf.row_count; i++) {
        const struct plumb_timing_counted *c = &v->timing->perf.rows[i];
        const struct plumb_timing_node *node = stage_of(v, c);
        struct plumb_counter_rates r = plumb_counter_rates_of(c, time_of(node, c));
        if (c->kernel || !node || !plumb_counter_signs(c, &r))
            continue;
        if (!titled)
            plumb_page_title(page, "Evidence of the counters");
        titled = true;
        plumb_page_item(page, "");
        plumb_page_name(page, node->name);
        plumb_buf_str(page->out, ": ");
        put_signs(page->out, c, &r);
    }
}

void plumb_roofline_kernel_counters(struct plumb_buf *out, const struct plumb_roofline_view *v,
                                    const char *kernel)
{
    struct plumb_timing_counted sum = {.node = PLUMB_TIMING_NONE, .kernel = kernel};
    if (!plumb_roofline_has_counters(v) || !kernel)
        return;
    for (size_t i = 0; i < v->timing->perf.row_count; i++) {
        const struct plumb_timing_counted *c = &v->timing->perf.rows[i];
        if (!c->kernel || strcmp(c->kernel, kernel) != 0)
            continue;
        sum.runs += c->runs;
        for (uint32_t k = 0; k < PLUMB_PERF_COUNTERS; k++) {
            sum.counter[k].total = plumb_total_add(sum.counter[k].total, c->counter[k].total);
            sum.counter[k].runs += c->counter[k].runs;
        }
    }
    struct plumb_counter_rates r = plumb_counter_rates_of(&sum, 0);
    struct plumb_buf signs = {0};
    if (sum.runs && (!isnan(r.ipc) || signs_of(&sum, &r))) {
        plumb_buf_str(out, "; counters of all its runs: ");
        if (!isnan(r.ipc)) {
            plumb_buf_str(out, "IPC ");
            plumb_put_fixed(out, r.ipc, 2, 0);
        }
        if (put_signs(&signs, &sum, &r)) {
            plumb_buf_str(out, isnan(r.ipc) ? "" : ", ");
            plumb_buf_str(out, signs.data ? signs.data : "");
        }
    }
    out->failed |= signs.failed;
    plumb_buf_fini(&signs);
}

/* Names the counters that are absent for the same reason in one line. */
static void put_absent(struct plumb_page *page, const struct plumb_timing *t)
{
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        bool first = t->perf.state[i] == PLUMB_COUNTER_ABSENT && t->perf.why[i];
        for (uint32_t k = 0; first && k < i; k++)
            first = t->perf.state[k] != PLUMB_COUNTER_ABSENT || !t->perf.why[k] ||
                    strcmp(t->perf.why[k], t->perf.why[i]) != 0;
        if (!first)
            continue;
        plumb_page_item(page, "absent: ");
        for (uint32_t k = i; k < PLUMB_PERF_COUNTERS; k++)
            if (t->perf.state[k] == PLUMB_COUNTER_ABSENT && t->perf.why[k] &&
                strcmp(t->perf.why[k], t->perf.why[i]) == 0) {
                plumb_buf_str(page->out, k == i ? "" : ", ");
                plumb_page_name(page, plumb_perf_name(k));
            }
        plumb_buf_printf(page->out, ": %s", t->perf.why[i]);
    }
}

static void put_sources(struct plumb_page *page, const struct plumb_timing *t)
{
    bool simulated = false;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++)
        simulated |= t->perf.state[i] == PLUMB_COUNTER_SIMULATED;
    plumb_page_paragraph(page);
    plumb_buf_str(page->out,
                  simulated ? "The hardware counters are simulated: multiples of the processor "
                              "time."
                            : "Counts of the thread that ran the stage or called the kernel; "
                              "those of the hardware are of user code.");
    put_absent(page, t);
    if (t->perf.threads_refused) {
        plumb_page_item(page, "");
        plumb_buf_printf(page->out, "%" PRIu64 " threads could not be counted in full",
                         t->perf.threads_refused);
    }
}

void plumb_roofline_counters(struct plumb_page *page, const struct plumb_roofline_view *v)
{
    struct plumb_grid g;
    size_t hidden = fill(&g, v, false);
    plumb_page_title(page, "Counters of stages");
    if (plumb_grid_rows(&g)) {
        plumb_page_grid(page, &g);
        plumb_page_more(page, hidden);
    } else {
        plumb_grid_fini(&g);
        plumb_page_paragraph(page);
        plumb_buf_str(page->out, "No stage was counted: mark some with PLUMB_STAGE().");
    }
    hidden = fill(&g, v, true);
    if (plumb_grid_rows(&g)) {
        plumb_page_title(page, "Counters of kernels, on the threads that called them");
        plumb_page_grid(page, &g);
        plumb_page_more(page, hidden);
    } else {
        plumb_grid_fini(&g);
    }
    put_sources(page, v->timing);
    put_evidence(page, v);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_rates(struct plumb_json *j, const struct plumb_counter_rates *r)
{
    plumb_put_f64(j, "ipc", r->ipc); /* NaN becomes null */
    plumb_put_f64(j, "cache_miss_rate", r->cache_miss);
    plumb_put_f64(j, "branch_miss_rate", r->branch_miss);
    plumb_put_f64(j, "on_cpu_share", r->on_cpu);
    plumb_put_f64(j, "process_over_thread", r->team);
    plumb_put_f64(j, "counted_share", r->counted);
}

static void put_json_row(struct plumb_json *j, const struct plumb_roofline_view *v,
                         const struct plumb_timing_counted *c)
{
    const struct plumb_timing_node *node = stage_of(v, c);
    struct plumb_counter_rates r = plumb_counter_rates_of(c, time_of(node, c));
    struct plumb_buf signs = {0};
    plumb_json_object(j);
    if (c->kernel)
        plumb_put_text(j, "kernel", c->kernel);
    plumb_put_text(j, "pipeline", node ? node->pipeline : NULL);
    plumb_put_text(j, "phase", node ? node->phase : NULL);
    plumb_put_text(j, "stage", node ? node->name : NULL);
    plumb_put_u64(j, "runs", c->runs);
    plumb_put_object(j, "counters");
    plumb_timing_write_counters(c, j);
    plumb_json_object_end(j);
    put_rates(j, &r);
    plumb_put_text(j, "evidence", put_signs(&signs, c, &r) ? signs.data : NULL);
    plumb_json_object_end(j);
    j->out->failed |= signs.failed;
    plumb_buf_fini(&signs);
}

static void put_json_rows(struct plumb_json *j, const struct plumb_roofline_view *v, bool kernels)
{
    plumb_put_array(j, kernels ? "kernels" : "stages");
    for (size_t i = 0; i < v->timing->perf.row_count; i++)
        if ((v->timing->perf.rows[i].kernel != NULL) == kernels)
            put_json_row(j, v, &v->timing->perf.rows[i]);
    plumb_json_array_end(j);
}

void plumb_roofline_counters_json(struct plumb_json *j, const struct plumb_roofline_view *v)
{
    plumb_put_object(j, "counters");
    plumb_timing_write_counter_states(v->timing, j);
    put_json_rows(j, v, false);
    put_json_rows(j, v, true);
    plumb_json_object_end(j);
}
