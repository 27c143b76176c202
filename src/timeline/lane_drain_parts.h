/* lane_drain_parts.h: between lane_drain.c, which takes events from the queues and puts them in
 * order, and lane_write.c, which writes them. */
#ifndef PLUMB_TIMELINE_LANE_DRAIN_PARTS_H
#define PLUMB_TIMELINE_LANE_DRAIN_PARTS_H

#include "timeline/lane_drain.h"

enum {
    PLUMB_DRAIN_LEVELS = 16,
    PLUMB_DRAIN_WAITERS = 16,
    PLUMB_DRAIN_NAME_IDS = 8192, /* that are interned */
    PLUMB_DRAIN_KEY_IDS = 1024
};

struct plumb_drain_level {
    uint64_t track, end; /* of its last span, ns */
};
struct plumb_drain_lane {
    struct plumb_live_lane *live;
    union plumb_live_slot *slots;
    uint64_t taken, track, values, marks; /* tracks; 0: not yet */
    bool touched, current, ready;
    bool opened; /* the file has packets of its sequence */
    struct plumb_pf_sequence seq;
    struct plumb_pf_texts texts;
    struct plumb_trace_file *file;
    uint32_t levels, waiters;
    struct plumb_drain_level level[PLUMB_DRAIN_LEVELS];
    struct {
        uint32_t tid;
        uint64_t track;
    } waiter[PLUMB_DRAIN_WAITERS];
    char scratch[160];
    uint64_t bits[(PLUMB_DRAIN_NAME_IDS + 256 + PLUMB_DRAIN_KEY_IDS) / 64];
};
struct plumb_drain_entry {
    uint64_t begin, end; /* ns */
    const struct plumb_live_event *event;
    uint64_t bound_ns;
    uint64_t next;  /* position of the event after it */
    uint64_t least; /* begin of the earliest from it on */
};

/* Begins the lane's tracks and its sequence of packets, once. */
void plumb_drain_start(struct plumb_lane_drain *d, struct plumb_drain_lane *l);
/* Writes an event. Those of a lane come in the order of their begins. */
void plumb_drain_put(struct plumb_drain_lane *l, const struct plumb_drain_entry *x);
/* Writes an instant for `n` events that are not in the file, after the lane's events so far. */
void plumb_drain_put_missing(struct plumb_drain_lane *l, uint64_t n, uint64_t at);
/* Writes it for the events that the lane has dropped since the last call, if any. */
void plumb_drain_put_dropped(struct plumb_drain_lane *l, uint64_t at);

#endif
