/* series.c: see series.h. */
#include "report/history/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strings/strings.h"

/* Returns the place of the series, from 1. */
static uint32_t place_of(struct plumb_strings *places, const plumb_cohort *c, const char *metric)
{
    const char *keys[] = {c->workload, c->variant,  c->version, c->recipe,
                          c->hardware, c->software, metric};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        keys[i] = keys[i] ? keys[i] : "";
    return plumb_strings_put_key(places, keys, sizeof keys / sizeof *keys);
}

/* The series of the key, which is made if it is not there. */
static struct plumb_series *series_of(struct plumb_series_list *l, struct plumb_strings *places,
                                      const plumb_cohort *c, const plumb_metric *m)
{
    uint32_t place = place_of(places, c, m->name);
    if (place > 0 && place <= l->count)
        return &l->series[place - 1];
    struct plumb_series *all =
        plumb_arena_grow(&l->arena, l->series, &l->cap, l->count + 1, sizeof *all);
    if (!all || place == 0) {
        l->arena.failed = true;
        return NULL;
    }
    l->series = all;
    all[l->count] = (struct plumb_series){.cohort = c, .metric = m};
    return &all[l->count++];
}

static void add_point(struct plumb_series_list *l, struct plumb_series *s, const plumb_result *r,
                      double value)
{
    size_t cap = s->cap;
    const plumb_result **records =
        plumb_arena_grow(&l->arena, s->records, &cap, s->count + 1, sizeof *records);
    double *values = plumb_arena_grow(&l->arena, s->values, &s->cap, s->count + 1, sizeof *values);
    if (!records || !values)
        return;
    s->records = records;
    s->values = values;
    records[s->count] = r;
    values[s->count++] = value;
}

static int find_levels(struct plumb_series *s, plumb_error *err)
{
    size_t skip = s->count > PLUMB_STEPS_MOST ? s->count - PLUMB_STEPS_MOST : 0;
    s->records += skip;
    s->values += skip;
    s->count -= skip;
    return plumb_levels_find(&s->levels, &s->level_count, s->values, s->count, err);
}

int plumb_series_collect(struct plumb_series_list *out, const struct plumb_result_item *items,
                         size_t n, const char *metric, plumb_error *err)
{
    struct plumb_strings places = {.at = NULL};
    int rc = PLUMB_OK;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < items[i].r.metric_count; k++) {
            const plumb_metric *m = &items[i].r.metrics[k];
            if (isnan(m->value) || (metric ? strcmp(metric, m->name) != 0 : !m->gated))
                continue;
            struct plumb_series *s = series_of(out, &places, &items[i].r.cohort, m);
            if (s)
                add_point(out, s, &items[i].r, m->value);
        }
    plumb_strings_fini(&places);
    for (size_t i = 0; i < out->count && rc == PLUMB_OK && !out->arena.failed; i++)
        rc = find_levels(&out->series[i], err);
    if (rc == PLUMB_OK && out->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the plots of a history");
    if (rc < 0)
        plumb_series_fini(out);
    return rc;
}

void plumb_series_fini(struct plumb_series_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->series[i].levels);
    plumb_arena_fini(&list->arena);
    memset(list, 0, sizeof *list);
}

double plumb_series_step(const struct plumb_series *s, size_t i)
{
    double before = s->levels[i - 1].median, after = s->levels[i].median;
    double change = before != 0 ? (after - before) / fabs(before)
                    : after > 0 ? INFINITY
                                : -INFINITY;
    return s->metric->higher_is_better ? -change : change;
}
