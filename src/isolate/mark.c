/* mark.c: the one file of libplumb-read that is a client of libplumb. It is compiled without
 * PLUMB_DISABLE; where the process has no libplumb, every call does nothing. */
#include "isolate/mark.h"

#include <plumb/plumb.h>

struct plumb_mark plumb_mark_begin(bool measured)
{
    struct plumb_mark mark = {0, 0};
    if (measured)
        mark.region = plumb_region_begin(PLUMB_MARK_REGION).id;
    mark.span =
        plumb_begin_with(plumb_node_get(measured ? "bench" : "bench.warmup"), PLUMB_POINT_STAGE).id;
    return mark;
}

void plumb_mark_end(const struct plumb_mark *mark)
{
    plumb_span span = {mark->span}, region = {mark->region};
    plumb_end(span);
    if (mark->region)
        plumb_region_end(region);
}
