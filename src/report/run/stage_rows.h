/* stage_rows.h: the runs of stages in rows, so that no two of a row overlap: a stage inside
 * another lies in a row below it, and so do those of another thread. Any thread. */
#ifndef PLUMB_REPORT_RUN_STAGE_ROWS_H
#define PLUMB_REPORT_RUN_STAGE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "model/timing.h"
#include "summary/table.h"

enum { PLUMB_STAGE_ROWS = 24 };

struct plumb_stage_row_run {
    const struct plumb_timing_stage_run *run;
    const struct plumb_timing_node *node;
    uint32_t row;
};

struct plumb_stage_rows {
    struct plumb_stage_row_run *runs; /* by their begin */
    size_t count;
    uint32_t rows;
    size_t left_out; /* for which there is no row left */
};

/* The runs that the options choose by pipeline and phase; of one request only unless `request` is
 * PLUMB_TIMING_NONE. Points into `t`. Errors: PLUMB_ERR_MEMORY. */
int plumb_stage_rows_init(struct plumb_stage_rows *out, const struct plumb_timing *t,
                          const struct plumb_summary_options *o, uint32_t request,
                          plumb_error *err);
void plumb_stage_rows_fini(struct plumb_stage_rows *rows);

#endif
