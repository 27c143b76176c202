/* timeline.h: what only a trace shows: moments, values over time, and keeping what has just
 * happened. Part of plumb.h. Nothing of it is recorded unless the run is traced (PLUMB_TRACE=1).
 *
 *     plumb_instant("scheduler.switched");
 *     plumb_counter("queue.depth", depth);
 *     if (latency_ms > 500)
 *         plumb_trace_keep("a slow request", NULL);      (PLUMB_TRACE_MODE=ring)
 *
 * Cost: a lock and a look for the name, some 100 ns, while the run is traced. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_TIMELINE_H
#define PLUMB_TIMELINE_H

#if !defined(PLUMB_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif

/* A moment on the calling thread's track. Names should be few: each is kept until the run ends. */
static inline void plumb_instant(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, instant))
        api->instant(name);
}

/* A value from here on, as a track of its own. plumb_count() totals have tracks without it. */
static inline void plumb_counter(const char *name, double value)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, counter))
        api->counter(name, value);
}

/* Asks for the newest records of all threads to be written to a file of their own beside the run's
 * others; `why` is told in it. Returns at once, the writer does the work. Calls that come before it
 * has begun are one. PLUMB_ERR_STATE: no trace in ring mode is on. */
static inline int plumb_trace_keep(const char *why, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, trace_keep) ? api->trace_keep(why, err) : PLUMB_ERR_ABSENT;
}

#ifdef __cplusplus
}
#endif
#endif
#endif
