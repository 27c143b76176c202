/* node_launch.h: which files of nodes a piece of work belongs to. Work is launched on one thread
 * and reported by another; the launch, which says what is open around it, and the work are read in
 * any order. Both have the launch's flow, a serial number.
 *
 * A table of PLUMB_LAUNCHES entries has the newest launches, and the work that still lacks one. An
 * entry goes when a launch comes that many launches later; work that it still holds is counted as
 * lost. So memory is bounded. One thread; memory from the kernel, 1 MiB at most and 104 bytes for
 * each piece of work that waits. */
#ifndef PLUMB_TIMELINE_NODE_LAUNCH_H
#define PLUMB_TIMELINE_NODE_LAUNCH_H

#include "base/map.h"
#include "timeline/lane_work.h"

enum { PLUMB_LAUNCHES = 1 << 16, PLUMB_LAUNCH_SETS = 1 << 16, PLUMB_LAUNCH_WAITING = 1 << 16 };

/* A set of files: 0 is empty, others are one file and a set. */
struct plumb_launch_set {
    uint32_t file, rest;
};
struct plumb_launches {      /* zeroed: empty */
    struct plumb_map set_of; /* file + 1 << 32 | rest -> set */
    struct plumb_launch_set *sets;
    uint32_t set_count;
    struct plumb_launch_entry *entries;
    struct plumb_launch_waiting *waiting;
    uint32_t waiting_count, free; /* `free`: index + 1 of the first; 0: none */
    uint64_t lost;                /* pieces of work whose launch is not known, or too far away */
};

/* Gets the work of a launch in the files of `set`. */
typedef void plumb_launch_fn(void *arg, const struct plumb_lane_work *work, uint32_t set);

/* The set of `file` and those of `rest`; `rest` if there is no memory for it. */
uint32_t plumb_launch_set(struct plumb_launches *l, uint32_t file, uint32_t rest);
/* A launch inside the files of `set`. Passes the work that waits for it to `fn`. */
void plumb_launch_known(struct plumb_launches *l, uint64_t flow, uint32_t set, plumb_launch_fn *fn,
                        void *arg);
/* A piece of work: passed to `fn` now, or when its launch comes. */
void plumb_launch_work(struct plumb_launches *l, const struct plumb_lane_work *work,
                       plumb_launch_fn *fn, void *arg);
/* How many are lost, with those that still wait. */
uint64_t plumb_launches_lost(const struct plumb_launches *l);
void plumb_launches_fini(struct plumb_launches *l);

#endif
