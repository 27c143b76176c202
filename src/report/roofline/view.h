/* view.h: the peaks of the machine, and the kernels of a trace under them, as text, Markdown, CSV
 * or JSON. Any thread. */
#ifndef PLUMB_REPORT_ROOFLINE_VIEW_H
#define PLUMB_REPORT_ROOFLINE_VIEW_H

#include "analyze/roofline/roofline.h"

struct plumb_roofline_view {
    const struct plumb_table *t;     /* NULL: the peaks alone */
    const char *path;                /* of the trace */
    const struct plumb_peaks *peaks; /* of the machine that recorded, as far as the caller knows */
    const char *peaks_path;          /* the kept file; NULL: the peaks are not kept */
    enum plumb_peak_span span;       /* the roofs of kernels */
    const char *format;              /* NULL: text */
    const char *kernel;              /* regular expression, searched for in names; NULL: all */
    uint64_t top;                    /* rows; 0: all */
    bool explain;                    /* the meaning of the columns */
};

/* PLUMB_ERR_ARG: no such format, or not a regular expression; PLUMB_ERR_NOT_FOUND: no kernel
 * matches, or no slice of the trace has operations or bytes; PLUMB_ERR_MEMORY. */
int plumb_roofline_render(struct plumb_buf *out, const struct plumb_roofline_view *view,
                          plumb_error *err);

#endif
