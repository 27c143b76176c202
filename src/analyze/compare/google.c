/* google.c: see google.h. Entries are matched in the order in which compare.py has them: that of
 * the families, which is not that of a file whose benchmarks were interleaved at random. The unit
 * of a benchmark is that of its first entry in A, and entries of another unit are left out. */
#include "analyze/compare/google.h"

#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/ranksum.h"
#include "base/buf.h"
#include "base/error.h"

typedef const struct plumb_json_value *json;

struct entry {
    const char *name, *unit, *aggregate, *label;
    double real, cpu; /* NaN: it has no times */
    bool is_aggregate;
    int64_t family, instance, repetition; /* -1: not given */
    size_t place;                         /* in the file */
};

struct samples {
    double *real, *cpu;
    size_t n;
};

struct side {
    struct entry *entries;
    size_t count;
    struct samples of_row; /* memory for those of one benchmark */
};

static const char *text_at(json object, const char *name)
{
    return plumb_json_text(plumb_json_get(object, name));
}

static double number_at(json object, const char *name)
{
    json v = plumb_json_get(object, name);
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

static int64_t index_at(json object, const char *name)
{
    json v = plumb_json_get(object, name);
    return plumb_json_is(v, PLUMB_JSON_IS_INT) ? plumb_json_whole(v) : -1;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The name with '.' in place of each match, or NULL: it does not match. */
static const char *filtered(struct plumb_arena *arena, const regex_t *filter, const char *name)
{
    struct plumb_buf out = {0};
    regmatch_t at;
    bool any = false;
    const char *rest = name;
    while (*rest && regexec(filter, rest, 1, &at, any ? REG_NOTBOL : 0) == 0 && at.rm_eo > 0) {
        plumb_buf_append(&out, rest, (size_t)at.rm_so);
        if (at.rm_eo > at.rm_so)
            plumb_buf_char(&out, '.');
        rest += at.rm_eo;
        any = true;
    }
    plumb_buf_str(&out, rest);
    const char *copy = any && !out.failed ? plumb_arena_strdup(arena, out.data) : NULL;
    arena->failed |= out.failed;
    plumb_buf_fini(&out);
    return copy;
}

static void add_entry(struct side *s, struct plumb_arena *arena, const regex_t *filter, json v)
{
    const char *type = text_at(v, "run_type"), *aggregate = text_at(v, "aggregate_name");
    const char *name = text_at(v, "name");
    if (name && filter)
        name = filtered(arena, filter, name);
    if (!name || plumb_json_is(plumb_json_get(v, "error_occurred"), PLUMB_JSON_IS_TRUE))
        return;
    s->entries[s->count] = (struct entry){.name = name,
                                          .unit = text_at(v, "time_unit"),
                                          .aggregate = aggregate ? aggregate : "",
                                          .label = text_at(v, "label"),
                                          .real = number_at(v, "real_time"),
                                          .cpu = number_at(v, "cpu_time"),
                                          .is_aggregate = type && strcmp(type, "aggregate") == 0,
                                          .family = index_at(v, "family_index"),
                                          .instance = index_at(v, "per_family_instance_index"),
                                          .repetition = index_at(v, "repetition_index"),
                                          .place = s->count};
    s->count++;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_family(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = by_number(x->family, y->family);
    order = order ? order : by_number(x->instance, y->instance);
    order = order ? order : x->is_aggregate - y->is_aggregate;
    order = order ? order : by_number(x->repetition, y->repetition);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Files older than version 1.5.4 of google/benchmark have no families, and stay as they are. */
static void sort_side(struct side *s)
{
    bool families = false;
    for (size_t i = 0; i < s->count; i++)
        families |= s->entries[i].family >= 0;
    if (families)
        qsort(s->entries, s->count, sizeof *s->entries, by_family);
}

static double *reals(struct plumb_arena *arena, size_t n)
{
    return plumb_arena_alloc(arena, (n + 1) * sizeof(double));
}

static int read_side(struct side *s, struct plumb_arena *arena, json root, const char *filter,
                     plumb_error *err)
{
    json list = plumb_json_get(root, "benchmarks");
    regex_t regex;
    if (filter && regcomp(&regex, filter, REG_EXTENDED) != 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%s' is not a regular expression", filter);
    s->entries = plumb_arena_alloc(arena, (plumb_json_count(list) + 1) * sizeof *s->entries);
    for (size_t i = 0; s->entries && i < plumb_json_count(list); i++)
        add_entry(s, arena, filter ? &regex : NULL, plumb_json_at(list, i));
    if (filter)
        regfree(&regex);
    s->of_row = (struct samples){reals(arena, s->count), reals(arena, s->count), 0};
    if (!s->entries || !s->of_row.real || !s->of_row.cpu)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
    sort_side(s);
    return PLUMB_OK;
}

/* ---- One benchmark --------------------------------------------------------------------------- */

static bool is_of(const struct entry *e, const char *name, const char *unit)
{
    return strcmp(e->name, name) == 0 && e->unit && strcmp(e->unit, unit) == 0 && !isnan(e->real) &&
           !isnan(e->cpu);
}

static double change(double before, double after)
{
    if (before == 0)
        return after == 0 ? 0 : (after - before) / ((after + before) / 2);
    return (after - before) / fabs(before);
}

static struct samples collect(const struct side *s, const char *name, const char *unit)
{
    struct samples out = s->of_row;
    for (size_t i = 0; i < s->count; i++)
        if (is_of(&s->entries[i], name, unit)) {
            out.real[out.n] = s->entries[i].real;
            out.cpu[out.n++] = s->entries[i].cpu;
        }
    return out;
}

static int test(struct plumb_google_row *row, const struct samples *a, const struct samples *b,
                plumb_error *err)
{
    struct plumb_ranksum real, cpu;
    int rc;
    if (a->n < PLUMB_GOOGLE_LEAST || b->n < PLUMB_GOOGLE_LEAST)
        return PLUMB_OK;
    if ((rc = plumb_ranksum_as_scipy(&real, a->real, a->n, b->real, b->n, err)) < 0 ||
        (rc = plumb_ranksum_as_scipy(&cpu, a->cpu, a->n, b->cpu, b->n, err)) < 0)
        return rc;
    row->tested = true;
    row->real_p = real.p;
    row->cpu_p = cpu.p;
    return PLUMB_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* By the medians of the real time; sorts the samples. A median of repetitions is judged, other
 * aggregates are not: a deviation that grew is not a slower benchmark. */
static void judge(struct plumb_google *out, struct plumb_google_row *row, struct samples *a,
                  struct samples *b, double threshold, double alpha)
{
    bool can_tell = row->tested && plumb_ranksum_least_p(a->n, b->n) <= alpha;
    row->change = NAN;
    if (row->is_aggregate && row->aggregate[0] && strcmp(row->aggregate, "median") != 0)
        return;
    row->change = change(sorted_median(a->real, a->n), sorted_median(b->real, b->n));
    if (fabs(row->change) <= threshold)
        return;
    if (can_tell && row->real_p > alpha) {
        row->verdict = PLUMB_GOOGLE_UNCLEAR;
        out->unclear++;
    } else if (row->change > 0) {
        row->verdict = PLUMB_GOOGLE_WORSE;
        out->worse++;
    } else {
        row->verdict = PLUMB_GOOGLE_BETTER;
        out->better++;
    }
}

static int add_row(struct plumb_google *out, const struct entry *first, const struct side sides[2],
                   double threshold, double alpha, plumb_error *err)
{
    struct samples s[2];
    struct plumb_google_row row = {.name = first->name,
                                   .unit = first->unit,
                                   .label = first->label,
                                   .aggregate = first->aggregate,
                                   .is_aggregate = first->is_aggregate};
    for (int i = 0; i < 2; i++) {
        s[i] = collect(&sides[i], first->name, first->unit);
        row.repetitions[i] = s[i].n;
    }
    size_t n = s[0].n < s[1].n ? s[0].n : s[1].n;
    if (n == 0)
        return PLUMB_OK;
    row.pairs = plumb_arena_alloc(&out->arena, n * sizeof *row.pairs);
    if (!row.pairs)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
    for (size_t i = 0; i < n; i++)
        row.pairs[i] = (struct plumb_google_pair){.real = {s[0].real[i], s[1].real[i]},
                                                  .cpu = {s[0].cpu[i], s[1].cpu[i]},
                                                  .real_change = change(s[0].real[i], s[1].real[i]),
                                                  .cpu_change = change(s[0].cpu[i], s[1].cpu[i])};
    row.pair_count = n;
    int rc = test(&row, &s[0], &s[1], err);
    if (rc < 0)
        return rc;
    judge(out, &row, &s[0], &s[1], threshold, alpha);
    out->rows[out->count++] = row;
    return PLUMB_OK;
}

/* ---- All of them
 * ------------------------------------------------------------------------------ */

static double seconds(const struct entry *e, double time)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    for (size_t i = 0; e->unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, e->unit) == 0)
            return time * units[i].s;
    return time * (e->unit ? NAN : 1e-9);
}

/* Computes the geometric means of all repetitions, without aggregates. Returns false if both are
 * 0. */
static bool geomean(const struct side *s, double *real, double *cpu)
{
    double logs[2] = {0, 0};
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        if (e->is_aggregate || isnan(e->real) || isnan(e->cpu))
            continue;
        logs[0] += log(seconds(e, e->real));
        logs[1] += log(seconds(e, e->cpu));
        n++;
    }
    *real = n ? exp(logs[0] / (double)n) : 0;
    *cpu = n ? exp(logs[1] / (double)n) : 0;
    return *real > 0 || *cpu > 0;
}

static bool seen(const struct side *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(s->entries[i].name, s->entries[at].name) == 0 && s->entries[i].unit &&
            !isnan(s->entries[i].real) && !isnan(s->entries[i].cpu))
            return true;
    return false;
}

static int compare(struct plumb_google *out, const struct side sides[2], double threshold,
                   double alpha, plumb_error *err)
{
    int rc = PLUMB_OK;
    out->rows = plumb_arena_alloc(&out->arena, (sides[0].count + 1) * sizeof *out->rows);
    if (!out->rows)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
    for (size_t i = 0; i < sides[0].count && rc == PLUMB_OK; i++) {
        const struct entry *e = &sides[0].entries[i];
        if (e->unit && !isnan(e->real) && !isnan(e->cpu) && !seen(&sides[0], i))
            rc = add_row(out, e, sides, threshold, alpha, err);
    }
    struct plumb_google_pair *g = &out->geomean;
    out->has_geomean = geomean(&sides[0], &g->real[0], &g->cpu[0]);
    out->has_geomean = geomean(&sides[1], &g->real[1], &g->cpu[1]) && out->has_geomean;
    g->real_change = change(g->real[0], g->real[1]);
    g->cpu_change = change(g->cpu[0], g->cpu[1]);
    if (rc == PLUMB_OK && out->count == 0)
        rc = plumb_fail(err, PLUMB_ERR_FORMAT,
                        "no benchmark has the same name and time unit in both files");
    return rc;
}

int plumb_google_compare(struct plumb_google *out, const struct plumb_json_value *a,
                         const struct plumb_json_value *b, const char *const filters[2],
                         double threshold, double alpha, plumb_error *err)
{
    struct side sides[2];
    const json roots[2] = {a, b};
    int rc = PLUMB_OK;
    memset(out, 0, sizeof *out);
    memset(sides, 0, sizeof sides);
    for (int i = 0; i < 2 && rc == PLUMB_OK; i++)
        rc = read_side(&sides[i], &out->arena, roots[i], filters ? filters[i] : NULL, err);
    if (rc == PLUMB_OK)
        rc = compare(out, sides, threshold, alpha, err);
    if (rc == PLUMB_OK && out->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
    if (rc < 0)
        plumb_google_fini(out);
    return rc;
}

void plumb_google_fini(struct plumb_google *g)
{
    plumb_arena_fini(&g->arena);
    memset(g, 0, sizeof *g);
}
