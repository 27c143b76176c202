/* table.c: the table that a run ends in. Owns the byte layout of the table, which has a
 * golden test. Any thread; no state. */
#include "summary/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "summary/text_table.h"

/* 125 columns where no name is longer than 40 and no phase than 12, as scripts know it. Both give
 * way to longer ones, up to a bound; what is longer still moves the rest of its line. */
enum { WIDTH_NODE = 40, WIDTH_PHASE = 12, WIDTH_COUNT = 5, WIDTH_NUMBER = 10 };

void plumb_put_title(struct plumb_buf *out, const struct plumb_summary *s, size_t begin, size_t end)
{
    uint64_t frames = plumb_summary_frames(s, begin, end), skip = s->rows[begin].skip_first_n;
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
        plumb_put_left(out, s->rows[i].node, 0);
        plumb_buf_str(out, " [");
        plumb_put_left(out, s->rows[i].phase, 0);
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

/* In ms, as scripts know it, unless two decimals of it say too little. */
static void put_average(struct plumb_buf *out, double ms)
{
    double ns = ms * 1e6;
    if (plumb_unit_for(PLUMB_TIME_IN_AUTO, PLUMB_TIME_IN_MS, &ns, 1) !=
        plumb_unit(PLUMB_TIME_IN_MS)) {
        plumb_unit_put_any(out, ns);
        return;
    }
    plumb_unit_put(out, plumb_unit(PLUMB_TIME_IN_MS), ns, 0);
    plumb_buf_str(out, " ms");
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
            plumb_put_left(out, a.phase, 0);
            plumb_buf_char(out, ']');
        }
        plumb_buf_str(out, ": ");
        put_average(out, a.ms);
        plumb_buf_str(out, " (");
        plumb_put_fixed(out, a.fps, 1, 0);
        plumb_buf_str(out, " FPS)");
    }
    if (s->options.frames > 0 && plumb_summary_frames(s, begin, end) == 0)
        plumb_buf_printf(out,
                         "\n%" PRIu64
                         " frames are not used: the table has several phases, and they "
                         "are of one",
                         s->options.frames);
    put_medians(out, s, begin, end);
}

/* Seconds have three decimals whatever the sum, as scripts know it, from two digits on. */
void plumb_put_total(struct plumb_buf *out, const struct plumb_unit *unit, double total_ms)
{
    if (unit == plumb_unit(PLUMB_TIME_IN_S) && total_ms >= 10)
        plumb_put_fixed(out, total_ms / 1000.0, 3, WIDTH_NUMBER);
    else
        plumb_unit_put(out, unit, total_ms * 1e6, WIDTH_NUMBER);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* The columns of times; `usual` is the unit that scripts know. */
static const struct {
    const char *title;
    size_t offset;
    enum plumb_unit_choice usual;
} times[] = {
    {"Mean", offsetof(struct plumb_summary_row, mean_ms), PLUMB_TIME_IN_MS},
    {"Std", offsetof(struct plumb_summary_row, std_ms), PLUMB_TIME_IN_MS},
    {"Min", offsetof(struct plumb_summary_row, min_ms), PLUMB_TIME_IN_MS},
    {"Max", offsetof(struct plumb_summary_row, max_ms), PLUMB_TIME_IN_MS},
    {"Median", offsetof(struct plumb_summary_row, median_ms), PLUMB_TIME_IN_MS},
    {"Total", offsetof(struct plumb_summary_row, total_ms), PLUMB_TIME_IN_S},
};
enum { TIMES = sizeof times / sizeof *times };

struct time_units {
    const struct plumb_unit *of[TIMES];
};

/* Times of one run have one unit, that of the means: they are read next to each other. */
static struct time_units units_of(const struct plumb_summary *s, size_t begin, size_t end)
{
    struct time_units u;
    for (size_t i = 0; i < TIMES; i++)
        u.of[i] = plumb_summary_unit(
            s, begin, end, times[i].usual == PLUMB_TIME_IN_MS ? times[0].offset : times[i].offset,
            times[i].usual);
    return u;
}

enum { TABLE_COLUMNS = 3 + TIMES };

/* Figures have their width, whatever they are: only names widen the table. */
static void make_columns(struct plumb_text_column columns[TABLE_COLUMNS])
{
    columns[0] = (struct plumb_text_column){
        .left = true, .width = WIDTH_NODE, .most = PLUMB_WIDTH_NODE_MOST};
    columns[1] = (struct plumb_text_column){
        .left = true, .gap = 1, .width = WIDTH_PHASE, .most = PLUMB_WIDTH_NAME_MOST};
    columns[2] = (struct plumb_text_column){.gap = 1, .width = WIDTH_COUNT, .most = WIDTH_COUNT};
    for (size_t i = 3; i < TABLE_COLUMNS; i++)
        columns[i] =
            (struct plumb_text_column){.gap = 1, .width = WIDTH_NUMBER, .most = WIDTH_NUMBER};
}

static void add_header(struct plumb_text_table *t, const struct time_units *u)
{
    plumb_text_put(t, "Node");
    plumb_text_put(t, "Stage");
    plumb_text_put(t, "Count");
    for (size_t i = 0; i < TIMES; i++) {
        plumb_buf_printf(plumb_text_cell(t), "%s(%s)", times[i].title, u->of[i]->name);
        plumb_text_end_cell(t);
    }
}

static void add_row(struct plumb_text_table *t, const struct plumb_summary_row *row,
                    const struct time_units *u)
{
    plumb_text_put(t, row->node);
    plumb_text_put(t, row->phase);
    plumb_put_count(plumb_text_cell(t), row->count, 0);
    plumb_text_end_cell(t);
    for (size_t i = 0; i < TIMES; i++) {
        double ms;
        memcpy(&ms, (const char *)row + times[i].offset, sizeof ms);
        plumb_unit_put(plumb_text_cell(t), u->of[i], ms * 1e6, 0);
        plumb_text_end_cell(t);
    }
}

static void put_table(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                      size_t end)
{
    size_t shown = plumb_summary_shown(s, begin, end);
    struct time_units u = units_of(s, begin, begin + shown);
    struct plumb_text_column columns[TABLE_COLUMNS];
    struct plumb_text_table t;
    make_columns(columns);
    plumb_text_table_init(&t, columns, TABLE_COLUMNS);
    add_header(&t, &u);
    for (size_t i = begin; i < begin + shown; i++)
        add_row(&t, &s->rows[i], &u);
    plumb_put_title(out, s, begin, end);
    plumb_buf_char(out, '\n');
    plumb_text_line(&t, 0, out);
    plumb_text_rule(&t, out);
    for (size_t i = 0; i < shown; i++)
        plumb_text_line(&t, 0, out);
    if (shown < end - begin)
        plumb_buf_printf(out, "(%zu more)\n", end - begin - shown);
    plumb_text_rule(&t, out);
    plumb_put_left(out, "TOTAL", plumb_text_width(&t, TABLE_COLUMNS) - WIDTH_NUMBER);
    plumb_put_total(out, u.of[TIMES - 1], plumb_summary_total_ms(s, begin, end));
    plumb_put_averages(out, s, begin, end);
    plumb_text_table_fini(&t);
}

void plumb_summary_put_groups(struct plumb_buf *out, const struct plumb_summary *s,
                              plumb_summary_put_fn *put)
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
            plumb_put_left(out, s->rows[begin].pipeline, 0);
            plumb_buf_char(out, '\n');
        }
        put(out, s, begin, end);
    }
}

void plumb_summary_write(const struct plumb_summary *s, struct plumb_buf *out)
{
    plumb_summary_put_groups(out, s, put_table);
}

/* "tokens 1,234 (56.7/s)" */
static void put_rate(struct plumb_buf *out, const char *name, int64_t total, uint64_t ns,
                     const char *of)
{
    plumb_put_left(out, name, 0);
    plumb_buf_char(out, ' ');
    plumb_put_grouped_count(out, total);
    if (ns == 0)
        return;
    plumb_buf_str(out, " (");
    plumb_put_grouped(out, (double)total / ((double)ns / 1e9));
    plumb_buf_printf(out, "/s%s)", of);
}

static bool is_asked_for(const struct plumb_timing_node_count *c,
                         const struct plumb_summary_options *o)
{
    return (!o->pipeline || strcmp(o->pipeline, c->pipeline) == 0) &&
           (!o->phase || strcmp(o->phase, c->phase) == 0) &&
           (!o->node || plumb_pattern_matches(o->node, c->node));
}

/* The time of the node, 0 where it left none. */
static uint64_t time_of(const struct plumb_timing *t, const struct plumb_timing_node_count *c)
{
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        if (strcmp(n->name, c->node) == 0 && strcmp(n->phase, c->phase) == 0 &&
            strcmp(n->pipeline, c->pipeline) == 0)
            return n->host.ns.total;
    }
    return 0;
}

static void put_node_counts(struct plumb_buf *out, const struct plumb_timing *t,
                            const struct plumb_summary_options *o)
{
    enum { SHOWN = 10 };
    size_t n = 0;
    for (size_t i = 0; i < t->node_count_count; i++) {
        const struct plumb_timing_node_count *c = &t->node_counts[i];
        if (!is_asked_for(c, o) || n++ >= SHOWN)
            continue;
        plumb_buf_str(out, "\nCounts of ");
        plumb_put_left(out, c->node, 0);
        plumb_buf_str(out, " [");
        plumb_put_left(out, c->phase, 0);
        plumb_buf_str(out, "]: ");
        put_rate(out, c->name, c->total, time_of(t, c), " of its time");
    }
    if (n > SHOWN)
        plumb_buf_printf(out, "\nCounts of %zu more nodes are in timing.json", n - SHOWN);
}

void plumb_put_counts(struct plumb_buf *out, const struct plumb_timing *t,
                      const struct plumb_summary_options *o)
{
    const char *before = "\nCounts: ";
    for (size_t i = 0; i < t->count_count; i++) {
        const struct plumb_timing_count *c = &t->counts[i];
        if (o->pipeline && strcmp(o->pipeline, c->pipeline) != 0)
            continue;
        plumb_buf_str(out, before);
        before = ", ";
        put_rate(out, c->name, c->total, t->wall_clock_ns, "");
    }
    put_node_counts(out, t, o);
}

int plumb_summary_table(struct plumb_buf *out, const struct plumb_timing *t,
                        const struct plumb_summary_options *o, plumb_error *err)
{
    struct plumb_summary s;
    int rc = plumb_summary_init(&s, t, o, err);
    if (rc < 0)
        return rc;
    plumb_summary_write(&s, out);
    plumb_put_counts(out, t, o);
    plumb_summary_fini(&s);
    if (out->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a summary");
    return PLUMB_OK;
}
