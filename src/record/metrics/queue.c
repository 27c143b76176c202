/* queue.c: the metrics of queues of tasks, and of requests (plumb_request_begin()). */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/float_env.h"
#include "record/metrics/metrics.h"
#include <plumb/stage.h>

/* Whole nanoseconds just below 1 and 1.5 times a power of two, from 8 us to 137 s, in seconds: the
 * buckets of stages have the same (report/metrics), so the two can be compared. */
enum { FIRST_OCTAVE = 13, OCTAVES = 24, BOUNDS = 2 * OCTAVES + 1 };

/* Not inlined: the division stays in plumb's own floating-point environment. */
static __attribute__((noinline)) double divided(uint64_t ns)
{
    return (double)(int64_t)ns / 1e9;
}

static double seconds(uint64_t ns)
{
    struct plumb_float_env env;
    double s;
    plumb_float_env_hold(&env);
    s = divided(ns);
    plumb_float_env_restore(&env);
    return s;
}

static void fill_bounds(double out[BOUNDS])
{
    for (uint32_t i = 0; i < BOUNDS; i++) {
        uint64_t octave = UINT64_C(1) << (FIRST_OCTAVE + i / 2);
        out[i] = seconds(octave + (i % 2 ? octave / 2 : 0) - 1);
    }
}

static plumb_metric_series *get(uint32_t type, const char *name, const char *help,
                                const struct plumb_pair *labels)
{
    plumb_metric_options o = plumb_metric_options_default();
    double bounds[BOUNDS];
    plumb_metric_series *m = NULL;
    o.help = help;
    o.labels = labels;
    if (type == PLUMB_METRIC_HISTOGRAM) {
        fill_bounds(bounds);
        o.bounds = bounds;
        o.bound_count = BOUNDS;
    }
    return plumb_metric_get_impl(&m, type, name, &o, NULL) == PLUMB_OK ? m : NULL;
}

static uint64_t now_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

void plumb_queue_get_impl(plumb_queue *out, const char *name)
{
    struct plumb_pair labels[2] = {{"queue", name ? name : ""}, {NULL, NULL}};
    out->created = get(PLUMB_METRIC_COUNTER, "plumb_queue_tasks_created_total",
                       "Tasks that entered the queue", labels);
    out->completed = get(PLUMB_METRIC_COUNTER, "plumb_queue_tasks_completed_total",
                         "Tasks that ended well", labels);
    out->failed =
        get(PLUMB_METRIC_COUNTER, "plumb_queue_tasks_failed_total", "Tasks that failed", labels);
    out->cancelled = get(PLUMB_METRIC_COUNTER, "plumb_queue_tasks_cancelled_total",
                         "Tasks that were cancelled", labels);
    out->waited = get(PLUMB_METRIC_HISTOGRAM, "plumb_queue_wait_seconds",
                      "Time from entering the queue to the start of work", labels);
    out->ran = get(PLUMB_METRIC_HISTOGRAM, "plumb_queue_task_duration_seconds",
                   "Time from the start of work to its end", labels);
    out->waiting = get(PLUMB_METRIC_GAUGE, "plumb_queue_waiting", "Tasks in the queue now", labels);
    out->running =
        get(PLUMB_METRIC_GAUGE, "plumb_queue_running", "Tasks that are worked on now", labels);
}

static void change(plumb_metric_series *m, double by)
{
    if (m)
        plumb_metric_add_impl(m, by);
}

static void observe_since(plumb_metric_series *m, uint64_t from_ns, uint64_t to_ns)
{
    if (m)
        plumb_metric_observe_impl(m, seconds(to_ns > from_ns ? to_ns - from_ns : 0));
}

/* A task that has ended is all zero, so a second end changes nothing. */
void plumb_queue_task_impl(const plumb_queue *queue, plumb_queue_task *task, uint32_t step)
{
    plumb_metric_series *const ends[] = {queue->completed, queue->failed, queue->cancelled};
    uint64_t now = now_ns();
    if (step == 0) {
        *task = (plumb_queue_task){now, 0};
        change(queue->created, 1);
        change(queue->waiting, 1);
        return;
    }
    if (!task->created_ns || step > 4 || (step == 1 && task->started_ns))
        return;
    if (step == 1) {
        task->started_ns = now;
        observe_since(queue->waited, task->created_ns, now);
        change(queue->running, 1);
        change(queue->waiting, -1);
        return;
    }
    change(ends[step - 2], 1);
    if (task->started_ns)
        observe_since(queue->ran, task->started_ns, now);
    change(task->started_ns ? queue->running : queue->waiting, -1);
    *task = (plumb_queue_task){0, 0};
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Made once; `made` is released after the rest. */
static struct {
    plumb_metric_series *created, *ended[3], *duration, *open;
    uint32_t made;
} requests;

void plumb_request_metrics_make(void)
{
    if (PLUMB_ACQUIRE(requests.made))
        return;
    /* Two threads may come here at the same time: both find the same metrics. */
    PLUMB_STORE(requests.created, get(PLUMB_METRIC_COUNTER, "plumb_requests_created_total",
                                      "Requests that began", NULL));
    PLUMB_STORE(requests.ended[PLUMB_REQUEST_COMPLETED],
                get(PLUMB_METRIC_COUNTER, "plumb_requests_completed_total",
                    "Requests that ended well", NULL));
    PLUMB_STORE(
        requests.ended[PLUMB_REQUEST_FAILED],
        get(PLUMB_METRIC_COUNTER, "plumb_requests_failed_total", "Requests that failed", NULL));
    PLUMB_STORE(requests.ended[PLUMB_REQUEST_CANCELLED],
                get(PLUMB_METRIC_COUNTER, "plumb_requests_cancelled_total",
                    "Requests that were cancelled", NULL));
    PLUMB_STORE(requests.duration, get(PLUMB_METRIC_HISTOGRAM, "plumb_request_duration_seconds",
                                       "Time from the begin of a request to its end", NULL));
    PLUMB_STORE(requests.open,
                get(PLUMB_METRIC_GAUGE, "plumb_requests_open", "Requests that are open now", NULL));
    /* Not in a signal handler that interrupted plumb: the next request tries again. */
    if (PLUMB_LOAD(requests.open))
        PLUMB_RELEASE(requests.made, 1);
}

void plumb_request_metrics_begin(void)
{
    if (PLUMB_ACQUIRE(requests.made))
        plumb_metric_set_impl(PLUMB_LOAD(requests.open), 0);
}

void plumb_request_began(struct plumb_in in)
{
    if (!PLUMB_ACQUIRE(requests.made))
        return;
    plumb_metric_add_in(in, PLUMB_LOAD(requests.created), 1);
    plumb_metric_add_in(in, PLUMB_LOAD(requests.open), 1);
}

void plumb_request_ended(struct plumb_in in, uint64_t request, uint64_t ns, uint32_t state)
{
    if (!PLUMB_ACQUIRE(requests.made))
        return;
    plumb_metric_add_in(in, PLUMB_LOAD(requests.ended[state < 3 ? state : 1]), 1);
    plumb_metric_observe_in(in, PLUMB_LOAD(requests.duration), seconds(ns), request);
    plumb_metric_add_in(in, PLUMB_LOAD(requests.open), -1);
}
