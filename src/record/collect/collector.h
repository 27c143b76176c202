/* collector.h: collectors, their threads, and the lanes and clocks that they have opened.
 *
 * Each collector that a run wants has one thread ("plumb-<name>"), and its functions are called
 * only there. Other threads send it a request and wait for a bounded time. A function that does not
 * return in time is abandoned with its thread; if it ever returns, the thread undoes its effect and
 * ends. Registered collectors never move: a late emit still finds its collector, closed.
 *
 * Locks: a collector's `lock` guards its state and its mailbox; it is taken with no other lock held
 * except life_lock, and never held while a function of the collector runs. */
#ifndef PLUMB_RECORD_COLLECT_COLLECTOR_H
#define PLUMB_RECORD_COLLECT_COLLECTOR_H

#include "live/lane.h"
#include "record/runtime/enter.h"
#include <plumb/collector.h>

enum {
    PLUMB_COLLECTOR_WHY = 256,
    PLUMB_COLLECTOR_OPTIONS = 256,
    /* Switching on a driver takes a second, and longer on a busy machine. */
    PLUMB_COLLECTOR_WAIT_MS = 3000
};

enum plumb_collector_ask {
    PLUMB_ASK_NOTHING = 0,
    PLUMB_ASK_START = 1,
    PLUMB_ASK_STOP = 2,
    PLUMB_ASK_DESTROY = 3
};

struct plumb_collector_clock {
    int (*now)(uint64_t *out, void *arg);
    void *arg;
    uint32_t index; /* in the run's table */
    uint32_t run;   /* its generation */
};

struct plumb_collector {
    plumb_collector_ops ops;
    void *arg;
    uint32_t index;
    uint32_t registered; /* 0: a free place */
    bool built_in;
    uint32_t open;       /* events are accepted; atomic */
    uint32_t generation; /* of the last run that it was started for */
    uint64_t late;       /* atomic: events refused since that run began */
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    uint32_t ask;      /* enum plumb_collector_ask */
    uint32_t state;    /* enum plumb_collector_state */
    uint32_t serial;   /* of the thread that the following belongs to; an older one has been
                        * abandoned */
    uint32_t threads;  /* threads that are still inside a function of the collector */
    const char *doing; /* the thread's activity, for the reason; a constant */
    char why[PLUMB_COLLECTOR_WHY];
    char options[PLUMB_COLLECTOR_OPTIONS];
    struct plumb_collector_clock clock[PLUMB_LIVE_CLOCKS];
    uint32_t clocks, lanes; /* atomic; `clocks` and the clocks below are written under `lock` */
    plumb_collector_status last; /* the figures of the last finished run */
};

/* ---- collector_list.c ------------------------------------------------------------------------ */

/* Registers the collectors that are part of the library. Called first, once. */
void plumb_collectors_add(const plumb_collector_ops *const *ops);

plumb_collector *plumb_collector_register_impl(const plumb_collector_ops *ops, void *arg,
                                               plumb_error *err);
int plumb_collector_unregister_impl(plumb_collector *collector, plumb_error *err);
plumb_collector *plumb_collector_find_impl(const char *name);
const void *plumb_collector_offer_impl(plumb_collector *collector);

/* The first returns the number of places in the list; the second returns the collector of index
 * `i`, or NULL. Places may be free; they never move. */
uint32_t plumb_collectors_count(void);
struct plumb_collector *plumb_collector_at(uint32_t i);
void plumb_collectors_forked(void);

/* ---- collector.c ----------------------------------------------------------------------------- */

int plumb_collector_status_impl(plumb_collector_status *out, plumb_collector *collector);
/* Returns whether a run would use one of them. */
bool plumb_collectors_any_wanted(void);
/* Under life_lock: a run has been opened; is about to be closed (it still accepts events); is
 * closed (no thread records into it any more). */
void plumb_collectors_start(struct plumb_run *run);
void plumb_collectors_stop(struct plumb_run *run);
void plumb_collectors_report(struct plumb_run *run);
/* The same for one collector, while a run is open. */
void plumb_collector_start_one(struct plumb_collector *c, struct plumb_run *run);
void plumb_collector_stop_one(struct plumb_collector *c, struct plumb_run *run);
/* Prints a line for each, for `plumb doctor`: its state, whether it is built in, its name, and why.
 */
void plumb_collectors_list(void);

/* collector_state.c */
/* Returns its entry in the mapping, and makes it if needed. Under the runtime's lock. */
struct plumb_live_collector *plumb_collector_entry(struct plumb_collector *c,
                                                   struct plumb_run *run);

/* lane.c */
plumb_name plumb_name_get_impl(const char *text);
int plumb_lane_open_impl(plumb_lane *out, plumb_collector *c, const plumb_lane_options *options,
                         plumb_error *err);
int plumb_emit_impl(plumb_lane lane, plumb_clock clock, const plumb_event *event);
void plumb_origin_capture_impl(plumb_origin *out, plumb_lane lane, plumb_node node);
uint64_t plumb_host_ticks_impl(void);
/* Adds up the figures of the lanes of `c`, while the run's mapping is there. */
/* A window of a trace is about to begin (record/trace/switch.h), and no lane is fed: makes the
 * queues that lanes do not have, and empties all of them. */
void plumb_lanes_window(struct plumb_run *run);
void plumb_lanes_sum(struct plumb_run *run, const struct plumb_collector *c,
                     plumb_collector_status *out);

/* lane_anchor.c */
int plumb_clock_open_impl(plumb_clock *out, plumb_collector *c, const plumb_clock_options *options,
                          plumb_error *err);
int plumb_clock_anchor_impl(plumb_clock clock);
int plumb_clock_anchor_between_impl(plumb_clock clock, uint64_t source, uint64_t earliest,
                                    uint64_t latest);
/* On the collector's thread: takes anchors of all its clocks. */
void plumb_collector_anchors(struct plumb_collector *c);

/* Returns host ticks a second, measured again at each call; also stored in plumb_rt.host_hz. */
double plumb_host_rate(double *ppm);

/* Returns a handle: generation of the run << 32 | index of the collector << 24 | index + 1. */
static inline uint64_t plumb_lane_handle(const struct plumb_run *run,
                                         const struct plumb_collector *c, uint32_t index)
{
    return (uint64_t)run->generation << 32 | c->index << 24 | (index + 1);
}
static inline uint32_t plumb_lane_run(uint64_t handle)
{
    return (uint32_t)(handle >> 32);
}
static inline uint32_t plumb_lane_collector(uint64_t handle)
{
    return (uint32_t)handle >> 24;
}
static inline uint32_t plumb_lane_index(uint64_t handle)
{
    return ((uint32_t)handle & 0xffffff) - 1;
}

#endif
