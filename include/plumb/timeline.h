/* timeline.h: events for the trace: instants, values over time, and saving the newest records. Part
 * of plumb.h. Recorded only if the run is traced (PLUMB_TRACE=1).
 *
 *     plumb_instant("scheduler.switched");
 *     plumb_gauge_set("queue.depth", depth);
 *     if (latency_ms > 500)
 *         plumb_trace_keep("a slow request", NULL);      (PLUMB_TRACE_MODE=ring)
 *
 * Cost while the run is traced: a lookup of the name and a record, about 50 ns; only the first call
 * of a thread with a name takes a lock. Otherwise some nanoseconds. Any thread may call. */
#ifndef PLUMB_TIMELINE_H
#define PLUMB_TIMELINE_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records an instant on the calling thread's track. Use few names: each is kept until the run ends.
 * NULL is ignored. */
static inline void plumb_instant(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, instant))
        api->instant(name);
}

/* Sets the value of the track `name`, from now on, in any unit. Totals of plumb_counter_add() have
 * tracks without this call. NULL is ignored. */
static inline void plumb_gauge_set(const char *name, double value)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, gauge_set))
        api->gauge_set(name, value);
}

/* Requests that the newest records of all threads are written to a separate file in the run
 * directory, which contains `why` (NULL: ""). Returns at once; the trace's writer does the work.
 * Further calls before it has begun are merged into one. A signal handler may call it. Errors:
 * PLUMB_ERR_STATE: the run has no trace in ring mode. */
static inline int plumb_trace_keep(const char *why, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, trace_keep) ? api->trace_keep(why, err) : PLUMB_ERR_ABSENT;
}

#ifdef __cplusplus
}
#endif
#endif
