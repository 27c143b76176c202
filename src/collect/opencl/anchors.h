/* anchors.h: which of the intervals that bound a device's clock become anchors.
 *
 * The time at which a command was queued, on the device's clock, lies between two readings of the
 * host's clock: before the call that enqueued it and after. Every command gives such an interval,
 * for nothing. The narrowest of each 100 ms is kept, because a thread that was preempted inside the
 * call makes a wide one. Between two anchors times are interpolated, so they must be so far apart
 * that their widths do not bend the rate by more than a clock may be wrong (200 ppm). But an
 * interval of an eighth of the last one's width is taken at once: the wide one of a first call,
 * which may load a compiler, does not stand for long. */
#ifndef PLUMB_COLLECT_OPENCL_ANCHORS_H
#define PLUMB_COLLECT_OPENCL_ANCHORS_H

#include <stdbool.h>
#include <stdint.h>

enum { PLUMB_OCL_ANCHOR_NS = 100000000, PLUMB_OCL_ANCHOR_PPM = 200 };

struct plumb_ocl_interval {
    uint64_t source;           /* ns of the device's clock */
    uint64_t earliest, latest; /* ticks of the host's */
};
/* All-zero: nothing was offered. */
struct plumb_ocl_anchors {
    bool any, has_best;
    struct plumb_ocl_interval last, best; /* taken last; the narrowest since */
};

/* True: `out` is to be an anchor now. */
bool plumb_ocl_anchors_offer(struct plumb_ocl_anchors *a, const struct plumb_ocl_interval *i,
                             struct plumb_ocl_interval *out);
/* The best that is left, at the end. */
bool plumb_ocl_anchors_flush(struct plumb_ocl_anchors *a, struct plumb_ocl_interval *out);

#endif
