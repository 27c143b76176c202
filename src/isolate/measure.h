/* measure.h: runs a loaded stage, limits its loop and times it. One thread, the one that the
 * stage's functions are called on. */
#ifndef PLUMB_ISOLATE_MEASURE_H
#define PLUMB_ISOLATE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/bench.h>
#include <plumb/stage_library.h>

struct plumb_rapl;
struct plumb_value_hashes;

struct plumb_measure {
    const plumb_stage_ops *ops;
    void *instance;
    const plumb_field *inputs; /* [input_count] */
    size_t input_count;
    int64_t first_step;
    bool first_given;               /* by the user: a stage without a loop is then an error */
    uint32_t warmup, repeat, steps; /* repeat 0: the default */
    double min_time_s;
    plumb_bench_progress *progress;     /* not NULL */
    struct plumb_rapl *energy;          /* filled; NULL: not measured */
    const char *powercap;               /* of `energy`; NULL: the system's */
    struct plumb_value_hashes *outputs; /* filled, of the last run; NULL: not wanted */
    void (*measuring)(void *arg);       /* called after the warm-ups; NULL: none */
    void *arg;
};

/* Warms up and measures. Fills run_ns, runs, warmups, the shape and its steps, warmup_ms, the
 * outputs' hash and preemptions of `out`; the caller frees `run_ns`. Errors as plumb_bench(). */
int plumb_measure_runs(plumb_bench_result *out, const struct plumb_measure *m, plumb_error *err);

#endif
