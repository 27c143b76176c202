/* counts.h: the counts of a run as rows: one for each node, phase, step, kind and name.
 *
 * Exact whole numbers, never divided. Rows of step -1 are of the whole run, and of all its steps;
 * rows of a step are parts of them, where the run kept steps apart. The node is that of the
 * innermost open span; "" is outside every node. Sorted by pipeline, phase, node, kind, name, step,
 * so that two equal runs have equal rows. No row has both `calls` and `value` 0. Any thread, one
 * set of rows at a time. docs/counts.md explains each kind. */
#ifndef PLUMB_REPORT_COUNTS_H
#define PLUMB_REPORT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "model/timing.h"
#include <plumb/count.h>
#include <plumb/error.h>

enum { PLUMB_COUNT_WHOLE_RUN = -1 }; /* in place of a step */

struct plumb_count_row {
    const char *pipeline, *phase, *node;
    int64_t step;     /* PLUMB_COUNT_WHOLE_RUN: of all steps and outside steps */
    uint32_t kind;    /* enum plumb_count_kind */
    const char *name; /* of a user count, a dispatch, a pool, a lane or "library:function" */
    uint64_t calls;   /* events that were counted */
    int64_t value;    /* their sum in the unit of the kind; may be negative for user counts alone */
    uint64_t runs;    /* of the node in this phase, failed ones too; 0 in rows of a step */
};

struct plumb_count_rows {
    struct plumb_arena arena;
    struct plumb_timing timing; /* owned where _read() made it: the texts of the rows lie there */
    struct plumb_count_row *rows;
    size_t count;
};

/* Makes the rows of a report, which must stay as long as they. Errors: PLUMB_ERR_MEMORY. */
int plumb_count_rows_init(struct plumb_count_rows *out, const struct plumb_timing *t,
                          plumb_error *err);
/* Reads the run in the directory `dir` and makes its rows. A killed run is recovered, of a run that
 * records the present state is read. Errors: those of plumb_load_run(), PLUMB_ERR_MEMORY. */
int plumb_count_rows_read(struct plumb_count_rows *out, const char *dir, plumb_error *err);
/* Sorts the rows again, and adds up those that a caller made equal. Of peaks, page faults and
 * instructions, which those of inner stages are part of, the highest stays. */
void plumb_count_rows_merge(struct plumb_count_rows *rows);
/* Frees the rows; also those of a failed call, or all-zero. */
void plumb_count_rows_fini(struct plumb_count_rows *rows);

/* Returns "dispatches", "copy_bytes", ..., as files and options have it; NULL: no such kind. */
const char *plumb_count_kind_name(uint32_t kind);
/* Returns the kind of that name (enum plumb_count_kind); 0: there is none. */
uint32_t plumb_count_kind_of(const char *name);

#endif
