/* timing_write_devices.c: `collectors`, and the device fields of rows and requests, in timing.json.
 * Any thread. */
#include <string.h>

#include "model/timing_parts.h"

void plumb_timing_write_device_use(const struct plumb_timing *t, struct plumb_json *j,
                                   const struct plumb_timing_device_use *use)
{
    plumb_put_object(j, "asynchronous");
    if (use->launches || use->works || use->wait_count) {
        plumb_put_u64(j, "launches", use->launches);
        plumb_put_u64(j, "works", use->works);
        plumb_put_u64(j, "device_ns", use->device_ns);
        plumb_put_u64(j, "wait_count", use->wait_count);
        plumb_put_u64(j, "wait_ns", use->wait_ns);
        plumb_put_array(j, "waits");
        for (size_t i = 0; i < use->waited_for; i++) {
            uint32_t node = use->waits[i].node;
            plumb_json_object_inline(j);
            plumb_put_u64(j, "node", node);
            plumb_put_text(j, "name", node < t->node_count ? t->nodes[node].name : NULL);
            plumb_put_u64(j, "count", use->waits[i].count);
            plumb_put_u64(j, "ns", use->waits[i].ns);
            plumb_json_object_end(j);
        }
        plumb_json_array_end(j);
    }
    plumb_json_object_end(j);
}

static void write_lane(struct plumb_json *j, const struct plumb_timing_lane *l)
{
    plumb_json_object(j);
    plumb_put_text(j, "name", l->name);
    plumb_put_text(j, "device", l->device);
    plumb_put_u64(j, "events", l->events);
    plumb_put_u64(j, "dropped", l->dropped);
    plumb_put_u64(j, "refused_times", l->refused_times);
    plumb_put_u64(j, "launches", l->launches);
    plumb_put_u64(j, "busy_ns", l->busy_ns);
    plumb_put_u64(j, "unknown_ns", l->unknown_ns);
    plumb_put_bool(j, "launch_only", l->launch_only);
    plumb_json_object_end(j);
}

static void write_clock(struct plumb_json *j, const struct plumb_timing_clock *c)
{
    plumb_json_object(j);
    plumb_put_text(j, "name", c->name);
    plumb_put_f64(j, "hz", c->hz);
    plumb_put_f64(j, "drift_ppm", c->drift_ppm);
    plumb_put_u64(j, "anchors", c->anchors);
    plumb_put_u64(j, "jumps", c->jumps);
    plumb_put_u64(j, "bound_ns", c->bound_ns);
    plumb_json_object_end(j);
}

void plumb_timing_write_collectors(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "collectors");
    for (size_t i = 0; i < t->collector_count; i++) {
        const struct plumb_timing_collector *c = &t->collectors[i];
        plumb_json_object(j);
        plumb_put_text(j, "name", c->name);
        plumb_put_text(j, "state", c->state);
        plumb_put_text(j, "why", c->why);
        plumb_put_u64(j, "refused_late", c->refused_late);
        plumb_put_array(j, "lanes");
        for (size_t k = 0; k < c->lane_count; k++)
            write_lane(j, &c->lanes[k]);
        plumb_json_array_end(j);
        plumb_put_array(j, "clocks");
        for (size_t k = 0; k < c->clock_count; k++)
            write_clock(j, &c->clocks[k]);
        plumb_json_array_end(j);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}
