/* session.h: the collector `onednn`: its place in the runtime, its lanes, its events. */
#ifndef PLUMB_COLLECT_ONEDNN_SESSION_H
#define PLUMB_COLLECT_ONEDNN_SESSION_H

#include <stdbool.h>

#include "collect/onednn/load.h"
#include "collect/onednn/table.h"
#include <plumb/collector.h>

/* Makes the collector known to the runtime of the process. `load`: where there is none, the
 * libplumb next to this library is loaded. Does nothing the second time, unless only `load` is new.
 * errno stays. */
void plumb_onednn_meet(bool load);

/* One call, on the thread that makes it: what has to be kept from its begin to its end. */
struct plumb_onednn_span {
    struct plumb_onednn_facts facts;
    plumb_origin origin;
    plumb_lane lane;
    uint32_t serial; /* of the session */
    uint64_t begin;  /* host ticks */
};

/* Before the call, outside of its time. False: nothing records; then there is no end. The first
 * call in a process where a recording is wanted opens the run. errno stays. */
bool plumb_onednn_begin(struct plumb_onednn_span *out, const struct plumb_dnnl *d,
                        const struct plumb_dnnl_call *call);
/* After it. `ok`: it was carried out. errno stays. */
void plumb_onednn_end(struct plumb_onednn_span *span, bool ok);

#endif
