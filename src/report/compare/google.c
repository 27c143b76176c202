/* google.c: see google.h. */
#include "report/compare/google.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "report/table/grid.h"
#include "summary/cells.h"

static const char *verdict_of(const struct plumb_google_row *r)
{
    static const char *const words[] = {"", "worse", "better", "unclear"};
    return words[r->verdict];
}

static bool is_shown(const struct plumb_google_row *r, bool aggregates)
{
    return !aggregates || r->is_aggregate;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_name(struct plumb_buf *out, const char *name, const char *suffix, size_t width)
{
    struct plumb_buf whole = {0};
    plumb_buf_printf(&whole, "%s%s", name, suffix);
    plumb_put_left(out, whole.data ? whole.data : "", width);
    out->failed |= whole.failed;
    plumb_buf_fini(&whole);
}

static void put_pair(struct plumb_buf *out, const char *name, size_t width,
                     const struct plumb_google_pair *p)
{
    plumb_buf_char(out, '\n');
    put_name(out, name, "", width);
    plumb_buf_printf(out, "%+16.4f%+16.4f%14.0f%14.0f%14.0f%14.0f", p->real_change, p->cpu_change,
                     p->real[0], p->real[1], p->cpu[0], p->cpu[1]);
}

static void put_test(struct plumb_buf *out, const struct plumb_google_row *r, size_t width)
{
    size_t least = r->repetitions[0] < r->repetitions[1] ? r->repetitions[0] : r->repetitions[1];
    plumb_buf_char(out, '\n');
    put_name(out, r->name, "_pvalue", width);
    plumb_buf_printf(out, "%16.4f%16.4f      U Test, Repetitions: %zu vs %zu", r->real_p, r->cpu_p,
                     r->repetitions[0], r->repetitions[1]);
    if (least < PLUMB_GOOGLE_OPTIMAL)
        plumb_buf_printf(out, ". WARNING: Results unreliable! %d+ repetitions recommended.",
                         PLUMB_GOOGLE_OPTIMAL);
}

static void put_verdicts(struct plumb_buf *out, const struct plumb_google *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct plumb_google_row *r = &g->rows[i];
        if (r->verdict == PLUMB_GOOGLE_SAME)
            continue;
        plumb_buf_printf(out, "\n%s: ", verdict_of(r));
        plumb_put_left(out, r->name, 0);
        plumb_buf_printf(out, " %+.1f %%", r->change * 100);
        if (r->verdict == PLUMB_GOOGLE_UNCLEAR)
            plumb_buf_printf(out, ", p = %.4f", r->real_p);
    }
}

static void put_text(struct plumb_buf *out, const struct plumb_google *g, bool aggregates)
{
    static const char geomean[] = "OVERALL_GEOMEAN";
    size_t width = strlen(g->has_geomean ? geomean : "Benchmark");
    for (size_t i = 0; i < g->count; i++)
        width = plumb_width_for(width, g->rows[i].name, SIZE_MAX);
    width += strlen("_pvalue");
    put_name(out, "Benchmark", "", width + 12);
    plumb_buf_str(out,
                  "Time             CPU      Time Old      Time New       CPU Old       CPU New\n");
    for (size_t i = 0; i < width + 12 + 76; i++)
        plumb_buf_char(out, '-');
    for (size_t i = 0; i < g->count; i++) {
        const struct plumb_google_row *r = &g->rows[i];
        for (size_t k = 0; is_shown(r, aggregates) && k < r->pair_count; k++)
            put_pair(out, r->name, width, &r->pairs[k]);
        if (r->tested)
            put_test(out, r, width);
    }
    if (g->has_geomean)
        put_pair(out, geomean, width, &g->geomean);
    put_verdicts(out, g);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct plumb_grid_column columns[] = {
    {"benchmark", "Benchmark", PLUMB_GRID_TEXT, NULL},
    {"unit", "Unit", PLUMB_GRID_TEXT, NULL},
    {"time_a", "Time A", PLUMB_GRID_FIGURE, NULL},
    {"time_b", "Time B", PLUMB_GRID_FIGURE, NULL},
    {"time_percent", "Time (%)", PLUMB_GRID_PERCENT, NULL},
    {"cpu_a", "CPU A", PLUMB_GRID_FIGURE, NULL},
    {"cpu_b", "CPU B", PLUMB_GRID_FIGURE, NULL},
    {"cpu_percent", "CPU (%)", PLUMB_GRID_PERCENT, NULL},
    {"time_p", "p time", PLUMB_GRID_FIGURE, NULL},
    {"cpu_p", "p CPU", PLUMB_GRID_FIGURE, NULL},
    {"verdict", "Marker", PLUMB_GRID_TEXT, NULL},
};

static void put_row(struct plumb_grid *grid, const char *name, const char *unit,
                    const struct plumb_google_pair *p, const struct plumb_google_row *row)
{
    plumb_grid_text(grid, name);
    plumb_grid_text(grid, unit);
    plumb_grid_real(grid, p->real[0]);
    plumb_grid_real(grid, p->real[1]);
    plumb_grid_real(grid, p->real_change * 100);
    plumb_grid_real(grid, p->cpu[0]);
    plumb_grid_real(grid, p->cpu[1]);
    plumb_grid_real(grid, p->cpu_change * 100);
    plumb_grid_real(grid, row && row->tested ? row->real_p : NAN);
    plumb_grid_real(grid, row && row->tested ? row->cpu_p : NAN);
    plumb_grid_text(grid, row ? verdict_of(row) : NULL);
}

static void put_grid(struct plumb_buf *out, const struct plumb_google *g, bool aggregates, bool md)
{
    struct plumb_grid grid;
    plumb_grid_init(&grid, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; is_shown(&g->rows[i], aggregates) && k < g->rows[i].pair_count; k++)
            put_row(&grid, g->rows[i].name, g->rows[i].unit, &g->rows[i].pairs[k], &g->rows[i]);
    if (g->has_geomean)
        put_row(&grid, "OVERALL_GEOMEAN", "s", &g->geomean, NULL);
    if (md)
        plumb_grid_md(&grid, out);
    else
        plumb_grid_csv(&grid, out);
    plumb_grid_fini(&grid);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_measurement(struct plumb_json *j, const struct plumb_google_pair *p)
{
    plumb_json_object(j);
    plumb_put_f64(j, "real_time", p->real[0]);
    plumb_put_f64(j, "cpu_time", p->cpu[0]);
    plumb_put_f64(j, "real_time_other", p->real[1]);
    plumb_put_f64(j, "cpu_time_other", p->cpu[1]);
    plumb_put_f64(j, "time", p->real_change);
    plumb_put_f64(j, "cpu", p->cpu_change);
    plumb_json_object_end(j);
}

static void put_utest(struct plumb_json *j, const struct plumb_google_row *r)
{
    plumb_put_object(j, "utest");
    if (r && r->tested) {
        plumb_put_bool(j, "have_optimal_repetitions",
                       r->repetitions[0] >= PLUMB_GOOGLE_OPTIMAL &&
                           r->repetitions[1] >= PLUMB_GOOGLE_OPTIMAL);
        plumb_put_f64(j, "cpu_pvalue", r->cpu_p);
        plumb_put_f64(j, "time_pvalue", r->real_p);
        plumb_put_u64(j, "nr_of_repetitions", r->repetitions[0]);
        plumb_put_u64(j, "nr_of_repetitions_other", r->repetitions[1]);
    }
    plumb_json_object_end(j);
}

static void put_benchmark(struct plumb_json *j, const struct plumb_google_row *r)
{
    plumb_json_object(j);
    plumb_put_text(j, "name", r->name);
    plumb_put_text(j, "label", r->label ? r->label : "");
    plumb_put_array(j, "measurements");
    for (size_t k = 0; k < r->pair_count; k++)
        put_measurement(j, &r->pairs[k]);
    plumb_json_array_end(j);
    plumb_put_text(j, "time_unit", r->unit);
    plumb_put_text(j, "run_type", r->is_aggregate ? "aggregate" : "");
    plumb_put_text(j, "aggregate_name", r->is_aggregate ? r->aggregate : "");
    put_utest(j, r);
    plumb_put_f64(j, "median_change", r->change);
    plumb_put_text(j, "verdict", verdict_of(r));
    plumb_json_object_end(j);
}

static void put_json(struct plumb_buf *out, const struct plumb_google *g)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_array(&j);
    for (size_t i = 0; i < g->count; i++)
        put_benchmark(&j, &g->rows[i]);
    if (g->has_geomean) {
        plumb_json_object(&j);
        plumb_put_text(&j, "name", "OVERALL_GEOMEAN");
        plumb_put_text(&j, "label", "");
        plumb_put_array(&j, "measurements");
        put_measurement(&j, &g->geomean);
        plumb_json_array_end(&j);
        plumb_put_text(&j, "time_unit", "s");
        plumb_put_text(&j, "run_type", "aggregate");
        plumb_put_text(&j, "aggregate_name", "geomean");
        put_utest(&j, NULL);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
}

int plumb_google_write(struct plumb_buf *out, const struct plumb_google *g, const char *format,
                       bool aggregates, plumb_error *err)
{
    if (strcmp(format, "text") == 0)
        put_text(out, g, aggregates);
    else if (strcmp(format, "json") == 0)
        put_json(out, g);
    else if (strcmp(format, "md") == 0 || strcmp(format, "csv") == 0)
        put_grid(out, g, aggregates, strcmp(format, "md") == 0);
    else
        return plumb_fail(err, PLUMB_ERR_ARG, "a comparison of benchmarks has no format '%s'",
                          format);
    return PLUMB_OK;
}
