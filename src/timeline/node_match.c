/* node_match.c: see node_match.h. */
#include "timeline/node_match.h"

#include <fnmatch.h>
#include <string.h>

#include "base/pages.h"
#include <plumb/error.h>

enum { UNKNOWN = 0, NO = 1, YES = 2 };

static void add_pattern(struct plumb_node_match *m, const char *text, size_t n)
{
    while (n && strchr(" \t\n", *text)) {
        text++;
        n--;
    }
    while (n && strchr(" \t\n", text[n - 1]))
        n--;
    if (n && m->patterns < PLUMB_NODE_PATTERNS && n < PLUMB_NODE_PATTERN_BYTES)
        memcpy(m->pattern[m->patterns++], text, n);
    else if (n)
        m->refused++;
}

int plumb_node_match_open(struct plumb_node_match *m, const char *patterns, uint32_t nodes,
                          const char *(*name_of)(void *arg, uint32_t node), void *arg)
{
    memset(m, 0, sizeof *m);
    m->name_of = name_of;
    m->arg = arg;
    m->nodes = nodes;
    m->known = plumb_pages_map(nodes);
    for (const char *p = patterns; *p;) {
        size_t n = strcspn(p, ",");
        add_pattern(m, p, n);
        p += n + (p[n] == ',');
    }
    return m->known ? PLUMB_OK : PLUMB_ERR_MEMORY;
}

static uint8_t compare(struct plumb_node_match *m, uint32_t node)
{
    const char *name = m->name_of(m->arg, node);
    uint8_t result = NO;
    for (uint32_t i = 0; i < m->patterns; i++) {
        if (strcmp(m->pattern[i], name) != 0 && fnmatch(m->pattern[i], name, 0) != 0)
            continue;
        m->matched[i]++;
        result = YES;
    }
    return result;
}

bool plumb_node_matches(struct plumb_node_match *m, uint32_t node)
{
    if (node >= m->nodes)
        return false;
    if (m->known[node] == UNKNOWN)
        m->known[node] = compare(m, node);
    return m->known[node] == YES;
}

void plumb_node_match_fini(struct plumb_node_match *m)
{
    if (m->known)
        plumb_pages_unmap(m->known, m->nodes);
    m->known = NULL;
}
