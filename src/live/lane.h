/* lane.h: the part of the live mapping that collectors write: lanes, clocks, and the state of each
 * collector.
 *
 * A lane has a queue once a trace has been recorded, and fills it while trace.on is set: `slots`
 * slots of 64 bytes, filled by any number of threads, emptied by the trace's writer alone. A
 * thread that writes an event takes the next
 * position (`tail`) by compare and exchange, because it must not take one from a full queue. It
 * fills the slot and then publishes it: a slot whose `seq` is its position + 1 is complete. A
 * thread that is killed in between leaves a position that is never published, which readers skip.
 * The arguments of an event are in the slots after it. `taken` advances only after the bytes are in
 * the trace's file; a recovery writes the slots from there on. In ring mode nothing is taken, and
 * the newest events overwrite the oldest (timeline/lane_ring.h).
 *
 * Clocks keep their first anchor and the newest PLUMB_LIVE_ANCHORS. After its publication
 * (`anchors`) an anchor does not change until that many further ones have been taken. */
#ifndef PLUMB_LIVE_LANE_H
#define PLUMB_LIVE_LANE_H

#include <stdint.h>

enum {
    PLUMB_LIVE_LANES = 1024,
    PLUMB_LIVE_CLOCKS = 64,
    PLUMB_LIVE_COLLECTORS = 32,
    PLUMB_LIVE_ANCHORS = 128,
    PLUMB_LANE_SLOTS = 4096, /* unless the lane asks for others */
    PLUMB_LANE_SLOTS_MAX = 1 << 20,
    PLUMB_LANE_ARGS = 3 /* in one slot after an event */
};

/* Ticks of the host, of a clock; enum plumb_event_kind. */
struct plumb_live_event {
    uint64_t seq;     /* position + 1: whole; atomic */
    uint64_t begin;   /* of the clock */
    uint64_t length;  /* to the end; for a counter the value's bits, for a flow its number */
    uint64_t flow;    /* of the origin; 0: none */
    uint64_t emitted; /* host ticks when it was emitted */
    uint32_t name;    /* index in the table of lane names; 0: none */
    uint32_t node;    /* of the origin; 0: none */
    uint16_t group;   /* of the origin */
    uint8_t clock;    /* index + 1; 0: the host's */
    uint8_t kind;
    uint8_t slots; /* with this one */
    uint8_t args;
    uint16_t reserved;
    uint32_t tid; /* of the launching, or the waiting, thread */
    int32_t step; /* of the origin; -1: none, or beyond 31 bits */
};
struct plumb_live_event_args { /* a slot after an event */
    uint64_t seq;
    struct {
        uint32_t key, type; /* index of a lane name; 1 i64, 2 f64, 3 lane name */
        uint64_t value;
    } arg[PLUMB_LANE_ARGS];
    uint64_t reserved;
};
union plumb_live_slot {
    struct plumb_live_event event;
    struct plumb_live_event_args args;
};

struct plumb_live_lane {
    uint64_t name_off, device_off; /* texts */
    uint32_t collector;            /* index */
    uint32_t parent;               /* index + 1; 0: none */
    uint32_t kind, flags;          /* enum plumb_lane_of, enum plumb_lane_flags */
    uint64_t queue_off;            /* of union plumb_live_slot; 0: no trace is recorded */
    uint64_t slots;                /* a power of two */
    uint64_t tail;                 /* next position; atomic */
    uint64_t taken;                /* events before it are in the trace; the writer's */
    /* atomic sums */
    uint64_t emitted, dropped;
    uint64_t refused_times; /* events with impossible times */
    uint64_t busy_ns;       /* of its spans */
    uint64_t unknown_ns;    /* the part of it without an origin */
    uint64_t launches;
    /* The writer's: how far the events are in the file, with the batch that committed it. Kept
     * twice; the newest committed one counts. */
    struct {
        uint64_t batch, taken;
    } commit[2];
    uint32_t sequence;       /* in the file; 0: none yet */
    uint32_t slots_wanted;   /* of a queue that is made when a window is switched on */
    uint64_t told_dropped;   /* of `dropped`, in the file */
    uint64_t dropped_before; /* the window (trace.h) */
};

struct plumb_live_anchor { /* readings of one moment, within +- half_width */
    uint64_t source;       /* of the clock */
    uint64_t ticks;        /* of the host */
    uint32_t half_width;   /* host ticks */
    uint32_t jumped;       /* 1: since the anchor before, the clock did not run at its rate */
};
struct plumb_live_clock {
    uint64_t name_off;
    double hz, drift_ppm, wander_ppm; /* as in plumb_clock_options */
    double nominal_step;              /* host ticks a tick */
    uint32_t collector;
    uint32_t jumps;
    uint64_t anchors;      /* taken so far; number k (from 0) is at k % PLUMB_LIVE_ANCHORS */
    uint64_t step_bits;    /* double: host ticks a tick, measured lately; 0: not yet */
    uint64_t error_bits;   /* double: relative, of that */
    uint64_t tick_ns_bits; /* double: nanoseconds a tick, measured lately, or nominal */
    struct plumb_live_anchor first;
    struct plumb_live_anchor anchor[PLUMB_LIVE_ANCHORS];
};

struct plumb_live_collector {
    uint64_t name_off;
    uint64_t why_off;      /* text; 0: none */
    uint32_t state;        /* enum plumb_collector_state */
    uint32_t index;        /* that lanes and clocks name it by */
    uint64_t refused_late; /* atomic */
};

struct plumb_live_lane_name { /* by plumb_name; index 0 is unused */
    uint64_t text_off;        /* 0: not used in this run */
};

#endif
