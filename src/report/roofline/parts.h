/* parts.h: what the files of this folder share. */
#ifndef PLUMB_REPORT_ROOFLINE_PARTS_H
#define PLUMB_REPORT_ROOFLINE_PARTS_H

#include "analyze/roofline/totals.h"
#include "report/roofline/view.h"
#include "report/table/grid.h"

/* A view and the rows that it shows. */
struct plumb_roofline_page {
    const struct plumb_roofline_view *v;
    struct plumb_kernel_rows kernels; /* of the trace, without those that `kernel` leaves out */
    size_t shown;
    struct plumb_work_totals totals; /* where the format has them: the picture, the report */
};

/* view.c: the largest spread of the peaks, and that from which on the machine was busy. */
#define PLUMB_ROOFLINE_NOISY 0.1
double plumb_roofline_spread(const struct plumb_peaks *peaks);
/* rows.c */
void plumb_roofline_fill_peaks(struct plumb_grid *g, const struct plumb_roofline_page *p);
void plumb_roofline_fill_kernels(struct plumb_grid *g, const struct plumb_roofline_page *p);
/* Appends a sentence with the figures that the verdict rests on. */
void plumb_roofline_evidence(struct plumb_buf *out, const struct plumb_roof *roof,
                             const struct plumb_roof_point *point);
/* report.c */
void plumb_roofline_report(struct plumb_buf *out, const struct plumb_roofline_page *p);
/* svg.c */
void plumb_roofline_svg(struct plumb_buf *out, const struct plumb_roofline_page *p);
/* counters.c: of the run that the trace is of, where the collector `perf` ran. */
struct plumb_page;
struct plumb_json;
bool plumb_roofline_has_counters(const struct plumb_roofline_view *v);
void plumb_roofline_counters(struct plumb_page *page, const struct plumb_roofline_view *v);
void plumb_roofline_counters_csv(struct plumb_buf *out, const struct plumb_roofline_view *v);
void plumb_roofline_counters_json(struct plumb_json *j, const struct plumb_roofline_view *v);
/* Appends to the evidence of a kernel's verdict what its counters say; nothing if they are absent.
 * `kernel`: its name; NULL: none. */
void plumb_roofline_kernel_counters(struct plumb_buf *out, const struct plumb_roofline_view *v,
                                    const char *kernel);
/* json.c */
void plumb_roofline_json(struct plumb_buf *out, const struct plumb_roofline_page *p);

#endif
