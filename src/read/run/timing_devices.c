/* timing_devices.c: `collectors`, and what rows and requests have of devices, of a timing
 * report. Files from before there were any have neither. */
#include <string.h>

#include "read/run/timing_parts.h"

void plumb_timing_read_device_use(struct plumb_timing_cursor *c,
                                  const struct plumb_json_value *object,
                                  struct plumb_timing_device_use *use)
{
    const struct plumb_json_value *v = plumb_json_get(object, "asynchronous"), *list;
    struct plumb_field_place outer;
    size_t n;
    if (plumb_json_count(v) == 0)
        return;
    outer = plumb_field_down(&c->f, "asynchronous");
    use->launches = plumb_field_u64(&c->f, v, "launches");
    use->works = plumb_field_u64(&c->f, v, "works");
    use->device_ns = plumb_field_u64(&c->f, v, "device_ns");
    use->wait_count = plumb_field_u64(&c->f, v, "wait_count");
    use->wait_ns = plumb_field_u64(&c->f, v, "wait_ns");
    list = plumb_field_array(&c->f, v, "waits", sizeof *use->waits, &use->waits, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *wait = plumb_field_entry(&c->f, list, "waits", i);
        use->waits[i].node = plumb_field_u32(&c->f, wait, "node");
        use->waits[i].count = plumb_field_u64(&c->f, wait, "count");
        use->waits[i].ns = plumb_field_u64(&c->f, wait, "ns");
    }
    use->waited_for = n;
    plumb_field_end(&c->f);
    plumb_field_up(&c->f, outer);
}

/* A row may name a row that comes after it, so this check waits until all rows have been read. */
static void check_use(struct plumb_timing_cursor *c, const struct plumb_timing_device_use *use)
{
    for (size_t i = 0; i < use->waited_for; i++) {
        if (use->waits[i].node >= c->t->node_count)
            plumb_field_fault(&c->f, "waits", "names a node that is not there");
    }
}

void plumb_timing_check_device_uses(struct plumb_timing_cursor *c)
{
    const struct plumb_timing *t = c->t;
    for (size_t i = 0; i < t->node_count && !c->f.failed; i++)
        check_use(c, &t->nodes[i].use);
    for (size_t i = 0; i < t->request_count && !c->f.failed; i++) {
        for (size_t k = 0; k < t->requests[i].stage_count; k++)
            check_use(c, &t->requests[i].stages[k].use);
    }
}

static void read_lanes(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                       struct plumb_timing_collector *out)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "lanes", sizeof *out->lanes, &out->lanes, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "lanes", i);
        struct plumb_timing_lane *l = &out->lanes[i];
        l->name = plumb_field_name(&c->f, v, "name");
        l->device = plumb_field_text(&c->f, v, "device");
        l->events = plumb_field_u64(&c->f, v, "events");
        l->dropped = plumb_field_u64(&c->f, v, "dropped");
        l->refused_times = plumb_field_u64(&c->f, v, "refused_times");
        l->launches = plumb_field_u64(&c->f, v, "launches");
        l->busy_ns = plumb_field_u64(&c->f, v, "busy_ns");
        l->unknown_ns = plumb_field_u64(&c->f, v, "unknown_ns");
        l->launch_only = plumb_field_bool(&c->f, v, "launch_only");
    }
    out->lane_count = n;
    plumb_field_end(&c->f);
}

static void read_clocks(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                        struct plumb_timing_collector *out)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "clocks", sizeof *out->clocks, &out->clocks, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "clocks", i);
        struct plumb_timing_clock *k = &out->clocks[i];
        k->name = plumb_field_name(&c->f, v, "name");
        k->hz = plumb_field_f64(&c->f, v, "hz");
        k->drift_ppm = plumb_field_f64(&c->f, v, "drift_ppm");
        k->anchors = plumb_field_u64(&c->f, v, "anchors");
        k->jumps = plumb_field_u64(&c->f, v, "jumps");
        k->bound_ns = plumb_field_u64(&c->f, v, "bound_ns");
    }
    out->clock_count = n;
    plumb_field_end(&c->f);
}

void plumb_timing_read_collectors(struct plumb_timing_cursor *c,
                                  const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list;
    size_t n;
    if (!plumb_json_get(root, "collectors"))
        return;
    list = plumb_field_array(&c->f, root, "collectors", sizeof *t->collectors, &t->collectors, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "collectors", i);
        struct plumb_timing_collector *out = &t->collectors[i];
        struct plumb_field_place outer;
        out->name = plumb_field_name(&c->f, v, "name");
        out->state = plumb_field_name(&c->f, v, "state");
        out->why = plumb_field_text(&c->f, v, "why");
        out->refused_late = plumb_field_u64(&c->f, v, "refused_late");
        outer = plumb_field_down(&c->f, "");
        read_lanes(c, v, out);
        read_clocks(c, v, out);
        plumb_field_up(&c->f, outer);
    }
    t->collector_count = n;
    plumb_field_end(&c->f);
}
