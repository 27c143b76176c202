/* read_figures.h: the figures of recordings as metrics of the history, where rules of a gate find
 * them under the same names. */
#ifndef PLUMB_API_READ_FIGURES_H
#define PLUMB_API_READ_FIGURES_H

#include "analyze/gate/select.h"
#include "model/timing.h"
#include "read/history/result.h"

/* Appends the name that a figure has in the history: "denoise" and "train: denoise" are medians of
 * nodes, "dispatches of denoise", "calls libm.so.6:sin of denoise" and "peak_rss of denoise" other
 * figures of them, "dispatches" and "wall_clock" those of a whole run. */
void plumb_history_figure_name(struct plumb_buf *out, const struct plumb_gate_metric *metric,
                               const struct plumb_gate_key *key);
/* Adds the figures of a run, besides the medians of its nodes, to its result, not gated. Failure is
 * in the arena of the list. */
void plumb_figures_of_run(struct plumb_result_list *list, struct plumb_result_item *item,
                          const struct plumb_timing *timing);

#endif
