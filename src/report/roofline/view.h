/* view.h: the peaks of the machine, and the kernels of a trace under them, as text, Markdown, CSV,
 * JSON or a picture; and the Markdown report on the kernel that takes the most time. Any thread. */
#ifndef PLUMB_REPORT_ROOFLINE_VIEW_H
#define PLUMB_REPORT_ROOFLINE_VIEW_H

#include "analyze/roofline/roofline.h"
#include "model/timing.h"

struct plumb_roofline_view {
    const struct plumb_table *t;     /* NULL: the peaks alone */
    const char *path;                /* of the trace */
    const struct plumb_peaks *peaks; /* of the machine that recorded, as far as the caller knows;
                                      * NULL: not needed for a run without a trace */
    const char *peaks_path;          /* the kept file; NULL: the peaks are not kept */
    enum plumb_peak_span span;       /* the roofs of kernels */
    const char *format;              /* NULL: text */
    const char *kernel;              /* regular expression, searched for in names; NULL: all */
    uint64_t top;                    /* rows; 0: all */
    bool explain;                    /* the meaning of the columns */
    const uint32_t *stages;          /* texts of the table: names of stages */
    size_t stage_count;              /* 0: outermost slices are stages */
    bool report; /* with "md": the report on the kernel that takes the most time */
    const struct plumb_timing *timing; /* of the run that the trace is of; NULL: not known */
    const char *run;                   /* its path */
};

/* PLUMB_ERR_ARG: no such format, or not a regular expression; PLUMB_ERR_NOT_FOUND: no kernel
 * matches, or no slice of the trace has operations or bytes and the run has no counters;
 * PLUMB_ERR_MEMORY. */
int plumb_roofline_render(struct plumb_buf *out, const struct plumb_roofline_view *view,
                          plumb_error *err);

#endif
