/* columns.c: the columns of a comparison, and the words that all formats share. No state; the
 * tables are constant. */
#include "report/compare/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "report/table/escape.h"
#include "summary/cells.h"

static const double NS_PER_MS = 1e6;
static const double BYTES_PER_MIB = 1048576;
static const double WIDEST_PERCENT = 99999.9;
enum { DECIMALS_OF_MIB = 3 };
enum { OF_SUMS, OF_NODES, OF_P50, OF_P95 }; /* places in a sheet's units */

/* ---- Words ----------------------------------------------------------------------------------- */

bool plumb_compare_is_bytes(enum plumb_compare_kind kind)
{
    return kind == PLUMB_COMPARE_PEAK_RSS || kind == PLUMB_COMPARE_PEAK_ALLOCATED ||
           kind == PLUMB_COMPARE_PEAK_RESERVED;
}

const char *plumb_compare_kind_name(enum plumb_compare_kind kind)
{
    static const char *const names[] = {"wall_clock",     "stages",        "peak_rss",
                                        "peak_allocated", "peak_reserved", "node"};
    return names[kind];
}

const char *plumb_verdict_name(enum plumb_verdict verdict)
{
    static const char *const names[] = {"same", "worse", "better", "unclear",
                                        "new",  "gone",  "unknown"};
    return names[verdict];
}

const char *plumb_figure_name(uint32_t figure)
{
    static const char *const names[] = {"mean", "total", "self", "p50", "p95", "device", "min"};
    return names[figure];
}

static const char *title_of_figure(uint32_t figure)
{
    static const char *const titles[] = {
        "mean of one run of a node",
        "total of all runs of a node",
        "total of a node without the nodes nested in it",
        "median of the runs of a node",
        "95th percentile of the runs of a node",
        "mean device time of one run of a node",
        "shortest run of a node",
    };
    return titles[figure];
}

void plumb_compare_put_number(struct plumb_buf *out, double value)
{
    struct plumb_json json;
    plumb_json_init(&json, out, 0);
    plumb_json_f64(&json, value);
}

void plumb_compare_put_title(struct plumb_buf *out, const struct plumb_compare *c)
{
    plumb_buf_printf(out, "Comparison: %s, marked beyond ", title_of_figure(c->options.figure));
    plumb_compare_put_number(out, c->options.threshold_percent);
    plumb_buf_str(out, " %");
    if (c->options.min_delta_ms > 0) {
        plumb_buf_str(out, " and from ");
        plumb_compare_put_number(out, c->options.min_delta_ms);
        plumb_buf_str(out, " ms on");
    }
}

void plumb_compare_put_sum(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                           const struct plumb_compare_line *line)
{
    static const char *const titles[] = {"Wall clock", "Stages", "Peak memory", "Peak allocated",
                                         "Peak reserved"};
    plumb_buf_str(out, titles[line->kind]);
    if (line->phase[0] || line->name[0])
        plumb_buf_printf(out, ", %s%s%s", line->phase, line->phase[0] && line->name[0] ? " " : "",
                         line->name);
    plumb_buf_printf(out, " (%s)",
                     plumb_compare_is_bytes(line->kind) ? "MiB" : s->unit[OF_SUMS]->name);
}

static void put_outcome(struct plumb_buf *out, const char **comma, size_t n, const char *what)
{
    if (n == 0)
        return;
    plumb_buf_printf(out, "%s%zu %s", *comma, n, what);
    *comma = ", ";
}

void plumb_compare_put_outcome(struct plumb_buf *out, const struct plumb_compare *c)
{
    size_t n[PLUMB_VERDICT_UNKNOWN + 1] = {0};
    const char *comma = "";
    for (size_t i = 0; i < c->sums.count; i++)
        n[c->sums.lines[i].main.verdict]++;
    for (size_t i = 0; i < c->nodes.count; i++)
        n[c->nodes.lines[i].main.verdict]++;
    put_outcome(out, &comma, n[PLUMB_VERDICT_WORSE], "worse");
    put_outcome(out, &comma, n[PLUMB_VERDICT_BETTER], "better");
    put_outcome(out, &comma, n[PLUMB_VERDICT_UNCLEAR], "unclear");
    put_outcome(out, &comma, n[PLUMB_VERDICT_NEW], "new");
    put_outcome(out, &comma, n[PLUMB_VERDICT_GONE], "gone");
    put_outcome(out, &comma, n[PLUMB_VERDICT_UNKNOWN], "unknown");
    put_outcome(out, &comma, n[PLUMB_VERDICT_SAME], "unmarked");
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const char *pipeline(const struct plumb_compare_line *line)
{
    return line->pipeline;
}

static const char *phase(const struct plumb_compare_line *line)
{
    return line->phase;
}

static const char *name(const struct plumb_compare_line *line)
{
    return line->name;
}

static const char *kind(const struct plumb_compare_line *line)
{
    return plumb_compare_kind_name(line->kind);
}

static const char *unit(const struct plumb_compare_line *line)
{
    return plumb_compare_is_bytes(line->kind) ? "bytes" : "ms";
}

static const char *marker(const struct plumb_compare_line *line)
{
    return plumb_verdict_name(line->main.verdict);
}

static const char *only_in(const struct plumb_compare_line *line)
{
    bool in_a = plumb_compare_has(line, PLUMB_SIDE_A);
    bool in_b = plumb_compare_has(line, PLUMB_SIDE_B);
    return in_a == in_b ? "" : in_a ? "a" : "b";
}

static double if_known(double value, bool known)
{
    return known ? value : (double)NAN;
}

static double main_a(const struct plumb_compare_line *line)
{
    return line->main.a;
}

static double main_b(const struct plumb_compare_line *line)
{
    return line->main.b;
}

static double main_delta(const struct plumb_compare_line *line)
{
    return line->main.delta;
}

static double main_percent(const struct plumb_compare_line *line)
{
    return line->main.percent;
}

static double main_p_table(const struct plumb_compare_line *line)
{
    return if_known(line->main.p_table, line->main.tested);
}

static double main_p(const struct plumb_compare_line *line)
{
    return if_known(line->main.p, line->main.tested);
}

static double ratio_low(const struct plumb_compare_line *line)
{
    return if_known(line->main.ratio.low, line->main.ratio.known);
}

static double ratio_high(const struct plumb_compare_line *line)
{
    return if_known(line->main.ratio.high, line->main.ratio.known);
}

static double of_node(const struct plumb_compare_line *line, double value)
{
    return if_known(value, line->kind == PLUMB_COMPARE_NODE);
}

static double count_a(const struct plumb_compare_line *line)
{
    return of_node(line, line->count[PLUMB_SIDE_A]);
}

static double count_b(const struct plumb_compare_line *line)
{
    return of_node(line, line->count[PLUMB_SIDE_B]);
}

static double runs_a(const struct plumb_compare_line *line)
{
    return (double)line->present[PLUMB_SIDE_A];
}

static double runs_b(const struct plumb_compare_line *line)
{
    return (double)line->present[PLUMB_SIDE_B];
}

static double p50_a(const struct plumb_compare_line *line)
{
    return of_node(line, line->p50.a);
}

static double p50_b(const struct plumb_compare_line *line)
{
    return of_node(line, line->p50.b);
}

static double p50_percent(const struct plumb_compare_line *line)
{
    return of_node(line, line->p50.percent);
}

static double p95_a(const struct plumb_compare_line *line)
{
    return of_node(line, line->p95.a);
}

static double p95_b(const struct plumb_compare_line *line)
{
    return of_node(line, line->p95.b);
}

static double p95_percent(const struct plumb_compare_line *line)
{
    return of_node(line, line->p95.percent);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct plumb_compare_column table[] = {
    {"kind", NULL, PLUMB_CELL_TEXT, PLUMB_WHEN_DATA, 0, kind, NULL},
    {"pipeline", "Pipeline", PLUMB_CELL_TEXT, PLUMB_WHEN_PIPELINES, 16, pipeline, NULL},
    {"node", "Node", PLUMB_CELL_TEXT, PLUMB_WHEN_ALWAYS, 40, name, NULL},
    {"phase", "Stage", PLUMB_CELL_TEXT, PLUMB_WHEN_ALWAYS, 12, phase, NULL},
    {"unit", NULL, PLUMB_CELL_TEXT, PLUMB_WHEN_DATA, 0, unit, NULL},
    {"a", "A", PLUMB_CELL_MEASURE, PLUMB_WHEN_ALWAYS, 11, NULL, main_a},
    {"b", "B", PLUMB_CELL_MEASURE, PLUMB_WHEN_ALWAYS, 11, NULL, main_b},
    {"delta", "Delta", PLUMB_CELL_DELTA, PLUMB_WHEN_ALWAYS, 11, NULL, main_delta},
    {"percent", "%", PLUMB_CELL_PERCENT, PLUMB_WHEN_ALWAYS, 8, NULL, main_percent},
    {"p", "p table", PLUMB_CELL_P, PLUMB_WHEN_TESTED, 7, NULL, main_p},
    {"ratio_low", "B/A from", PLUMB_CELL_RATIO, PLUMB_WHEN_TESTED, 8, NULL, ratio_low},
    {"ratio_high", "to", PLUMB_CELL_RATIO, PLUMB_WHEN_TESTED, 6, NULL, ratio_high},
    {"count_a", "Count A", PLUMB_CELL_COUNT, PLUMB_WHEN_WIDE, 8, NULL, count_a},
    {"count_b", "Count B", PLUMB_CELL_COUNT, PLUMB_WHEN_WIDE, 8, NULL, count_b},
    {"runs_a", NULL, PLUMB_CELL_COUNT, PLUMB_WHEN_DATA, 0, NULL, runs_a},
    {"runs_b", NULL, PLUMB_CELL_COUNT, PLUMB_WHEN_DATA, 0, NULL, runs_b},
    {"p50_a", "P50 A", PLUMB_CELL_MEASURE, PLUMB_WHEN_WIDE, 10, NULL, p50_a},
    {"p50_b", "P50 B", PLUMB_CELL_MEASURE, PLUMB_WHEN_WIDE, 10, NULL, p50_b},
    {"p50_percent", "%", PLUMB_CELL_PERCENT, PLUMB_WHEN_WIDE, 8, NULL, p50_percent},
    {"p95_a", "P95 A", PLUMB_CELL_MEASURE, PLUMB_WHEN_WIDE, 10, NULL, p95_a},
    {"p95_b", "P95 B", PLUMB_CELL_MEASURE, PLUMB_WHEN_WIDE, 10, NULL, p95_b},
    {"p95_percent", "%", PLUMB_CELL_PERCENT, PLUMB_WHEN_WIDE, 8, NULL, p95_percent},
    {"marker", "Marker", PLUMB_CELL_TEXT, PLUMB_WHEN_ALWAYS, 0, marker, NULL},
    {"only_in", NULL, PLUMB_CELL_TEXT, PLUMB_WHEN_DATA, 0, only_in, NULL},
    {"p_table", NULL, PLUMB_CELL_P, PLUMB_WHEN_DATA, 0, NULL, main_p_table},
};

_Static_assert(sizeof table / sizeof *table == PLUMB_COMPARE_COLUMNS, "the number of columns");

const struct plumb_compare_column *plumb_compare_columns(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

bool plumb_compare_shows(const struct plumb_compare_sheet *s,
                         const struct plumb_compare_column *column)
{
    switch (column->when) {
    case PLUMB_WHEN_ALWAYS:
        return true;
    case PLUMB_WHEN_PIPELINES:
        return s->pipelines;
    case PLUMB_WHEN_TESTED:
        return s->compare->tested;
    case PLUMB_WHEN_WIDE:
        return s->view->wide != 0;
    default:
        return false;
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

double plumb_compare_cell_value(const struct plumb_compare_column *column,
                                const struct plumb_compare_line *line)
{
    double v = column->number(line);
    bool time = (column->type == PLUMB_CELL_MEASURE || column->type == PLUMB_CELL_DELTA) &&
                !plumb_compare_is_bytes(line->kind);
    return time ? v / NS_PER_MS : v;
}

static void put_signed(struct plumb_buf *out, double value, int decimals)
{
    struct plumb_buf digits = {0};
    plumb_put_fixed(&digits, value, decimals, 0);
    out->failed |= digits.failed;
    const char *text = digits.data ? digits.data : "";
    if (value > 0 && strspn(text, "0.") < strlen(text))
        plumb_buf_char(out, '+');
    plumb_buf_str(out, text);
    plumb_buf_fini(&digits);
}

void plumb_compare_put_change(struct plumb_buf *out, double percent)
{
    put_signed(out, percent, 1);
}

/* In the table for people: a node that one side lacks says which side has it. */
static void put_marker(struct plumb_buf *out, const struct plumb_compare_line *line)
{
    const char *where = only_in(line);
    enum plumb_verdict verdict = line->main.verdict;
    if (verdict != PLUMB_VERDICT_SAME && verdict != PLUMB_VERDICT_UNKNOWN)
        plumb_buf_str(out, plumb_verdict_name(verdict));
    if (where[0] && verdict != PLUMB_VERDICT_UNKNOWN)
        plumb_buf_printf(out, "%sonly in %s", verdict != PLUMB_VERDICT_SAME ? ", " : "",
                         where[0] == 'a' ? "A" : "B");
}

static const struct plumb_contrast *contrast_of(const struct plumb_compare_line *line, size_t group)
{
    return group == OF_P50 ? &line->p50 : group == OF_P95 ? &line->p95 : &line->main;
}

static size_t group_of(const struct plumb_compare_column *column, bool sum)
{
    if (column->number == p50_a || column->number == p50_b)
        return OF_P50;
    if (column->number == p95_a || column->number == p95_b)
        return OF_P95;
    return sum ? OF_SUMS : OF_NODES;
}

const struct plumb_unit *plumb_compare_unit(const struct plumb_compare_sheet *s,
                                            const struct plumb_compare_column *column)
{
    bool measure = column->type == PLUMB_CELL_MEASURE || column->type == PLUMB_CELL_DELTA;
    return measure ? s->unit[group_of(column, false)] : NULL;
}

/* Both sides share one unit, so that a reader can compare them. */
static void choose_unit(struct plumb_compare_sheet *s, size_t group, double *ns)
{
    const struct plumb_compare_lines *sums = &s->compare->sums;
    size_t lines = group == OF_SUMS ? sums->count : s->shown;
    size_t n = 0;
    for (size_t i = 0; i < lines; i++) {
        const struct plumb_compare_line *line = group == OF_SUMS ? &sums->lines[i] : s->nodes[i];
        if (plumb_compare_is_bytes(line->kind))
            continue;
        ns[n++] = contrast_of(line, group)->a;
        ns[n++] = contrast_of(line, group)->b;
    }
    s->unit[group] = plumb_unit_for((enum plumb_unit_choice)s->view->unit, PLUMB_TIME_IN_MS, ns, n);
}

int plumb_compare_choose_units(struct plumb_compare_sheet *s, plumb_error *err)
{
    size_t sums = s->compare->sums.count;
    double *ns = calloc(2 * (s->shown > sums ? s->shown : sums) + 1, sizeof *ns);
    if (!ns)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a comparison");
    for (size_t group = 0; group < PLUMB_COMPARE_UNITS; group++)
        choose_unit(s, group, ns);
    free(ns);
    return PLUMB_OK;
}

static const double SHORT = 0.1; /* of the unit */

/* The same digits for A and B, so that a reader can check their difference: one more than a report
 * has, four more for short times, and three digits of the smaller one. */
static int decimals_of(const struct plumb_unit *unit, const struct plumb_contrast *x)
{
    double less = x->a > 0 && (x->a < x->b || !(x->b > 0)) ? x->a : x->b;
    bool are_short = x->a < SHORT * unit->ns && x->b < SHORT * unit->ns;
    return plumb_unit_decimals(unit, less, unit->decimals + (are_short ? 4 : 1));
}

static void put_measure(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                        const struct plumb_compare_column *column,
                        const struct plumb_compare_line *line)
{
    bool bytes = plumb_compare_is_bytes(line->kind);
    size_t group = group_of(column, line->kind != PLUMB_COMPARE_NODE);
    const struct plumb_unit *unit = s->unit[group];
    int decimals = bytes ? DECIMALS_OF_MIB : decimals_of(unit, contrast_of(line, group));
    double v = column->number(line) / (bytes ? BYTES_PER_MIB : unit->ns);
    if (column->type == PLUMB_CELL_DELTA)
        put_signed(out, v, decimals);
    else
        plumb_put_fixed(out, v, decimals, 0);
}

static void put_percent(struct plumb_buf *out, double value)
{
    if (value > WIDEST_PERCENT)
        plumb_buf_str(out, ">99999");
    else
        put_signed(out, value, 2);
}

void plumb_compare_cell_put(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                            const struct plumb_compare_column *column,
                            const struct plumb_compare_line *line)
{
    if (column->text == marker) {
        put_marker(out, line);
        return;
    }
    if (column->text) {
        plumb_buf_str(out, column->text(line));
        return;
    }
    /* Tables show one p, and the markers follow that one. */
    double v =
        column->number == main_p ? main_p_table(line) : plumb_compare_cell_value(column, line);
    if (!isfinite(v))
        plumb_buf_char(out, '-');
    else if (column->type == PLUMB_CELL_MEASURE || column->type == PLUMB_CELL_DELTA)
        put_measure(out, s, column, line);
    else if (column->type == PLUMB_CELL_PERCENT)
        put_percent(out, v);
    else if (column->type == PLUMB_CELL_P && v < 0.0001)
        plumb_buf_str(out, "<0.0001");
    else if (column->type == PLUMB_CELL_COUNT)
        plumb_compare_put_number(out, v);
    else
        plumb_put_fixed(out, v, column->type == PLUMB_CELL_P ? 4 : 3, 0);
}
