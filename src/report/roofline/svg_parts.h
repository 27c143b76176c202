/* svg_parts.h: what the files of the chart share: its scales, and the places of labels. For this
 * folder alone. */
#ifndef PLUMB_REPORT_ROOFLINE_SVG_PARTS_H
#define PLUMB_REPORT_ROOFLINE_SVG_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "report/roofline/parts.h"

/* ---- Scales: logarithmic, whole decades ------------------------------------------------------ */

struct plumb_log_axis {
    int low, high;   /* decades */
    double from, to; /* pixels of 10^low and 10^high; y grows downwards */
};

/* Smallest and largest of what an axis must show; starts as {0, 0}. */
struct plumb_log_range {
    double least, most;
};
/* Ignores what has no place on a logarithmic axis: NaN, infinite, and not above 0. */
void plumb_log_range_add(struct plumb_log_range *range, double value);
/* Whole decades around the range, at least two, none beyond 1e-9 and 1e12. */
struct plumb_log_axis plumb_log_axis_of(const struct plumb_log_range *range, double from,
                                        double to);
/* Whether the value has a place on the axis. */
bool plumb_log_axis_has(const struct plumb_log_axis *axis, double value);
double plumb_log_axis_px(const struct plumb_log_axis *axis, double value);
/* "0.01", "1", "100000", "1e7" */
void plumb_log_axis_label(struct plumb_buf *out, int decade);
/* Decades between labels, so that at least `px` lie between two. */
int plumb_log_axis_every(const struct plumb_log_axis *axis, double px);

/* ---- Places ---------------------------------------------------------------------------------- */

struct plumb_box {
    double left, top, right, bottom;
};
/* Boxes that nothing else may overlap. */
struct plumb_boxes {
    struct plumb_box *at;
    size_t count, cap;
    bool failed; /* out of memory */
};
void plumb_boxes_add(struct plumb_boxes *boxes, struct plumb_box box);
/* Whether the box overlaps none of them. */
bool plumb_boxes_free(const struct plumb_boxes *boxes, const struct plumb_box *box);
/* Finds a free place of the size for the label of a point within `inside`: next to it, or further
 * away, up to 90 px. Adds the place. False: there is none. */
bool plumb_boxes_place(struct plumb_box *out, struct plumb_boxes *boxes,
                       const struct plumb_box *inside, double x, double y, double radius,
                       double width, double height);
void plumb_boxes_fini(struct plumb_boxes *boxes);

/* Moves `n` places along one axis, sorted, apart, so that two of them are at least `apart` px from
 * each other, and all lie from `low` to `high` if that is possible. */
void plumb_spread(double *at, size_t n, double apart, double low, double high);

/* ---- The parts of the chart ------------------------------------------------------------------ */

struct plumb_roof_mark { /* a point */
    const char *name, *shapes;
    bool stage;
    struct plumb_roof_point of;
    struct plumb_roof roof;
    double x, y, radius; /* px */
    size_t number;       /* of the legend */
    struct plumb_box label;
    enum { PLUMB_LABEL_NONE, PLUMB_LABEL_NUMBER, PLUMB_LABEL_NAME } labelled;
};

struct plumb_roof_chart {
    const struct plumb_roofline_page *p;
    struct plumb_buf *out;
    struct plumb_log_axis x, y;
    struct plumb_box plot;
    struct plumb_boxes taken;
    bool used[PLUMB_PEAK_TYPES];   /* the types of the points */
    struct plumb_roof_mark *marks; /* those that have a place come first */
    size_t count, placed;
};

/* svg_roofs.c: the axes with their ticks; the roofs with their labels. */
void plumb_roof_put_axes(const struct plumb_roof_chart *c);
void plumb_roof_put_roofs(struct plumb_roof_chart *c);
/* One coordinate as an attribute value or in a path. */
void plumb_roof_put_px(struct plumb_buf *out, double px);

#endif
