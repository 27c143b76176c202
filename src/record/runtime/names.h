/* names.h: nodes, pipelines, phases and devices: the objects that the program names, for the life
 * of the process. */
#ifndef PLUMB_RECORD_RUNTIME_NAMES_H
#define PLUMB_RECORD_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "live/layout.h"
#include <plumb/detail/types.h>

struct plumb_site {
    struct plumb_site *next;
    const char *file;
    uint32_t line;
};

struct plumb_node_entry { /* outlives points and runs */
    const char *name;
    uint64_t hash;
    struct plumb_site *sites;
    uint32_t flags; /* enum plumb_point_flags, of all its points; PLUMB_NODE_SELECTED */
    plumb_device *device;
    struct plumb_node_check *checks; /* of its inputs and outputs (record/stage/check.c) */
    uint32_t region;                 /* number of its region, atomic; 0: none */
    struct plumb_hooks *hooks;       /* around its runs (record/stage/hook.h); released */
};

enum {
    PLUMB_NODE_CHUNK_BITS = 12, /* nodes of a chunk, which is mapped for its first node */
    PLUMB_NODE_CHUNKS = 1 << (PLUMB_NODE_BITS - PLUMB_NODE_CHUNK_BITS)
};

struct plumb_device {
    const char *name;
    void (*sync)(void *arg); /* atomic; NULL: not registered any more */
    void *arg;
    uint32_t calls; /* atomic: threads in it */
    bool used;      /* under the lock: the place is not free */
};

struct plumb_pipeline {
    const char *name; /* released; that of the first one may change between runs */
    uint32_t index;
    uint32_t enabled, sync; /* read without the lock */
    uint64_t skip_first_n;
    plumb_device *device;
    bool configured; /* by the program: settings no longer apply */
};

struct plumb_name_table { /* dense names under the lock; read by index without it */
    const char *name[256];
    uint32_t count;
};

#endif
