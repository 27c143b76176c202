/* memory_picture.h: what the two files that draw memory over time share (memory_svg.c: panels and
 * lines, memory_marks.c: stages, peaks, checkpoints). For these two files alone. */
#ifndef PLUMB_REPORT_RUN_MEMORY_PICTURE_H
#define PLUMB_REPORT_RUN_MEMORY_PICTURE_H

#include "report/picture/chart.h"
#include "report/picture/svg.h"
#include "report/run/render.h"
#include "report/run/stage_rows.h"

enum {
    PLUMB_MEMORY_WIDTH = 1200,
    PLUMB_MEMORY_LEFT = 84, /* of the plots */
    PLUMB_MEMORY_INNER = PLUMB_MEMORY_WIDTH - PLUMB_MEMORY_LEFT - 16,
    PLUMB_MEMORY_MARGIN = 10,
    PLUMB_MEMORY_LINE = 17, /* of text */
    PLUMB_MEMORY_PANELS = 16
};
#define PLUMB_MEMORY_RSS_COLOUR "#1f5fa8"

struct plumb_memory_panel {
    const char *device; /* NULL: the host */
    double most;        /* bytes */
};

struct plumb_memory_picture {
    const struct plumb_timing *t;
    const struct plumb_render_options *options;
    struct plumb_buf *out;
    struct plumb_stage_rows rows;
    struct plumb_chart_axis time;
    uint32_t request; /* whose time is shown; PLUMB_TIMING_NONE: the whole run */
    struct plumb_memory_panel panels[PLUMB_MEMORY_PANELS];
    size_t panel_count;
    size_t left_out; /* pools of devices beyond the panels */
    double y;        /* where the next thing goes */
};

struct plumb_memory_plot { /* a panel while it is drawn */
    const struct plumb_memory_panel *panel;
    struct plumb_chart_axis axis;
    double top, height;
};

/* A position in the picture; positions outside are drawn at the edge. */
double plumb_memory_x(const struct plumb_memory_picture *p, double ns);
double plumb_memory_y(const struct plumb_memory_plot *plot, double bytes);
bool plumb_memory_in_panel(const struct plumb_memory_panel *panel,
                           const struct plumb_timing_pool *pool);
/* NULL: none. */
const struct plumb_timing_series *plumb_memory_series(const struct plumb_timing *t, uint32_t pool);
/* The highest value of a series (NULL: 0) in the range that is shown, and when, if it is there. */
double plumb_memory_highest(const struct plumb_memory_picture *p,
                            const struct plumb_timing_series *s, double *at_ns);
bool plumb_memory_peak_shown(const struct plumb_memory_picture *p,
                             const struct plumb_timing_pool *pool);
bool plumb_memory_checkpoint_shown(const struct plumb_memory_picture *p,
                                   const struct plumb_timing_checkpoint *c);
/* Returns the checkpoint's bytes for this panel: the resident set, or what the pools of the device
 * held, the larger of allocated and reserved. Negative: not measured. */
double plumb_memory_checkpoint(const struct plumb_memory_picture *p,
                               const struct plumb_memory_panel *panel,
                               const struct plumb_timing_checkpoint *c);
void plumb_memory_put_name(struct plumb_buf *out, const char *name);
void plumb_memory_put_rule(struct plumb_memory_picture *p, double x1, double y1, double x2,
                           double y2);

/* memory_marks.c */
void plumb_memory_put_rows(struct plumb_memory_picture *p);
void plumb_memory_put_checkpoint_names(struct plumb_memory_picture *p);
/* Drawn below the lines: the outermost stages. Where they overlap on several threads the shade gets
 * darker. */
void plumb_memory_put_shades(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot);
void plumb_memory_put_rss_peak(struct plumb_memory_picture *p,
                               const struct plumb_memory_plot *plot);
/* With the owners at the time, largest first. */
void plumb_memory_put_pool_peak(struct plumb_memory_picture *p,
                                const struct plumb_memory_plot *plot,
                                const struct plumb_timing_pool *pool, const char *colour);
void plumb_memory_put_checkpoints(struct plumb_memory_picture *p,
                                  const struct plumb_memory_plot *plot);

#endif
