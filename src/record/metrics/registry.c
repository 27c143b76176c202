/* registry.c: the families and series of the process: made under the runtime's lock, never freed,
 * so a handle is valid for ever and in every forked child.
 *
 * Their number is bounded, because labels may come from outside (a user's name, a path). A series
 * beyond a bound is added up in one series of its family, so that the total of the family stays
 * right. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "codec/prom_text.h"
#include "record/metrics/metrics.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"
#include <plumb/stage.h>

enum { CHUNK_BYTES = 1 << 16, NAME_BYTES = 512, HELP_BYTES = 1024, OWN_FAMILIES = 32 };

static const double default_bounds[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

/* Private cells. */
struct chunk {
    struct chunk *next;
    unsigned char *at;
    size_t used;
    bool wiped; /* the kernel clears it in a forked child */
};

/* For the life of the process. Written under the runtime's lock; `first` and the two metrics are
 * read without it. */
static struct {
    struct plumb_metric_family family[PLUMB_METRIC_FAMILIES_MAX + OWN_FAMILIES];
    uint32_t families, series;
    struct plumb_map by_labels;        /* hash of family and labels -> struct plumb_metric_series */
    struct plumb_metric_series *first; /* released */
    struct plumb_metric_series *refused, *overflowed;
    struct chunk *chunks;
    char labels[PLUMB_PROM_LABELS]; /* of the series that is looked for */
    char name[NAME_BYTES], help[HELP_BYTES];
} registry;

struct plumb_metric_series *plumb_metric_first(void)
{
    return PLUMB_ACQUIRE(registry.first);
}

void plumb_metric_refuse(void)
{
    struct plumb_metric_series *m = PLUMB_ACQUIRE(registry.refused);
    if (m)
        plumb_metric_add_impl(m, 1);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t *own_cell(size_t bytes)
{
    struct chunk *c = registry.chunks;
    if (!c || c->used + bytes > CHUNK_BYTES) {
        c = plumb_keep_bytes(sizeof *c);
        if (!c)
            return NULL;
        c->used = 0;
        c->at = plumb_pages_map_private(CHUNK_BYTES, &c->wiped);
        if (!c->at)
            return NULL;
        c->next = registry.chunks;
        PLUMB_RELEASE(registry.chunks, c);
    }
    c->used += bytes;
    return (uint64_t *)(void *)(c->at + c->used - bytes);
}

void plumb_metrics_forked(void)
{
    for (struct chunk *c = PLUMB_ACQUIRE(registry.chunks); c; c = c->next)
        if (!c->wiped)
            memset(c->at, 0, CHUNK_BYTES);
    for (struct plumb_metric_series *m = plumb_metric_first(); m; m = m->next)
        PLUMB_STORE(m->place, 0);
}

/* ---- Families -------------------------------------------------------------------------------- */

/* Sets registry.name: "space_name". A name that does not fit ends in its hash. */
static void full_name(const char *space, const char *name)
{
    bool in = space && *space;
    size_t n = (in ? strlen(space) + 1 : 0) + strlen(name);
    uint64_t hash = plumb_hash_text(name);
    if (n < NAME_BYTES)
        snprintf(registry.name, NAME_BYTES, "%s%s%s", in ? space : "", in ? "_" : "", name);
    else
        snprintf(registry.name, NAME_BYTES, "%.200s%s%.250s_%016llx", in ? space : "",
                 in ? "_" : "", name, (unsigned long long)hash);
}

static struct plumb_metric_family *family_named(void)
{
    uint64_t hash = plumb_hash_text(registry.name);
    for (uint32_t i = 0; i < registry.families; i++)
        if (registry.family[i].hash == hash && strcmp(registry.family[i].name, registry.name) == 0)
            return &registry.family[i];
    return NULL;
}

/* Returns how many bounds there are without an infinite one at the end; -1: they are not valid. */
static int checked_bounds(const double *bound, size_t n)
{
    int64_t before = INT64_MIN;
    if (n && plumb_metric_bits(bound[n - 1]) == UINT64_C(0x7ff) << 52)
        n--;
    if (n < 1 || n > PLUMB_METRIC_BOUNDS_MAX)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = plumb_metric_bits(bound[i]);
        int64_t key = plumb_metric_key(bits << 1 ? bits : 0);
        if ((bits >> 52 & 0x7ff) == 0x7ff || key <= before)
            return -1;
        before = key;
    }
    return (int)n;
}

static bool copy_bounds(struct plumb_metric_family *f, const double *bound, uint32_t n)
{
    f->bound = plumb_keep_bytes(n * sizeof *f->bound);
    f->key = plumb_keep_bytes(n * sizeof *f->key);
    for (uint32_t i = 0; f->bound && f->key && i < n; i++) {
        uint64_t bits = plumb_metric_bits(bound[i]);
        bits = bits << 1 ? bits : 0; /* -0 is 0 */
        f->bound[i] = plumb_metric_real(bits);
        f->key[i] = plumb_metric_key(bits);
    }
    f->bounds = n;
    return f->bound && f->key;
}

/* Metrics of requests and queues are made at the first of them: names of the program leave them
 * their places. */
static uint32_t families_max(const char *name)
{
    return PLUMB_METRIC_FAMILIES_MAX + (strncmp(name, "plumb_", 6) == 0 ? OWN_FAMILIES : 0);
}

/* `*over`: there are too many names. */
static int make_family(struct plumb_metric_family **out, uint32_t type,
                       const plumb_metric_options *o, bool *over, plumb_error *err)
{
    static const size_t defaults = sizeof default_bounds / sizeof *default_bounds;
    struct plumb_metric_family *f = &registry.family[registry.families];
    const double *bound = o->bounds ? o->bounds : default_bounds;
    int bounds = 0;
    if (type == PLUMB_METRIC_HISTOGRAM &&
        (bounds = checked_bounds(bound, o->bounds ? o->bound_count : defaults)) < 0)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "the bounds of histogram '%.100s' are not 1 to %d finite numbers in "
                          "rising order",
                          registry.name, PLUMB_METRIC_BOUNDS_MAX);
    if (registry.families >= families_max(registry.name)) {
        *over = true;
        return plumb_fail(err, PLUMB_ERR_MEMORY,
                          "metric '%.100s' is not kept: the process has %d names of metrics "
                          "already; use labels",
                          registry.name, PLUMB_METRIC_FAMILIES_MAX);
    }
    *f = (struct plumb_metric_family){.hash = plumb_hash_text(registry.name), .type = type};
    if (o->help && *o->help) {
        snprintf(registry.help, sizeof registry.help, "%s", o->help);
        f->help = plumb_keep_text(registry.help);
    }
    f->name = plumb_keep_text(registry.name);
    if (!f->name || (bounds && !copy_bounds(f, bound, (uint32_t)bounds)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for metric '%.100s'", registry.name);
    registry.families++;
    *out = f;
    return PLUMB_OK;
}

/* ---- Series ---------------------------------------------------------------------------------- */

static struct plumb_metric_series *make_series(struct plumb_metric_family *f, const char *labels)
{
    struct plumb_metric_series *m = plumb_keep_bytes(sizeof *m);
    size_t bytes = plumb_metric_cell_bytes(f->type, f->bounds, 1);
    if (!m)
        return NULL;
    *m = (struct plumb_metric_series){.family = f,
                                      .home = f,
                                      .type = f->type,
                                      .bounds = f->bounds,
                                      .stride = plumb_metric_stride(f->type, f->bounds),
                                      .key = f->key,
                                      .own = own_cell(bytes),
                                      .labels = plumb_keep_text(labels),
                                      .next = registry.first};
    if (!m->own || !m->labels)
        return NULL;
    PLUMB_RELEASE(registry.first, m);
    return m;
}

static struct plumb_metric_series *overflow_of(struct plumb_metric_family *f)
{
    if (!f->overflow)
        f->overflow = make_series(f, "overflow=\"true\"");
    return f->overflow;
}

/* Returns the series of registry.labels, made if needed; `*over`: it is the one for overflow. */
static struct plumb_metric_series *series_of(struct plumb_metric_family *f, bool *over)
{
    uint64_t hash = plumb_hash_text(registry.labels) ^
                    (uint64_t)(f - registry.family + 1) * UINT64_C(0x9e3779b97f4a7c15);
    struct plumb_metric_series *m;
    uint64_t at;
    for (hash = hash ? hash : 1; (at = plumb_map_get(&registry.by_labels, hash)) != 0;
         hash = hash + 1 ? hash + 1 : 1) {
        m = (struct plumb_metric_series *)(uintptr_t)at;
        if (m->family == f && strcmp(m->labels, registry.labels) == 0)
            return m;
    }
    *over = f->series >= PLUMB_METRIC_OF_FAMILY_MAX || registry.series >= PLUMB_METRIC_SERIES_MAX;
    if (*over)
        return overflow_of(f);
    m = make_series(f, registry.labels);
    if (!m || plumb_map_put(&registry.by_labels, hash, (uint64_t)(uintptr_t)m) < 0)
        return m;
    f->series++;
    registry.series++;
    return m;
}

/* Sets registry.labels. Prometheus takes a label with an empty value as absent: two series that
 * differ in nothing else would be one there, with two values. */
static void set_labels(const struct plumb_pair *labels)
{
    struct plumb_pair given[PLUMB_METRIC_LABELS_MAX + 1] = {{NULL, NULL}};
    size_t n = 0;
    for (size_t i = 0; labels && i < PLUMB_METRIC_LABELS_MAX && labels[i].key; i++)
        if (labels[i].value && *labels[i].value)
            given[n++] = labels[i];
    plumb_prom_labels(registry.labels, given, n);
}

static int find(struct plumb_metric_series **out, uint32_t type, const char *name,
                const plumb_metric_options *o, bool *over, plumb_error *err)
{
    struct plumb_metric_family *f;
    int rc;
    full_name(o->space, name);
    f = family_named();
    if (!f && (rc = make_family(&f, type, o, over, err)) < 0)
        return rc;
    if (f->type != type)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "metric '%.100s' has another type already: use another name",
                          registry.name);
    set_labels(o->labels);
    *out = series_of(f, over);
    return *out ? PLUMB_OK
                : plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for metric '%.100s'", registry.name);
}

/* plumb's own two, so that losses show. */
static void make_own(void)
{
    plumb_metric_options o = plumb_metric_options_default();
    bool over = false;
    struct plumb_metric_series *m = NULL;
    o.help = "Calls that were refused: NaN, infinite, a negative amount of a counter, a wrong type";
    if (find(&m, PLUMB_METRIC_COUNTER, "plumb_metrics_refused_total", &o, &over, NULL) == PLUMB_OK)
        PLUMB_RELEASE(registry.refused, m);
    o.help =
        "Look-ups of series that are beyond a bound, and are added up as overflow=\"true\", and "
        "of names beyond it, which are not kept";
    if (find(&m, PLUMB_METRIC_COUNTER, "plumb_metrics_overflow_total", &o, &over, NULL) == PLUMB_OK)
        PLUMB_RELEASE(registry.overflowed, m);
}

static void take(plumb_metric_options *o, const plumb_metric_options *given)
{
    *o = plumb_metric_options_default();
    if (given && given->size)
        memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
}

int plumb_metric_get_impl(plumb_metric_series **out, uint32_t type, const char *name,
                          const plumb_metric_options *options, plumb_error *err)
{
    plumb_metric_options o;
    struct plumb_metric_series *m = NULL;
    struct plumb_in in = {NULL, NULL};
    bool over = false, inside;
    int rc, saved = errno;
    take(&o, options);
    if (type < PLUMB_METRIC_COUNTER || type > PLUMB_METRIC_SUMMARY || !name)
        return plumb_fail(err, PLUMB_ERR_ARG, "a metric needs a name and one of four types");
    if ((rc = plumb_may_lock("plumb_metric_get", err)) < 0)
        return rc;
    inside = plumb_enter(&in, true);
    plumb_lock();
    if (!registry.refused)
        make_own();
    rc = find(&m, type, name, &o, &over, err);
    if (rc == PLUMB_OK && inside)
        plumb_metric_share(in.run, m);
    over = over && registry.overflowed;
    plumb_unlock();
    if (over && inside)
        plumb_metric_add_in(in, registry.overflowed, 1);
    if (inside)
        plumb_leave(in);
    if (over && !inside)
        plumb_metric_add_impl(registry.overflowed, 1);
    if (rc == PLUMB_OK)
        *out = m;
    errno = saved;
    return rc;
}
