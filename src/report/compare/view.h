/* view.h: a comparison in the format that the caller asks for. Each format is one `const` struct in
 * one array (view.c), as those of reports are. Any thread. */
#ifndef PLUMB_REPORT_COMPARE_VIEW_H
#define PLUMB_REPORT_COMPARE_VIEW_H

#include "analyze/compare/compare.h"
#include "base/buf.h"
#include "summary/unit.h"

enum { PLUMB_COMPARE_UNITS = 4 }; /* of sums; of nodes: a, b and delta, p50, p95 */

/* Nodes that differ in a number alone, none of them marked, as one line. */
struct plumb_compare_fold {
    struct plumb_compare_line line;                /* medians of the members; not tested */
    const struct plumb_compare_line *least, *most; /* members by their percent */
    size_t members;
};

struct plumb_compare_sheet {
    const struct plumb_compare *compare;
    const plumb_compare_view *view;
    const char *const *labels;               /* of A and B, as the user called them */
    const char *remarks;                     /* lines; for JSON */
    const struct plumb_compare_line **nodes; /* those shown, in their order */
    size_t shown;
    size_t lines; /* those there are */
    const struct plumb_unit *unit[PLUMB_COMPARE_UNITS];
    struct plumb_arena arena;         /* of what follows */
    struct plumb_compare_fold *folds; /* shown lines of several nodes each, by fold.c */
    size_t fold_count;
    bool pipelines; /* nodes are of more than one */
};

/* Appends the comparison, without a newline at its end. PLUMB_ERR_ARG: no such format or order;
 * PLUMB_ERR_MEMORY. */
int plumb_compare_render(struct plumb_buf *out, const struct plumb_compare *c,
                         const plumb_compare_view *view, const char *const *labels,
                         const char *remarks, plumb_error *err);

/* notes.c: appends lines that each end in a newline: what was compared in spite of a difference in
 * the setup, how far the runs can tell a change from noise, what else differs. */
void plumb_compare_notes_write(const struct plumb_compare *c, struct plumb_buf *out);

/* fold.c: replaces the lines of s->nodes that fold by those of s->folds. A line stays if it is
 * marked, or if one side lacks it: the change of one layer must not be hidden in a fold. Errors:
 * PLUMB_ERR_MEMORY. */
int plumb_compare_fold_lines(struct plumb_compare_sheet *s, plumb_error *err);
/* Appends the names that each folded line stands for, a line a fold, without a newline at its end.
 * `start` begins each, and `name` appends a node's name. Appends nothing without folds. */
void plumb_compare_put_folds(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                             const char *start,
                             void (*name)(struct plumb_buf *out, const char *text));

/* ---- Columns (columns.c) ------------------------------------------------------------- */

enum plumb_compare_cell {
    PLUMB_CELL_TEXT,
    PLUMB_CELL_MEASURE, /* ns or bytes; in JSON and CSV ms or bytes */
    PLUMB_CELL_DELTA,   /* the same with a sign */
    PLUMB_CELL_PERCENT,
    PLUMB_CELL_COUNT,
    PLUMB_CELL_P,
    PLUMB_CELL_RATIO
};
enum plumb_compare_when {
    PLUMB_WHEN_ALWAYS,
    PLUMB_WHEN_PIPELINES,
    PLUMB_WHEN_TESTED,
    PLUMB_WHEN_WIDE,
    PLUMB_WHEN_DATA /* JSON and CSV only */
};

struct plumb_compare_column {
    const char *key;   /* of JSON and CSV; never changes */
    const char *title; /* of tables */
    enum plumb_compare_cell type;
    enum plumb_compare_when when;
    size_t width;
    const char *(*text)(const struct plumb_compare_line *line); /* NULL: a number */
    double (*number)(const struct plumb_compare_line *line);    /* NaN: there is none */
};

enum { PLUMB_COMPARE_COLUMNS = 25 };
const struct plumb_compare_column *plumb_compare_columns(size_t *n);
/* Whether tables of this sheet have the column. */
bool plumb_compare_shows(const struct plumb_compare_sheet *s,
                         const struct plumb_compare_column *column);
/* Appends the cell as tables show it, "-" for a missing value, without padding. Names are not
 * escaped: the caller does that. */
void plumb_compare_cell_put(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                            const struct plumb_compare_column *column,
                            const struct plumb_compare_line *line);
/* Chooses s->unit for the sums and the nodes that are shown. PLUMB_ERR_MEMORY. */
int plumb_compare_choose_units(struct plumb_compare_sheet *s, plumb_error *err);
/* The unit of the times of nodes in this column; NULL: it has no times. */
const struct plumb_unit *plumb_compare_unit(const struct plumb_compare_sheet *s,
                                            const struct plumb_compare_column *column);
/* The value in full precision, for JSON and CSV; NaN: none. */
double plumb_compare_cell_value(const struct plumb_compare_column *column,
                                const struct plumb_compare_line *line);

bool plumb_compare_is_bytes(enum plumb_compare_kind kind);
const char *plumb_compare_kind_name(enum plumb_compare_kind kind);
const char *plumb_verdict_name(enum plumb_verdict verdict);
const char *plumb_figure_name(uint32_t figure); /* "mean", ... */
/* Appends the name of a sum: "Wall clock (ms)", "Peak reserved, cuda:0 pool (MiB)". */
void plumb_compare_put_sum(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                           const struct plumb_compare_line *line);
/* "4 worse, 1 better, 12 unmarked": sums and nodes together. */
void plumb_compare_put_outcome(struct plumb_buf *out, const struct plumb_compare *c);
/* "Comparison: mean of one run of a node, marked beyond 5 %" */
void plumb_compare_put_title(struct plumb_buf *out, const struct plumb_compare *c);
/* "+3.1" */
void plumb_compare_put_change(struct plumb_buf *out, double percent);
/* "5", "7.5": a number of the user's. */
void plumb_compare_put_number(struct plumb_buf *out, double value);

/* One a file. */
void plumb_compare_text(const struct plumb_compare_sheet *s, struct plumb_buf *out);
void plumb_compare_json(const struct plumb_compare_sheet *s, struct plumb_buf *out);
void plumb_compare_csv(const struct plumb_compare_sheet *s, struct plumb_buf *out);
void plumb_compare_md(const struct plumb_compare_sheet *s, struct plumb_buf *out);

#endif
