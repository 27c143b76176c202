/* node_recover.h: the files of single nodes (timeline/node_trace.h) of a run whose process could
 * not make them. They are made from its trace.pftrace, which has been finished. The trace does not
 * say what other threads did for a node, so each file holds only what ran inside it on the node's
 * own thread, and the work of collectors that was launched there. */
#ifndef PLUMB_READ_RUN_NODE_RECOVER_H
#define PLUMB_READ_RUN_NODE_RECOVER_H

#include "live/view.h"
#include <plumb/error.h>

/* Nothing is done for a run that wanted no such files. The texts that the process left in `dir` are
 * removed. PLUMB_ERR_*, of the first file that could not be made. */
int plumb_node_recover(const struct plumb_live_view *source, const char *dir, plumb_error *err);

#endif
