/* node_trace.h: trace files of single nodes (PLUMB_TRACE_NODES): two for each node whose name a
 * pattern matches. <node>_rank<R>.trace.json.gz has its runs and the spans inside them, on its
 * thread and on those that worked for it, and the work of collectors that was launched there, each
 * lane as a thread of its own. <node>_rank<R>.breakdown.json: see model/breakdown.h.
 * Selected nodes may nest, in others and in themselves: each file has a run once.
 *
 * Spans go in when they end, as a line of text in a file of the node (*.part), which is compressed
 * at the end: so memory does not grow with the trace. Together the texts have a bound; spans beyond
 * it are missing in the trace and counted in the breakdown, whose figures are always of all spans.
 *
 * Names of files are sanitised (sanitize.h). One thread at a time. */
#ifndef PLUMB_TIMELINE_NODE_TRACE_H
#define PLUMB_TIMELINE_NODE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "codec/chrome.h"
#include "model/breakdown.h"
#include "timeline/lane_work.h"

enum {
    PLUMB_NODE_FILES = 256, /* nodes with files; those met later have none, which is said */
    PLUMB_NODE_DEPTH = 256,
    PLUMB_NODE_PATH = 28,
    PLUMB_NODE_ARGS = 16
};

struct plumb_node_trace_options {
    const char *dir;
    const char *patterns;   /* shell patterns (fnmatch), separated by commas */
    const char *trace_name; /* the program's */
    int32_t rank;           /* negative: 0 */
    int32_t world_size;     /* 0 and less: not known */
    uint32_t pid;
    uint64_t base_unix_ns;   /* what times are added to */
    uint64_t max_text_bytes; /* of all files, uncompressed */
    uint32_t nodes_max;      /* numbers of nodes are below */
    bool filtered;           /* the tracks lack some launches on purpose */
    const char *(*name_of)(void *arg, uint32_t node);
    void *arg;
};

struct plumb_node_trace; /* opaque */

/* Something that runs spans: a thread. */
struct plumb_node_track {
    struct plumb_node_trace *set;
    int64_t tid;
    char name[64];
    uint32_t path[PLUMB_NODE_PATH];
    uint32_t path_depth;
    uint32_t depth;
    struct plumb_node_frame {
        uint64_t begin_ns, child_ns;
        uint32_t node;
        bool has_child, has_step; /* `has_step`: it differs from that around it */
        int64_t step;             /* -1: none */
        uint32_t up; /* depth of the innermost frame around it, or itself, that has a file */
    } frames[PLUMB_NODE_DEPTH + 1];
};

/* PLUMB_ERR_MEMORY. */
int plumb_node_trace_open(struct plumb_node_trace **out, const struct plumb_node_trace_options *o,
                          plumb_error *err);
void plumb_node_track_open(struct plumb_node_track *track, struct plumb_node_trace *set,
                           int64_t tid, const char *name);
/* The nodes that the track works below, outermost first. */
void plumb_node_track_path(struct plumb_node_track *track, const uint32_t *path, uint32_t depth);
void plumb_node_track_begin(struct plumb_node_track *track, uint32_t node, uint64_t ns);
/* The innermost span has just begun, in this step, which is not that of the span around it. */
void plumb_node_track_step(struct plumb_node_track *track, int64_t step);
/* The innermost span has ended, which ran for `phase`; `args`, at most PLUMB_NODE_ARGS, are written
 * with it. */
void plumb_node_track_end(struct plumb_node_track *track, uint64_t ns, const char *phase,
                          const struct plumb_chrome_arg *args, size_t arg_count);
/* A device has worked for `ns` for `node`, inside what is open. */
void plumb_node_track_device(struct plumb_node_track *track, uint32_t node, uint64_t ns);
/* Work of a lane is launched, or begins on the host, inside what is open: that with this flow. */
void plumb_node_track_launch(struct plumb_node_track *track, uint64_t flow);
/* The work itself; its launch may still come. */
void plumb_node_trace_work(struct plumb_node_trace *set, const struct plumb_lane_work *work);

/* Finishes the files and frees all. `told` gets notes for the user, a sentence each, ended by
 * newlines: patterns that no node matched, nodes without files, texts at their bound. Returns the
 * number of nodes that have files, or an error, of the first file that could not be written; the
 * others are. `set` may be NULL. */
int plumb_node_trace_close(struct plumb_node_trace *set, struct plumb_buf *told, plumb_error *err);
/* The same without files, for a trace that is not kept. */
void plumb_node_trace_drop(struct plumb_node_trace *set);
/* In a forked child, whatever the writer was doing: unmaps it. The files are the parent's. */
void plumb_node_trace_forget(struct plumb_node_trace *set);

#endif
