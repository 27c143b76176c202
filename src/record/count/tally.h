/* tally.h: the sums of one thread, for the files of this folder. */
#ifndef PLUMB_RECORD_COUNT_TALLY_H
#define PLUMB_RECORD_COUNT_TALLY_H

#include "record/count/count.h"

enum { PLUMB_TALLY_LEVELS = 64, PLUMB_TALLY_RECENT = 8 };

/* They only grow, so a difference is what was counted in between. Written by the thread alone. */
struct plumb_tally_sums {
    uint64_t
        kind[PLUMB_COUNT_KINDS]; /* in the unit of the kind; wraps, as user counts may be < 0 */
    uint64_t name[PLUMB_COUNTED_NAMES];
};

/* The sums before an open span counted anything. The span is known by its handle and its begin: a
 * handle alone may be a later span's at the same place of the ring. */
struct plumb_tally_level {
    uint64_t handle, began;
    struct plumb_tally_sums before;
};

struct plumb_tally {
    struct plumb_tally_sums now;
    const uint64_t
        *head; /* of the ring when the levels were settled; nothing began or ended since */
    uint64_t base;
    uint32_t generation;                                    /* of the run */
    struct plumb_count_recent recent[PLUMB_TALLY_RECENT];   /* by the address of the name */
    struct plumb_tally_level level[PLUMB_TALLY_LEVELS + 1]; /* by depth */
};

/* Returns the place of a name in the sums; -1: there is none, as 64 other names came before. Only
 * dispatches and user counts have names. */
int plumb_tally_find(uint32_t kind, const char *name);
/* Returns how many places are in use. */
uint32_t plumb_tally_names(void);
/* Returns the tally of the thread, made if needed; NULL: no memory. */
struct plumb_tally *plumb_tally_of(struct plumb_thread *th);

#endif
