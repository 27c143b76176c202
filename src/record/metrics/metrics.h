/* metrics.h: the program's metrics (plumb/metrics.h): registry.c makes them and finds them,
 * cell.c changes and reads their values, share.c brings them into the mapping of a run, queue.c
 * has the metrics of queues and requests.
 *
 * Each series has a cell of its own in private memory, for what happens while no run is open or
 * where the runtime cannot be entered (a signal handler that interrupted it), and a cell in the
 * mapping of the open run. A counter, a histogram, a summary is the sum of both. share.c moves what
 * the private cell has to the mapping: when a run opens, ten times a second, when it ends. Nothing
 * is lost in that, as each word is taken by an exchange. A gauge is set in the private cell, then
 * copied to the mapping. */
#ifndef PLUMB_RECORD_METRICS_METRICS_H
#define PLUMB_RECORD_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "live/layout.h"
#include "live/metric/cell.h"
#include "record/runtime/enter.h"

struct plumb_metric_family {
    uint64_t hash;
    const char *name; /* with its space */
    const char *help; /* NULL: none */
    uint32_t type, bounds;
    double *bound;              /* [bounds] */
    int64_t *key;               /* [bounds] plumb_metric_key() of each */
    uint32_t series;            /* made so far, without the one for overflow */
    uint32_t generation, index; /* of the run that has it in its mapping; its place there */
    struct plumb_metric_series *overflow;
};

/* Lives as long as the process, in memory that a forked child keeps. */
struct plumb_metric_series {
    /* Where the run has its cell: generation of the run << 32 | offset / 64. Offset 0: the mapping
     * had no space for it. Atomic. */
    uint64_t place;
    uint64_t *own; /* one shard; reads as zero in a forked child */
    const struct plumb_metric_family *family;
    uint32_t type, bounds, stride;
    const int64_t *key;
    const char *labels;
    struct plumb_metric_series *next; /* of all; released */
    struct plumb_metric_family *home; /* family, for share.c to write to */
};

/* The order of doubles as that of integers: comparing it sets no floating-point flag. */
static inline int64_t plumb_metric_key(uint64_t bits)
{
    int64_t b = (int64_t)bits;
    return b ^ (int64_t)((uint64_t)(b >> 63) >> 1);
}

/* ---- registry.c ------------------------------------------------------------------------------ */

int plumb_metric_get_impl(plumb_metric_series **out, uint32_t type, const char *name,
                          const plumb_metric_options *options, plumb_error *err);
/* Returns the newest of all series; the others follow by `next`. */
struct plumb_metric_series *plumb_metric_first(void);
/* Counts a refused call. */
void plumb_metric_refuse(void);
/* In a forked child: clears the private cells where the kernel has not. */
void plumb_metrics_forked(void);

/* ---- cell.c ---------------------------------------------------------------------------------- */

int plumb_metric_add_impl(plumb_metric_series *m, double amount);
int plumb_metric_set_impl(plumb_metric_series *m, double value);
int plumb_metric_observe_impl(plumb_metric_series *m, double value);
int plumb_metric_read_impl(plumb_metric_value *out, plumb_metric_series *m);
/* The same for code that is inside already. NULL changes nothing. `request`: serial of the request
 * that an exemplar names; 0: none. */
void plumb_metric_add_in(struct plumb_in in, plumb_metric_series *m, double amount);
void plumb_metric_observe_in(struct plumb_in in, plumb_metric_series *m, double value,
                             uint64_t request);
/* Moves what the private cell has to the cell in the mapping; a gauge is copied. One thread at a
 * time: under the lock. */
void plumb_metric_move(struct plumb_metric_series *m, uint64_t *cell);
/* Adds the cell of a run that has ended to the private one. */
void plumb_metric_take_back(struct plumb_metric_series *m, const uint64_t *cell);

/* ---- share.c --------------------------------------------------------------------------------- */

/* Under the lock: gives every series a cell in the run's mapping. */
void plumb_metrics_begin(struct plumb_run *run);
/* The same for one series, made while the run is open. */
void plumb_metric_share(struct plumb_run *run, struct plumb_metric_series *m);
/* Moves all private cells to the mapping. On the helper; returns ns until the next turn. */
uint64_t plumb_metrics_turn(struct plumb_run *run);
/* The same at the end of a run, whose values the process keeps. */
void plumb_metrics_finish(struct plumb_run *run);

/* ---- queue.c --------------------------------------------------------------------------------- */

void plumb_queue_get_impl(plumb_queue *out, const char *name);
void plumb_queue_task_impl(const plumb_queue *queue, plumb_queue_task *task, uint32_t step);
/* Makes the metrics of requests. Without locks; at the first request of a process. */
void plumb_request_metrics_make(void);
/* A run begins: requests of the one before are not open in it, as their ends are not recorded. */
void plumb_request_metrics_begin(void);
/* Inside enter. `state`: enum plumb_request_end. */
enum plumb_request_end {
    PLUMB_REQUEST_COMPLETED = 0,
    PLUMB_REQUEST_FAILED = 1,
    PLUMB_REQUEST_CANCELLED = 2
};
void plumb_request_began(struct plumb_in in);
void plumb_request_ended(struct plumb_in in, uint64_t request, uint64_t ns, uint32_t state);

#endif
