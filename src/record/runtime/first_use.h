/* first_use.h: what a fold does when a thread meets a key or a node of its call tree for the first
 * time: it gets its state or its tree node in the mapping. Looking one up that is known takes no
 * lock. On the thread itself, inside the runtime. */
#ifndef PLUMB_RECORD_RUNTIME_FIRST_USE_H
#define PLUMB_RECORD_RUNTIME_FIRST_USE_H

#include "record/runtime/enter.h"

/* The thread's statistics of a key; NULL: no room. */
PLUMB_COLD struct plumb_live_state *plumb_state_first_use(struct plumb_in in, uint64_t key,
                                                          uint32_t channel);
/* The tree node of a key below `parent`; async ones hang below the root. 0, and counted: no
 * room. */
PLUMB_COLD uint32_t plumb_tree_first_use(struct plumb_in in, uint32_t parent, uint64_t key,
                                         bool async);

#endif
