/* summary_table.c: the table that a run ends in. Owns the choice, the order and the sums of rows,
 * and the byte layout of the table, which has a golden test. Any thread; no state.
 *
 * No JSON, no libm: this file is part of libplumb too. Numbers go through the JSON writer's fixed
 * format, because printf would take the decimal separator of the host's locale. */
#include "report/summary_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/utf8.h"

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
        .outermost_count = node->outermost_count,
        .own_ms = (double)plumb_timing_own_ns(node) / NS_PER_MS,
        .device_count = node->device.ns.count,
        .device_mean_ms = plumb_stats_mean(&node->device.ns) / NS_PER_MS,
        .device_median_ms = node->device.median_ns / NS_PER_MS,
        .device_total_ms = (double)node->device.ns.total / NS_PER_MS,
        .device_times = plumb_timing_device_times(node),
        .launched_ms = (double)node->use.device_ns / NS_PER_MS,
        .wait_ms = (double)node->use.wait_ns / NS_PER_MS,
        .threads = node->threads,
        .median_estimator = node->median_estimator,
        .median_why = node->median_why,
        .skip_first_n = plumb_timing_skip_of(t, node->pipeline),
    };
}

static bool chosen(const struct plumb_summary_row *row, const struct plumb_summary_options *o)
{
    return (!o->pipeline || strcmp(o->pipeline, row->pipeline) == 0) &&
           (!o->phase || strcmp(o->phase, row->phase) == 0);
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

/* Sorts the `n` chosen rows; takes `rows`, which has room for twice as many. */
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
    struct plumb_summary_row *rows = calloc(2 * t->node_count + 1, sizeof *rows);
    if (!rows)
        return no_memory(err);
    for (size_t i = 0; i < t->node_count; i++) {
        rows[n] = row_of_node(t, &t->nodes[i]);
        n += chosen(&rows[n], o);
    }
    settle(out, rows, n, o);
    return PLUMB_OK;
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

double plumb_summary_total_ms(const struct plumb_summary *s, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += s->rows[i].outermost_ms;
    return sum;
}

/* Frames are those of one phase: in a table of several, which they are of is not known. */
static uint64_t frames_of(const struct plumb_summary *s, size_t begin, size_t end)
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

/* How often the pipeline ran in a phase when nobody said: the runs of the row with the largest
 * total among those that are outermost somewhere. */
static uint64_t runs_of_phase(const struct plumb_summary *s, size_t begin, size_t end,
                              const char *phase)
{
    const struct plumb_summary_row *largest = NULL;
    for (size_t i = begin; i < end; i++) {
        const struct plumb_summary_row *row = &s->rows[i];
        if (strcmp(row->phase, phase) == 0 && row->outermost_count > 0 &&
            (!largest || row->total_ms > largest->total_ms))
            largest = row;
    }
    return largest ? largest->outermost_count : 0;
}

static bool average_of_phase(const struct plumb_summary *s, size_t begin, size_t end,
                             const char *phase, struct plumb_summary_average *out)
{
    double sum_ms = 0;
    uint64_t divisor = runs_of_phase(s, begin, end, phase);
    uint64_t frames = frames_of(s, begin, end), skip = s->rows[begin].skip_first_n;
    if (frames > 0)
        divisor = frames > skip ? frames - skip : 0;
    for (size_t i = begin; i < end; i++)
        if (strcmp(s->rows[i].phase, phase) == 0)
            sum_ms += s->rows[i].outermost_ms;
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

/* ---- Text ------------------------------------------------------------------------------------ */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of the character at `p` that may go to a terminal as they are; 0: none. A backslash that
 * looks like the notation for a byte is none, so that distinct names look distinct. */
static size_t printable(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = plumb_utf8_sequence(p);
    if (p[0] == '\\' && p[1] == 'x' && is_hex(p[2]) && is_hex(p[3]))
        return 0;
    if (n == 1 && (u[0] < 0x20 || u[0] == 0x7f))
        return 0;
    if (n == 2 && u[0] == 0xc2 && u[1] < 0xa0) /* the control characters of Latin-1 */
        return 0;
    return n;
}

/* Returns the number of characters. */
static size_t put_clean(struct plumb_buf *out, const char *text)
{
    size_t width = 0;
    while (*text) {
        size_t n = printable(text);
        if (n > 0) {
            plumb_buf_append(out, text, n);
            width++;
            text += n;
        } else {
            plumb_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
            width += 4;
            text++;
        }
    }
    return width;
}

static void put_spaces(struct plumb_buf *out, size_t n)
{
    while (n-- > 0)
        plumb_buf_char(out, ' ');
}

void plumb_put_left(struct plumb_buf *out, const char *text, size_t width)
{
    size_t used = put_clean(out, text);
    put_spaces(out, used < width ? width - used : 0);
}

size_t plumb_width_for(size_t width, const char *text, size_t most)
{
    struct plumb_buf clean = {0};
    size_t n = put_clean(&clean, text);
    plumb_buf_fini(&clean);
    return n > width && n <= most ? n : width;
}

void plumb_put_right(struct plumb_buf *out, const char *text, size_t width)
{
    size_t length = strlen(text);
    put_spaces(out, length < width ? width - length : 0);
    plumb_buf_append(out, text, length);
}

void plumb_put_count(struct plumb_buf *out, uint64_t value, size_t width)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    plumb_put_right(out, text, width);
}

void plumb_put_fixed(struct plumb_buf *out, double value, int decimals, size_t width)
{
    struct plumb_buf number = {0};
    struct plumb_json json;
    plumb_json_init(&json, &number, 0);
    plumb_json_fixed(&json, value, decimals);
    out->failed |= number.failed;
    plumb_put_right(out, number.data ? number.data : "", width);
    plumb_buf_fini(&number);
}

void plumb_put_figure(struct plumb_buf *out, double value)
{
    char number[48];
    snprintf(number, sizeof number, "%.6g", value);
    if (isfinite(value))
        plumb_decimal_point(number);
    plumb_buf_str(out, number);
}

void plumb_put_title(struct plumb_buf *out, const struct plumb_summary *s, size_t begin, size_t end)
{
    uint64_t frames = frames_of(s, begin, end), skip = s->rows[begin].skip_first_n;
    plumb_buf_str(out, "Profiling Summary");
    if (frames > 0)
        plumb_buf_printf(out, " (%" PRIu64 " frames", frames);
    if (skip > 0)
        plumb_buf_printf(out, "%sskip_first_n=%" PRIu64, frames > 0 ? ", " : " (", skip);
    if (frames > 0 || skip > 0)
        plumb_buf_char(out, ')');
}

/* The nodes whose median is not of P-square for reason `why`, a few by name. */
static void put_median_nodes(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                             size_t end, uint32_t why)
{
    enum { SHOWN = 5 };
    size_t n = 0;
    for (size_t i = begin; i < end; i++) {
        if (s->rows[i].median_why != why || n++ >= SHOWN)
            continue;
        plumb_buf_str(out, n == 1 ? "\nMedian of " : ", ");
        put_clean(out, s->rows[i].node);
        plumb_buf_str(out, " [");
        put_clean(out, s->rows[i].phase);
        plumb_buf_char(out, ']');
    }
    if (n > SHOWN)
        plumb_buf_printf(out, " and %zu more", n - SHOWN);
}

static void put_medians(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                        size_t end)
{
    static const char *const reasons[PLUMB_MEDIAN_WHYS] = {
        NULL, "several threads ran it", "it has spans and samples measured elsewhere",
        "it has samples of hours"};
    for (uint32_t why = PLUMB_MEDIAN_WHY_NONE + 1; why < PLUMB_MEDIAN_WHYS; why++) {
        size_t before = out->len;
        put_median_nodes(out, s, begin, end, why);
        if (out->len > before)
            plumb_buf_printf(out, ": of the sketch (within 0.8 %%), not P2: %s", reasons[why]);
    }
}

void plumb_put_averages(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                        size_t end)
{
    struct plumb_summary_average a;
    bool several = false;
    for (size_t i = begin + 1; i < end && !several; i++)
        several = strcmp(s->rows[i].phase, s->rows[begin].phase) != 0;
    for (size_t i = 0; plumb_summary_average(s, begin, end, i, &a); i++) {
        plumb_buf_str(out, "\nAverage per-frame pipeline time");
        if (several) {
            plumb_buf_str(out, " [");
            put_clean(out, a.phase);
            plumb_buf_char(out, ']');
        }
        plumb_buf_str(out, ": ");
        plumb_put_fixed(out, a.ms, 2, 0);
        plumb_buf_str(out, " ms (");
        plumb_put_fixed(out, a.fps, 1, 0);
        plumb_buf_str(out, " FPS)");
    }
    if (s->options.frames > 0 && frames_of(s, begin, end) == 0)
        plumb_buf_printf(out,
                         "\n%" PRIu64
                         " frames are not used: the table has several phases, and they "
                         "are of one",
                         s->options.frames);
    put_medians(out, s, begin, end);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* 125 columns where no name is longer than 40 and no phase than 12, as scripts know it. Both give
 * way to longer ones, up to a bound; what is longer still moves the rest of its line. */
enum { WIDTH_NODE = 40, WIDTH_PHASE = 12, WIDTH_COUNT = 5, WIDTH_NUMBER = 10 };

struct widths {
    size_t node, phase, table;
};

static struct widths widths_of(const struct plumb_summary *s, size_t begin, size_t end)
{
    struct widths w = {WIDTH_NODE, WIDTH_PHASE, 0};
    for (size_t i = begin; i < end; i++) {
        w.node = plumb_width_for(w.node, s->rows[i].node, PLUMB_WIDTH_NODE_MOST);
        w.phase = plumb_width_for(w.phase, s->rows[i].phase, PLUMB_WIDTH_NAME_MOST);
    }
    w.table = w.node + 1 + w.phase + 1 + WIDTH_COUNT + 6 * (1 + WIDTH_NUMBER);
    return w;
}

static void put_rule(struct plumb_buf *out, const struct widths *w)
{
    for (size_t i = 0; i < w->table; i++)
        plumb_buf_char(out, '-');
    plumb_buf_char(out, '\n');
}

static void put_header(struct plumb_buf *out, const struct widths *w)
{
    static const char *const titles[] = {"Mean(ms)", "Std(ms)",    "Min(ms)",
                                         "Max(ms)",  "Median(ms)", "Total(s)"};
    plumb_put_left(out, "Node", w->node);
    plumb_buf_char(out, ' ');
    plumb_put_left(out, "Stage", w->phase);
    plumb_buf_char(out, ' ');
    plumb_put_right(out, "Count", WIDTH_COUNT);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        plumb_buf_char(out, ' ');
        plumb_put_right(out, titles[i], WIDTH_NUMBER);
    }
    plumb_buf_char(out, '\n');
}

static void put_row(struct plumb_buf *out, const struct plumb_summary_row *row,
                    const struct widths *w)
{
    const double ms[] = {row->mean_ms, row->std_ms, row->min_ms, row->max_ms, row->median_ms};
    plumb_put_left(out, row->node, w->node);
    plumb_buf_char(out, ' ');
    plumb_put_left(out, row->phase, w->phase);
    plumb_buf_char(out, ' ');
    plumb_put_count(out, row->count, WIDTH_COUNT);
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        plumb_buf_char(out, ' ');
        plumb_put_fixed(out, ms[i], 2, WIDTH_NUMBER);
    }
    plumb_buf_char(out, ' ');
    plumb_put_fixed(out, row->total_ms / 1000.0, 3, WIDTH_NUMBER);
    plumb_buf_char(out, '\n');
}

static void put_table(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                      size_t end)
{
    size_t shown = plumb_summary_shown(s, begin, end);
    struct widths w = widths_of(s, begin, begin + shown);
    plumb_put_title(out, s, begin, end);
    plumb_buf_char(out, '\n');
    put_header(out, &w);
    put_rule(out, &w);
    for (size_t i = begin; i < begin + shown; i++)
        put_row(out, &s->rows[i], &w);
    if (shown < end - begin)
        plumb_buf_printf(out, "(%zu more)\n", end - begin - shown);
    put_rule(out, &w);
    plumb_put_left(out, "TOTAL", w.table - WIDTH_NUMBER);
    plumb_put_fixed(out, plumb_summary_total_ms(s, begin, end) / 1000.0, 3, WIDTH_NUMBER);
    plumb_put_averages(out, s, begin, end);
}

void plumb_summary_write(const struct plumb_summary *s, struct plumb_buf *out)
{
    size_t end;
    bool several = s->count > 0 && plumb_summary_group_end(s, 0) < s->count;
    if (s->count == 0)
        plumb_buf_str(out, PLUMB_SUMMARY_EMPTY);
    for (size_t begin = 0; begin < s->count; begin = end) {
        end = plumb_summary_group_end(s, begin);
        if (begin > 0)
            plumb_buf_str(out, "\n\n");
        if (several) {
            plumb_buf_str(out, "Pipeline ");
            put_clean(out, s->rows[begin].pipeline);
            plumb_buf_char(out, '\n');
        }
        put_table(out, s, begin, end);
    }
}

int plumb_summary_table(struct plumb_buf *out, const struct plumb_timing *t,
                        const struct plumb_summary_options *o, plumb_error *err)
{
    struct plumb_summary s;
    int rc = plumb_summary_init(&s, t, o, err);
    if (rc < 0)
        return rc;
    plumb_summary_write(&s, out);
    plumb_summary_fini(&s);
    if (out->failed)
        return no_memory(err);
    return PLUMB_OK;
}
