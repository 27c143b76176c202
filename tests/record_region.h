/* record_region.h: what tests of regions share: a run that is kept to regions, and its trace.
 * Include cmocka.h before. */
#ifndef TESTS_RECORD_REGION_H
#define TESTS_RECORD_REGION_H

#include <stdlib.h>

#include "record_traced.h"

#define REGION_NODE "plumb.region::profiler_region_"

static inline void region_start(const char *regions, uint32_t scope)
{
    plumb_options o = plumb_options_default();
    o.regions = regions;
    o.region_scope = scope;
    o.trace_ring_bytes = 8 << 20; /* nothing is to be dropped */
    record_start_with(o);
}

/* Returns how often "N spans of other threads" is reported, with this N. */
static inline bool region_left_out(uint64_t n)
{
    char dir[1024], command[1200];
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    snprintf(command, sizeof command, "grep -q '\"%llu spans of other threads' '%s/timing.json'",
             (unsigned long long)n, dir);
    return system(command) == 0;
}

static inline void region_spans(const char *name, int n)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN_NODE(node);
    }
}

#endif
