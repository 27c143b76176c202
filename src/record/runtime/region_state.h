/* region_state.h: the state of regions in the runtime and in each thread. Their registry, and being
 * inside one: record/span/region.h. */
#ifndef PLUMB_RECORD_RUNTIME_REGION_STATE_H
#define PLUMB_RECORD_RUNTIME_REGION_STATE_H

#include <stdint.h>

#include "live/region.h"

enum {
    PLUMB_REGIONS_OPEN = 32,   /* nested in a thread; deeper ones are plain spans */
    PLUMB_REGIONS_STRANGE = 64 /* unregistered names that were reported */
};

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
    uint32_t speaks; /* this process is the one rank of its machine that logs regions */
    uint64_t told;   /* hash of the last list that was reported as wrong */
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
    uint32_t closing;  /* 1: a selected region was left, and its span has not ended yet */
    uint32_t seen;     /* 1: it was inside during part of the ring block that is being filled */
    uint32_t ended;    /* 1 + index of one that has switched collection off, to be logged */
};

#endif
