/* region.h: regions: the registry, what is selected, and being inside one.
 *
 * The registry outlives runs; entries are only added, under the runtime's lock, and are read
 * without it. Entering and leaving a region takes the ledger's lock: it is no matter of
 * nanoseconds, and nothing is added to spans inside. */
#ifndef PLUMB_RECORD_SPAN_REGION_H
#define PLUMB_RECORD_SPAN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/region.h"
#include "record/span/caller.h"
#include <plumb/abi.h>

enum {
    PLUMB_REGIONS_OPEN = 32,   /* nested in a thread; deeper ones are plain spans */
    PLUMB_REGIONS_STRANGE = 64 /* names told of as not registered */
};

struct plumb_run;
struct plumb_in;
struct plumb_thread;

struct plumb_region_entry {
    const char *short_name, *long_name, *node_name;
    const char *twin; /* NULL: none */
    const char *description;
    uint32_t node; /* 0: not entered yet */
    uint32_t selected;
};
struct plumb_regions {                /* of the runtime */
    struct plumb_region_entry *entry; /* [PLUMB_REGIONS_MAX], once there is one */
    uint32_t count;                   /* released after the entry is written */
    uint32_t selection;               /* enum plumb_live_selection, of the run */
    const char *strange[PLUMB_REGIONS_STRANGE];
    uint32_t stranges;
    uint32_t speaks; /* this process is the one of its machine's ranks that tells of regions */
    uint64_t told;   /* hash of the list that was complained of last */
};
struct plumb_region_open { /* of a thread, the outermost first */
    uint32_t depth;        /* of its span */
    uint32_t index;
    uint32_t scopes;   /* open scopes around it */
    const void *point; /* the declaration that it is in; NULL: one with a begin and an end */
    const void *frame; /* of the call that began it */
};
struct plumb_region_stack { /* of a thread */
    struct plumb_region_open open[PLUMB_REGIONS_OPEN];
    uint32_t count;
    uint32_t selected; /* of them */
    uint32_t adopted;  /* 1: the thread works below a selected region of another */
    uint32_t closing;  /* 1: a selected region was left, and the end of its span is still to come */
    uint32_t seen;     /* 1: it was inside at some time of the ring block that is being filled */
    uint32_t ended;    /* 1 + index of one that has switched collection off, to be told of */
};

/* ---- region.c: which there are, and which are selected ----------------------------------------
 */

int plumb_region_register_impl(const char *name, const char *description, plumb_error *err);
const char *plumb_region_resolve_impl(const char *name);
size_t plumb_region_list_impl(plumb_region *out, size_t n, size_t element_bytes);

/* Under the lock, while a run is being opened: chooses by PLUMB_REGIONS, and enters the registry in
 * the mapping. */
void plumb_regions_open(struct plumb_run *run);
/* Ends the process with status 1 where PLUMB_REGIONS names no region, with
 * PLUMB_REGION_CHECK=abort. Called before a run opens. */
void plumb_regions_check(void);
/* When it is open, without locks: says what is wrong with PLUMB_REGIONS, once a list. */
void plumb_regions_tell(void);
/* Whether this process is the one of its machine's ranks that tells of regions. */
bool plumb_regions_speak(void);
/* Number of the region that a name means, from 1; 0: none. */
uint32_t plumb_region_number(const char *name);
/* What it was probably meant to be; NULL: nothing is near. */
const char *plumb_region_nearest(const char *token, size_t len);

/* ---- region_span.c: being inside one ----------------------------------------------------------
 */

plumb_span plumb_region_begin_impl(const char *name);
/* A trace point whose name is a region's. `frame`: of the function of the table that was called. */
plumb_span plumb_region_begin_point(struct plumb_point *point, const void *frame,
                                    struct plumb_caller caller);
/* Inside enter: the spans deeper than `depth` are about to end. */
void plumb_regions_closing(struct plumb_in in, uint32_t depth);
/* Inside enter: of the thread's scopes only the first `scopes` are still open. Regions declared
 * inside the others were left by a jump. */
void plumb_regions_scopes_ended(struct plumb_in in, uint32_t scopes);
/* Inside enter: the thread works below other nodes now. */
void plumb_regions_adopted(struct plumb_thread *th);
/* Before a fold: whether the block may hold what the trace is kept to. What is left out is counted.
 */
bool plumb_regions_want_block(struct plumb_in in);
/* After those spans have ended: logs a collection that this has switched off. */
void plumb_regions_closed(struct plumb_thread *th);

#endif
