/* trace_regions.h: the part of a trace that regions select (region.h).
 *
 *   scope thread   what a thread does while a selected region is open on it, or among the nodes
 *                  that it works below because it has adopted a context
 *   scope process  what any thread begins while a selected region is open anywhere
 *
 * Valid as long as the mapping; any thread. */
#ifndef PLUMB_LIVE_TRACE_REGIONS_H
#define PLUMB_LIVE_TRACE_REGIONS_H

#include "live/trace_blocks.h"
#include "live/view.h"

struct plumb_trace_regions {
    const struct plumb_live_view *source;
    bool counts; /* it counts spans that are left out although a region was open elsewhere */
    bool alive;  /* the process is running: an interval that is being written is waited for */
    struct plumb_trace_filter filter;
};

/* Opens the filter. Returns whether the run selects regions; otherwise there is nothing to filter,
 * and `r` is untouched. */
bool plumb_trace_regions_open(struct plumb_trace_regions *r, const struct plumb_live_view *s,
                              bool counts, bool alive);

/* Returns whether node `node` is that of a selected region. */
bool plumb_trace_is_selected(const struct plumb_live_view *s, uint32_t node);
/* Returns whether one of the `n` nodes of an adopted path is that of a selected region. */
bool plumb_trace_path_is_selected(const struct plumb_live_view *s, const uint32_t *path,
                                  uint32_t n);

/* Returns whether some thread of the process was in a selected region at `ticks`. */
bool plumb_trace_any_region(const struct plumb_live_view *s, uint64_t ticks, bool alive);

#endif
