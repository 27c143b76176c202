/* first_use.h: makes the state or the tree node in the mapping when a fold meets a key or a node of
 * the call tree for the first time on its thread. Looking up a known one takes no lock. On the
 * thread itself, inside the runtime. */
#ifndef PLUMB_RECORD_RUNTIME_FIRST_USE_H
#define PLUMB_RECORD_RUNTIME_FIRST_USE_H

#include "record/runtime/enter.h"

/* Returns the thread's statistics of a key; NULL: the mapping is full. */
PLUMB_COLD struct plumb_live_state *plumb_state_first_use(struct plumb_in in, uint64_t key,
                                                          uint32_t channel);
/* Empties a state of the thread for the runs after a reset of its pipeline. The caller holds the
 * thread. */
PLUMB_COLD void plumb_state_reset(struct plumb_live_state *st, uint32_t generation);
/* Returns the tree node of a key below `parent`; async ones are below the root. 0, which is
 * counted: the mapping is full. */
PLUMB_COLD uint32_t plumb_tree_first_use(struct plumb_in in, uint32_t parent, uint64_t key,
                                         bool async);

#endif
