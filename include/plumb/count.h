/* count.h: the kinds of counts that plumb keeps. */
#ifndef PLUMB_COUNT_H
#define PLUMB_COUNT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The values are those of files and of the binary interface; further kinds are appended. */
enum plumb_count_kind {
    PLUMB_COUNT_DISPATCHES = 1,       /* plumb_dispatch(): calls into a compute library, by name */
    PLUMB_COUNT_LAUNCHES = 2,         /* work that was launched on a device */
    PLUMB_COUNT_COPIES = 3,           /* of them, those that only move bytes */
    PLUMB_COUNT_COPY_BYTES = 4,       /* the bytes that they move */
    PLUMB_COUNT_SYNCHRONISATIONS = 5, /* waits for work of a device */
    PLUMB_COUNT_ALLOCATIONS = 6,      /* of pools and of malloc, by pool */
    PLUMB_COUNT_ALLOCATED_BYTES = 7,  /* the bytes of all of them together */
    PLUMB_COUNT_PEAK_BYTES = 8,       /* the most that was allocated at one time, by pool */
    PLUMB_COUNT_PAGE_FAULTS = 9,
    PLUMB_COUNT_INSTRUCTIONS = 10,
    PLUMB_COUNT_USER = 11,  /* plumb_counter_add(), by name */
    PLUMB_COUNT_CALLS = 12, /* of functions that plumb record --count names, as library:function */
    PLUMB_COUNT_KINDS = 13
};

#ifdef __cplusplus
}
#endif
#endif
