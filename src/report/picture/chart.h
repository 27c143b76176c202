/* chart.h: axes: a range in a unit that people read, with round ticks. Any thread; no state. */
#ifndef PLUMB_REPORT_PICTURE_CHART_H
#define PLUMB_REPORT_PICTURE_CHART_H

#include "base/buf.h"

struct plumb_chart_axis {
    double from, to;  /* what is shown; to > from */
    double step;      /* between ticks; > 0 */
    double unit;      /* what one of `name` is */
    const char *name; /* "ms", "MiB" */
    int decimals;     /* of the ticks' labels */
};

/* Nanoseconds: at most about `ticks` ticks, the range as it is given. */
struct plumb_chart_axis plumb_chart_time(double from_ns, double to_ns, int ticks);
/* Bytes from 0 to the tick above `most`. */
struct plumb_chart_axis plumb_chart_bytes(double most, int ticks);

/* The first tick in the range; the next is a step further. */
double plumb_chart_first(const struct plumb_chart_axis *axis);
/* "1.5", without the unit. */
void plumb_chart_label(struct plumb_buf *out, const struct plumb_chart_axis *axis, double tick);

/* "2.954 s", "494.66 ms", "12.30 us", "7 ns" */
void plumb_put_duration(struct plumb_buf *out, double ns);
/* "1.5 MiB": one decimal above bytes, as everywhere for people. */
void plumb_put_bytes(struct plumb_buf *out, double bytes);

#endif
