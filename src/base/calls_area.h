/* calls_area.h: what libplumb-count.so, which counts calls of functions, and libplumb, which writes
 * the counts into the recording, share.
 *
 * The counter is loaded by the dynamic linker before everything else, into a namespace of its own,
 * so no symbol connects the two. It leaves a page named PLUMB_CALLS_PAGE among the mappings of the
 * process: PLUMB_CALLS_MAGIC, then the address of the area. libplumb looks for it once, if the
 * environment asks for counts. Both files are of one build: another version is refused. */
#ifndef PLUMB_BASE_CALLS_AREA_H
#define PLUMB_BASE_CALLS_AREA_H

#include <stddef.h>
#include <stdint.h>

#define PLUMB_CALLS_PAGE "plumb-calls-1"
#define PLUMB_CALLS_MAGIC UINT64_C(0x31736c6c61632d70)
#define PLUMB_CALLS_VARIABLE "PLUMB_COUNT"
enum { PLUMB_CALLS_VERSION = 2, PLUMB_CALLS_FUNCTIONS = 2048, PLUMB_CALLS_ITEMS = 1024 };

struct plumb_api;

/* The calls of one function by one thread in one node and step. Counted by that thread alone. In
 * memory that the kernel clears in a forked child. Several entries may stand for the same calls'
 * key: the reader adds them up. */
struct plumb_calls_entry {
    uint64_t key; /* of the node, as `look` gave it (plumb_open_node) */
    int64_t step;
    uint64_t calls;    /* atomic */
    uint32_t function; /* 1 + its index; 0: not complete yet; released */
    uint32_t reserved;
};

struct plumb_calls_function {
    const char *library, *name; /* `name` is released last; NULL: not complete yet */
};

struct plumb_calls_area {
    uint32_t version; /* PLUMB_CALLS_VERSION */
    uint32_t size;    /* sizeof(struct plumb_calls_area) */
    /* From now on calls are attributed to the open node, which the runtime publishes, and
     * `before_exec` is called before the process becomes another program. */
    void (*attach)(const struct plumb_api *api, void (*before_exec)(void));
    const struct plumb_calls_function *functions;
    const uint32_t *function_count; /* atomic; at most PLUMB_CALLS_FUNCTIONS are valid */
    const struct plumb_calls_entry *entries;
    const uint32_t *entry_count; /* atomic; at most entry_limit are valid */
    uint32_t entry_limit;
    uint32_t note_limit;
    /* [PLUMB_CALLS_FUNCTIONS] Calls that are counted for the process alone: there was no memory for
     * an entry, or for the thread. Atomic. */
    const uint64_t *unattributed;
    const uint64_t *steps_lost; /* atomic; entries of step -1 because there were too many steps */
    const char *const *notes;   /* lines about what is not counted; NULL: not complete yet */
    const uint32_t *note_count; /* atomic; at most note_limit are valid */
    const uint32_t
        *never_found; /* bit i: item i of PLUMB_COUNT has matched no function yet; atomic */
};

#endif
