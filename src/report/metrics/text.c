/* text.c: the text formats of Prometheus. OpenMetrics 1.0 differs in four things: the name of a
 * counter's family has no "_total", HELP escapes quotes, buckets have exemplars, "# EOF" ends it.
 *
 * Names are given here, when all are known: plumb's own first, then those that are valid as they
 * are (histograms and summaries first, which have samples of several names), then those that had to
 * be changed; of each kind in the order of their texts. A name whose place is taken ends in a hash
 * of its original, and so does each of several changed names that would be the same. So the name of
 * a metric does not depend on the order in which programs make them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/real_text.h"
#include "report/metrics/collection.h"

enum { HELP_BYTES = 2048 };

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *const endings[][4] = {
    [PLUMB_METRIC_COUNTER] = {"", "_total", "_created"},
    [PLUMB_METRIC_GAUGE] = {""},
    [PLUMB_METRIC_HISTOGRAM] = {"", "_bucket", "_sum", "_count"},
    [PLUMB_METRIC_SUMMARY] = {"", "_sum", "_count"},
};

static bool ends_in_total(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && strcmp(name + n - 6, "_total") == 0;
}

/* Without the ending that the writer adds. Returns whether the name had to be changed. */
static bool plain_name(struct plumb_metric_set *s)
{
    bool changed = plumb_prom_name(s->name, s->raw);
    if (s->type == PLUMB_METRIC_COUNTER && ends_in_total(s->name))
        s->name[strlen(s->name) - 6] = '\0';
    return changed;
}

static uint64_t sample_name(const struct plumb_metric_set *s, const char *ending)
{
    char name[PLUMB_PROM_NAME + 16];
    snprintf(name, sizeof name, "%s%s", s->name, ending);
    return plumb_hash_text(name);
}

static bool is_free(const struct plumb_map *taken, const struct plumb_metric_set *s)
{
    for (int i = 0; i < 4 && endings[s->type][i]; i++)
        if (plumb_map_get(taken, sample_name(s, endings[s->type][i])))
            return false;
    return true;
}

static void take(struct plumb_map *taken, const struct plumb_metric_set *s)
{
    for (int i = 0; i < 4 && endings[s->type][i]; i++)
        plumb_map_put(taken, sample_name(s, endings[s->type][i]), 1);
}

/* A second name of the same text is that of another type. */
static void name_apart(struct plumb_map *taken, struct plumb_metric_set *s)
{
    char text[PLUMB_PROM_NAME + 600];
    for (uint32_t i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%.550s%.*s%u", s->raw, i ? 1 : 0, "/", s->type * 1000 + i);
        plumb_prom_name_apart(s->name, i ? text : s->raw);
        if (is_free(taken, s))
            break;
    }
    take(taken, s);
}

/* The order in which sets take their names. */
static int pass_of(const struct plumb_metric_set *s)
{
    enum { OURS, HISTOGRAM, SUMMARY, COUNTER, GAUGE, CHANGED };
    static const int valid[] = {[PLUMB_METRIC_COUNTER] = COUNTER,
                                [PLUMB_METRIC_GAUGE] = GAUGE,
                                [PLUMB_METRIC_HISTOGRAM] = HISTOGRAM,
                                [PLUMB_METRIC_SUMMARY] = SUMMARY};
    return s->ours ? OURS : s->changed ? CHANGED : valid[s->type];
}

/* Of two counters `a` and `a_total` the second comes first: it is written as it is. */
static int by_place(const void *a, const void *b)
{
    const struct plumb_metric_set *x = *(struct plumb_metric_set *const *)a;
    const struct plumb_metric_set *y = *(struct plumb_metric_set *const *)b;
    int order = pass_of(x) - pass_of(y);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(y->raw, x->raw);
    return order ? order : (int)x->type - (int)y->type;
}

/* Returns false when out of memory. */
static bool name_all(struct plumb_collection *c)
{
    struct plumb_map taken = {0}, candidates = {0};
    struct plumb_metric_set **order =
        plumb_arena_alloc(&c->arena, (c->count + 1) * sizeof(struct plumb_metric_set *));
    if (!order)
        return false;
    for (size_t i = 0; i < c->count; i++) {
        order[i] = &c->sets[i];
        c->sets[i].changed = plain_name(&c->sets[i]);
        if (c->sets[i].changed) {
            uint64_t key = sample_name(&c->sets[i], "");
            plumb_map_put(&candidates, key, plumb_map_get(&candidates, key) + 1);
        }
    }
    qsort(order, c->count, sizeof(struct plumb_metric_set *), by_place);
    for (size_t i = 0; i < c->count; i++)
        if (is_free(&taken, order[i]) &&
            (!order[i]->changed || plumb_map_get(&candidates, sample_name(order[i], "")) == 1))
            take(&taken, order[i]);
        else
            name_apart(&taken, order[i]);
    plumb_map_fini(&taken);
    plumb_map_fini(&candidates);
    return true;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void put_real(struct plumb_buf *out, double v, bool canonical)
{
    char text[PLUMB_REAL_TEXT + 4];
    if (!isfinite(v)) {
        plumb_buf_str(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    plumb_real_text(text, v);
    plumb_buf_str(out, text);
    if (canonical && !strpbrk(text, ".e"))
        plumb_buf_str(out, ".0");
}

/* name_ending{labels,extra} */
static void put_name(struct plumb_buf *out, const struct plumb_metric_set *s, const char *ending,
                     const char *labels)
{
    plumb_buf_str(out, s->name);
    plumb_buf_str(out, ending);
    if (*labels) {
        plumb_buf_char(out, '{');
        plumb_buf_str(out, labels);
        plumb_buf_char(out, '}');
    }
    plumb_buf_char(out, ' ');
}

static void put_u64(struct plumb_buf *out, uint64_t v)
{
    plumb_buf_printf(out, "%llu\n", (unsigned long long)v);
}

static void put_value(struct plumb_buf *out, double v)
{
    put_real(out, v, false);
    plumb_buf_char(out, '\n');
}

/* ---- Series ---------------------------------------------------------------------------------- */

/* With the key of the extra label and its number: `le="0.5"`. */
static void put_name_with(struct plumb_buf *out, const struct plumb_metric_set *s,
                          const char *ending, const char *labels, const char *key, double v)
{
    plumb_buf_str(out, s->name);
    plumb_buf_str(out, ending);
    plumb_buf_char(out, '{');
    plumb_buf_str(out, labels);
    plumb_buf_str(out, *labels ? "," : "");
    plumb_buf_str(out, key);
    plumb_buf_str(out, "=\"");
    put_real(out, v, true);
    plumb_buf_str(out, "\"} ");
}

/* The standard allows 128 characters in all labels of an exemplar. */
static void put_exemplar(struct plumb_buf *out, const struct plumb_timing_exemplar *e)
{
    char id[PLUMB_PROM_VALUE];
    if (!e->request || strlen(e->request) > 110)
        return;
    plumb_prom_value(id, e->request);
    plumb_buf_printf(out, " # {request_id=\"%s\"} ", id);
    put_real(out, e->value, false);
    plumb_buf_printf(out, " %llu.%03llu", (unsigned long long)(e->unix_ns / 1000000000),
                     (unsigned long long)(e->unix_ns / 1000000 % 1000));
}

static void put_histogram(struct plumb_buf *out, const struct plumb_metric_set *s,
                          const struct plumb_timing_metric *m, bool open)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= m->bound_count; i++) {
        sum += m->buckets ? m->buckets[i] : m->count;
        put_name_with(out, s, "_bucket", m->labels, "le",
                      i < m->bound_count ? m->bounds[i] : INFINITY);
        plumb_buf_printf(out, "%llu", (unsigned long long)sum);
        if (open && m->exemplars)
            put_exemplar(out, &m->exemplars[i]);
        plumb_buf_char(out, '\n');
    }
    /* OpenMetrics: with negative observations the sum is not a counter, and neither is there. */
    if (open && m->bound_count && m->bounds[0] < 0)
        return;
    put_name(out, s, "_sum", m->labels);
    put_value(out, m->sum);
    put_name(out, s, "_count", m->labels);
    put_u64(out, sum);
}

static void put_summary(struct plumb_buf *out, const struct plumb_metric_set *s,
                        const struct plumb_timing_metric *m)
{
    static const double quantile[] = {.5, .9, .95, .99};
    for (int i = 0; m->count && i < 4; i++) {
        put_name_with(out, s, "", m->labels, "quantile", quantile[i]);
        put_value(out, m->quantile[i]);
    }
    put_name(out, s, "_sum", m->labels);
    put_value(out, m->sum);
    put_name(out, s, "_count", m->labels);
    put_u64(out, m->count);
}

static void put_series(struct plumb_buf *out, const struct plumb_metric_set *s,
                       const struct plumb_timing_metric *m, bool open)
{
    switch (s->type) {
    case PLUMB_METRIC_HISTOGRAM:
        put_histogram(out, s, m, open);
        return;
    case PLUMB_METRIC_SUMMARY:
        put_summary(out, s, m);
        return;
    default:
        put_name(out, s, s->type == PLUMB_METRIC_COUNTER ? "_total" : "", m->labels);
        put_value(out, m->value);
    }
}

/* Every family has a HELP line, which linters ask for. */
static void put_set(struct plumb_buf *out, const struct plumb_metric_set *s, bool open)
{
    static const char *const types[] = {"", "counter", "gauge", "histogram", "summary"};
    const char *ending = s->type == PLUMB_METRIC_COUNTER && !open ? "_total" : "";
    char help[HELP_BYTES];
    plumb_prom_help(help, sizeof help, s->help && *s->help ? s->help : "Metric of the program",
                    open);
    plumb_buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", s->name, ending, help, s->name,
                     ending, types[s->type]);
    for (size_t i = 0; i < s->count; i++)
        put_series(out, s, &s->series[i], open);
}

void plumb_collection_write(struct plumb_buf *out, struct plumb_collection *c, uint32_t format)
{
    bool open = format == PLUMB_METRICS_TEXT_OPENMETRICS;
    if (!name_all(c)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < c->count; i++)
        put_set(out, &c->sets[i], open);
    if (open)
        plumb_buf_str(out, "# EOF\n");
}
