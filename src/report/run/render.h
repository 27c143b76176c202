/* render.h: a timing report in the format that the caller asks for. Each format is one `const`
 * struct in one array (render.c); a new one is a new file and one line. Any thread. */
#ifndef PLUMB_REPORT_RUN_RENDER_H
#define PLUMB_REPORT_RUN_RENDER_H

#include "base/buf.h"
#include "model/signature.h"
#include "model/timing.h"
#include "report/run/tree.h"
#include "report/table/columns.h"
#include "summary/fold_nodes.h"
#include "summary/table.h"
#include <plumb/read/report.h>

struct plumb_render_options {
    struct plumb_summary_options summary;
    bool wide;                               /* text: more columns */
    bool tree;                               /* the call tree instead of the rows (JSON: both) */
    bool explain;                            /* what the columns mean, after them */
    bool live;                               /* the run still records */
    const char *run;                         /* path, for JSON and SVG; may be NULL */
    const char *request;                     /* its ID; NULL: all */
    uint32_t view;                           /* enum plumb_report_view */
    const struct plumb_signature *signature; /* of the run; NULL: it has none */
    double min_width_px; /* SVG: rectangles narrower than this share one; 0: 0.1 */
    uint32_t fold;       /* enum plumb_report_fold */
    uint32_t by;         /* enum plumb_report_by; of counts */
};

struct plumb_render_input {
    const struct plumb_timing *timing;
    const struct plumb_summary *summary;
    const struct plumb_tree_view *tree; /* empty unless the options want it */
    const struct plumb_render_options *options;
    uint32_t request;                 /* index of the chosen request, or PLUMB_TIMING_NONE */
    const struct plumb_timing *whole; /* the run as it is, where numbers of nodes are meant */
    const struct plumb_fold *fold; /* `timing`, `summary` and `tree` are of it; NULL: of the run */
};

enum { PLUMB_VIEWS = 7 };

struct plumb_renderer {
    const char *name, *summary;
    /* By view; NULL: the view has no such form. */
    void (*render[PLUMB_VIEWS])(const struct plumb_render_input *in, struct plumb_buf *out);
};

const struct plumb_renderer *plumb_renderers(size_t *n);
/* Appends the report, without a newline at its end. PLUMB_ERR_ARG: no such format, or the view has
 * no such form; PLUMB_ERR_NOT_FOUND: no such request. */
int plumb_render(struct plumb_buf *out, const struct plumb_timing *t, const char *format,
                 const struct plumb_render_options *o, plumb_error *err);

/* One a file. */
void plumb_render_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_flame_svg(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_memory_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_memory_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_memory_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_memory_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_memory_svg(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_requests_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_requests_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_requests_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_requests_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_signatures_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_signatures_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_signatures_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_signatures_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_counts_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_counts_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_counts_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_counts_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_streams_text(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_streams_json(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_streams_md(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_streams_csv(const struct plumb_render_input *in, struct plumb_buf *out);
void plumb_render_summary_text(const struct plumb_render_input *in, struct plumb_buf *out);

/* The begin of every report in JSON (its object stays open), and the end, with the remarks. */
void plumb_json_report(struct plumb_json *j, const struct plumb_render_input *in);
void plumb_json_report_end(struct plumb_json *j, const struct plumb_render_input *in);

/* "Wall clock 3.937 s, 14 nodes, program ..., run ...": the line in the head of pictures. */
void plumb_put_run(struct plumb_buf *out, const struct plumb_timing *t,
                   const struct plumb_render_options *o);

#define PLUMB_MEMORY_EMPTY                                                                         \
    "No memory was measured: record with PLUMB_MEMORY=stages (or all), or report pools with "      \
    "plumb_mem_alloc()."

/* Appends the limits of the figures: recovered or still recording (`live`), open spans, drops,
 * failures, notes of the run. Lines that each end in a newline; appends nothing if there are
 * none. */
void plumb_remarks_write(const struct plumb_timing *t, bool live, struct plumb_buf *out);

#endif
