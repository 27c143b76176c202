/* stopwatch.h: measure one operation without a node: seconds and a log line (plumb_timed),
 * seconds and peak memory of devices (plumb_stopwatch), the median of repeated calls
 * (plumb_measure); and the environment of the process. Part of plumb.h.
 *
 *     PLUMB_TIMED(load, "load weights");      (logs "load weights completed in 1.234s")
 *
 * A plumb_timed and a plumb_stopwatch measure with and without a recording. Any thread may call;
 * each object belongs to one thread at a time. */
#ifndef PLUMB_STOPWATCH_H
#define PLUMB_STOPWATCH_H

#include <plumb/detail/client.h>
#include <plumb/run.h>
#include <stdio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the host's time in nanoseconds: monotonic where the language mode declares POSIX,
 * otherwise wall-clock time (in whole seconds before C11). One clock read. */
static inline uint64_t plumb_now_ns(void)
{
#if defined(CLOCK_MONOTONIC) || defined(TIME_UTC)
    struct timespec ts = {0, 0};
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &ts);
#else
    timespec_get(&ts, TIME_UTC);
#endif
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#else
    return (uint64_t)time(NULL) * 1000000000u;
#endif
}

/* ---- Timed operations -------------------------------------------------------------------------
 * Works also without a recording, and with PLUMB_DISABLE (then without the log line). Its end
 * writes one log line, "<name> completed in <seconds, 3 decimals>s". */
typedef struct plumb_timed {
    const char *operation_name; /* borrowed until the end; never NULL */
    uint64_t begin_ns;
    double elapsed_seconds; /* valid after plumb_timed_end() */
    plumb_log_fn log;       /* NULL: the program's (plumb_set_log) */
    void *log_arg;
    int level; /* enum plumb_log, of the line */
} plumb_timed;

/* Begins an operation whose line is passed to `log` with `arg`, at `level`. If `log` is NULL, the
 * line goes to plumb's log. In both cases it is written only if the log level includes `level`
 * (PLUMB_LOG, plumb_set_log). `name`, `log` and `arg` must live until the end. Begin and end take
 * 0.1 us where no line is written. */
static inline plumb_timed plumb_timed_begin_with(const char *name, int level, plumb_log_fn log,
                                                 void *arg)
{
    plumb_timed t;
    t.operation_name = name ? name : "";
    t.elapsed_seconds = 0;
    t.log = log;
    t.log_arg = arg;
    t.level = level;
    t.begin_ns = plumb_now_ns();
    return t;
}
/* As plumb_timed_begin_with(), at level info, to plumb's log. */
static inline plumb_timed plumb_timed_begin(const char *name)
{
    return plumb_timed_begin_with(name, PLUMB_LOG_INFO, NULL, NULL);
}
/* Ends the operation: sets `elapsed_seconds` and writes the line. A second call does nothing. */
static inline void plumb_timed_end(plumb_timed *timed)
{
    const struct plumb_api *api;
    char line[256];
    uint64_t ns, ms;
    if (!timed->begin_ns)
        return;
    ns = plumb_now_ns() - timed->begin_ns;
    timed->elapsed_seconds = (double)ns * 1e-9;
    timed->begin_ns = 0;
    api = plumb_api_();
    if (!api)
        return;
    /* No %f: the host's locale may write a comma. */
    ms = (ns + 500000) / 1000000;
    snprintf(line, sizeof line, "%.200s completed in %llu.%03us",
             timed->operation_name ? timed->operation_name : "", (unsigned long long)(ms / 1000),
             (unsigned)(ms % 1000));
    if (timed->log && PLUMB_KNOWS_(api, log_line_to))
        api->log_line_to(timed->level, line, timed->log, timed->log_arg);
    else
        api->log_line(timed->level, line);
}

static inline void plumb_timed_cleanup_(plumb_timed *timed)
{
    plumb_timed_end(timed);
}
/* A timed operation that ends with the block; var.elapsed_seconds is valid after plumb_timed_end().
 */
#define PLUMB_TIMED(var, name) PLUMB_TIMED_WITH(var, name, PLUMB_LOG_INFO, NULL, NULL)
/* As PLUMB_TIMED, with a level and a logger of its own: see plumb_timed_begin_with(). */
#define PLUMB_TIMED_WITH(var, name, level, log, arg)                                               \
    plumb_timed var __attribute__((cleanup(plumb_timed_cleanup_))) =                               \
        plumb_timed_begin_with(name, level, log, arg)

/* Wraps a function as PLUMB_WRAP does: PLUMB_TIMED_WRAP(int, decode, (int n), (n)) defines
 * `int decode_timed(int n)`, a timed operation called "decode". */
#define PLUMB_TIMED_WRAP(ret, fn, params, args)                                                    \
    PLUMB_TIMED_WRAP_WITH(ret, fn, params, args, PLUMB_LOG_INFO, NULL, NULL)
#define PLUMB_TIMED_WRAP_VOID(fn, params, args)                                                    \
    PLUMB_TIMED_WRAP_VOID_WITH(fn, params, args, PLUMB_LOG_INFO, NULL, NULL)
#define PLUMB_TIMED_WRAP_WITH(ret, fn, params, args, level, log, arg)                              \
    static inline ret fn##_timed params                                                            \
    {                                                                                              \
        PLUMB_TIMED_WITH(plumb_timed_, #fn, level, log, arg);                                      \
        return fn args;                                                                            \
    }                                                                                              \
    typedef int fn##_timed_wrapped_
#define PLUMB_TIMED_WRAP_VOID_WITH(fn, params, args, level, log, arg)                              \
    static inline void fn##_timed params                                                           \
    {                                                                                              \
        PLUMB_TIMED_WITH(plumb_timed_, #fn, level, log, arg);                                      \
        fn args;                                                                                   \
    }                                                                                              \
    typedef int fn##_timed_wrapped_

/* ---- Seconds and peak memory ----------------------------------------------------------------- */

/* Options of plumb_stopwatch_start(): zero fields take the defaults. */
struct plumb_stopwatch_options {
    size_t size; /* sizeof(plumb_stopwatch_options) */
    /* [device_count] names as given to plumb_mem_alloc(), of at most 55 bytes; copied. Duplicates
     * count once. */
    const char *const *devices;
    size_t device_count;
    uint32_t capture_peak_memory; /* 1: with the peak memory of these */
    uint32_t reserved;
    double (*now_s)(void *arg); /* a clock in seconds; default: the monotonic clock */
    void *arg;                  /* of now_s; both must live until the stop */
};
enum { PLUMB_STOPWATCH_DEVICES = 16 };
struct plumb_stopwatch_result {
    size_t size; /* sizeof(plumb_stopwatch_result) */
    double seconds;
    uint32_t device_count; /* of `memory` */
    uint32_t reserved;
    struct {
        char device[56];
        uint64_t peak_allocated_bytes, peak_reserved_bytes;
    } memory[PLUMB_STOPWATCH_DEVICES]; /* in the order of `devices`, without duplicates */
};

/* Measures the elapsed time and the peak memory of devices until plumb_stopwatch_stop(), whichever
 * thread allocates it. Without a recording it measures the time alone, and the peaks are 0.
 *   out      plumb_stopwatch_stop() frees it; NULL after an error
 *   options  NULL for the defaults: time alone
 *   cost     10 us with the stop: system calls for its memory, and a lock for each with peaks
 *   errors   PLUMB_ERR_ARG: `options` has no size, `devices` is NULL, a name is NULL or too long,
 *            or there are more than PLUMB_STOPWATCH_DEVICES. PLUMB_ERR_MEMORY */
static inline int plumb_stopwatch_start(plumb_stopwatch **out,
                                        const plumb_stopwatch_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    *out = NULL;
    return PLUMB_KNOWS_(api, stopwatch_start) ? api->stopwatch_start(out, options, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Ends the measurement, fills `out` as far as `out->size` says, and frees the stopwatch, also when
 * it returns an error: PLUMB_ERR_ARG: `out` is NULL or has no size; PLUMB_ERR_ABSENT: the stopwatch
 * is NULL. */
static inline int plumb_stopwatch_stop(plumb_stopwatch_result *out, plumb_stopwatch *stopwatch,
                                       plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return stopwatch && PLUMB_KNOWS_(api, stopwatch_stop) ? api->stopwatch_stop(out, stopwatch, err)
                                                          : PLUMB_ERR_ABSENT;
}
/* ---- Repeated calls -------------------------------------------------------------------------- */

/* plumb_measure(): zero fields take the defaults. */
struct plumb_measure_options {
    size_t size;          /* sizeof(plumb_measure_options) */
    int32_t warmups;      /* calls; default 3; negative: none */
    int32_t samples;      /* calls; default 20, at most 1000000 */
    plumb_device *device; /* synchronised before each clock read; default none */
    /* Name of a plumb_counter_add() that must move in every sample; default none. */
    const char *counter;
};
struct plumb_measured {
    double median_ns; /* upper middle of the sorted samples */
    double min_ns;
    double max_ns;
    double mean_ns;
    uint32_t samples;
    uint32_t warmups;
};

/* Measures fn(arg): first warm-up calls, which absorb lazy initialisation, then samples with the
 * device synchronised before each clock read; `out` has their median.
 *   fn       called on this thread, warmups + samples times
 *   options  NULL for the defaults
 *   errors   PLUMB_ERR_NOT_RUN: `options->counter` did not move during a sample (a lazy pipeline
 *            that never ran). PLUMB_ERR_STATE: there is a counter, but no recording to read it
 *            from. PLUMB_ERR_ARG: `out` or `fn` is NULL, or `samples` is out of range.
 *            PLUMB_ERR_MEMORY */
static inline int plumb_measure(plumb_measured *out, void (*fn)(void *arg), void *arg,
                                const plumb_measure_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->measure(out, fn, arg, options, err) : PLUMB_ERR_ABSENT;
}

/* ---- Environment ----------------------------------------------------------------------------- */

enum { PLUMB_ENVIRONMENT_GPUS = 16 };
/* plumb_environment_read(): an empty text means unknown. */
struct plumb_environment {
    size_t size;        /* sizeof(plumb_environment) */
    char platform[256]; /* system, release and machine of uname() */
    char libc[64];      /* "glibc 2.36" */
    char compiler[128]; /* of libplumb */
    char plumb[32];     /* version */
    char framework[64]; /* as the program passed it */
    char framework_version[64];
    char nvidia_driver[64]; /* "550.54.14" */
    char git_commit[72];    /* in hexadecimal digits */
    uint32_t gpu_count, reserved;
    char gpus[PLUMB_ENVIRONMENT_GPUS][64]; /* names, in the order of the bus */
};

/* Fills `out` with the environment of the process: system, C library, compiler, plumb, GPUs, and
 * the commit of the Git repository of the working directory or, if it is not in one, of the
 * program. All of it is read from files; no library is loaded and no program is run. `out->size`
 * must be set. `framework` and `version`: the framework of the program, e.g. "pytorch" and "2.4.0";
 * NULL: unknown. They are added to the timing.json of the open run, which has the rest already.
 * Errors: PLUMB_ERR_ARG: `out` is NULL or has no size, or a text has 64 bytes or more;
 * PLUMB_ERR_STATE: a file does not answer within 5 s. Takes up to 1 ms. */
static inline int plumb_environment_read(plumb_environment *out, const char *framework,
                                         const char *version, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, environment_read) ? api->environment_read(out, framework, version, err)
                                               : PLUMB_ERR_ABSENT;
}

#ifdef __cplusplus
}
#endif
#endif
