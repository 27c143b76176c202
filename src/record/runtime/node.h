/* node.h: numbers of named nodes, given once for the life of the process. Defined in
 * record/span/node.c. */
#ifndef PLUMB_RECORD_RUNTIME_NODE_H
#define PLUMB_RECORD_RUNTIME_NODE_H

#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"

/* Returns the entry of a node whose number has been returned. */
static inline struct plumb_node_entry *plumb_node_at(uint32_t node)
{
    struct plumb_node_entry *chunk = PLUMB_ACQUIRE(plumb_rt.nodes[node >> PLUMB_NODE_CHUNK_BITS]);
    return &chunk[node & ((1u << PLUMB_NODE_CHUNK_BITS) - 1)];
}
plumb_node plumb_node_intern(const char *name);
uint32_t plumb_phase_intern(const char *name);
plumb_pipeline *plumb_pipeline_intern(const char *name);
void plumb_nodes_publish(struct plumb_run *run); /* writes every known name to a new run */
void plumb_node_add_site(plumb_node node, const char *file, uint32_t line, uint32_t flags);
void plumb_node_add_flags(plumb_node node, uint32_t flags); /* under the lock */
void plumb_node_flagged(plumb_node node, uint32_t flags);   /* takes the lock if a flag is new */
/* Under the lock, before a run has the node: sets whether its runs are in a selected region. */
void plumb_node_select(plumb_node node, bool selected);

#endif
