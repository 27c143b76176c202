/* region.h: regions in the live mapping. Part of layout.h.
 *
 * A thread is inside a selected region while a node with PLUMB_NODE_SELECTED is among its open
 * spans or on the path it has adopted: that follows from its records. The times in which any thread
 * was inside one are in the list of intervals, which is written under the ledger's lock. An
 * interval's `on` is read from the clock after the entry has been made, and its `off` after the
 * entry has been set to PLUMB_INTERVAL_CLOSING. So a reader of an earlier record finds either the
 * interval as it was then, or that it has to wait for some instructions. */
#ifndef PLUMB_LIVE_REGION_H
#define PLUMB_LIVE_REGION_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_merge;
struct plumb_timing;

/* In plumb_live_node.flags, above those of trace points: the node is that of a selected region. */
#define PLUMB_NODE_SELECTED (UINT32_C(1) << 31)

enum plumb_live_selection {
    PLUMB_SELECT_RUN = 0,     /* no selection: the trace has the whole run */
    PLUMB_SELECT_REGIONS = 1, /* the trace has only the selected regions */
    PLUMB_SELECT_NOTHING = 2  /* no name was a region's: there is no trace */
};
enum { PLUMB_REGIONS_MAX = 256 };
struct plumb_live_region {
    uint64_t name_off; /* text: long name */
    uint64_t entered;  /* times; under the ledger's lock */
    uint32_t selected;
    uint32_t reserved;
};

enum { PLUMB_INTERVALS_MAX = 65536, PLUMB_INTERVAL_OPEN = 0, PLUMB_INTERVAL_CLOSING = 1 };
struct plumb_live_interval {
    uint64_t on_ticks;  /* 0: being opened */
    uint64_t off_ticks; /* or PLUMB_INTERVAL_OPEN, PLUMB_INTERVAL_CLOSING */
};

struct plumb_live_regions {
    uint32_t selection;       /* enum plumb_live_selection */
    uint32_t scope;           /* enum plumb_region_scope */
    uint32_t open;            /* threads in selected regions, not counting adopted ones */
    uint32_t all;             /* 1: every region is selected */
    uint64_t on_off, off_off; /* texts: the names of switching collection on and off */
    uint64_t left_out;        /* atomic: spans begun while a selected region was open elsewhere */
};

/* Adds the selected regions that were never entered to the notes of `t`. Texts are the arena's. */
void plumb_live_regions_note(struct plumb_timing *t, const struct plumb_merge *m);

#endif
