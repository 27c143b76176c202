/* collector.h: write a collector, which adds events other than the program's spans to a recording,
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
 * As with plumb.h, the header alone is enough, and every call does nothing without a runtime; its
 * rules hold here too, those on statuses included. Any thread may call; a signal handler may
 * not. */
#ifndef PLUMB_COLLECTOR_H
#define PLUMB_COLLECTOR_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a collector. plumb calls `start`, `stop` and the clocks' `now` one at a time, on
 * a thread that belongs to this collector. If one does not return in time, the collector is
 * abandoned. */
struct plumb_collector_ops {
    size_t size;         /* sizeof(plumb_collector_ops) */
    const char *name;    /* one word: the name in PLUMB_COLLECT */
    const char *help;    /* one line */
    uint32_t on_request; /* 1: started only if PLUMB_COLLECT names it */
    uint32_t reserved;
    /* Called when a run begins: makes lanes and clocks. `options` is the text after the name and
     * its colon in PLUMB_COLLECT, or "". Returns PLUMB_ERR_ABSENT when the device is absent. */
    int (*start)(plumb_collector *self, void *arg, const char *options, plumb_error *err);
    /* Called when the run ends: emits the remaining events. No event may follow after it
     * returns. Returns PLUMB_ERR_ABSENT when there was nothing to collect: where PLUMB_COLLECT
     * names the collector, the end block says so. A text in `err` is reported there in any case. */
    int (*stop)(void *arg, plumb_error *err);
    void (*destroy)(void *arg); /* called by plumb_collector_unregister(); NULL: nothing to free */
    const void *offer;          /* functions for the program: plumb_collector_offer() */
};

enum plumb_lane_of {
    PLUMB_LANE_OF_WORK = 1,  /* work of a device */
    PLUMB_LANE_OF_HOST = 2,  /* events on the host: their time is not device time */
    PLUMB_LANE_OF_VALUES = 3 /* values over time */
};
enum plumb_lane_flags {
    PLUMB_LANE_LAUNCH_ONLY = 1 /* the device reports no times: only launches are seen */
};
struct plumb_lane_options {
    size_t size;        /* sizeof(plumb_lane_options) */
    const char *name;   /* of the row in a trace */
    const char *device; /* "cuda:0"; NULL: none */
    plumb_lane parent;  /* all-zero: none */
    uint32_t kind;      /* enum plumb_lane_of */
    uint32_t flags;     /* enum plumb_lane_flags */
    uint32_t slots;     /* capacity of the queue to the trace, in events; 0: 4096 */
    uint32_t reserved;
};

struct plumb_clock_options {
    size_t size; /* sizeof(plumb_clock_options) */
    const char *name;
    double hz;         /* nominal rate, ticks a second: 1 to 1e15 */
    double drift_ppm;  /* maximum difference of the real rate from `hz`; 0: 200 */
    double wander_ppm; /* maximum change of the rate between two anchors; 0: 1 */
    /* Reads the clock, in ticks, to `out`. < 0: it cannot be read now. NULL: it cannot be read at
     * will; the collector passes what it knows to plumb_clock_anchor_between(). */
    int (*now)(uint64_t *out, void *arg);
    void *arg;
};

/* The origin of a piece of work: captured where the work is launched, kept by value until it is
 * done. */
struct plumb_origin {
    uint64_t flow;    /* links the launch to the work in a trace; 0: the origin is empty */
    uint64_t request; /* serial; 0: none */
    uint64_t stage;   /* innermost stage + 1; 0: none */
    int64_t step;     /* -1: none */
    uint32_t node;    /* the node that the device time counts for */
    uint32_t group;   /* (pipeline, phase) */
    uint32_t run;     /* generation of the run; an origin of an earlier run is ignored */
    uint32_t tid;     /* of the launching thread */
};

enum plumb_event_kind {
    PLUMB_EVENT_SPAN = 1,    /* `begin` to `end` */
    PLUMB_EVENT_INSTANT = 2, /* at `begin` */
    PLUMB_EVENT_COUNTER = 3, /* `value` from `begin` on */
    PLUMB_EVENT_FLOW = 4,    /* `flow` passes through this lane at `begin` */
    PLUMB_EVENT_WAIT = 5     /* the calling thread waited for work of `origin` */
};
/* An attribute of an event, which a trace shows. Work with an i64 `bytes` and no `flops` counts as
 * a copy (count.h). */
typedef struct plumb_event_arg {
    plumb_name key;
    uint32_t type; /* 1 i64, 2 f64, 3 a plumb_name in i64 */
    union {
        int64_t i64;
        double f64;
    } value;
} plumb_event_arg;
enum { PLUMB_EVENT_ARGS = 6 }; /* maximum; further ones are dropped */
struct plumb_event {
    uint32_t size; /* sizeof(plumb_event) */
    uint32_t kind; /* enum plumb_event_kind */
    plumb_name name;
    uint32_t arg_count;          /* of `args` */
    uint64_t begin, end;         /* ticks of the clock; `end` of spans and waits alone */
    uint64_t flow;               /* of PLUMB_EVENT_FLOW */
    double value;                /* of PLUMB_EVENT_COUNTER, in any unit */
    const plumb_origin *origin;  /* NULL: unknown */
    const plumb_event_arg *args; /* [arg_count]; NULL: none */
};

enum plumb_collector_state {
    PLUMB_COLLECTOR_IDLE = 0, /* no run wants it */
    PLUMB_COLLECTOR_STARTING = 1,
    PLUMB_COLLECTOR_RUNNING = 2,
    PLUMB_COLLECTOR_STOPPING = 3,
    PLUMB_COLLECTOR_STOPPED = 4,  /* of the run that is open, or was last */
    PLUMB_COLLECTOR_ABSENT = 5,   /* it found no device */
    PLUMB_COLLECTOR_FAILED = 6,   /* see `why` */
    PLUMB_COLLECTOR_ABANDONED = 7 /* a function of it has not returned */
};
struct plumb_collector_status {
    size_t size;            /* sizeof(plumb_collector_status) */
    uint32_t state;         /* enum plumb_collector_state */
    uint32_t lanes, clocks; /* that it has opened */
    uint32_t reserved;
    uint64_t emitted;       /* events accepted, in the open run or the last one */
    uint64_t dropped;       /* of these, events whose lane's queue was full */
    uint64_t refused_times; /* rejected: impossible times */
    uint64_t refused_late;  /* rejected: after its stop, or for another run */
    char why[256];          /* it is absent, has failed or was abandoned; "": nothing is wrong */
};

static inline void plumb_collector_zero_(void *p, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        ((unsigned char *)p)[i] = 0;
}

/* ---- Collectors ------------------------------------------------------------------------------ */

/* Returns the functions of a collector that does nothing. */
static inline plumb_collector_ops plumb_collector_ops_default(void)
{
    plumb_collector_ops ops;
    plumb_collector_zero_(&ops, sizeof ops);
    ops.size = sizeof ops;
    return ops;
}

/* Registers a collector. It is started with the open run, before the call returns, and with each
 * later run, unless PLUMB_COLLECT is set and names neither it nor "auto".
 *   ops     copied with its texts; the functions, `offer` and `arg` must stay until
 *           plumb_collector_unregister() succeeds
 *   result  NULL after an error, which `err` states: PLUMB_ERR_ARG: `ops` has no size or no
 *           `start`, its name does not consist of letters, digits, '_', '-' and '.', or the call
 *           comes from `start` or `stop`; PLUMB_ERR_STATE: the name is in use; PLUMB_ERR_MEMORY:
 *           there are 32. Without a runtime `err` is not touched
 *   cost    the time that `start` takes; 3 s at most */
static inline plumb_collector *plumb_collector_register(const plumb_collector_ops *ops, void *arg,
                                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, collector_register) ? api->collector_register(ops, arg, err) : NULL;
}
/* Removes a collector: stops it if it runs, and calls its `destroy` on this thread; the handle is
 * invalid then. Takes as long as its `stop`, 3 s at most. Errors: PLUMB_ERR_STATE: a function of it
 * has not returned; then `destroy` was not called, and its code and memory must stay; or it is
 * removed already. PLUMB_ERR_ARG: NULL, or called from `start` or `stop`. */
static inline int plumb_collector_unregister(plumb_collector *collector, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, collector_unregister) ? api->collector_unregister(collector, err)
                                                   : (int)PLUMB_ERR_ABSENT;
}
/* Returns the collector of that name, or NULL; it is valid until it is removed. O(collectors). */
static inline plumb_collector *plumb_collector_find(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, collector_find) ? api->collector_find(name) : NULL;
}
/* Returns the collector's ops.offer: functions for the program, in a struct that the collector
 * defines. NULL: it has none, or `collector` is NULL. */
static inline const void *plumb_collector_offer(plumb_collector *collector)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, collector_offer) ? api->collector_offer(collector) : NULL;
}
/* Fills `out`, whose contents before do not matter, with the state of the collector in the open
 * run, or in the last one. 0.1 us and O(lanes). Errors: PLUMB_ERR_ARG: the collector is NULL; `out`
 * is all-zero but for its size then, as without a runtime. */
static inline int plumb_collector_status_get(plumb_collector_status *out,
                                             plumb_collector *collector)
{
    const struct plumb_api *api = plumb_api_();
    plumb_collector_zero_(out, sizeof *out);
    out->size = sizeof *out;
    return PLUMB_KNOWS_(api, collector_status) ? api->collector_status(out, collector)
                                               : (int)PLUMB_ERR_ABSENT;
}

/* ---- Lanes and clocks ------------------------------------------------------------------------ */

/* Returns the options of a lane of work, without a name. */
static inline plumb_lane_options plumb_lane_options_default(void)
{
    plumb_lane_options o;
    plumb_collector_zero_(&o, sizeof o);
    o.size = sizeof o;
    o.kind = PLUMB_LANE_OF_WORK;
    return o;
}
/* Returns the options of a clock of nanoseconds, without a function that reads it. */
static inline plumb_clock_options plumb_clock_options_default(void)
{
    plumb_clock_options o;
    plumb_collector_zero_(&o, sizeof o);
    o.size = sizeof o;
    o.hz = 1e9;
    return o;
}
/* Opens a lane in the open run, between the begin of the collector's `start` and the end of its
 * `stop`. Where a run is wanted and none is open, it opens the run first, as a span does. `out` is
 * valid until the run ends, and all-zero after an error. `options` and its texts are copied.
 * Errors: PLUMB_ERR_STATE: called at another time, or the run does not have this collector;
 * PLUMB_ERR_ARG: the collector or `options` is NULL, or the kind is not in enum plumb_lane_of;
 * PLUMB_ERR_MEMORY: the mapping is full, or there are 1024 lanes already. */
static inline int plumb_lane_open(plumb_lane *out, plumb_collector *collector,
                                  const plumb_lane_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    out->id = 0;
    return PLUMB_KNOWS_(api, lane_open) ? api->lane_open(out, collector, options, err)
                                        : (int)PLUMB_ERR_ABSENT;
}
/* Opens a clock, and takes its first anchor where it has `now`. As plumb_lane_open(), and `now` and
 * `arg` must stay until `stop` has returned. Takes 2 ms. Errors: PLUMB_ERR_ARG: `hz` is out of
 * range too; PLUMB_ERR_MEMORY: there are 64 clocks already. */
static inline int plumb_clock_open(plumb_clock *out, plumb_collector *collector,
                                   const plumb_clock_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    out->id = 0;
    return PLUMB_KNOWS_(api, clock_open) ? api->clock_open(out, collector, options, err)
                                         : (int)PLUMB_ERR_ABSENT;
}
/* Takes an anchor now: reads the clock five times on the calling thread. Call it when the clock has
 * jumped, or at times when reading it is cheap. Errors: PLUMB_ERR_ARG: no such clock of the run;
 * PLUMB_ERR_STATE: not recording, or the clock cannot be read now. */
static inline int plumb_clock_anchor(plumb_clock clock)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, clock_anchor) ? api->clock_anchor(clock) : (int)PLUMB_ERR_ABSENT;
}
/* Takes an anchor that the collector measured itself: the clock showed `source` at some time
 * between `earliest` and `latest` on the host's clock (plumb_host_ticks()), half of whose distance
 * is its error bound. For a device whose clock is seen only in the times of its work: the time at
 * which it took a command lies between readings before and after the call. Anchors are taken in
 * the order of their times. PLUMB_ERR_ARG: no such clock, or `latest` is before `earliest`;
 * PLUMB_ERR_STATE: not recording, or not later than the last anchor. */
static inline int plumb_clock_anchor_between(plumb_clock clock, uint64_t source, uint64_t earliest,
                                             uint64_t latest)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, clock_anchor_between)
               ? api->clock_anchor_between(clock, source, earliest, latest)
               : (int)PLUMB_ERR_ABSENT;
}
/* Returns a reading of the host's clock, in ticks, which an all-zero plumb_clock stands for; 0
 * without a runtime. One clock read, 10 to 20 ns. */
static inline uint64_t plumb_host_ticks(void)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, host_ticks) ? api->host_ticks() : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Interns a text for the life of the process. Returns its number, to be kept rather than asked for
 * again; 0 without a runtime. At most 65535 different ones, further ones become "(other)". NULL is
 * "". 0.5 us: a lock. */
static inline plumb_name plumb_name_get(const char *text)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, name_get) ? api->name_get(text) : 0;
}
/* Returns an event of that kind (enum plumb_event_kind) with every other field 0, that is, none. */
static inline plumb_event plumb_event_default(uint32_t kind)
{
    plumb_event e;
    plumb_collector_zero_(&e, sizeof e);
    e.size = (uint32_t)sizeof e;
    e.kind = kind;
    return e;
}
/* Captures the origin of work that this thread launches. `node` 0: the node of the innermost open
 * span. `lane`: the lane of the work. `out` is empty while nothing is recorded, which plumb_emit()
 * treats like NULL; it is plain data, and may be dropped. 0.1 us: a lock. */
static inline void plumb_origin_capture(plumb_origin *out, plumb_lane lane, plumb_node node)
{
    const struct plumb_api *api = plumb_api_();
    plumb_collector_zero_(out, sizeof *out);
    out->step = -1;
    if (PLUMB_KNOWS_(api, origin_capture))
        api->origin_capture(out, lane, node);
}
/* Records an event, in 50 to 200 ns (bench_collect). A span with an origin counts as device time of
 * its node, unless its lane is of PLUMB_LANE_OF_HOST: then the node's own time contains it. A wait
 * counts for the innermost stage of the calling thread, which is the thread that waited. Everything
 * is copied. PLUMB_ERR_STATE: not recording, or after the collector's stop;
 * PLUMB_ERR_ARG: no such lane, clock or kind, or impossible times (an end before its begin, a
 * second or more in the future, an hour before the clock's first anchor); PLUMB_ERR_MEMORY:
 * counted, but missing in the trace, whose queue was full or could not be made. */
static inline int plumb_emit(plumb_lane lane, plumb_clock clock, const plumb_event *event)
{
    const struct plumb_api *api = plumb_api_();
    return lane.id && PLUMB_KNOWS_(api, emit) ? api->emit(lane, clock, event)
                                              : (int)PLUMB_ERR_STATE;
}

#ifdef __cplusplus
}
#endif
#endif
