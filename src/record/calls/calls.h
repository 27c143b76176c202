/* calls.h: calls of functions that `plumb record --count` names. libplumb-count.so counts them from
 * outside (src/inject/count); this finds its counts in the process, tells it which node is open,
 * and passes what was added on to the counts of the run. */
#ifndef PLUMB_RECORD_CALLS_CALLS_H
#define PLUMB_RECORD_CALLS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/mapping.h"
#include <plumb/detail/abi.h>

/* Looks for the counts of the process, if the settings ask for some. As the library is loaded, with
 * the function table complete. */
void plumb_calls_find(const struct plumb_api *api);
/* Returns whether this process counts calls. Any thread. */
bool plumb_calls_are_counted(void);
/* Returns whether there are counts for a run that no trace point has opened; in the process that
 * was asked to record, also whether there are functions without calls, or notes. */
bool plumb_calls_wait(void);

/* plumb_api.open_place, and the functions that it gives */
void plumb_open_place_impl(struct plumb_open_place *out);
void plumb_open_node_glance(struct plumb_open_node *out);

/* ---- For the helper, while a run is open ----------------------------------------------------- */

/* A run has opened. The first one of a process takes all counts since the process began, others
 * those since they opened. */
void plumb_calls_open(struct plumb_run *run);
/* Passes on what was counted since the last time, and reports which items of the list were seen. */
void plumb_calls_pass_on(struct plumb_run *run);
/* Does so when it is due. Returns ns until the next time; UINT64_MAX: never. */
uint64_t plumb_calls_turn(struct plumb_run *run);
/* The same at the end, with notes about what is not counted. */
void plumb_calls_finish(struct plumb_run *run);
void plumb_calls_forked(void);

#endif
