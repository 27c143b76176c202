/* run.h: open and close a run from the program, its options, and the log. Part of plumb.h.
 *
 *     plumb_options options = plumb_options_default();
 *     options.dir = "profiles";
 *     if (plumb_start(&options, &err) < 0)
 *         fprintf(stderr, "%s\n", err.message);
 *     work();
 *     plumb_stop(NULL);
 *
 * A program that is run with PLUMB=1 needs none of this. */
#ifndef PLUMB_RUN_H
#define PLUMB_RUN_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options ----------------------------------------------------------------------------------
 * Zero means the default everywhere; start from plumb_options_default(). Every setting is a field
 * and a variable PLUMB_<NAME>, which wins over the field (`plumb help environment`), but for three
 * that are variables only: PLUMB, for which plumb_start() stands, PLUMB_CONTROL, for which
 * plumb_control_open() stands, and PLUMB_CLOCK, because the clock is chosen when the library is
 * loaded. Strings are borrowed until plumb_start() returns. */

enum plumb_log { PLUMB_LOG_ERROR = 1, PLUMB_LOG_WARN = 2, PLUMB_LOG_INFO = 3, PLUMB_LOG_DEBUG = 4 };
/* Receives log lines up to the level that was set. `line` has no newline and lives until the
 * function returns. Called on any thread. */
typedef void (*plumb_log_fn)(int level, const char *line, void *arg); /* level: enum plumb_log */

enum plumb_switch { PLUMB_DEFAULT = 0, PLUMB_ON = 1, PLUMB_OFF = 2 };
/* As enum plumb_switch. ALWAYS also emits ranges on a machine without a GPU. */
enum plumb_nvtx_choice {
    PLUMB_NVTX_DEFAULT = 0,
    PLUMB_NVTX_ON = 1,
    PLUMB_NVTX_OFF = 2,
    PLUMB_NVTX_ALWAYS = 3
};
/* Choices: 0 is the default. */
enum plumb_memory_choice { PLUMB_MEMORY_STAGES = 0, PLUMB_MEMORY_ALL = 1, PLUMB_MEMORY_OFF = 2 };
enum plumb_memory_peak { PLUMB_MEMORY_PEAK_SAMPLED = 0, PLUMB_MEMORY_PEAK_EXACT = 1 };
enum plumb_signature_choice {
    PLUMB_SIGNATURE_SHAPES = 0,
    PLUMB_SIGNATURE_FULL = 1, /* statistics of the values too */
    PLUMB_SIGNATURE_OFF = 2
};
enum plumb_verify_choice { PLUMB_VERIFY_OFF = 0, PLUMB_VERIFY_WARN = 1, PLUMB_VERIFY_FAIL = 2 };
enum plumb_fork { PLUMB_FORK_FOLLOW = 0, PLUMB_FORK_OFF = 1 };
enum plumb_trace_mode { PLUMB_TRACE_STOP = 0, PLUMB_TRACE_RING = 1 };
enum plumb_region_scope { PLUMB_REGION_THREAD = 0, PLUMB_REGION_PROCESS = 1 };
enum plumb_activations_queue { PLUMB_ACTIVATIONS_BLOCK = 0, PLUMB_ACTIVATIONS_DROP = 1 };

struct plumb_options {
    size_t size;              /* sizeof(plumb_options) */
    const char *dir;          /* parent of run directories; default "plumb-out" */
    const char *run_dir;      /* the run directory itself; refused when it already holds a run */
    const char *pipeline;     /* name of the default pipeline; default: the program's name */
    uint64_t max_nodes;       /* default 4096, at most 1048575 */
    uint64_t max_state_bytes; /* bound of all statistics and records; default 256 MiB */
    uint64_t skip_first_n;    /* samples dropped at the start of each key; default 0 */
    uint32_t sync;            /* enum plumb_switch: device synchronise before each clock read */
    uint32_t median_p2;       /* enum plumb_switch: also keep the P-square median */
    uint32_t debug;           /* enum plumb_switch: record PLUMB_SPAN_DEBUG points; default off */
    uint32_t signals;         /* enum plumb_switch: finish the run on SIGTERM/SIGINT; default on */
    uint32_t quiet;           /* enum plumb_switch: no end block on stderr; default off */
    uint32_t log_level;       /* enum plumb_log; 0: silent */
    plumb_log_fn log;         /* default: stderr */
    void *log_arg;
    const char *timing_report;   /* path of a copy of timing.json; default: none */
    uint64_t ring_bytes;         /* recent records of a thread; default 16 KiB, 4 KiB to 16 MiB */
    uint32_t memory;             /* enum plumb_memory_choice: whose memory; default: stages' */
    uint32_t memory_peak;        /* enum plumb_memory_peak; default: the highest sample */
    int32_t memory_interval_ms;  /* between samples; default 10, at most 3600000; negative: none */
    uint32_t memory_checkpoints; /* enum plumb_switch: around each stage; default off */
    uint32_t signature;          /* enum plumb_signature_choice; default: shapes */
    uint32_t verify;             /* enum plumb_verify_choice: checks of stages; default: off */
    uint32_t fork;               /* enum plumb_fork: a child has its own run (default), or none */
    uint32_t reserved;
    const char *collect; /* collectors and their options, as in PLUMB_COLLECT; default "auto" */
    uint32_t trace;      /* enum plumb_switch: write trace.pftrace; default off */
    uint32_t trace_mode; /* enum plumb_trace_mode; default: stop at the bound */
    uint64_t trace_max_bytes;  /* of the trace; default 64 MiB, at least 64 KiB */
    uint64_t trace_ring_bytes; /* of a thread's records; default 1 MiB, 16 KiB to 256 MiB */
    const char *keep_signal;   /* name or number; default: none */
    const char *keep_if;       /* "NODE>50ms", more after commas; default: none */
    const char *trace_steps;   /* "10-12,40"; default: all */
    uint32_t trace_shapes;     /* enum plumb_switch, as the next three: what else the trace has */
    uint32_t trace_memory;
    uint32_t trace_flops;
    uint32_t trace_stack;
    uint32_t trace_stack_depth;      /* frames of a stack; default 8, at most 16 */
    uint32_t region_scope;           /* enum plumb_region_scope; default: of the thread */
    const char *regions;             /* names separated by commas, or "*"; default: none */
    const char *trace_nodes;         /* shell patterns separated by commas; default: none */
    uint32_t nvtx;                   /* enum plumb_nvtx_choice: emit NVTX ranges; default off */
    const char *activations_layers;  /* regular expression; default: every module */
    const char *activations_stats;   /* default "abs_mean,sum" */
    const char *activations_steps;   /* "0,5-9"; default: all */
    const char *activations_output;  /* default: activations.jsonl in the run directory */
    const char *activations_dump;    /* regular expression: tensors kept whole; default: none */
    uint64_t activations_dump_bytes; /* most of these; default 1 GiB */
    uint32_t activations;            /* enum plumb_switch; default off */
    uint32_t activations_append;     /* enum plumb_switch; default off: begun afresh */
    uint32_t activations_queue;      /* enum plumb_activations_queue; default: wait */
};

/* Returns options with every field at its default. */
static inline plumb_options plumb_options_default(void)
{
    plumb_options o;
    size_t i;
    for (i = 0; i < sizeof o; i++)
        ((unsigned char *)&o)[i] = 0;
    o.size = sizeof o;
    return o;
}

/* ---- Life cycle ------------------------------------------------------------------------------ */

/* Opens a run. `options`: NULL for the defaults. Needed only without PLUMB=1. PLUMB=0 wins: then
 * nothing is recorded and the call succeeds. If a run is open, a call without options succeeds and
 * the run continues, which is logged at info.
 *   threads  any; not a signal handler
 *   cost     milliseconds: makes the run directory and the live mapping. Waits for them up to 30 s
 *   errors   PLUMB_ERR_STATE: options were passed, but an open run cannot change them; `run_dir`
 *            holds a run already; the run is still being opened after 30 s; or the program has
 *            rights that its caller lacks (AT_SECURE), so that environment variables are ignored,
 *            and neither `dir` nor `run_dir` is set. PLUMB_ERR_ARG: an option is invalid.
 *            PLUMB_ERR_MEMORY. A directory that cannot be written is not an error: it is logged and
 *            the run stays in memory (plumb_summary_rows() still works) */
static inline int plumb_start(const plumb_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->start(options, err) : PLUMB_ERR_ABSENT;
}

/* Ends the run: writes timing.json and prints the end block to stderr. Without an open run it does
 * nothing and succeeds.
 *   threads  any; not a signal handler. Other threads may go on recording: nothing is kept of it
 *   cost     milliseconds to seconds: adds up the records of every thread
 *   errors   PLUMB_ERR_IO: a file could not be written; a line on stderr says what there still is.
 *            PLUMB_ERR_STATE: the end is held up for 30 s, by a disk for one. PLUMB_ERR_MEMORY,
 *            PLUMB_ERR_FORMAT: the records could not be read. The run has ended after these, but
 *            after PLUMB_ERR_STATE */
static inline int plumb_stop(plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->stop(err) : PLUMB_ERR_ABSENT;
}

/* Returns 1 while a run is open or will open at the first span, otherwise 0. Any thread; a load and
 * a call. */
static inline int plumb_is_recording(void)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->is_recording() : 0;
}

/* Writes the absolute path of the run directory to `out` [size] with a NUL: of the open run, of one
 * that waits for its first span, which this opens, or of the last one. 0.5 us. Errors:
 * PLUMB_ERR_STATE: no run has a directory; PLUMB_ERR_ARG: `out` is NULL, or `size` is too small,
 * and `err` says how much it needs. */
static inline int plumb_run_dir(char *out, size_t size, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->run_dir(out, size, err) : PLUMB_ERR_ABSENT;
}

/* Makes this process one that `plumb ps` lists and that front ends of its user may control: opens
 * runs, switches traces on, reads summaries (docs/control.md). PLUMB_CONTROL=1 does the same when
 * the library is loaded. A forked child is controlled under its own pid, from its first trace point
 * on. Does nothing where the process can be controlled already.
 *   threads  any; not a signal handler
 *   cost     milliseconds: starts a thread and makes a socket; spans cost what they cost before
 *   errors   PLUMB_ERR_IO: the socket cannot be made. PLUMB_ERR_STATE: the folder of the sockets is
 *            not safe, plumb has no thread (PLUMB_HELPER=off), or nothing answers within 5 s */
static inline int plumb_control_open(plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, control_open) ? api->control_open(err) : PLUMB_ERR_ABSENT;
}

/* Ends that: removes the socket and drops the connections. A run or trace that a front end has
 * opened continues, unless it was to last as long as its connection (`plumb attach`): that one
 * ends. As plumb_control_open(). */
static inline void plumb_control_close(void)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, control_close))
        api->control_close();
}

/* Switches the points of PLUMB_SPAN_DEBUG on (1) or off (0), in all threads and objects. A signal
 * handler may call it; if it interrupted plumb, the change takes effect a moment later. O(points
 * that were passed), under a lock. */
static inline void plumb_set_debug(int on)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->set_debug(on);
}

/* Passes log lines up to `level` (enum plumb_log; 0: none) to `log` with `arg`. `log` NULL: to
 * stderr. `log` and `arg` must live until another call replaces them. Any thread. */
static inline void plumb_set_log(int level, plumb_log_fn log, void *arg)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->set_log(level, log, arg);
}

#ifdef __cplusplus
}
#endif
#endif
