#include "live/metric_read.h"

#include <inttypes.h>
#include <string.h>

#include "live/clock.h"
#include "live/metric/cell.h"

struct filler {
    struct plumb_timing *t;
    const struct plumb_live_view *v;
    const struct plumb_anchor *end;
    double tick_ns;
};

/* Exemplars name the newest requests; NULL: the mapping has forgotten that one. */
static const char *request_id(const struct filler *f, uint64_t serial)
{
    const struct plumb_live_request *r =
        serial ? plumb_live_element(f->v, &f->v->h->requests,
                                    (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS), sizeof *r)
               : NULL;
    const char *id;
    if (!r || PLUMB_ACQUIRE(r->serial) != serial)
        return NULL;
    id = plumb_arena_strndup(&f->t->arena, r->id, strnlen(r->id, sizeof r->id));
    plumb_order();
    return PLUMB_LOAD(r->serial) == serial ? id : NULL;
}

static PLUMB_RACY void fill_exemplar(const struct filler *f, struct plumb_timing_exemplar *out,
                                     const struct plumb_live_exemplar *e)
{
    uint64_t turn = PLUMB_ACQUIRE(e->done);
    uint64_t request = PLUMB_LOAD(e->request), bits = PLUMB_LOAD(e->value_bits);
    uint64_t ticks = PLUMB_LOAD(e->ticks);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!turn || PLUMB_LOAD(e->began) != turn)
        return;
    out->request = request_id(f, request);
    out->value = plumb_metric_real(bits);
    out->unix_ns = plumb_live_unix_ns(f->v->h, f->end, f->tick_ns, ticks);
}

static bool fill_bounds(const struct filler *f, struct plumb_timing_metric *out,
                        const struct plumb_live_metric_family *family)
{
    const double *bound =
        plumb_live_at(f->v, family->bounds_off, family->bounds * sizeof *out->bounds);
    size_t n = (size_t)family->bounds + 1;
    out->bounds = plumb_arena_alloc(&f->t->arena, n * sizeof *out->bounds);
    out->buckets = plumb_arena_alloc(&f->t->arena, n * sizeof *out->buckets);
    out->exemplars = plumb_arena_alloc(&f->t->arena, n * sizeof *out->exemplars);
    if (!bound || !out->bounds || !out->buckets || !out->exemplars)
        return false;
    memcpy(out->bounds, bound, family->bounds * sizeof *bound);
    out->bound_count = family->bounds;
    return true;
}

static void fill_histogram(const struct filler *f, struct plumb_timing_metric *out,
                           const plumb_metric_value *value, const uint64_t *cell)
{
    const struct plumb_live_exemplar *e =
        (const void *)(cell + (size_t)plumb_metric_stride(value->type, value->bound_count) *
                                  PLUMB_METRIC_HISTOGRAM_SHARDS);
    for (uint32_t b = 0; b <= value->bound_count; b++) {
        out->buckets[b] = value->bucket[b];
        fill_exemplar(f, &out->exemplars[b], &e[b]);
    }
}

static void fill_figures(const struct filler *f, struct plumb_timing_metric *out,
                         const uint64_t *cell)
{
    plumb_metric_value *value = plumb_arena_alloc(&f->t->arena, sizeof *value);
    double *samples;
    if (!value)
        return;
    value->type = out->type;
    value->bound_count = (uint32_t)out->bound_count;
    plumb_metric_sum(value, cell, plumb_metric_shards(out->type));
    out->value = value->value;
    out->count = value->count;
    out->sum = value->sum;
    if (out->type == PLUMB_METRIC_HISTOGRAM)
        fill_histogram(f, out, value, cell);
    if (out->type != PLUMB_METRIC_SUMMARY ||
        !(samples = plumb_arena_alloc(&f->t->arena, PLUMB_METRIC_SAMPLES * sizeof *samples)))
        return;
    plumb_metric_quantiles(value, samples, plumb_metric_samples(samples, cell));
    memcpy(out->quantile, value->quantile, sizeof out->quantile);
}

/* A cell is read while threads add to it: its words stand for themselves. */
static const uint64_t *words_at(const struct plumb_live_view *v, uint64_t off, size_t bytes)
{
    const uint64_t *at = plumb_live_inside(v, off, bytes);
    return at && v->loader && !v->loader->load(v->loader, off, 1, bytes, true) ? NULL : at;
}

static void fill(const struct filler *f, struct plumb_timing_metric *out,
                 const struct plumb_live_metric *m)
{
    const struct plumb_live_metric_family *family =
        plumb_live_element(f->v, &f->v->h->families, m->family, sizeof *family);
    struct plumb_arena *a = &f->t->arena;
    const uint64_t *cell;
    size_t bytes;
    if (!family || family->type < PLUMB_METRIC_COUNTER || family->type > PLUMB_METRIC_SUMMARY ||
        family->bounds > PLUMB_METRIC_BOUNDS_MAX)
        return;
    bytes =
        plumb_metric_cell_bytes(family->type, family->bounds, plumb_metric_shards(family->type)) +
        plumb_metric_exemplar_bytes(family->type, family->bounds);
    cell = words_at(f->v, m->cell_off, bytes);
    out->type = family->type;
    if (!cell || (family->type == PLUMB_METRIC_HISTOGRAM && !fill_bounds(f, out, family)))
        return;
    out->name = plumb_arena_strdup(a, plumb_live_text(f->v, family->name_off));
    out->help =
        family->help_off ? plumb_arena_strdup(a, plumb_live_text(f->v, family->help_off)) : NULL;
    out->labels = plumb_arena_strdup(a, plumb_live_text(f->v, m->labels_off));
    fill_figures(f, out, cell);
    if (out->name && out->labels)
        f->t->metric_count++;
}

void plumb_live_fill_metrics(struct plumb_timing *t, const struct plumb_live_view *v,
                             const struct plumb_anchor *end, double tick_ns)
{
    struct filler f = {t, v, end, tick_ns};
    uint32_t n = PLUMB_ACQUIRE(v->h->metrics.count);
    if (n > v->bytes / sizeof(struct plumb_live_metric))
        return;
    t->metrics_lost = PLUMB_LOAD(v->h->metrics_lost);
    t->metrics = n ? plumb_arena_alloc(&t->arena, n * sizeof *t->metrics) : NULL;
    for (uint32_t i = 0; t->metrics && i < n; i++) {
        const struct plumb_live_metric *m = plumb_live_element(v, &v->h->metrics, i, sizeof *m);
        memset(&t->metrics[t->metric_count], 0, sizeof *t->metrics);
        if (m)
            fill(&f, &t->metrics[t->metric_count], m);
    }
}
