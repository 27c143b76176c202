/* aggregate.c: files of google/benchmark, of pytest-benchmark, of plumb bench, plumb ab, plumb
 * count-launches and plumb record --energy-output, as one row for each benchmark. Figures are
 * computed from the times of the rounds; a file that has aggregates alone leaves the tails empty,
 * because they cannot be derived from a mean. */
#include "report/bench/aggregate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "isolate/spread.h"
#include "read/json/scan.h"
#include "read/json/tree.h"
#include "report/table/escape.h"
#include "report/table/grid.h"

typedef const struct plumb_json_value *json;

/* ---- Reading --------------------------------------------------------------------------------- */

enum { FIGURES = 9, FIXED = 13 };
enum figure { MIN, P50, MEAN, STD, IQR, P95, P99, P999, MAX };

static const struct plumb_grid_column fixed[FIXED] = {
    {"name", "Benchmark", PLUMB_GRID_TEXT, NULL},
    {"min_ms", "Min (ms)", PLUMB_GRID_FIGURE, NULL},
    {"p50_ms", "p50 (ms)", PLUMB_GRID_FIGURE, NULL},
    {"mean_ms", "Mean (ms)", PLUMB_GRID_FIGURE, NULL},
    {"std_ms", "Std (ms)", PLUMB_GRID_FIGURE, NULL},
    {"iqr_ms", "IQR (ms)", PLUMB_GRID_FIGURE, NULL},
    {"p95_ms", "p95 (ms)", PLUMB_GRID_FIGURE, NULL},
    {"p99_ms", "p99 (ms)", PLUMB_GRID_FIGURE, NULL},
    {"p999_ms", "p99.9 (ms)", PLUMB_GRID_FIGURE, NULL},
    {"max_ms", "Max (ms)", PLUMB_GRID_FIGURE, NULL},
    {"rounds", "Rounds", PLUMB_GRID_COUNT, NULL},
    {"iterations", "Iterations", PLUMB_GRID_COUNT, NULL},
    {"file", "File", PLUMB_GRID_TEXT, NULL},
};

struct row {
    const char *name, *file;
    double ms[FIGURES]; /* NaN: not known */
    double *rounds;     /* [count] ms of each */
    size_t count, cap;
    uint64_t told_rounds; /* of a benchmark without the times of its rounds */
    uint64_t iterations;  /* of a round; the least, where rounds differ */
    json extras[2];       /* objects with the fields that are passed on; NULL: none */
};

struct plumb_aggregate {
    struct row *rows;
    size_t count, cap;
    struct plumb_json_tree *trees; /* rows point into them */
    size_t tree_count, file_count;
    bool failed; /* memory was short */
};

static struct row *add_row(struct plumb_aggregate *a, const char *name, const char *file)
{
    struct row *row;
    if (a->count == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 16;
        struct row *grown = realloc(a->rows, cap * sizeof *grown);
        if (!grown) {
            a->failed = true;
            return NULL;
        }
        a->rows = grown;
        a->cap = cap;
    }
    row = &a->rows[a->count++];
    *row = (struct row){.name = name, .file = file};
    for (size_t i = 0; i < FIGURES; i++)
        row->ms[i] = NAN;
    return row;
}

static void add_round(struct plumb_aggregate *a, struct row *row, double ms)
{
    if (row->count == row->cap) {
        size_t cap = row->cap ? 2 * row->cap : 16;
        double *grown = realloc(row->rounds, cap * sizeof *grown);
        if (!grown) {
            a->failed = true;
            return;
        }
        row->rounds = grown;
        row->cap = cap;
    }
    row->rounds[row->count++] = ms;
}

static double number(json object, const char *name)
{
    json v = plumb_json_get(object, name);
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

static uint64_t count_of(json object, const char *name)
{
    int64_t n = plumb_json_whole(plumb_json_get(object, name));
    return n > 0 ? (uint64_t)n : 0;
}

/* ---- google/benchmark ------------------------------------------------------------------------ */

/* How many milliseconds a unit has; NaN: an unknown unit. */
static double unit_ms(json entry)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
    const char *unit = plumb_json_text(plumb_json_get(entry, "time_unit"));
    for (size_t i = 0; unit && i < 4; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    return unit ? NAN : 1e-6; /* files from before there were units */
}

static bool is_aggregate(json entry)
{
    const char *type = plumb_json_text(plumb_json_get(entry, "run_type"));
    return type && strcmp(type, "aggregate") == 0;
}

static const char *run_name(json entry)
{
    const char *name = plumb_json_text(plumb_json_get(entry, "run_name"));
    return name ? name : plumb_json_text(plumb_json_get(entry, "name"));
}

static struct row *row_of(struct plumb_aggregate *a, size_t first, const char *name,
                          const char *file)
{
    for (size_t i = a->count; i > first; i--) /* repetitions come one after the other */
        if (strcmp(a->rows[i - 1].name, name) == 0)
            return &a->rows[i - 1];
    return add_row(a, name, file);
}

static void take_aggregate(struct row *row, json entry, double ms)
{
    static const struct {
        const char *name;
        enum figure figure;
    } known[] = {{"mean", MEAN}, {"median", P50}, {"stddev", STD}, {"min", MIN}, {"max", MAX}};
    const char *name = plumb_json_text(plumb_json_get(entry, "aggregate_name"));
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            row->ms[known[i].figure] = ms;
    if (row->told_rounds == 0)
        row->told_rounds = count_of(entry, "repetitions");
}

static void take_google(struct plumb_aggregate *a, size_t first, json entry, const char *file)
{
    const char *name = run_name(entry);
    double ms = number(entry, "real_time") * unit_ms(entry);
    struct row *row;
    if (!name || isnan(ms) ||
        plumb_json_is(plumb_json_get(entry, "error_occurred"), PLUMB_JSON_IS_TRUE))
        return;
    row = row_of(a, first, name, file);
    if (!row)
        return;
    if (is_aggregate(entry)) {
        take_aggregate(row, entry, ms);
    } else {
        uint64_t iterations = count_of(entry, "iterations");
        if (row->count == 0 || iterations < row->iterations)
            row->iterations = iterations;
        add_round(a, row, ms);
    }
    if (!row->extras[0])
        row->extras[0] = entry;
}

/* ---- pytest-benchmark ------------------------------------------------------------------------ */

static void take_pytest(struct plumb_aggregate *a, json entry, json stats, const char *file)
{
    static const struct {
        const char *name;
        enum figure figure;
    } known[] = {{"min", MIN},    {"median", P50}, {"mean", MEAN},
                 {"stddev", STD}, {"iqr", IQR},    {"max", MAX}};
    const char *name = plumb_json_text(plumb_json_get(entry, "name"));
    json data = plumb_json_get(stats, "data");
    struct row *row = name ? add_row(a, name, file) : NULL;
    if (!row)
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        row->ms[known[i].figure] = number(stats, known[i].name) * 1e3;
    row->told_rounds = count_of(stats, "rounds");
    row->iterations = count_of(stats, "iterations");
    for (size_t i = 0; plumb_json_is(data, PLUMB_JSON_IS_ARRAY) && i < data->count; i++)
        if (plumb_json_is_number(plumb_json_at(data, i)))
            add_round(a, row, plumb_json_as_real(plumb_json_at(data, i)) * 1e3);
    row->extras[0] = plumb_json_get(entry, "extra_info");
}

/* ---- plumb ----------------------------------------------------------------------------------- */

/* An array of plumb count-launches: an object for each depth, unfused and fused. */
static void take_launches(struct plumb_aggregate *a, struct plumb_json_tree *tree, const char *file)
{
    for (size_t i = 0; i < plumb_json_count(tree->root); i++) {
        json entry = plumb_json_at(tree->root, i), depth = plumb_json_get(entry, "depth");
        bool fused = plumb_json_is(plumb_json_get(entry, "fused"), PLUMB_JSON_IS_TRUE);
        double ms = number(entry, "wall_us") / 1e3;
        if (!plumb_json_is(depth, PLUMB_JSON_IS_INT) || isnan(ms))
            continue;
        const char *name =
            plumb_arena_printf(&tree->arena, "launches/depth:%lld/%s",
                               (long long)plumb_json_whole(depth), fused ? "fused" : "unfused");
        struct row *row = name ? add_row(a, name, file) : NULL;
        a->failed |= !row;
        if (!row)
            return;
        row->ms[MEAN] = ms;
        row->extras[0] = entry;
    }
}

/* The object of plumb record --energy-output: one command. */
static void take_energy(struct plumb_aggregate *a, struct plumb_json_tree *tree, const char *file)
{
    const char *command = plumb_json_text(plumb_json_get(tree->root, "command"));
    double ms = number(tree->root, "duration_s") * 1e3;
    if (!command || isnan(ms) || isnan(number(tree->root, "cpu_joules")))
        return;
    const char *name = plumb_arena_printf(&tree->arena, "energy/%s", command);
    struct row *row = name ? add_row(a, name, file) : NULL;
    a->failed |= !row;
    if (!row)
        return;
    row->ms[MEAN] = ms;
    row->told_rounds = 1;
    row->extras[0] = tree->root;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void finish_row(struct row *row)
{
    static const struct {
        enum figure figure;
        double q;
    } quantiles[] = {{P50, 0.5}, {P95, 0.95}, {P99, 0.99}, {P999, 0.999}};
    double *v = row->rounds, sum = 0, squares = 0;
    size_t n = row->count;
    if (n == 0)
        return;
    qsort(v, n, sizeof *v, ascending);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    row->ms[MEAN] = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - row->ms[MEAN]) * (v[i] - row->ms[MEAN]);
    row->ms[STD] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    row->ms[MIN] = v[0];
    row->ms[MAX] = v[n - 1];
    for (size_t i = 0; i < 4; i++)
        row->ms[quantiles[i].figure] = plumb_spread_quantile(v, n, quantiles[i].q);
    row->ms[IQR] = plumb_spread_quantile(v, n, 0.75) - plumb_spread_quantile(v, n, 0.25);
    row->told_rounds = n;
}

static void take_document(struct plumb_aggregate *a, json root, const char *file)
{
    json list = plumb_json_get(root, "benchmarks"), own = plumb_json_get(root, "plumb");
    size_t first = a->count;
    for (size_t i = 0; plumb_json_is(list, PLUMB_JSON_IS_ARRAY) && i < list->count; i++) {
        json entry = plumb_json_at(list, i), stats = plumb_json_get(entry, "stats");
        if (plumb_json_is(stats, PLUMB_JSON_IS_OBJECT))
            take_pytest(a, entry, stats, file);
        else
            take_google(a, first, entry, file);
    }
    for (size_t i = first; i < a->count; i++) {
        finish_row(&a->rows[i]);
        if (plumb_json_is(own, PLUMB_JSON_IS_OBJECT))
            a->rows[i].extras[1] = own;
    }
}

int plumb_aggregate_open(struct plumb_aggregate **out, size_t files, plumb_error *err)
{
    struct plumb_aggregate *a = calloc(1, sizeof *a);
    if (a)
        a->trees = calloc(files + 1, sizeof *a->trees);
    if (!a || !a->trees) {
        free(a);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for %zu files", files);
    }
    a->file_count = files;
    *out = a;
    return PLUMB_OK;
}

void plumb_aggregate_close(struct plumb_aggregate *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->count; i++)
        free(a->rows[i].rounds);
    for (size_t i = 0; i < a->tree_count; i++)
        plumb_json_tree_fini(&a->trees[i]);
    free(a->trees);
    free(a->rows);
    free(a);
}

int plumb_aggregate_add(struct plumb_aggregate *a, const char *text, size_t size, const char *file,
                        plumb_error *err)
{
    struct plumb_json_tree *tree = &a->trees[a->tree_count];
    size_t before = a->count;
    int rc;
    if (a->tree_count == a->file_count)
        return plumb_fail(err, PLUMB_ERR_ARG, "more than %zu files", a->file_count);
    rc = plumb_json_tree_read(tree, text, size, PLUMB_JSON_NAN, file, err);
    if (rc < 0)
        return rc;
    a->tree_count++;
    take_document(a, tree->root, file);
    take_launches(a, tree, file);
    take_energy(a, tree, file);
    if (a->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the benchmarks of '%s'", file);
    if (a->count == before)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' has no benchmarks of google/benchmark, pytest-benchmark or plumb "
                          "bench, and is not of plumb count-launches or --energy-output",
                          file);
    return PLUMB_OK;
}

size_t plumb_aggregate_rows(const struct plumb_aggregate *a)
{
    return a->count;
}

/* ---- Extra fields ---------------------------------------------------------------------------- */

/* Fields of google/benchmark itself, and those that a column shows. */
static bool is_known(const char *name)
{
    static const char *const known[] = {
        "name",       "family_index",     "per_family_instance_index",
        "run_name",   "run_type",         "repetitions",
        "threads",    "repetition_index", "aggregate_name",
        "iterations", "real_time",        "cpu_time",
        "time_unit",  "aggregate_unit",   "error_occurred",
        "median_ms",  "mean_ms",          "std_ms",
        "min_ms",     "max_ms",           "p95_ms",
        "p99_ms",     "p999_ms",          "stage"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

static bool is_extra(const struct row *row, size_t object, json member)
{
    if (member->kind >= PLUMB_JSON_IS_ARRAY)
        return false;
    if (object == 1 && plumb_json_get(row->extras[0], member->name))
        return false;
    return !is_known(member->name);
}

static json extra_of(const struct row *row, const char *name)
{
    for (size_t i = 0; i < 2; i++) {
        json v = plumb_json_get(row->extras[i], name);
        if (v && is_extra(row, i, v))
            return v;
    }
    return NULL;
}

struct names {
    const char **at;
    size_t count, cap;
    bool failed;
};

static void add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    if (names->count == names->cap) {
        size_t cap = names->cap ? 2 * names->cap : 16;
        const char **grown = realloc(names->at, cap * sizeof *grown);
        if (!grown) {
            names->failed = true;
            return;
        }
        names->at = grown;
        names->cap = cap;
    }
    names->at[names->count++] = name;
}

/* The union of all rows' extra fields, in the order in which they come. */
static void collect_names(struct names *names, const struct plumb_aggregate *a)
{
    for (size_t r = 0; r < a->count; r++)
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < plumb_json_count(a->rows[r].extras[i]); k++) {
                json member = plumb_json_at(a->rows[r].extras[i], k);
                if (is_extra(&a->rows[r], i, member))
                    add_name(names, member->name);
            }
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_fixed(struct plumb_grid *g, const struct row *row)
{
    plumb_grid_text(g, row->name);
    for (size_t i = 0; i < FIGURES; i++)
        plumb_grid_real(g, row->ms[i]);
    for (size_t i = 0; i < 2; i++) {
        uint64_t n = i ? row->iterations : row->told_rounds;
        if (n)
            plumb_grid_whole(g, n);
        else
            plumb_grid_none(g);
    }
    plumb_grid_text(g, row->file);
}

static void write_table(struct plumb_buf *out, const struct plumb_aggregate *a, bool md)
{
    struct plumb_grid g;
    plumb_grid_init(&g, fixed, FIXED);
    for (size_t i = 0; i < a->count; i++)
        put_fixed(&g, &a->rows[i]);
    if (md)
        plumb_grid_md(&g, out);
    else
        plumb_grid_write(&g, out);
    plumb_grid_fini(&g);
}

static void put_extra_cell(struct plumb_grid *g, json v)
{
    if (!v || v->kind == PLUMB_JSON_IS_NULL)
        plumb_grid_none(g);
    else if (v->kind == PLUMB_JSON_IS_TRUE || v->kind == PLUMB_JSON_IS_FALSE)
        plumb_grid_text(g, v->kind == PLUMB_JSON_IS_TRUE ? "true" : "false");
    else if (v->kind == PLUMB_JSON_IS_TEXT || v->kind == PLUMB_JSON_IS_BIG)
        plumb_grid_text(g, v->text);
    else if (v->kind == PLUMB_JSON_IS_INT)
        plumb_grid_signed(g, v->whole);
    else
        plumb_grid_real(g, v->real);
}

/* Returns the key of a column for an extra field, as CSV has it; NULL: no memory. */
static const char *key_of(struct plumb_arena *keys, const char *name)
{
    const char *plain = plumb_arena_printf(keys, "extra.%s", name), *key = NULL;
    struct plumb_buf quoted = {0};
    if (plain)
        plumb_put_csv(&quoted, plain);
    if (plain && !quoted.failed)
        key = plumb_arena_printf(keys, "%s", quoted.data);
    plumb_buf_fini(&quoted);
    return key;
}

static void write_csv(struct plumb_buf *out, const struct plumb_aggregate *a,
                      const struct names *names)
{
    size_t n = FIXED + names->count;
    struct plumb_grid_column *columns = calloc(n, sizeof *columns);
    struct plumb_arena keys = {0};
    struct plumb_grid g;
    if (!columns) {
        out->failed = true;
        return;
    }
    memcpy(columns, fixed, sizeof fixed);
    for (size_t i = 0; i < names->count; i++) {
        columns[FIXED + i].key = key_of(&keys, names->at[i]);
        columns[FIXED + i].type = PLUMB_GRID_TEXT;
        out->failed |= !columns[FIXED + i].key;
    }
    plumb_grid_init(&g, columns, n);
    for (size_t r = 0; !out->failed && r < a->count; r++) {
        put_fixed(&g, &a->rows[r]);
        for (size_t i = 0; i < names->count; i++)
            put_extra_cell(&g, extra_of(&a->rows[r], names->at[i]));
    }
    if (!out->failed)
        plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
    plumb_arena_fini(&keys);
    free(columns);
}

static void put_extra_field(struct plumb_json *j, json v)
{
    if (v->kind == PLUMB_JSON_IS_NULL)
        plumb_put_null(j, v->name);
    else if (v->kind == PLUMB_JSON_IS_TRUE || v->kind == PLUMB_JSON_IS_FALSE)
        plumb_put_bool(j, v->name, v->kind == PLUMB_JSON_IS_TRUE);
    else if (v->kind == PLUMB_JSON_IS_TEXT || v->kind == PLUMB_JSON_IS_BIG)
        plumb_put_text(j, v->name, v->text);
    else if (v->kind == PLUMB_JSON_IS_INT)
        plumb_put_i64(j, v->name, v->whole);
    else
        plumb_put_f64(j, v->name, v->real);
}

static void write_json(struct plumb_buf *out, const struct plumb_aggregate *a,
                       const struct names *names)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_array(&j, "benchmarks");
    for (size_t r = 0; r < a->count; r++) {
        const struct row *row = &a->rows[r];
        plumb_json_object(&j);
        plumb_put_text(&j, "name", row->name);
        plumb_put_text(&j, "file", row->file);
        for (size_t i = 0; i < FIGURES; i++)
            plumb_put_f64(&j, fixed[1 + i].key, row->ms[i]);
        plumb_put_u64(&j, "rounds", row->told_rounds);
        plumb_put_u64(&j, "iterations", row->iterations);
        plumb_put_object(&j, "extra");
        for (size_t i = 0; i < names->count; i++)
            if (extra_of(row, names->at[i]))
                put_extra_field(&j, extra_of(row, names->at[i]));
        plumb_json_object_end(&j);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

void plumb_aggregate_write(struct plumb_buf *out, const struct plumb_aggregate *a,
                           const char *format)
{
    struct names names = {0};
    collect_names(&names, a);
    out->failed |= names.failed;
    if (strcmp(format, "csv") == 0)
        write_csv(out, a, &names);
    else if (strcmp(format, "json") == 0)
        write_json(out, a, &names);
    else
        write_table(out, a, strcmp(format, "md") == 0);
    free(names.at);
}
