/* timing.h: the model of a timing report (`timing.json`): the measurements of a run, in integers of
 * ns.
 *
 * The live mapping (live/read.h) fills it, the writer below makes the file, src/read/run reads it
 * back, src/report prints it. Owned as a whole: every string and array lives in `arena` and dies
 * with plumb_timing_fini(). Not shared between threads. */
#ifndef PLUMB_MODEL_TIMING_H
#define PLUMB_MODEL_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/process/perf.h"
#include "base/stats/stats.h"
#include "model/timing_streams.h"

enum { PLUMB_TIMING_SCHEMA = 1 };
#define PLUMB_TIMING_FORMAT "plumb-timing"
#define PLUMB_TIMING_NONE UINT32_MAX

/* Why a median is of the sketch although the P-square estimator was asked for (PLUMB_MEDIAN=p2),
 * which follows one source of samples in their order. */
enum plumb_timing_median_why {
    PLUMB_MEDIAN_WHY_NONE = 0,    /* it was not asked for, or the median is its */
    PLUMB_MEDIAN_WHY_THREADS = 1, /* samples of several threads */
    PLUMB_MEDIAN_WHY_SOURCES = 2, /* spans and samples measured elsewhere */
    PLUMB_MEDIAN_WHY_RANGE = 3,   /* samples of hours, which have statistics of their own */
    PLUMB_MEDIAN_WHYS = 4
};

struct plumb_timing_channel {
    struct plumb_stats ns;        /* `last_at` in Unix ns */
    struct plumb_bucket *buckets; /* values in ns */
    size_t bucket_count;
    double median_ns; /* by `median_estimator` of the node */
    double p50_ns, p90_ns, p95_ns, p99_ns;
    double std_ns; /* as the mapping has it; that of a report is in `ns` */
};

struct plumb_timing_pair {
    const char *key, *value;
};

/* ---- Memory ----------------------------------------------------------------------------------
 * Bytes throughout. A pool is one allocator of one device, told through plumb_mem_*(). */

/* A pool as a scope of memory saw it: the blocks of its thread of control that it sees
 * (record/stage/ledger.h), and what the whole pool had reserved. */
struct plumb_timing_use {
    uint32_t pool;                          /* index in `pools` */
    uint64_t allocated, reserved;           /* at the end */
    uint64_t peak_allocated, peak_reserved; /* the highest while it was open */
};

/* The memory of a node, a request or a checkpoint. Of several runs: the last one's end, the highest
 * peak, the sum of the growths. */
struct plumb_timing_memory {
    uint64_t samples; /* runs whose resident set was read; 0: the four below are not known */
    uint64_t rss, peak_rss;
    int64_t growth;      /* at the end minus at the begin */
    bool peak_exact;     /* the kernel counted the peak; false: it is the highest sample */
    uint32_t reset_peak; /* 0: the peak counts from an earlier scope's begin */
    struct plumb_timing_use *uses;
    size_t use_count;
};

struct plumb_timing_owner {              /* who holds or held the bytes of a pool */
    const char *pipeline, *phase, *node; /* node "": outside every node */
    uint64_t allocs, alloc_bytes;        /* calls, and bytes of all of them */
    uint64_t frees, free_bytes;          /* of its blocks, by any thread; `by_size`: in it */
    uint64_t at_peak; /* bytes it held when the pool was at its peak; by size: not known, 0 */
};

struct plumb_timing_block { /* still allocated when the run ended */
    uint32_t owner;         /* index in `owners` of the pool, or PLUMB_TIMING_NONE */
    uint64_t address, bytes;
};

struct plumb_timing_pool {
    const char *device, *pool;
    uint64_t total; /* memory of the device; 0: unknown */
    uint64_t allocated, reserved, peak_allocated, peak_reserved;
    uint64_t peak_at_ns;            /* of peak_allocated, since the run's start */
    uint64_t allocated_at_reserved; /* allocated bytes when peak_reserved was reached */
    uint64_t allocs, alloc_bytes, frees, free_bytes;
    uint64_t unknown_frees;       /* of pointers that were not allocated from the pool */
    uint64_t untracked;           /* blocks beyond the bound: in the sums, without owner */
    uint64_t free_bytes_reserved; /* at the end, in reserved segments: not allocated ... */
    uint64_t largest_free;        /* ... and the largest hole of it; both 0: no segment is known */
    uint64_t held_before;         /* by size: bytes that are older than the run; in allocated */
    bool by_size; /* malloc: blocks are not followed, and frees are those made in the owner */
    struct plumb_timing_owner *owners; /* first-seen order */
    size_t owner_count;
    struct plumb_timing_block *leaks; /* largest first, at most PLUMB_TIMING_LEAKS */
    size_t leak_count;
    uint64_t leaked_blocks, leaked_bytes; /* of all */
};
enum { PLUMB_TIMING_LEAKS = 20 };

struct plumb_timing_checkpoint { /* in the order of their last recording */
    const char *name;
    uint64_t at_ns;   /* since the run's start */
    uint32_t request; /* index in `requests`, or PLUMB_TIMING_NONE */
    bool baseline;
    struct plumb_timing_memory memory;
};

struct plumb_timing_point {
    uint64_t at_ns; /* since the run's start, rising */
    uint64_t a, b;  /* resident set and 0; or allocated and reserved */
};
struct plumb_timing_series { /* memory over time; where points were thinned out, the highest stay */
    uint32_t pool;           /* index in `pools`; PLUMB_TIMING_NONE: the resident set */
    struct plumb_timing_point *points;
    size_t point_count;
};

/* ---- Devices ---------------------------------------------------------------------------------
 * What runs of a stage (or of a node outside every stage) had to do with work on devices. All runs
 * count, also those that skip_first_n has taken from the statistics. */
struct plumb_timing_wait {
    uint32_t node; /* index in `nodes`: whose work was waited for */
    uint64_t count, ns;
};
struct plumb_timing_device_use {
    uint64_t launches;
    uint64_t works, device_ns;       /* work that is done, and its time on the device */
    uint64_t wait_count, wait_ns;    /* all waits ... */
    struct plumb_timing_wait *waits; /* ... and the nodes whose work it was, as far as is known */
    size_t waited_for;               /* of `waits` */
};

struct plumb_timing_lane {
    const char *name, *device; /* NULL: none */
    uint64_t events, dropped, refused_times, launches;
    uint64_t busy_ns;    /* of its spans */
    uint64_t unknown_ns; /* of them, those whose launch is unknown */
    bool launch_only;
};
struct plumb_timing_clock {
    const char *name;
    double hz, drift_ppm; /* nominal rate; what it was found to deviate by */
    uint64_t anchors, jumps;
    uint64_t bound_ns; /* half the widest anchor: no conversion is better than that */
};
struct plumb_timing_collector {
    const char *name, *state, *why; /* `why` NULL: nothing to say */
    uint64_t refused_late;
    struct plumb_timing_lane *lanes;
    size_t lane_count;
    struct plumb_timing_clock *clocks;
    size_t clock_count;
};

/* ---- Stages and requests --------------------------------------------------------------------- */

struct plumb_timing_stage_run { /* one run of a stage; the newest 4096 are kept, oldest first */
    uint32_t node;              /* index in `nodes` */
    uint32_t tid;
    uint32_t depth;                 /* stages around it on its thread */
    uint32_t request;               /* index in `requests`, or PLUMB_TIMING_NONE */
    uint64_t begin_ns, duration_ns; /* begin since the run's start */
    bool failed;
    uint64_t rss, peak_rss; /* 0: not read */
    uint64_t number;        /* 1 is the first of the run, in the order of their ends */
    uint32_t within;        /* index in `nodes`: the stage that it was begun in; or NONE */
    const char *why;        /* of a failure; NULL: none */
};

struct plumb_timing_request_stage {
    uint32_t node; /* index in `nodes` */
    uint64_t count, failures, total_ns;
    uint64_t own_ns; /* total without the stages nested in it */
    uint64_t last_ns;
    uint64_t last_end_ns;  /* since the run's start; of failed runs too */
    uint64_t exclusive_ns; /* own time on the request's thread, of failed runs too */
    struct plumb_timing_device_use use;
    struct plumb_timing_memory memory;
};

enum plumb_timing_request_state {
    PLUMB_TIMING_REQUEST_OPEN = 0, /* when the run ended */
    PLUMB_TIMING_REQUEST_ENDED = 1,
    PLUMB_TIMING_REQUEST_FAILED = 2
};
struct plumb_timing_request { /* in the order of their begins; the newest 4096 are kept */
    const char *id;
    const char *why; /* of a failure; NULL: none */
    uint32_t state;  /* enum plumb_timing_request_state */
    uint32_t tid;
    uint64_t number;         /* 1 is the first of the run */
    uint64_t begin_ns;       /* since the run's start */
    const char *traceparent; /* as its metadata had it; NULL: none */
    uint64_t begin_unix_ns, wall_ns;
    uint64_t records, stages_ns; /* stage runs; time of the outermost of them */
    uint64_t exclusive_ns;       /* of all stages: what is left of wall_ns has none */
    struct {                     /* the longest time on its thread without a stage */
        uint64_t ns;
        uint32_t after, before; /* indexes in `nodes`, or PLUMB_TIMING_NONE: its begin, its end */
    } gap;
    struct plumb_timing_pair *metadata; /* kept, with `stages`, of the newest 64 */
    size_t metadata_count;
    struct plumb_timing_request_stage *stages;
    size_t stage_count;
    struct plumb_timing_memory memory;
};

struct plumb_timing_site {
    const char *file;
    uint32_t line;
};

/* When threads did not run while a run of the row was open, skipped and failed ones included; all 0
 * where the collector `sched` did not run. */
struct plumb_timing_sched {
    uint64_t preempted_ns, blocked_ns;
    uint64_t longest_ns; /* of the preemptions */
    uint64_t preemptions, blocks, migrations;
};

/* Counts of threads (base/process/perf.h, whose numbers index `counter`): of the runs of a stage,
 * or of the kernels of one name inside one stage. */
struct plumb_timing_counted {
    uint32_t node;      /* the stage: index in `nodes`; PLUMB_TIMING_NONE: a kernel outside any */
    const char *kernel; /* NULL: the stage itself */
    uint64_t runs;
    struct plumb_timing_counter {
        uint64_t total, runs; /* of the runs in which it was there; with 0 runs it is absent */
        uint64_t scaled;      /* of these, multiplexed: estimated from the part that was counted */
        uint64_t enabled_ns, running_ns; /* of events: the share that was counted */
    } counter[PLUMB_PERF_COUNTERS];
};
enum plumb_timing_counter_state { /* as enum plumb_live_perf_state */
                                  PLUMB_COUNTER_UNASKED = 0,
                                  PLUMB_COUNTER_THERE = 1,
                                  PLUMB_COUNTER_ABSENT = 2,
                                  PLUMB_COUNTER_SIMULATED = 3,
                                  PLUMB_COUNTER_STATES = 4
};

/* A row: one (pipeline, phase, node). */
struct plumb_timing_node {
    const char *pipeline, *phase, *name;
    struct plumb_timing_channel host, device;
    uint64_t self_ns;
    uint64_t outermost_ns; /* part of the total that lies in no other span of its thread */
    uint64_t outermost_count;
    uint64_t skipped; /* of the host; of a device where the host has no sample at all */
    uint64_t device_skipped;
    /* Device time of other nodes inside its runs; for the summary of a rank, not in timing.json. */
    uint64_t device_within_ns;
    uint64_t failures, abandoned, unbalanced;
    uint64_t untraced;        /* runs that ended and whose end is not in the trace */
    const char *last_failure; /* NULL: none */
    uint32_t threads;
    uint32_t median_estimator; /* enum plumb_median */
    uint32_t median_why;       /* enum plumb_timing_median_why */
    bool stage;
    const char *metric; /* component metric that it counts for; NULL: none */
    struct plumb_timing_device_use use;
    struct plumb_timing_sched sched;
    bool on_device, synced; /* it has a device; which was waited for before clocks were read */
    struct plumb_timing_memory memory;
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

struct plumb_timing_pipeline {
    const char *name;
    uint64_t skip_first_n; /* in force when the run ended */
};

struct plumb_timing_count {
    const char *pipeline, *name;
    int64_t total;
    uint64_t events;
};

/* The part of a count that was added inside spans of one node, as the innermost. */
struct plumb_timing_node_count {
    const char *pipeline, *phase, *node, *name;
    int64_t total;
    uint64_t events;
};

/* A count of a kind other than user counts, or of a step: raised in runs of the node, as the
 * innermost. One (pipeline, phase, node, step, kind, name) is in the list once. */
struct plumb_timing_cell {
    const char *pipeline, *phase, *node; /* node "": outside every node */
    const char *name;
    int64_t step;   /* -1: outside steps, or in one of steps_lost */
    uint32_t kind;  /* enum plumb_count_kind; of two that come together (copies and their bytes)
                      * the first */
    uint64_t calls; /* events */
    int64_t value;  /* their sum; of copies and allocations bytes */
};

/* The last observation of a histogram's bucket that was made in a request. */
struct plumb_timing_exemplar {
    const char *request; /* id; NULL: there is no exemplar */
    double value;
    uint64_t unix_ns;
};
/* One series of a metric (plumb/metrics.h) as it was when the run ended. */
struct plumb_timing_metric {
    const char *name;
    const char *help;   /* NULL: none */
    const char *labels; /* `a="1",b="2"`, as Prometheus has it; "": none */
    uint32_t type;      /* enum plumb_metric_type */
    double value;       /* of a counter or a gauge */
    uint64_t count;     /* of observations */
    double sum;
    double quantile[4]; /* .5 .9 .95 .99 of a summary's newest observations */
    /* Of a histogram: bound_count bounds, and one more of the others. */
    double *bounds;
    uint64_t *buckets;
    struct plumb_timing_exemplar *exemplars;
    size_t bound_count;
};

struct plumb_timing_open { /* a span that was open when the run ended, outermost first per thread */
    const char *node, *phase;
    uint32_t tid;
    uint32_t depth;
    uint64_t age_ns;
    const char *pipeline; /* NULL: the report is of a version that did not have it */
};

/* A trace of a part of the run. */
struct plumb_timing_window {
    const char *file;          /* in the run directory, or absolute */
    const char *end;           /* why it ends where it does: "complete", ... */
    uint64_t from_ns, to_ns;   /* since the start of the run */
    uint64_t bytes, spans;     /* of the file; spans whose end is in it */
    uint64_t dropped;          /* that ended in the window and whose end is not */
    uint32_t threads_left_out; /* that could not be switched in time */
};

struct plumb_timing {
    struct plumb_arena arena;
    uint32_t schema;
    bool recovered; /* made from the mapping: the process did not write its report itself */
    bool unsaved;   /* and that although it ended the run: the report could not be written */
    const char *plumb_version;
    const char *request_id; /* of the run as a whole; requests have their own */
    uint64_t start_unix_ns, end_unix_ns;
    uint64_t wall_clock_ns;
    const char *program;  /* path */
    const char *command;  /* argv joined by spaces */
    const char *pipeline; /* name of the default pipeline */
    const char *host, *cpu, *kernel;
    struct { /* NULL: unknown */
        const char *libc, *compiler, *nvidia_driver, *git_commit, *framework, *framework_version;
        const char **gpus;
        size_t gpu_count;
    } runtime;
    uint32_t pid;
    uint32_t cpus;
    int32_t rank, world_size, local_rank;    /* -1: unknown */
    const char *rank_source;                 /* the variable that it was read from; NULL: none */
    uint64_t skip_first_n;                   /* of the default pipeline */
    struct plumb_timing_pipeline *pipelines; /* none in files of before */
    size_t pipeline_count;
    struct {
        const char *source; /* "tsc" or "clock_gettime" */
        double tick_ns;     /* fitted over the run */
        uint32_t jumps;     /* of the counter, see plumb_live_clock_note() */
        double resolution_ns;
        double drift_ppm; /* bound of the fit */
    } clock;
    struct {
        double span_ns;      /* calibrated from empty spans in a loop */
        double work_span_ns; /* from spans round work; 0: of an older version */
        uint64_t spans;
        double total_ns;     /* of the spans, by work_span_ns */
        uint64_t threads_ns; /* processor time of plumb's own threads, measured */
    } overhead;
    struct {
        uint64_t other_nodes;  /* names beyond PLUMB_MAX_NODES, counted under (other) */
        uint64_t other_state;  /* samples counted under (other) for lack of state */
        uint64_t lost_state;   /* samples not counted at all: no memory even for (other) */
        uint64_t too_deep;     /* spans nested deeper than can be kept */
        uint64_t async;        /* async spans beyond the bound */
        uint64_t reentrant;    /* spans begun in a signal handler that interrupted plumb */
        uint64_t unbalanced;   /* spans closed by an outer end, a thread exit or the stop */
        uint64_t stale;        /* ends that belong to no open span */
        uint64_t range;        /* samples that were negative or longer than PLUMB_SAMPLE_MAX_NS */
        uint64_t other_phases; /* uses of phases beyond the bound, counted under (other) */
        uint64_t other_pipelines; /* the same of pipelines */
        uint64_t tree;            /* call-tree places beyond the bound */
    } drops;
    struct {
        const char *end;  /* why it ends where it does: "complete", ...; NULL: there is no trace */
        const char *mode; /* "stop" or "ring" */
        uint64_t bytes, spans; /* of trace.pftrace; spans whose end is in it */
        uint64_t dropped;      /* whose end is not */
        uint32_t dropped_threads;
        uint32_t kept; /* files that plumb_trace_keep() and the like have left */
        uint64_t kept_refused;
    } trace;
    struct plumb_timing_window *windows; /* of a trace, switched on and off during the run */
    size_t window_count;
    uint64_t windows_all;          /* further ones are only counted */
    struct plumb_timing_pair *env; /* every PLUMB_* variable */
    size_t env_count;
    struct plumb_timing_node *nodes; /* first-seen order */
    size_t node_count;
    struct plumb_timing_tree *tree;
    size_t tree_count;
    struct plumb_timing_count *counts;
    size_t count_count;
    struct plumb_timing_node_count *node_counts; /* none in files of before */
    size_t node_count_count;
    struct plumb_timing_cell *cells; /* none in files of before */
    size_t cell_count;
    uint64_t cells_lost; /* counts that are in the row of all steps alone: too many steps */
    struct plumb_timing_metric *metrics; /* none in files of before */
    size_t metric_count;
    uint64_t metrics_lost; /* series that found no space in the mapping */
    struct plumb_timing_open *open;
    size_t open_count;
    struct {
        uint64_t rss,
            peak_rss;   /* of the process; when the run ended, and while it lasted; 0: unknown */
        uint64_t total; /* of the machine, or of its control group where that is less */
        struct plumb_timing_pool *pools;
        size_t pool_count;
        struct plumb_timing_checkpoint *checkpoints;
        size_t checkpoint_count;
        struct plumb_timing_series *series;
        size_t series_count;
    } memory;
    struct plumb_timing_stage_run *stage_runs;
    size_t stage_run_count;
    uint64_t stage_runs_lost; /* older than those kept */
    struct plumb_timing_request *requests;
    size_t request_count;
    uint64_t requests_lost; /* older than those kept */
    struct plumb_timing_streams streams;
    struct plumb_timing_collector *collectors;
    size_t collector_count;
    struct {                                  /* of the collector `perf` */
        bool on;                              /* it ran */
        uint32_t state[PLUMB_PERF_COUNTERS];  /* enum plumb_timing_counter_state */
        const char *why[PLUMB_PERF_COUNTERS]; /* it is absent; NULL: it is not */
        uint64_t threads_refused;             /* whose events could not be opened */
        struct plumb_timing_counted *rows;    /* stages, in the order of their first runs, and
                                                * kernels */
        size_t row_count;
    } perf;
    const char **notes; /* notes of the end block: warnings, requested data that never came */
    size_t note_count;
};

void plumb_timing_init(struct plumb_timing *t);
void plumb_timing_fini(struct plumb_timing *t);
/* Returns the counts of a node's runs as a stage; NULL: it was not counted. `node`: index. */
const struct plumb_timing_counted *plumb_timing_counted_of(const struct plumb_timing *t,
                                                           size_t node);
/* Returns "there", "absent", "simulated"; NULL: it was not asked for. */
const char *plumb_timing_counter_state_name(uint32_t state);
/* Adds a note, which lives as long as `t`; NULL (out of memory) adds none. */
void plumb_timing_note(struct plumb_timing *t, const char *text);

/* Returns the skip_first_n of a pipeline; a file that does not list them has one for all. */
uint64_t plumb_timing_skip_of(const struct plumb_timing *t, const char *pipeline);
/* Returns whether the open span is one of the node. */
bool plumb_timing_is_open(const struct plumb_timing_open *open,
                          const struct plumb_timing_node *node);
/* Returns the part of the time that belongs to `node` alone, so that the parts of all rows add up.
 * It is the node's self time; if it has none (async spans, samples measured elsewhere), its
 * outermost time. */
uint64_t plumb_timing_own_ns(const struct plumb_timing_node *node);
/* Returns the meaning of the row's host times with respect to a device: "events": the device's own
 * times are given separately; "synced": the device was waited for, so host times include its work;
 * "launch": launch times only; "": it has no device. */
const char *plumb_timing_device_times(const struct plumb_timing_node *node);
/* The total without the time that threads did not run. */
static inline uint64_t plumb_timing_on_cpu_ns(const struct plumb_timing_node *node)
{
    uint64_t off = node->sched.preempted_ns + node->sched.blocked_ns;
    return node->host.ns.total > off ? (uint64_t)node->host.ns.total - off : 0;
}
/* The part of a request in which none of its stages ran. */
uint64_t plumb_timing_unaccounted_ns(const struct plumb_timing_request *r);
/* Appends "request 'a': 12.0 % of it (3.1 ms) is in no stage; longest gap ...". That is the request
 * with the largest such part above 5 %; then how many more there are. False: none has that much. */
bool plumb_timing_unaccounted_line(struct plumb_buf *out, const struct plumb_timing *t);
/* "sketch", "p2" or "exact", from enum plumb_median. */
const char *plumb_timing_estimator_name(uint32_t median_estimator);
/* "threads", "sources" or "range", from enum plumb_timing_median_why; NULL: none. */
const char *plumb_timing_median_why_name(uint32_t why);
/* Rows whose total stands at PLUMB_TOTAL_MAX. */
size_t plumb_timing_clamped(const struct plumb_timing *t);
/* "open", "ended" or "failed", from enum plumb_timing_request_state. */
const char *plumb_timing_request_state_name(uint32_t state);

/* Where the signatures of the report at `report` lie: its ".json" replaced by "_io_signature.json",
 * which is appended where there is no such ending. PLUMB_ERR_ARG: longer than `size`. */
int plumb_timing_signature_path(char *out, size_t size, const char *report, plumb_error *err);

/* Appends timing.json to `out`: strict JSON, indent 2. Field by field in docs/timing-json.md.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_timing_write(const struct plumb_timing *t, struct plumb_buf *out, plumb_error *err);

#endif
