/* plugin.h: write a collector, which adds events other than the program's spans to a recording,
 * such as the work of a device. docs/collectors.md has a complete example.
 *
 * A collector is a struct plumb_collector_ops, registered once with plumb_collector_register(). For
 * every run plumb calls its `start`, which makes lanes and clocks; from then on, from any of its
 * threads, it calls plumb_emit(); at the end of the run plumb calls its `stop`.
 *
 *   lane    a row of events: a queue of a device, a counter. Lives as long as the run
 *   clock   the source of event times. plumb reads it together with its own clock at the start,
 *           5 ms and 50 ms later, each second, and at the stop (*anchors*). It converts times
 *           piecewise between anchors, and states the error bound of each conversion
 *   origin  the launch of a piece of work. Captured on the launching thread, passed with the
 *           event when the work is done: its time then counts as device time of that node, of
 *           the stage around it and of the request, and a trace links launch and work
 *
 * What a collector can rely on
 *   - plumb_emit() may be called by any thread at any time, also before `start` has returned and
 *     after `stop`: a late event is rejected and counted, never written to freed memory. It never
 *     waits for another thread's events. If a lane's queue is full, which is possible only while a
 *     trace is recorded, the event is missing in the trace and counted; its statistics are kept.
 *   - When plumb_stop() returns, no emit is in flight.
 *   - Without a recording every call does nothing and costs a load and a branch.
 *
 * What plumb relies on
 *   - `start`, `stop` and `now` return within three seconds. Otherwise the collector is abandoned:
 *     the run continues without it, the end block names it with the reason, and its functions are
 *     not called again until that one has returned. They must not call plumb_start(), plumb_stop()
 *     or plumb_collector_unregister().
 *   - After a fork, `start` may be called in the child with no `stop` before it: the collector's
 *     threads are gone there. A collector with threads compares getpid().
 *
 * As with plumb.h, the header alone is enough, and every call does nothing without a runtime. */
#ifndef PLUMB_PLUGIN_H
#define PLUMB_PLUGIN_H

#include <plumb/plumb.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PLUMB_DISABLE)
#define PLUMB_PLUGIN_KNOWS_(api, member) 0
static inline const struct plumb_api *plumb_plugin_api_(void)
{
    return NULL;
}
#else
#define PLUMB_PLUGIN_KNOWS_(api, member) PLUMB_KNOWS_(api, member)
static inline const struct plumb_api *plumb_plugin_api_(void)
{
    return plumb_api_();
}
#endif

static inline void plumb_plugin_zero_(void *p, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        ((unsigned char *)p)[i] = 0;
}

/* ---- Collectors ------------------------------------------------------------------------------ */

static inline plumb_collector_ops plumb_collector_ops_default(void)
{
    plumb_collector_ops ops;
    plumb_plugin_zero_(&ops, sizeof ops);
    ops.size = sizeof ops;
    return ops;
}

/* Registers a collector; its name must be new among at most 32. It is started with the open run and
 * with each later run, unless PLUMB_COLLECT is set and names neither it nor "auto". `ops` and its
 * texts are copied. Returns NULL, and `err` says why: no runtime, a name in use, too many. */
static inline plumb_collector *plumb_collector_register(const plumb_collector_ops *ops, void *arg,
                                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, collector_register) ? api->collector_register(ops, arg, err)
                                                        : NULL;
}
/* Stops the collector if it runs and calls its `destroy`. PLUMB_ERR_STATE: a function of it has not
 * returned; then `destroy` was not called, and its code and memory must stay. */
static inline int plumb_collector_unregister(plumb_collector *collector, plumb_error *err)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, collector_unregister)
               ? api->collector_unregister(collector, err)
               : (int)PLUMB_ERR_ABSENT;
}
/* Returns the collector of that name, or NULL. */
static inline plumb_collector *plumb_collector_find(const char *name)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, collector_find) ? api->collector_find(name) : NULL;
}
/* Returns its ops.offer: functions for the program, in a struct that the collector defines; NULL:
 * none. */
static inline const void *plumb_collector_offer(plumb_collector *collector)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, collector_offer) ? api->collector_offer(collector) : NULL;
}
static inline int plumb_collector_status_get(plumb_collector *collector,
                                             plumb_collector_status *out)
{
    const struct plumb_api *api = plumb_plugin_api_();
    plumb_plugin_zero_(out, sizeof *out);
    out->size = sizeof *out;
    return PLUMB_PLUGIN_KNOWS_(api, collector_status) ? api->collector_status(collector, out)
                                                      : (int)PLUMB_ERR_ABSENT;
}

/* ---- Lanes and clocks ------------------------------------------------------------------------ */

static inline plumb_lane_options plumb_lane_options_default(void)
{
    plumb_lane_options o;
    plumb_plugin_zero_(&o, sizeof o);
    o.size = sizeof o;
    o.kind = PLUMB_LANE_OF_WORK;
    return o;
}
static inline plumb_clock_options plumb_clock_options_default(void)
{
    plumb_clock_options o;
    plumb_plugin_zero_(&o, sizeof o);
    o.size = sizeof o;
    o.hz = 1e9;
    return o;
}
/* Opens a lane or a clock in the open run, between the collector's start and its stop. Texts are
 * copied. PLUMB_ERR_STATE: called at another time; PLUMB_ERR_ARG; PLUMB_ERR_MEMORY: the mapping is
 * full, or there are 1024 lanes or 64 clocks already. */
static inline int plumb_lane_open(plumb_lane *out, plumb_collector *collector,
                                  const plumb_lane_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_plugin_api_();
    out->id = 0;
    return PLUMB_PLUGIN_KNOWS_(api, lane_open) ? api->lane_open(out, collector, options, err)
                                               : (int)PLUMB_ERR_ABSENT;
}
static inline int plumb_clock_open(plumb_clock *out, plumb_collector *collector,
                                   const plumb_clock_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_plugin_api_();
    out->id = 0;
    return PLUMB_PLUGIN_KNOWS_(api, clock_open) ? api->clock_open(out, collector, options, err)
                                                : (int)PLUMB_ERR_ABSENT;
}
/* Takes an anchor now, on the calling thread. Call it when the clock has jumped, or at times when
 * reading it is cheap. */
static inline int plumb_clock_anchor(plumb_clock clock)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, clock_anchor) ? api->clock_anchor(clock)
                                                  : (int)PLUMB_ERR_ABSENT;
}
/* Returns a reading of the host's clock, which an all-zero plumb_clock stands for. */
static inline uint64_t plumb_host_ticks(void)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, host_ticks) ? api->host_ticks() : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Interns a text for the life of the process; at most 65535 different ones, further ones become
 * "(other)". */
static inline plumb_name plumb_name_get(const char *text)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return PLUMB_PLUGIN_KNOWS_(api, name_get) ? api->name_get(text) : 0;
}
static inline plumb_event plumb_event_default(uint32_t kind)
{
    plumb_event e;
    plumb_plugin_zero_(&e, sizeof e);
    e.size = (uint32_t)sizeof e;
    e.kind = kind;
    return e;
}
/* Captures the origin of work that this thread launches. `node` 0: the node of the innermost open
 * span. `lane`: the lane of the work. `out` is all-zero while nothing is recorded, which
 * plumb_emit() treats like NULL. */
static inline void plumb_origin_capture(plumb_origin *out, plumb_lane lane, plumb_node node)
{
    const struct plumb_api *api = plumb_plugin_api_();
    plumb_plugin_zero_(out, sizeof *out);
    out->step = -1;
    if (PLUMB_PLUGIN_KNOWS_(api, origin_capture))
        api->origin_capture(out, lane, node);
}
/* Records an event, in 50 to 200 ns (bench_collect). A span with an origin counts as device time of
 * its node; a wait counts for the innermost stage of the calling thread, which is the thread that
 * waited. Everything is copied. PLUMB_ERR_STATE: not recording, or after the collector's stop;
 * PLUMB_ERR_ARG: no such lane, clock or kind, or impossible times (an end before its begin, a
 * second or more in the future, an hour before the clock's first anchor); PLUMB_ERR_MEMORY:
 * counted, but missing in the trace, whose queue was full. */
static inline int plumb_emit(plumb_lane lane, plumb_clock clock, const plumb_event *event)
{
    const struct plumb_api *api = plumb_plugin_api_();
    return lane.id && PLUMB_PLUGIN_KNOWS_(api, emit) ? api->emit(lane, clock, event)
                                                     : (int)PLUMB_ERR_STATE;
}

#ifdef __cplusplus
}
#endif
#endif
