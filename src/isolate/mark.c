/* mark.c: the one file of libplumb-read that is a client of libplumb. It is compiled without
 * PLUMB_DISABLE; where the process has no libplumb, every call does nothing. */
#include "isolate/mark.h"

#include <plumb/plumb.h>

uint64_t plumb_mark_begin(bool measured)
{
    plumb_node node = plumb_node_get(measured ? "bench" : "bench.warmup");
    return plumb_begin_with(node, PLUMB_POINT_STAGE).id;
}

void plumb_mark_end(uint64_t mark)
{
    plumb_span span = {mark};
    plumb_end(span);
}
