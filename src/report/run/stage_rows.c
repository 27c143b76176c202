/* stage_rows.c: each run goes into the first row that is free when it begins, so that there are
 * only as many rows as runs at the same time. Any thread; no state. */
#include "report/run/stage_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int by_begin(const void *a, const void *b)
{
    const struct plumb_timing_stage_run *x = ((const struct plumb_stage_row_run *)a)->run;
    const struct plumb_timing_stage_run *y = ((const struct plumb_stage_row_run *)b)->run;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return (x > y) - (x < y);
}

static bool chosen(const struct plumb_timing_stage_run *run, const struct plumb_timing_node *node,
                   const struct plumb_summary_options *o, uint32_t request)
{
    return (!o->pipeline || strcmp(o->pipeline, node->pipeline) == 0) &&
           (!o->phase || strcmp(o->phase, node->phase) == 0) &&
           (request == PLUMB_TIMING_NONE || run->request == request);
}

int plumb_stage_rows_init(struct plumb_stage_rows *out, const struct plumb_timing *t,
                          const struct plumb_summary_options *o, uint32_t request, plumb_error *err)
{
    struct plumb_stage_rows l = {NULL, 0, 0, 0};
    double free_at[PLUMB_STAGE_ROWS] = {0};
    size_t n = 0;
    l.runs = calloc(t->stage_run_count + 1, sizeof *l.runs);
    if (!l.runs)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the runs of stages");
    for (size_t i = 0; i < t->stage_run_count; i++) {
        const struct plumb_timing_stage_run *run = &t->stage_runs[i];
        if (chosen(run, &t->nodes[run->node], o, request))
            l.runs[n++] = (struct plumb_stage_row_run){run, &t->nodes[run->node], 0};
    }
    qsort(l.runs, n, sizeof *l.runs, by_begin);
    for (size_t i = 0; i < n; i++) {
        struct plumb_stage_row_run r = l.runs[i];
        double begin_ns = (double)r.run->begin_ns;
        while (r.row < PLUMB_STAGE_ROWS && free_at[r.row] > begin_ns)
            r.row++;
        if (r.row == PLUMB_STAGE_ROWS) {
            l.left_out++;
            continue;
        }
        free_at[r.row] = begin_ns + (double)r.run->duration_ns;
        l.runs[l.count++] = r;
        if (l.rows < r.row + 1)
            l.rows = r.row + 1;
    }
    *out = l;
    return PLUMB_OK;
}

void plumb_stage_rows_fini(struct plumb_stage_rows *rows)
{
    free(rows->runs);
    *rows = (struct plumb_stage_rows){NULL, 0, 0, 0};
}
