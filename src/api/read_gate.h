/* read_gate.h: what the files of gates share. */
#ifndef PLUMB_API_READ_GATE_H
#define PLUMB_API_READ_GATE_H

#include "analyze/gate/gate.h"

/* Adds the baselines of all new results from the history at `path` (NULL: the default) as the side
 * of the history. `recipe` replaces that of the results unless it is NULL. Without a history there
 * are none. Errors: those of plumb_history_open() and plumb_results_open(). */
int plumb_gate_find_baselines(struct plumb_gate_case *g, const char *path, const char *recipe,
                              plumb_error *err);

/* Adds the figures of the result at `path`, as the history reads it, to source `source` of the
 * side, which is made if it is the next one. Errors: those of plumb_results_open(). */
int plumb_gate_take_figures(struct plumb_gate_case *g, enum plumb_gate_side side, size_t source,
                            const char *path, plumb_error *err);

#endif
