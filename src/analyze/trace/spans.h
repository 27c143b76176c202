/* spans.h: figures computed from the slices of a trace: time of nodes on threads, gaps, steps, and
 * the slowest runs of a node. Any thread, one result at a time; names and rows are numbers of the
 * table, which must live as long.
 *
 * Figures are exact: medians and percentiles are order statistics of all slices. As in the report
 * of a run, slices that failed are counted separately. Their time counts only as part of the slices
 * around them. The same holds for slices that had not ended, whose end was lost, or that are not
 * samples. */
#ifndef PLUMB_ANALYZE_TRACE_SPANS_H
#define PLUMB_ANALYZE_TRACE_SPANS_H

#include "analyze/trace/step_marks.h"
#include "read/trace/table.h"
#include <plumb/error.h>

/* ---- Nodes ---------------------------------------------------------------------------------- */

struct plumb_durations {
    uint64_t count, total_ns;
    uint64_t min_ns, median_ns, p99_ns, max_ns; /* 0 while count is 0 */
};

struct plumb_span_row {
    uint32_t name, category;
    uint32_t track;                        /* PLUMB_TABLE_NONE: all */
    uint32_t tracks;                       /* that it ran on */
    uint64_t open, cut, failed, no_sample; /* of each slice the first that holds */
    struct plumb_durations of;
    uint64_t self_ns; /* total without the slices directly inside */
};
struct plumb_span_rows {
    struct plumb_span_row *rows; /* largest total first */
    size_t count;
};

/* Rows of (name, category), or of (name, category, track). PLUMB_ERR_MEMORY. */
int plumb_span_rows_init(struct plumb_span_rows *out, const struct plumb_table *t, bool by_track,
                         plumb_error *err);
void plumb_span_rows_fini(struct plumb_span_rows *r);

/* Sorts `ns` [n] and returns their statistics. */
struct plumb_durations plumb_durations_of(uint64_t *ns, size_t n);

/* ---- Gaps ----------------------------------------------------------------------------------- */

/* A track from the begin of its first outermost slice to the end of its last. */
struct plumb_track_row {
    uint32_t track;
    uint64_t slices; /* nested ones too */
    uint64_t first_ns, last_ns;
    uint64_t busy_ns, idle_ns, gaps;
};
struct plumb_gap {
    uint32_t track;
    uint32_t after, before; /* slices around it */
    uint64_t ts_ns, dur_ns;
};
struct plumb_gaps {
    struct plumb_track_row *tracks; /* those with slices */
    size_t track_count;
    struct plumb_gap *gaps; /* the largest, those first */
    size_t gap_count;
    uint64_t total; /* gaps that there are */
};
int plumb_gaps_init(struct plumb_gaps *out, const struct plumb_table *t, size_t most,
                    plumb_error *err);
void plumb_gaps_fini(struct plumb_gaps *g);

/* ---- Steps ---------------------------------------------------------------------------------- */

/* The slices of one name in one step. Slices that mark steps are all of one node, whose name is
 * that of one of them; copies of them are left out. */
struct plumb_step_row {
    uint32_t name;
    int64_t step;
    uint64_t count, total_ns, max_ns;
};
/* A node that has steps; the figures are those of its steps' totals. */
struct plumb_stepped_node {
    uint32_t name;
    struct plumb_durations of;
    int64_t slowest;
    struct plumb_table_range rows;
};
struct plumb_steps {
    struct plumb_step_row *rows; /* by node, then by step */
    size_t row_count;
    struct plumb_stepped_node *nodes; /* largest total first */
    size_t node_count;
};
int plumb_steps_init(struct plumb_steps *out, const struct plumb_step_marks *marks,
                     plumb_error *err);
void plumb_steps_fini(struct plumb_steps *s);

/* ---- The slowest ---------------------------------------------------------------------------- */

struct plumb_inside {
    uint32_t name;
    uint64_t count, total_ns;
};
enum { PLUMB_INSIDE_MAX = 64 };
/* The slices directly inside a slice, by name, largest total first. Names after the first
 * PLUMB_INSIDE_MAX that were met are added up in `rest`. Returns how many of `out` are set. */
size_t plumb_slice_inside(const struct plumb_table *t, uint32_t slice,
                          struct plumb_inside out[PLUMB_INSIDE_MAX], struct plumb_inside *rest,
                          uint64_t *self_ns);

/* The up to `most` longest slices of a name, longest first, into `out`; `*total` is how many there
 * are whose length is known. Returns how many are set. */
size_t plumb_slowest(const struct plumb_table *t, uint32_t name, uint32_t *out, size_t most,
                     uint64_t *total);

#endif
