/* read_gate.h: what the files of gates share. */
#ifndef PLUMB_API_READ_GATE_H
#define PLUMB_API_READ_GATE_H

#include "analyze/gate/gate.h"

/* Adds the baselines of all new results from the history at `path` (NULL: the default) as the side
 * of the history. Errors: those of plumb_history_open() and plumb_results_open(). */
int plumb_gate_find_baselines(struct plumb_gate_case *g, const char *path, plumb_error *err);

#endif
