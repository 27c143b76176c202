/* rows.c: which rows a summary has, their order, and what adds up: totals and averages per
 * frame. Any thread; no state. Part of libplumb too: no JSON, no libm. */
#include "summary/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/pattern.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

static const double NS_PER_MS = 1e6;

static struct plumb_summary_row row_of_node(const struct plumb_timing *t,
                                            const struct plumb_timing_node *node)
{
    const struct plumb_stats *s = &node->host.ns;
    return (struct plumb_summary_row){
        .pipeline = node->pipeline,
        .phase = node->phase,
        .node = node->name,
        .count = s->count,
        .skipped = node->skipped,
        .failures = node->failures,
        .mean_ms = plumb_stats_mean(s) / NS_PER_MS,
        .median_ms = node->host.median_ns / NS_PER_MS,
        .std_ms = plumb_stats_std(s) / NS_PER_MS,
        .min_ms = s->count ? (double)s->min / NS_PER_MS : 0,
        .max_ms = (double)s->max / NS_PER_MS,
        .last_ms = (double)s->last / NS_PER_MS,
        .total_ms = (double)s->total / NS_PER_MS,
        .self_ms = (double)node->self_ns / NS_PER_MS,
        .p50_ms = node->host.p50_ns / NS_PER_MS,
        .p90_ms = node->host.p90_ns / NS_PER_MS,
        .p95_ms = node->host.p95_ns / NS_PER_MS,
        .p99_ms = node->host.p99_ns / NS_PER_MS,
        .outermost_ms = (double)node->outermost_ns / NS_PER_MS,
        .phase_ms = (double)node->outermost_ns / NS_PER_MS,
        .phase_count = node->outermost_count,
        .own_ms = (double)plumb_timing_own_ns(node) / NS_PER_MS,
        .device_count = node->device.ns.count,
        .device_mean_ms = plumb_stats_mean(&node->device.ns) / NS_PER_MS,
        .device_median_ms = node->device.median_ns / NS_PER_MS,
        .device_total_ms = (double)node->device.ns.total / NS_PER_MS,
        .device_times = plumb_timing_device_times(node),
        .launched_ms = (double)node->use.device_ns / NS_PER_MS,
        .wait_ms = (double)node->use.wait_ns / NS_PER_MS,
        .on_cpu_ms = (double)plumb_timing_on_cpu_ns(node) / NS_PER_MS,
        .preempted_ms = (double)node->sched.preempted_ns / NS_PER_MS,
        .blocked_ms = (double)node->sched.blocked_ns / NS_PER_MS,
        .switches = node->sched.preemptions + node->sched.blocks,
        .migrations = node->sched.migrations,
        .threads = node->threads,
        .median_estimator = node->median_estimator,
        .median_why = node->median_why,
        .skip_first_n = plumb_timing_skip_of(t, node->pipeline),
    };
}

static bool chosen(const struct plumb_summary_row *row, const struct plumb_summary_options *o)
{
    return (!o->pipeline || strcmp(o->pipeline, row->pipeline) == 0) &&
           (!o->phase || strcmp(o->phase, row->phase) == 0) &&
           (!o->node || plumb_pattern_matches(o->node, row->node));
}

static double sort_key(const struct plumb_summary_row *row, enum plumb_summary_sort sort)
{
    switch (sort) {
    case PLUMB_SUMMARY_SELF:
        return row->self_ms;
    case PLUMB_SUMMARY_MEAN:
        return row->mean_ms;
    case PLUMB_SUMMARY_P95:
        return row->p95_ms;
    default:
        return row->total_ms;
    }
}

/* Which rows come first: merge sort, because it is stable and needs no state for its order, as a
 * comparison function of qsort() would. `seen` has held the pipeline's place until here. */
static bool comes_first(const struct plumb_summary_row *a, const struct plumb_summary_row *b,
                        enum plumb_summary_sort sort)
{
    if (a->seen != b->seen)
        return a->seen < b->seen;
    return sort_key(a, sort) >= sort_key(b, sort);
}

static void merge_sort(struct plumb_summary_row *rows, struct plumb_summary_row *spare, size_t n,
                       enum plumb_summary_sort sort)
{
    if (n < 2)
        return;
    size_t half = n / 2;
    size_t left = 0;
    size_t right = half;
    merge_sort(rows, spare, half, sort);
    merge_sort(rows + half, spare, n - half, sort);
    for (size_t i = 0; i < n; i++) {
        bool take_left =
            right == n || (left < half && comes_first(&rows[left], &rows[right], sort));
        spare[i] = rows[take_left ? left++ : right++];
    }
    memcpy(rows, spare, n * sizeof *rows);
}

/* The first row of the same pipeline, as the pipeline's place in the order. Pipelines are few, and
 * rows of one usually follow each other. */
static size_t place_of_pipeline(const struct plumb_summary_row *rows, size_t i)
{
    if (i > 0 && strcmp(rows[i - 1].pipeline, rows[i].pipeline) == 0)
        return rows[i - 1].seen;
    for (size_t k = 0; k < i; k++)
        if (strcmp(rows[k].pipeline, rows[i].pipeline) == 0)
            return rows[k].seen;
    return i;
}

static void set_percents(struct plumb_summary *s)
{
    size_t end;
    for (size_t begin = 0; begin < s->count; begin = end) {
        double sum = 0;
        end = plumb_summary_group_end(s, begin);
        for (size_t i = begin; i < end; i++)
            sum += s->rows[i].own_ms;
        for (size_t i = begin; i < end; i++)
            s->rows[i].percent = sum > 0 ? 100.0 * s->rows[i].own_ms / sum : 0;
    }
}

/* ---- What lies in what ----------------------------------------------------------------------- */

enum { MOST_LEVELS = 256 }; /* deeper than spans can be; a chain from a hostile file ends here */

/* Whether the place lies in a run of a chosen row of the same pipeline (and phase). */
static bool lies_in(const struct plumb_timing *t, const struct plumb_summary_row *const *row_of,
                    size_t place, bool same_phase)
{
    const struct plumb_summary_row *row = row_of[t->tree[place].node];
    uint32_t up = t->tree[place].parent;
    for (int level = 0; up != PLUMB_TIMING_NONE && level < MOST_LEVELS; level++) {
        const struct plumb_summary_row *above = row_of[t->tree[up].node];
        if (above && strcmp(above->pipeline, row->pipeline) == 0 &&
            (!same_phase || strcmp(above->phase, row->phase) == 0))
            return true;
        up = t->tree[up].parent;
    }
    return false;
}

int plumb_summary_levels(const struct plumb_timing *t, uint32_t *level)
{
    uint32_t *of_place = calloc(t->tree_count + 1, sizeof *of_place);
    if (!of_place)
        return PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < t->node_count; i++)
        level[i] = UINT32_MAX;
    for (size_t i = 0; i < t->tree_count; i++) { /* parents stand before their children */
        const struct plumb_timing_tree *place = &t->tree[i];
        of_place[i] = place->parent == PLUMB_TIMING_NONE ? 0 : of_place[place->parent] + 1;
        if (of_place[i] < level[place->node])
            level[place->node] = of_place[i];
    }
    for (size_t i = 0; i < t->node_count; i++)
        level[i] = level[i] == UINT32_MAX ? 0 : level[i];
    free(of_place);
    return PLUMB_OK;
}

/* A place inside spans of other tables or phases only is outermost in this table. outermost_ns
 * covers only places that lie in no span at all. */
static void add_topmost(const struct plumb_timing *t, struct plumb_summary_row **row_of)
{
    const struct plumb_summary_row *const *rows = (const struct plumb_summary_row *const *)row_of;
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_tree *place = &t->tree[i];
        struct plumb_summary_row *row = row_of[place->node];
        double ms = (double)place->total_ns / NS_PER_MS;
        if (!row || place->async || place->parent == PLUMB_TIMING_NONE)
            continue;
        if (!lies_in(t, rows, i, false))
            row->outermost_ms += ms;
        if (lies_in(t, rows, i, true))
            continue;
        row->phase_ms += ms;
        row->phase_count += place->count;
    }
}

/* Sorts the `n` chosen rows; takes `rows`, which has space for 2 * n. */
static void settle(struct plumb_summary *out, struct plumb_summary_row *rows, size_t n,
                   const struct plumb_summary_options *o)
{
    for (size_t i = 0; i < n; i++)
        rows[i].seen = place_of_pipeline(rows, i);
    merge_sort(rows, rows + n, n, o->sort);
    *out = (struct plumb_summary){.options = *o, .rows = rows, .count = n};
    set_percents(out);
}

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a summary");
}

int plumb_summary_init(struct plumb_summary *out, const struct plumb_timing *t,
                       const struct plumb_summary_options *o, plumb_error *err)
{
    size_t n = 0;
    int rc = PLUMB_OK;
    struct plumb_summary_row *rows = calloc(2 * t->node_count + 1, sizeof *rows);
    struct plumb_summary_row **row_of =
        calloc(t->node_count + 1, sizeof(struct plumb_summary_row *));
    uint32_t *level = calloc(t->node_count + 1, sizeof *level);
    if (!rows || !row_of || !level || (o->depth > 0 && plumb_summary_levels(t, level) < 0)) {
        rc = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < t->node_count; i++) {
        rows[n] = row_of_node(t, &t->nodes[i]);
        if (chosen(&rows[n], o) && (o->depth == 0 || level[i] < o->depth))
            row_of[i] = &rows[n++];
    }
    add_topmost(t, row_of);
    settle(out, rows, n, o);
    rows = NULL;
out:
    free(rows);
    free((void *)row_of);
    free(level);
    return rc;
}

void plumb_summary_fini(struct plumb_summary *s)
{
    free(s->rows);
    *s = (struct plumb_summary){.rows = NULL};
}

/* ---- Sums ------------------------------------------------------------------------------------ */

size_t plumb_summary_group_end(const struct plumb_summary *s, size_t begin)
{
    size_t end = begin;
    while (end < s->count && s->rows[end].seen == s->rows[begin].seen)
        end++;
    return end;
}

size_t plumb_summary_shown(const struct plumb_summary *s, size_t begin, size_t end)
{
    size_t n = end - begin;
    return s->options.top > 0 && s->options.top < n ? s->options.top : n;
}

const struct plumb_unit *plumb_summary_unit(const struct plumb_summary *s, size_t begin, size_t end,
                                            size_t offset, enum plumb_unit_choice usual)
{
    double *ns = calloc(end - begin + 1, sizeof *ns);
    const struct plumb_unit *unit;
    if (!ns) /* out of memory: the writer of the table reports it */
        return plumb_unit(usual);
    for (size_t i = begin; i < end; i++) {
        double ms;
        memcpy(&ms, (const char *)&s->rows[i] + offset, sizeof ms);
        ns[i - begin] = ms * NS_PER_MS;
    }
    unit = plumb_unit_for(s->options.unit, usual, ns, end - begin);
    free(ns);
    return unit;
}

double plumb_summary_total_ms(const struct plumb_summary *s, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += s->rows[i].outermost_ms;
    return sum;
}

/* Frames are those of one phase: in a table of several, which they are of is not known. */
uint64_t plumb_summary_frames(const struct plumb_summary *s, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++)
        if (strcmp(s->rows[i].phase, s->rows[begin].phase) != 0)
            return 0;
    return s->options.frames;
}

static bool phase_seen(const struct plumb_summary *s, size_t begin, size_t i)
{
    for (size_t k = begin; k < i; k++)
        if (strcmp(s->rows[k].phase, s->rows[i].phase) == 0)
            return true;
    return false;
}

static bool is_in_loop(const struct plumb_summary_row *row, const char *phase)
{
    return strcmp(row->phase, phase) == 0 && row->phase_count > 1;
}

/* How often the loop of a phase ran, if the program did not report it; 0: there is no loop. */
static uint64_t runs_of_phase(const struct plumb_summary *s, size_t begin, size_t end,
                              const char *phase)
{
    uint64_t runs = 0;
    for (size_t i = begin; i < end; i++) {
        const struct plumb_summary_row *row = &s->rows[i];
        if (!is_in_loop(row, phase))
            continue;
        if (runs > 0 && row->phase_count != runs)
            return 0;
        runs = row->phase_count;
    }
    return runs;
}

static bool average_of_phase(const struct plumb_summary *s, size_t begin, size_t end,
                             const char *phase, struct plumb_summary_average *out)
{
    double sum_ms = 0;
    uint64_t divisor = runs_of_phase(s, begin, end, phase);
    uint64_t frames = plumb_summary_frames(s, begin, end), skip = s->rows[begin].skip_first_n;
    if (frames > 0)
        divisor = frames > skip ? frames - skip : 0;
    for (size_t i = begin; i < end; i++)
        if (strcmp(s->rows[i].phase, phase) == 0 && (frames > 0 || is_in_loop(&s->rows[i], phase)))
            sum_ms += s->rows[i].phase_ms;
    if (divisor == 0 || !(sum_ms > 0))
        return false;
    out->phase = phase;
    out->ms = sum_ms / (double)divisor;
    out->fps = 1000.0 / out->ms;
    return true;
}

bool plumb_summary_average(const struct plumb_summary *s, size_t begin, size_t end, size_t i,
                           struct plumb_summary_average *out)
{
    for (size_t k = begin; k < end; k++) {
        if (phase_seen(s, begin, k))
            continue;
        if (average_of_phase(s, begin, end, s->rows[k].phase, out) && i-- == 0)
            return true;
    }
    return false;
}
