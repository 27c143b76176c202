/* timing.h: the model of a timing report (`timing.json`): what a run measured, in integers of ns.
 *
 * The live mapping (live_read.h) fills it, the writer below makes the file, src/trace reads it
 * back, src/report prints it. Owned as a whole: every string and array lives in `arena` and dies
 * with plumb_timing_fini(). Not shared between threads. */
#ifndef PLUMB_FORMAT_TIMING_H
#define PLUMB_FORMAT_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/stats.h"
#include <plumb/abi.h>

enum { PLUMB_TIMING_SCHEMA = 1 };
#define PLUMB_TIMING_FORMAT "plumb-timing"
#define PLUMB_TIMING_NONE UINT32_MAX

struct plumb_timing_channel {
    struct plumb_stats ns;        /* `last_at` in Unix ns */
    struct plumb_bucket *buckets; /* values in ns */
    size_t bucket_count;
    double median_ns; /* by `median_estimator` of the node */
    double p50_ns, p90_ns, p95_ns, p99_ns;
};

struct plumb_timing_site {
    const char *file;
    uint32_t line;
};

/* A row: one (pipeline, phase, node). */
struct plumb_timing_node {
    const char *pipeline, *phase, *name;
    struct plumb_timing_channel host, device;
    uint64_t self_ns;
    uint64_t outermost_ns; /* part of the total that lies in no other span of its thread */
    uint64_t outermost_count;
    uint64_t skipped, failures, abandoned, unbalanced;
    const char *last_failure; /* NULL: none */
    uint32_t threads;
    uint32_t median_estimator; /* enum plumb_median */
    bool stage;
    struct plumb_timing_site *sites;
    size_t site_count;
};

/* A place in the call tree. Parents come before children. */
struct plumb_timing_tree {
    uint32_t parent; /* index in `tree`, or PLUMB_TIMING_NONE */
    uint32_t node;   /* index in `nodes` */
    uint64_t count, total_ns, self_ns;
    bool async;
};

struct plumb_timing_count {
    const char *pipeline, *name;
    int64_t total;
    uint64_t events;
};

struct plumb_timing_open { /* a span that was open when the run ended, outermost first per thread */
    const char *node, *phase;
    uint32_t tid;
    uint32_t depth;
    uint64_t age_ns;
};

struct plumb_timing_pair {
    const char *key, *value;
};

struct plumb_timing {
    struct plumb_arena arena;
    uint32_t schema;
    bool recovered; /* made from the mapping of a run that did not end by itself */
    const char *plumb_version;
    const char *request_id; /* "run_<stamp>" until requests exist */
    uint64_t start_unix_ns, end_unix_ns;
    uint64_t wall_clock_ns;
    const char *program;  /* path */
    const char *command;  /* argv joined by spaces */
    const char *pipeline; /* name of the default pipeline */
    const char *host, *cpu, *kernel;
    uint32_t pid;
    uint32_t cpus;
    int32_t rank, world_size, local_rank; /* -1: unknown */
    const char *rank_source;              /* the variable that told it; NULL: none */
    uint64_t skip_first_n;
    struct {
        const char *source; /* "tsc" or "clock_gettime" */
        double tick_ns;     /* fitted over the run */
        double resolution_ns;
        double drift_ppm; /* bound of the fit */
    } clock;
    struct {
        double span_ns; /* calibrated from empty spans */
        uint64_t spans;
        double total_ns;
    } overhead;
    struct {
        uint64_t other_nodes; /* names beyond PLUMB_MAX_NODES, counted under (other) */
        uint64_t other_state; /* samples counted under (other) for lack of state */
        uint64_t lost_state;  /* samples not counted at all: no memory even for (other) */
        uint64_t too_deep;    /* spans nested deeper than can be kept */
        uint64_t async;       /* async spans beyond the bound */
        uint64_t reentrant;   /* spans begun in a signal handler that interrupted plumb */
        uint64_t unbalanced;  /* spans closed by an outer end, a thread exit or the stop */
        uint64_t stale;       /* ends that belong to no open span */
        uint64_t tree;        /* call-tree places beyond the bound */
    } drops;
    struct plumb_timing_pair *env; /* every PLUMB_* variable */
    size_t env_count;
    struct plumb_timing_node *nodes; /* first-seen order */
    size_t node_count;
    struct plumb_timing_tree *tree;
    size_t tree_count;
    struct plumb_timing_count *counts;
    size_t count_count;
    struct plumb_timing_open *open;
    size_t open_count;
    const char **notes; /* what the end block says: warnings, asked for and not seen */
    size_t note_count;
};

void plumb_timing_init(struct plumb_timing *t);
void plumb_timing_fini(struct plumb_timing *t);

/* The part of the time that belongs to `node` alone, so that the parts of all rows add up: its self
 * time; for a node without any (async spans, samples measured elsewhere) its outermost time. */
uint64_t plumb_timing_own_ns(const struct plumb_timing_node *node);
/* "sketch", "p2" or "exact", from enum plumb_median. */
const char *plumb_timing_estimator_name(uint32_t median_estimator);

/* Appends timing.json to `out`: strict JSON, indent 2. Field by field in docs/timing-json.md.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_timing_write(const struct plumb_timing *t, struct plumb_buf *out, plumb_error *err);

#endif
