/* lane_facts.c: the facts of a trace about the clocks of its lanes: their drift, and its error
 * bound. */
#include <stdio.h>

#include "base/text/print.h"
#include "live/lane_clock.h"
#include "timeline/lane_drain.h"

static void clock_fact(struct plumb_trace_file *f, const char *clock, const char *what,
                       uint64_t value)
{
    char key[160];
    snprintf(key, sizeof key, "plumb.clock.%.100s.%s", clock, what);
    plumb_trace_file_fact_u64(f, key, value);
}

void plumb_lane_drain_facts(struct plumb_trace_file *f)
{
    const struct plumb_live_table *t = &f->source.h->clocks;
    uint32_t n = PLUMB_ACQUIRE(t->count);
    for (uint32_t i = 0; i < n && i < PLUMB_LIVE_CLOCKS; i++) {
        const struct plumb_live_clock *c = plumb_live_element(&f->source, t, i, sizeof *c);
        const char *name = c ? plumb_live_text(&f->source, c->name_off) : "?";
        char key[160], ppm[40];
        if (!c)
            continue;
        snprintf(key, sizeof key, "plumb.clock.%.100s.drift_ppm", name);
        plumb_print(ppm, sizeof ppm, "%.3f", plumb_lane_clock_drift_ppm(c));
        plumb_trace_file_fact(f, key, ppm);
        clock_fact(f, name, "bound_ns",
                   plumb_lane_bound_ns(plumb_lane_clock_width(c), f->clock.ns_per_tick));
        clock_fact(f, name, "anchors", PLUMB_LOAD(c->anchors));
        clock_fact(f, name, "jumps", PLUMB_LOAD(c->jumps));
    }
}
