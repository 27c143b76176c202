/* mapping.h: a run and the mapping that it records into. */
#ifndef PLUMB_RECORD_RUNTIME_MAPPING_H
#define PLUMB_RECORD_RUNTIME_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/map.h"
#include "base/own_file.h"
#include "live/layout.h"

struct plumb_active;

enum { PLUMB_CELL_SLOTS = 1 << 17 }; /* twice the most cells of counts */

struct plumb_run {
    unsigned char *base; /* the mapping; struct plumb_live_header first */
    struct plumb_live_header *h;
    size_t mapped;
    size_t backed;              /* bytes that have storage; released */
    size_t want, want_soon;     /* bytes that the helper is asked to back; atomic */
    bool is_tight;              /* backing it ahead of need has failed */
    size_t reserve;             /* bytes at the end, only for the statistics of (other) */
    const char *bounded_by;     /* why `mapped` is less than PLUMB_MAX_STATE; NULL: it is not */
    size_t trace_left;          /* bytes that queues of the trace may still take */
    bool window_begins;         /* lanes that are opened get a queue, as if the trace were on
                                 * already; under the lock */
    bool in_file;               /* it has a file; in memory only otherwise */
    int fd;                     /* of the file, in the helper's table; -1: not kept open */
    struct plumb_own_file file; /* of the mapping */
    uint32_t generation;
    uint64_t own_cpu_from;         /* plumb_own_cpu_ns() when it was opened */
    char dir[1024];                /* absolute; "" while there is none */
    char problem[256];             /* why there is no directory, or why it stopped growing */
    bool partly;                   /* it stopped growing: the file holds the state of that moment;
                            * released */
    bool noted;                    /* that is noted in the run */
    size_t frozen;                 /* bytes of the file then */
    uint64_t names_bytes;          /* of the names that text.c has carved */
    struct plumb_why_bucket *whys; /* text.c's; NULL: no reason yet */
    struct plumb_map texts;
    struct plumb_map keys;       /* state key -> key index + 1 */
    struct plumb_map stages;     /* key + 1 -> index in the table of stages + 1 */
    struct plumb_map owners;     /* pool and key -> index in the table of owners + 1 */
    struct plumb_map scheds;     /* key + 1 -> number in h->scheds */
    struct plumb_map devices;    /* key + 1 -> index in the table of devices + 1 */
    struct plumb_map perfs;      /* record/stage/perf.c's -> index in the table of perfs + 1 */
    struct plumb_map signatures; /* node + 1 -> index in the table of signatures + 1 */
    /* First checkpoint of each section of requests, and of no request: index + 1. */
    uint32_t checkpoints[PLUMB_LIVE_SECTIONS + 1];
    uint32_t free_checkpoint; /* first unused one: index + 1 */
    uint64_t high_at_start;   /* peak of the resident set when the run opened */
    uint64_t sample_pause_ns; /* between samples of memory */
    uint64_t samples;         /* of these, since a series was thinned out */
    uint64_t async_head;      /* free async slots: tag << 32 | index + 1 */
    uint32_t *cell_slots;     /* [PLUMB_CELL_SLOTS], record/count/cell.c; NULL: no cell yet */
    struct plumb_active
        *active; /* record/trace/active_steps.c; NULL: the trace is not restricted to steps */
};

#define PLUMB_AT(run, type, off) ((type *)(void *)((run)->base + (off)))
static inline uint64_t plumb_off_of(const struct plumb_run *run, const void *p)
{
    return (uint64_t)((const unsigned char *)p - run->base);
}
static inline void plumb_drop(struct plumb_run *run, enum plumb_live_drop what)
{
    PLUMB_ADD(run->h->drops[what], 1);
}

#endif
