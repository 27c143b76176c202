/* lane_work.h: a piece of work that a collector reported, as the queue of its lane has it: a kernel
 * or a copy of a device, or a primitive of a library on a thread. */
#ifndef PLUMB_TIMELINE_LANE_WORK_H
#define PLUMB_TIMELINE_LANE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "live/view.h"

/* Texts belong to the mapping. */
struct plumb_lane_work {
    uint64_t flow; /* of its launch; never 0 */
    uint64_t begin_ns, end_ns;
    const char *name;
    const char *lane, *device; /* `device` "": none */
    const char *grid, *shape;  /* NULL: none */
    uint32_t name_id;          /* of lane names; 0: `name` is that of `node` */
    uint32_t node;             /* that launched it; 0: none */
    uint32_t lane_id;          /* index */
    uint32_t tid;              /* of the thread that launched it */
    int32_t step;              /* -1: none */
    bool host;                 /* on the thread that called it */
};

/* Returns the text of a lane name; "?": there is none. */
const char *plumb_lane_name_text(const struct plumb_live_view *s, uint32_t name);
/* Sets all but the times and `lane_id`. False: the event is not a piece of work whose launch is
 * known. `slots`: the lane's queue, or a copy. */
bool plumb_lane_work_of(struct plumb_lane_work *out, const struct plumb_live_view *s,
                        const struct plumb_live_lane *lane, const union plumb_live_slot *slots,
                        const struct plumb_live_event *event);

#endif
