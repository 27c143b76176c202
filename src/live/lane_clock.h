/* lane_clock.h: times of a collector's clock on the host's clock, each with a bound of its error.
 *
 * Between two anchors a time is interpolated. Its bound is the width of the wider reading plus the
 * wander since the nearer one. After the newest anchor a time is extrapolated at the rate of the
 * last anchors, with the error of that rate. Before there are two anchors the nominal rate is used,
 * with the drift that the collector allowed. If a clock jumped between two anchors, the moment of
 * the jump is not known. A time between them is then half way between the two extrapolations, with
 * a bound that includes both. A clock that jumped back shows a time twice: the later one that had
 * passed when the event was emitted is meant.
 *
 * Times are converted by the trace's writer, by the recovery of a trace, and at emit. Reads a clock
 * that other threads append to; any thread. */
#ifndef PLUMB_LIVE_LANE_CLOCK_H
#define PLUMB_LIVE_LANE_CLOCK_H

#include <stdbool.h>

#include "live/lane.h"

struct plumb_lane_time {
    uint64_t ticks; /* of the host */
    uint64_t bound; /* the true time lies within +- this, in host ticks */
};

/* Converts `source`. `emitted`: host ticks when the event was emitted; UINT64_MAX: not known.
 * Returns false if the clock has no anchor. */
bool plumb_lane_clock_convert(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                              uint64_t source, uint64_t emitted);
/* Appends an anchor; one thread at a time. Returns false if it is not later than the last one. */
bool plumb_lane_clock_append(struct plumb_live_clock *c, const struct plumb_live_anchor *a);
/* Returns the nanoseconds of `length` ticks. */
uint64_t plumb_lane_clock_ns(const struct plumb_live_clock *c, uint64_t length);
/* Returns the deviation of the clock's rate from its nominal one, over all anchors since the last
 * jump; 0 for fewer than two. */
double plumb_lane_clock_drift_ppm(const struct plumb_live_clock *c);
/* Returns the width of the widest kept anchor, in host ticks. */
uint64_t plumb_lane_clock_width(const struct plumb_live_clock *c);

/* Converts host ticks to ns, rounded up; `ns_per_tick` in 1/2^32. */
static inline uint64_t plumb_lane_bound_ns(uint64_t ticks, uint64_t ns_per_tick)
{
    double ns = (double)ticks * (double)ns_per_tick / 4294967296.0 + 0.999;
    return ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
}

#endif
