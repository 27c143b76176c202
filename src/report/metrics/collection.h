/* collection.h: metrics of any number of processes and runs, as families with series, and their
 * texts: Prometheus 0.0.4 and OpenMetrics 1.0 (text.c). from_run.c fills it from timing reports.
 *
 * One thread at a time. Memory is an arena, and O(series). */
#ifndef PLUMB_REPORT_METRICS_COLLECTION_H
#define PLUMB_REPORT_METRICS_COLLECTION_H

#include "base/map.h"
#include "codec/prom_text.h"
#include "model/timing.h"
#include <plumb/metrics.h>

struct plumb_metric_set {
    const char *raw;            /* the name as the program gave it */
    char name[PLUMB_PROM_NAME]; /* as it is written: without "_total"; set by the writer */
    const char *help;           /* NULL: none */
    uint32_t type;              /* enum plumb_metric_type */
    bool ours;                  /* of plumb itself: takes its name first */
    bool changed;               /* the raw name is not a valid one */
    struct plumb_timing_metric *series;
    size_t count, cap;
};

struct plumb_collection {
    struct plumb_arena arena;
    struct plumb_metric_set *sets;
    size_t count, cap;
    struct plumb_map by_name; /* hash of raw name, type and `ours` -> index + 1 */
    /* Bounds of the histograms of stages, an octave of time: a divisor of 64; 0: every bucket that
     * is in use, so that all counts are exact. */
    uint32_t per_octave;
    size_t left_out; /* rows beyond PLUMB_COLLECTION_ROWS */
};
enum { PLUMB_COLLECTION_ROWS = 1000 /* stages and nodes of one process */ };

void plumb_collection_init(struct plumb_collection *c, uint32_t per_octave);
void plumb_collection_fini(struct plumb_collection *c);

/* Returns a series to be filled, of zero, with name, type and labels set; its texts are copied.
 * `labels` as of plumb_prom_labels(); `help` NULL: none. NULL when out of memory. */
struct plumb_timing_metric *plumb_collection_add(struct plumb_collection *c, uint32_t type,
                                                 const char *name, const char *help,
                                                 const char *labels, bool ours);

/* ---- from_run.c ------------------------------------------------------------------------------ */

/* Adds the measurements of a run: about the run, its stages and nodes, memory, and the program's
 * own metrics. `labels`: of all these series. `t` lives as long as `c`. */
void plumb_collection_add_run(struct plumb_collection *c, const struct plumb_timing *t,
                              const char *labels, bool recording);

/* ---- text.c ---------------------------------------------------------------------------------- */

enum plumb_metrics_text { PLUMB_METRICS_TEXT_PROMETHEUS = 0, PLUMB_METRICS_TEXT_OPENMETRICS = 1 };
/* Appends all of it. Errors: out->failed. */
void plumb_collection_write(struct plumb_buf *out, struct plumb_collection *c, uint32_t format);

#endif
