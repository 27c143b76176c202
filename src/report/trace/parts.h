/* parts.h: what the files of the trace view share. For this folder alone. */
#ifndef PLUMB_REPORT_TRACE_PARTS_H
#define PLUMB_REPORT_TRACE_PARTS_H

#include "analyze/kernel/advice.h"
#include "analyze/kernel/kernels.h"
#include "analyze/trace/spans.h"
#include "codec/json_write.h"
#include "read/trace/symbols.h"
#include "report/table/grid.h"
#include "report/table/page.h"
#include "report/trace/view.h"

enum {
    PLUMB_SLOWEST_SHOWN = 10, /* without --top, of gaps too */
    PLUMB_SLOWEST_MAX = 1000,
};

struct plumb_trace_sight {
    const struct plumb_table *t;
    const char *path;
    const plumb_trace_view *view;
    struct plumb_span_rows nodes, threads; /* over all tracks; by track */
    struct plumb_gaps gaps;
    struct plumb_step_marks marks;
    struct plumb_steps steps;
    struct plumb_kernels kernels; /* of their view alone */
    struct plumb_own_rows kernel_rows, op_rows;
    struct plumb_advices advices;
    uint32_t slowest[PLUMB_SLOWEST_MAX];
    size_t slowest_count;
    uint64_t slowest_of; /* whole slices of that name */
    struct plumb_arena arena;
    struct plumb_symbols *symbols; /* of call stacks; NULL: none are known */
    bool processes;                /* more than one: rows name theirs */
};

/* One table of a view. `more`, where it is not NULL, gets how many rows are not shown. */
struct plumb_trace_section {
    const char *key, *title;
    uint32_t kinds; /* of views that have it, as bits */
    void (*fill)(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more);
};
/* In the order in which they are shown. */
const struct plumb_trace_section *plumb_trace_sections(size_t *n);

/* Rows that a table shows of `n`. */
size_t plumb_trace_shown(const struct plumb_trace_sight *s, size_t n);
/* "io", or a substitute for an empty name; the text is the arena's. */
const char *plumb_trace_track_name(const struct plumb_trace_sight *s, uint32_t track);
/* "step=3 why=nan"; NULL: a slice without args. Addresses of its call stack have names. */
const char *plumb_trace_args_text(const struct plumb_trace_sight *s, uint32_t slice);

/* slowest.c: the view of the slowest runs as text or Markdown. */
void plumb_trace_put_slowest(struct plumb_buf *out, const struct plumb_trace_sight *s, bool md);
/* kernels.c: the parts of the view of kernels. */
int plumb_trace_look_at_kernels(struct plumb_trace_sight *s, plumb_error *err);
void plumb_trace_look_away_from_kernels(struct plumb_trace_sight *s);
void plumb_trace_fill_kernels(struct plumb_grid *g, const struct plumb_trace_sight *s,
                              size_t *more);
void plumb_trace_fill_ops(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more);
void plumb_trace_put_kernel_line(struct plumb_page *p, const struct plumb_trace_sight *s);
void plumb_trace_put_kernel_sums(struct plumb_json *j, const struct plumb_trace_sight *s);
/* The symptoms that were found: below the tables, and as an array. */
void plumb_trace_put_advice(struct plumb_page *p, const struct plumb_trace_sight *s);
void plumb_trace_put_advice_json(struct plumb_json *j, const struct plumb_trace_sight *s);
/* The whole file of a breakdown; the view's `node` is its name. */
void plumb_trace_put_breakdown(struct plumb_buf *out, const struct plumb_trace_sight *s);
/* json.c */
void plumb_trace_put_json(struct plumb_buf *out, const struct plumb_trace_sight *s);

#endif
