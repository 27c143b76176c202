/* metrics.h: metrics for monitoring: counters, gauges, histograms, summaries. Part of plumb.h;
 * docs/metrics.md.
 *
 *     static plumb_metric_series *frames, *latency;
 *     frames = plumb_metric_counter("frames", NULL);                    (once: keep the handle)
 *     latency = plumb_metric_histogram("latency_seconds", NULL);
 *     ...
 *     plumb_metric_add(frames, 1);
 *     plumb_metric_observe(latency, 0.012);
 *
 * Prometheus reads them from a running process through `plumb serve`, and from a run with
 * `plumb export --to prometheus`; the process itself has no port and no server. While a run is open
 * the values lie in its mapping, so they survive any end of the process, kill -9 too. They belong
 * to the process, not to a run: amounts that are added while nothing is recorded are in the next
 * run. A forked child begins with all its metrics at zero, so that sums over processes are right.
 *
 * Any thread may call; a signal handler may add, set and observe. NULL is a valid handle, of which
 * all calls return PLUMB_ERR_ABSENT. */
#ifndef PLUMB_METRICS_H
#define PLUMB_METRICS_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are those of files and of the binary interface. */
enum plumb_metric_type {
    PLUMB_METRIC_COUNTER = 1,   /* only grows */
    PLUMB_METRIC_GAUGE = 2,     /* has a value now */
    PLUMB_METRIC_HISTOGRAM = 3, /* counts observations by their size */
    PLUMB_METRIC_SUMMARY = 4    /* quantiles .5 .9 .95 .99 of the newest observations */
};
enum {
    PLUMB_METRIC_BOUNDS_MAX = 128,    /* of one histogram */
    PLUMB_METRIC_LABELS_MAX = 16,     /* of one series; further ones are left out */
    PLUMB_METRIC_FAMILIES_MAX = 256,  /* names in a process */
    PLUMB_METRIC_OF_FAMILY_MAX = 512, /* series of one name */
    PLUMB_METRIC_SERIES_MAX = 4096,   /* series in a process */
    PLUMB_METRIC_SAMPLES = 1024,      /* newest observations that a summary keeps */
    PLUMB_METRIC_QUANTILES = 4
};

/* A `plumb_metric_series` is one name with one set of labels. It lives as long as the process. */

struct plumb_metric_options {
    size_t size;       /* sizeof(plumb_metric_options) */
    const char *space; /* put before the name with a '_'; NULL: none */
    const char *help;  /* one line for the reader of a dashboard; NULL: none */
    /* Pairs, ended by one whose key is NULL; NULL: no labels. Their order does not matter. */
    const struct plumb_pair *labels;
    /* Upper bounds of a histogram's buckets, inclusive, in rising order; a last bucket takes the
     * rest. NULL: .005 .01 .025 .05 .1 .25 .5 1 2.5 5 10. */
    const double *bounds;
    size_t bound_count;
};

/* Returns options with every field at its default. */
static inline plumb_metric_options plumb_metric_options_default(void)
{
    plumb_metric_options o = {sizeof(plumb_metric_options), NULL, NULL, NULL, NULL, 0};
    return o;
}

/* Sets `*out` to the series of `name` with the labels of `options` (NULL: none), made at the first
 * call. Names and labels may be any text: what Prometheus does not allow is replaced when they are
 * written (docs/metrics.md). The bounds and the help are those of the first call for the name.
 * Series beyond a bound are added up in one with the label `overflow="true"`, and counted in
 * plumb_metrics_overflow_total. Errors: PLUMB_ERR_ARG (not a type, or the bounds do not rise or are
 * not finite), PLUMB_ERR_STATE (the name has another type; or a signal handler that interrupted
 * plumb), PLUMB_ERR_MEMORY (no memory, or too many names), PLUMB_ERR_ABSENT. A microsecond: get a
 * handle once and keep it. */
static inline int plumb_metric_get(plumb_metric_series **out, uint32_t type, const char *name,
                                   const plumb_metric_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, metric_get) ? api->metric_get(out, type, name, options, err)
                                         : PLUMB_ERR_ABSENT;
}
static inline plumb_metric_series *plumb_metric_or_null_(uint32_t type, const char *name,
                                                         const plumb_metric_options *options)
{
    plumb_metric_series *m = NULL;
    return plumb_metric_get(&m, type, name, options, NULL) == PLUMB_OK ? m : NULL;
}
/* Returns the handle of a series, or NULL on an error of plumb_metric_get(); so do the next three.
 */
static inline plumb_metric_series *plumb_metric_counter(const char *name,
                                                        const plumb_metric_options *options)
{
    return plumb_metric_or_null_(PLUMB_METRIC_COUNTER, name, options);
}
static inline plumb_metric_series *plumb_metric_gauge(const char *name,
                                                      const plumb_metric_options *options)
{
    return plumb_metric_or_null_(PLUMB_METRIC_GAUGE, name, options);
}
static inline plumb_metric_series *plumb_metric_histogram(const char *name,
                                                          const plumb_metric_options *options)
{
    return plumb_metric_or_null_(PLUMB_METRIC_HISTOGRAM, name, options);
}
static inline plumb_metric_series *plumb_metric_summary(const char *name,
                                                        const plumb_metric_options *options)
{
    return plumb_metric_or_null_(PLUMB_METRIC_SUMMARY, name, options);
}

/* Adds to a counter (not a negative amount) or to a gauge. Whole amounts of counters are added up
 * exactly to 2^64, and read as the nearest double. Errors, with nothing changed: PLUMB_ERR_ARG
 * (NaN, infinite, negative for a counter, or another type), counted in
 * plumb_metrics_refused_total. Lock-free: an atomic add, 10 ns. */
static inline int plumb_metric_add(plumb_metric_series *metric, double amount)
{
    const struct plumb_api *api = plumb_api_();
    return metric && PLUMB_KNOWS_(api, metric_add) ? api->metric_add(metric, amount)
                                                   : PLUMB_ERR_ABSENT;
}
/* Sets a gauge. Errors and cost as above. */
static inline int plumb_metric_set(plumb_metric_series *metric, double value)
{
    const struct plumb_api *api = plumb_api_();
    return metric && PLUMB_KNOWS_(api, metric_set) ? api->metric_set(metric, value)
                                                   : PLUMB_ERR_ABSENT;
}
/* Adds an observation to a histogram or a summary. In a request, a histogram's bucket also keeps
 * the observation with the request, as an exemplar. Errors as above; 20 ns. */
static inline int plumb_metric_observe(plumb_metric_series *metric, double value)
{
    const struct plumb_api *api = plumb_api_();
    return metric && PLUMB_KNOWS_(api, metric_observe) ? api->metric_observe(metric, value)
                                                       : PLUMB_ERR_ABSENT;
}

struct plumb_metric_value {
    size_t size; /* sizeof(plumb_metric_value) */
    uint32_t type, bound_count;
    double value;                                 /* of a counter or a gauge */
    uint64_t count;                               /* observations */
    double sum;                                   /* of them */
    double quantile[PLUMB_METRIC_QUANTILES];      /* .5 .9 .95 .99; NaN without observations */
    double bound[PLUMB_METRIC_BOUNDS_MAX];        /* of a histogram */
    uint64_t bucket[PLUMB_METRIC_BOUNDS_MAX + 1]; /* observations in each; not cumulative */
};

/* Reads the present value of a series; `out->size` is set by the caller. Of n kept samples in
 * rising order, quantile q is number floor(q * (n - 1)). Errors: PLUMB_ERR_ABSENT, PLUMB_ERR_ARG
 * (the size), PLUMB_ERR_STATE (a signal handler that interrupted plumb). Microseconds. */
static inline int plumb_metric_read(plumb_metric_value *out, plumb_metric_series *metric)
{
    const struct plumb_api *api = plumb_api_();
    return metric && PLUMB_KNOWS_(api, metric_read) ? api->metric_read(out, metric)
                                                    : PLUMB_ERR_ABSENT;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* The metrics of one queue of tasks: how many were created and how each ended, how long they waited
 * and ran, how many wait and run now. Plain data of the caller; may be copied.
 *
 *     static plumb_queue decode;
 *     decode = plumb_queue_get("decode");
 *     plumb_queue_task task = plumb_queue_created(&decode);      (the producer)
 *     plumb_queue_started(&decode, &task);                       (the worker)
 *     plumb_queue_completed(&decode, &task);                     (or _failed, _cancelled) */
struct plumb_queue {
    plumb_metric_series *created, *completed, *failed, *cancelled; /* plumb_queue_tasks_*_total */
    plumb_metric_series *waited,
        *ran; /* plumb_queue_wait_seconds, plumb_queue_task_duration_seconds */
    plumb_metric_series *waiting, *running; /* plumb_queue_waiting, plumb_queue_running */
};
struct plumb_queue_task {
    uint64_t created_ns, started_ns; /* CLOCK_MONOTONIC; 0: not yet */
};

/* Returns the metrics of the queue `name`, which is their label `queue`. All calls of the name are
 * about one queue. 10 us. */
static inline plumb_queue plumb_queue_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    plumb_queue q = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    if (PLUMB_KNOWS_(api, queue_get))
        api->queue_get(&q, name);
    return q;
}
/* Returns a new task that has entered the queue, and counts it. The caller keeps the result with
 * the task. 50 ns. */
static inline plumb_queue_task plumb_queue_created(const plumb_queue *queue)
{
    const struct plumb_api *api = plumb_api_();
    plumb_queue_task task = {0, 0};
    if (PLUMB_KNOWS_(api, queue_task))
        api->queue_task(queue, &task, 0);
    return task;
}
static inline void plumb_queue_step_(const plumb_queue *queue, plumb_queue_task *task,
                                     uint32_t step)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, queue_task))
        api->queue_task(queue, task, step);
}
/* Sets that the task has left the queue, and a worker begins with it. 100 ns. */
static inline void plumb_queue_started(const plumb_queue *queue, plumb_queue_task *task)
{
    plumb_queue_step_(queue, task, 1);
}
/* Ends the task as completed, failed or cancelled; one that was not started leaves the queue. A
 * task ends once. 100 ns. */
static inline void plumb_queue_completed(const plumb_queue *queue, plumb_queue_task *task)
{
    plumb_queue_step_(queue, task, 2);
}
static inline void plumb_queue_failed(const plumb_queue *queue, plumb_queue_task *task)
{
    plumb_queue_step_(queue, task, 3);
}
static inline void plumb_queue_cancelled(const plumb_queue *queue, plumb_queue_task *task)
{
    plumb_queue_step_(queue, task, 4);
}

#ifdef __cplusplus
}
#endif
#endif
