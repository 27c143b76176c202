/* utilisation.h: model FLOPs utilisation of a whole run: the operations of its kernels, over those
 * that could have been done in its time. Any thread; no state. */
#ifndef PLUMB_REPORT_ROOFLINE_UTILISATION_H
#define PLUMB_REPORT_ROOFLINE_UTILISATION_H

#include "analyze/roofline/mfu.h"
#include "analyze/roofline/totals.h"

struct plumb_utilisation {
    const struct plumb_table *t;
    const char *path; /* of the trace */
    const struct plumb_mfu *mfu;
    const struct plumb_peaks *peaks; /* NULL: `mfu` has the peak */
    struct plumb_totals_of of;
    bool json;
};

/* PLUMB_ERR_NOT_FOUND: the trace has no operations, or no peak is known for them;
 * PLUMB_ERR_MEMORY. Without a newline at the end. */
int plumb_utilisation_render(struct plumb_buf *out, const struct plumb_utilisation *u,
                             plumb_error *err);

#endif
