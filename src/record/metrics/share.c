/* share.c: metrics in the mapping of a run. */
#include <string.h>

#include "record/metrics/metrics.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"

enum {
    TURN_NS = 100000000,
    SHARE = 8 /* metrics take at most one part in so many of the mapping */
};

/* Of the open run; under the lock. */
static size_t carved_bytes;

static bool share_family(struct plumb_run *run, struct plumb_metric_family *f)
{
    struct plumb_live_table *t = &run->h->families;
    struct plumb_live_metric_family *live;
    uint64_t name, help = 0, bounds = 0;
    if (f->generation == run->generation)
        return true;
    if ((name = plumb_carve_text(run, f->name)) == 0 ||
        (f->help && (help = plumb_carve_text(run, f->help)) == 0) ||
        (f->bounds && (bounds = plumb_carve(run, f->bounds * sizeof *f->bound)) == 0) ||
        !(live = plumb_table_add(run, t)))
        return false;
    if (bounds)
        memcpy(PLUMB_AT(run, double, bounds), f->bound, f->bounds * sizeof *f->bound);
    *live = (struct plumb_live_metric_family){name, help, bounds, f->type, f->bounds};
    f->index = t->count;
    plumb_table_commit(t);
    f->generation = run->generation;
    return true;
}

void plumb_metric_share(struct plumb_run *run, struct plumb_metric_series *m)
{
    struct plumb_live_table *t = &run->h->metrics;
    size_t bytes = plumb_metric_cell_bytes(m->type, m->bounds, plumb_metric_shards(m->type)) +
                   plumb_metric_exemplar_bytes(m->type, m->bounds);
    struct plumb_live_metric *live;
    uint64_t labels, cell;
    if (PLUMB_LOAD(m->place) >> 32 == run->generation)
        return;
    if (carved_bytes + bytes > run->mapped / SHARE || !share_family(run, m->home) ||
        (labels = plumb_carve_text(run, m->labels)) == 0 || (cell = plumb_carve(run, bytes)) == 0 ||
        !(live = plumb_table_add(run, t))) {
        PLUMB_STORE(run->h->metrics_lost, run->h->metrics_lost + 1);
        PLUMB_STORE(m->place, (uint64_t)run->generation << 32);
        return;
    }
    carved_bytes += bytes;
    *live = (struct plumb_live_metric){labels, cell, m->home->index, 0};
    plumb_metric_move(m, PLUMB_AT(run, uint64_t, cell));
    plumb_table_commit(t);
    PLUMB_RELEASE(m->place, (uint64_t)run->generation << 32 | cell >> 6);
}

static void share_all(struct plumb_run *run)
{
    for (struct plumb_metric_series *m = plumb_metric_first(); m; m = m->next)
        plumb_metric_share(run, m);
}

void plumb_metrics_begin(struct plumb_run *run)
{
    carved_bytes = 0;
    plumb_request_metrics_begin();
    share_all(run);
}

/* Calls `each` for every series that the run has, with its cell there. */
static void for_cells(struct plumb_run *run, void (*each)(struct plumb_metric_series *, uint64_t *))
{
    for (struct plumb_metric_series *m = plumb_metric_first(); m; m = m->next) {
        uint64_t place = PLUMB_LOAD(m->place);
        if (place >> 32 == run->generation && place & UINT32_MAX)
            each(m, PLUMB_AT(run, uint64_t, (place & UINT32_MAX) << 6));
    }
}

uint64_t plumb_metrics_turn(struct plumb_run *run)
{
    if (!plumb_metric_first())
        return UINT64_MAX;
    plumb_lock();
    share_all(run); /* those that a thread made outside the run */
    for_cells(run, plumb_metric_move);
    plumb_unlock();
    return TURN_NS;
}

static void take_back(struct plumb_metric_series *m, uint64_t *cell)
{
    plumb_metric_take_back(m, cell);
    PLUMB_STORE(m->place, 0);
}

void plumb_metrics_finish(struct plumb_run *run)
{
    plumb_lock();
    share_all(run);
    for_cells(run, plumb_metric_move);
    for_cells(run, take_back);
    plumb_unlock();
}
