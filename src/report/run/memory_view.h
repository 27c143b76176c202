/* memory_view.h: a run's memory as tables: of nodes (or the stages of a request), of pools, of
 * owners at a pool's peak, of blocks that were never freed, of checkpoints and their analysis. The
 * figures are those of timing_memory.h, so they equal those of timing.json. Any thread. */
#ifndef PLUMB_REPORT_RUN_MEMORY_VIEW_H
#define PLUMB_REPORT_RUN_MEMORY_VIEW_H

#include "model/timing.h"
#include "report/run/render.h"
#include "report/table/grid.h"

/* A node, or a stage of a request, whose memory was measured. */
struct plumb_memory_row {
    const struct plumb_timing_node *node;
    const struct plumb_timing_memory *memory;
};

/* Those that the options choose, by falling peak; the caller frees them. `*out` NULL and `*n` 0:
 * none. PLUMB_ERR_MEMORY. */
int plumb_memory_rows(struct plumb_memory_row **out, size_t *n, const struct plumb_render_input *in,
                      plumb_error *err);

/* How many of `n` are shown. */
size_t plumb_memory_shown(const struct plumb_render_input *in, size_t n);

/* Five cells: runs, resident set, peak, growth, who counted; none without a reading. `m` may be
 * NULL. */
void plumb_memory_resident_cells(struct plumb_grid *g, const struct plumb_timing_memory *m);

#endif
