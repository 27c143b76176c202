/* node_match.h: the nodes that PLUMB_TRACE_NODES selects: names and shell patterns (fnmatch)
 * separated by commas; blanks around them do not count. A word selects the node of that name, even
 * if it reads as a pattern ("layer[1]"), and the nodes that it matches. Each node is compared once.
 * One thread at a time. */
#ifndef PLUMB_TIMELINE_NODE_MATCH_H
#define PLUMB_TIMELINE_NODE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLUMB_NODE_PATTERNS = 64, PLUMB_NODE_PATTERN_BYTES = 160 };

struct plumb_node_match {
    const char *(*name_of)(void *arg, uint32_t node);
    void *arg;
    uint8_t *known; /* of each node: 0 not yet, 1 no, 2 yes */
    uint32_t nodes;
    uint32_t patterns;
    uint32_t refused; /* patterns that are too many or too long */
    uint32_t matched[PLUMB_NODE_PATTERNS];
    char pattern[PLUMB_NODE_PATTERNS][PLUMB_NODE_PATTERN_BYTES];
};

/* Numbers of nodes are below `nodes`. PLUMB_ERR_MEMORY. */
int plumb_node_match_open(struct plumb_node_match *m, const char *patterns, uint32_t nodes,
                          const char *(*name_of)(void *arg, uint32_t node), void *arg);
bool plumb_node_matches(struct plumb_node_match *m, uint32_t node);
void plumb_node_match_fini(struct plumb_node_match *m);

#endif
