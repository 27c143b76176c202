/* lane_work.c: see lane_work.h. */
#include "timeline/lane_work.h"

#include <string.h>

#include <plumb/collector.h>

#include "base/atomic.h"

const char *plumb_lane_name_text(const struct plumb_live_view *s, uint32_t name)
{
    const struct plumb_live_table *t = &s->h->lane_names;
    const struct plumb_live_lane_name *n = name ? plumb_live_element(s, t, name, sizeof *n) : NULL;
    return n ? plumb_live_text(s, PLUMB_ACQUIRE(n->text_off)) : "?";
}

/* The text of the event's argument; NULL: it has none of this name. */
static const char *text_arg(const struct plumb_live_view *s, const struct plumb_live_lane *lane,
                            const union plumb_live_slot *slots, const struct plumb_live_event *v,
                            const char *key)
{
    for (uint32_t i = 0; i < v->args && i < PLUMB_EVENT_ARGS; i++) {
        uint64_t position = v->seq + i / PLUMB_LANE_ARGS; /* seq is its own + 1 */
        const struct plumb_live_event_args *from = &slots[position & (lane->slots - 1)].args;
        uint32_t k = i % PLUMB_LANE_ARGS;
        if (from->arg[k].type == 3 && strcmp(plumb_lane_name_text(s, from->arg[k].key), key) == 0)
            return plumb_lane_name_text(s, (uint32_t)from->arg[k].value);
    }
    return NULL;
}

bool plumb_lane_work_of(struct plumb_lane_work *out, const struct plumb_live_view *s,
                        const struct plumb_live_lane *lane, const union plumb_live_slot *slots,
                        const struct plumb_live_event *event)
{
    const struct plumb_live_event *v = event;
    if (!v->flow || v->kind != PLUMB_EVENT_SPAN || lane->kind == PLUMB_LANE_OF_VALUES)
        return false;
    *out = (struct plumb_lane_work){.flow = v->flow,
                                    .name = v->name ? plumb_lane_name_text(s, v->name)
                                                    : plumb_live_node_name(s, v->node),
                                    .lane = plumb_live_text(s, lane->name_off),
                                    .device = plumb_live_text(s, lane->device_off),
                                    .grid = text_arg(s, lane, slots, v, "grid"),
                                    .shape = text_arg(s, lane, slots, v, "shapes"),
                                    .name_id = v->name,
                                    .node = v->node,
                                    .tid = v->tid,
                                    .step = v->step,
                                    .host = lane->kind == PLUMB_LANE_OF_HOST};
    return true;
}
