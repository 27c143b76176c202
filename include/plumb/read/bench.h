/* bench.h: run one stage alone, with inputs made from its recorded signature, and measure it. Part
 * of libplumb-read; plumb/read.h has the rules of all its headers.
 *
 *     plumb_bench_options options = plumb_bench_options_default();
 *     plumb_bench_result result;
 *     options.steps = 2;
 *     if (plumb_bench(&result, "runs/latest", "denoise", &denoise_ops, engine, &options, &err) < 0)
 *         return fail(err.message);
 *     printf("%.3f ms\n", result.median_ms);
 *     plumb_bench_result_free(&result);
 *
 * `plumb bench` does this in a process of its own, so that a stage that crashes or hangs is
 * reported. Here it happens in the calling process, on the calling thread. */
#ifndef PLUMB_READ_BENCH_H
#define PLUMB_READ_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>
#include <plumb/stage_library.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the inputs come from. */
enum plumb_bench_inputs {
    PLUMB_BENCH_INPUTS_AUTO = 0,     /* captured ones where there are any, random ones otherwise */
    PLUMB_BENCH_INPUTS_CAPTURED = 1, /* those that PLUMB_CAPTURE recorded; an error without */
    PLUMB_BENCH_INPUTS_RANDOM = 2    /* of the recorded shape, type and statistics, from `seed` */
};

/* How far a bench is, kept up to date while it works. It may lie in memory that is shared with
 * another process, which then knows what a stage was doing when it crashed or hung. */
enum plumb_bench_phase {
    PLUMB_BENCH_PREPARING = 0,
    PLUMB_BENCH_WARMING = 1,
    PLUMB_BENCH_MEASURING = 2,
    PLUMB_BENCH_DONE = 3
};
typedef struct plumb_bench_progress {
    volatile uint32_t phase; /* enum plumb_bench_phase */
    volatile uint32_t run;   /* index of the warm-up or measured run */
    volatile int64_t step;   /* of the stage's loop; -1: not in it, or not known */
} plumb_bench_progress;

typedef struct plumb_bench_options {
    size_t size;     /* sizeof(plumb_bench_options) */
    int32_t warmup;  /* runs before the measured ones; 0: 1; -1: none */
    uint32_t repeat; /* measured runs; 0: 5, or fewer when they take longer than 10 s */
    uint32_t
        steps; /* of the stage's loop, in each run; 0: 1. A stage without a loop takes it as the
                       number of runs */
    uint32_t inputs;           /* enum plumb_bench_inputs */
    const int64_t *first_step; /* NULL: the captured step, otherwise 0 */
    uint64_t seed;             /* of random inputs */
    double min_time_s;         /* measures until this much time was spent in runs; 0: no minimum */
    double deadline_ms;        /* of a run; 0: none */
    uint32_t energy;           /* 1: also measures the energy of the processor (RAPL) */
    uint32_t reserved;
    plumb_bench_progress *progress; /* NULL: not wanted */
    /* Called once, after the warm-ups: begins a recording of the measured runs, for instance. NULL:
     * nothing to do. */
    void (*measuring)(void *arg);
    void *arg;            /* of measuring() */
    const char *powercap; /* folder of the energy counters; NULL: /sys/class/powercap */
} plumb_bench_options;

/* Whether the outputs have the bytes of those that the captured call had in the pipeline. Compared
 * are the outputs of the last run by name, if every input was captured and a run is what was
 * captured: the step alone, or the whole call. */
enum plumb_bench_equal {
    PLUMB_BENCH_NOT_COMPARED = 0, /* a remark says why, if the inputs were captured */
    PLUMB_BENCH_EQUAL = 1,        /* all that both have */
    PLUMB_BENCH_DIFFER = 2        /* one at least; a remark names the first */
};

/* The part of the stage that a run is. */
enum plumb_bench_shape {
    PLUMB_BENCH_WHOLE = 0, /* the stage has no loop: one whole call */
    PLUMB_BENCH_LOOP = 1,  /* `run`, whose PLUMB_STEPS loop is limited to the wanted steps */
    PLUMB_BENCH_STEP = 2   /* `step`, once for each wanted step */
};

typedef struct plumb_bench_result {
    size_t size;      /* sizeof(plumb_bench_result) */
    uint64_t *run_ns; /* [runs] time of each measured run, in order */
    char *remarks;    /* what limits the figures, one line each; "" */
    uint32_t runs;    /* measured */
    uint32_t warmups;
    uint32_t shape;     /* enum plumb_bench_shape */
    uint32_t captured;  /* 1: the inputs were captured, 0: random */
    int64_t first_step; /* of each run; -1: the stage has no loop */
    int64_t steps;      /* of each run; 1 without a loop */
    int64_t loop_steps; /* that the whole loop has; -1: not known */
    /* Of a run. Percentiles interpolate linearly between order statistics (type 7 of Hyndman and
     * Fan, as NumPy). `std_ms` has n - 1; NaN for a single run. */
    double median_ms, mean_ms, std_ms, min_ms, max_ms, p25_ms, p75_ms, p95_ms, p99_ms, p999_ms;
    double low_ms, high_ms; /* 95 % confidence interval of the median; NaN: fewer than 6 runs */
    double warmup_ms;       /* the first warm-up; NaN: none */
    double drift;           /* median of the last third over that of the first; NaN: under 6 runs */
    double noise;           /* interquartile range over the median; NaN for a single run */
    uint64_t preemptions;   /* involuntary context switches of the process in measured runs */
    uint64_t peak_bytes;    /* highest resident set of the process */
    uint64_t output_hash;   /* of the outputs of the last run, their names and types; 0: none */
    uint32_t outputs;       /* of the last run */
    uint32_t outputs_vary;  /* 1: the first and the last measured run differ in them */
    /* With a deadline: */
    double deadline_ms;            /* 0: none */
    uint64_t overruns;             /* runs that took longer */
    double budget_p99, budget_max; /* part of the deadline that the p99 and the maximum leave */
    /* With energy: joules for each run; NaN: absent, which a remark explains. */
    double cpu_joules, cpu_watts;
    uint32_t outputs_equal;    /* enum plumb_bench_equal */
    uint32_t outputs_compared; /* with those of the captured call */
} plumb_bench_result;

/* Returns options with every field at its default. */
static inline plumb_bench_options plumb_bench_options_default(void)
{
    plumb_bench_options o;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    return o;
}

/* Facts about a bench besides its result: the same stage in the pipeline, and files. Texts
 * are the caller's. */
typedef struct plumb_bench_facts {
    size_t size; /* sizeof(plumb_bench_facts) */
    const char *stage, *library, *signature;
    const char *trace, *breakdown, *program; /* paths of the files made; NULL: not made */
    uint64_t trace_bytes;                    /* 0: not known */
    uint64_t seed;
    /* In the pipeline that was recorded: */
    double pipeline_ms;            /* what one run does took there; NaN: not known */
    char pipeline_node[128];       /* whose median that is; "": the stage's mean over its steps */
    uint64_t pipeline_count;       /* samples of it */
    uint64_t pipeline_iterations;  /* steps, or whole runs, of the stage; 0: not known */
    uint64_t pipeline_peak_bytes;  /* highest resident set; 0: not known */
    uint64_t pipeline_trace_bytes; /* size of its trace; 0: it has none */
} plumb_bench_facts;

/* Returns facts without any. */
static inline plumb_bench_facts plumb_bench_facts_default(void)
{
    plumb_bench_facts f;
    memset(&f, 0, sizeof f);
    f.size = sizeof f;
    f.pipeline_ms = __builtin_nan("");
    return f;
}

/* Runs stage `name` of the signature `signature` (a file, or a run that has one) by `ops` on
 * `instance`, and fills `out`, which plumb_bench_result_free() empties. ops->sync is called before
 * each run, and again after it inside the measured time. If the process records, each run is a
 * stage "bench" in the recording, warm-ups "bench.warmup".
 *   errors  PLUMB_ERR_NOT_FOUND: no such signature or stage (the message lists the existing ones),
 *           or no capture; PLUMB_ERR_FORMAT: the signature or the capture is damaged;
 *           PLUMB_ERR_ARG: an input cannot be made, a step that the loop does not have, or a step
 *           of a stage whose loop cannot be limited; PLUMB_ERR_MEMORY; or what the stage
 *           returned, with its message */
PLUMB_API int plumb_bench(plumb_bench_result *out, const char *signature, const char *name,
                          const plumb_stage_ops *ops, void *instance,
                          const plumb_bench_options *options, plumb_error *err);
/* Frees what the result owns and zeroes it. */
PLUMB_API void plumb_bench_result_free(plumb_bench_result *result);

/* Returns the stages of a signature (a file, or a run that has one), a line "  - NAME" each. Errors
 * as plumb_bench(). */
PLUMB_API int plumb_bench_stages(char **out, const char *signature, plumb_error *err);
/* Returns the configuration of the stage's model that the program recorded as metadata
 * "stage_config", "" without one, and writes the folder that the signature lies in to `folder`
 * [size]. Errors as plumb_bench(). */
PLUMB_API int plumb_bench_config(char **out, char *folder, size_t size, const char *signature,
                                 const char *name, plumb_error *err);
/* Writes the part of file names that stands for stage `name` to `out` [size], which 101 bytes are
 * enough for: letters, digits, '.', '_' and '-'. Distinct names stay distinct: a name with anything
 * else in it, or a long one, ends in '-' and a hash of 12 hex digits. Returns `out`. */
PLUMB_API const char *plumb_bench_file_name(char *out, size_t size, const char *name);
/* Fills the pipeline_* fields of `facts` from the recording next to the signature; they stay as
 * they are where there is none. Errors: PLUMB_ERR_FORMAT, PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_bench_pipeline(plumb_bench_facts *facts, const plumb_bench_result *result,
                                   const char *signature, plumb_error *err);
/* Renders a result, without a newline at its end, as "text", "md", "csv" (a line for each run) or
 * "json": the form of google/benchmark, whose tools read it, with the fields of plumb besides.
 * PLUMB_ERR_ARG: another format. */
PLUMB_API int plumb_bench_render(char **out, const plumb_bench_result *result,
                                 const plumb_bench_facts *facts, const char *format,
                                 plumb_error *err);

/* Returns one table of the benchmarks in `files` [count], as "text", "md", "csv" or "json" (NULL:
 * text): files of google/benchmark, such as bench.json, of pytest-benchmark, of plumb
 * count-launches and of plumb record --energy-output. A row has min, p50, mean, std (n - 1), IQR,
 * p95, p99, p99.9 and max in ms, percentiles by linear interpolation (type 7); rounds, the
 * iterations of each, and in CSV and JSON the fields that the file has besides. Without the times
 * of its rounds a benchmark has the figures of the file, and no tails.
 * `out` has two texts, which plumb_read_free() frees: the table, and a line for each file that is
 * skipped because it has no benchmarks.
 *   errors  PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO: a file cannot be read; PLUMB_ERR_FORMAT: no file has
 *           benchmarks; PLUMB_ERR_ARG: another format; PLUMB_ERR_MEMORY */
PLUMB_API int plumb_bench_aggregate(char *out[2], const char *const *files, size_t count,
                                    const char *format, plumb_error *err);

/* Returns the text of a C program that runs stage `name` alone as `result` was made, without plumb:
 * "profile_<file>.c", whose first comment has the command that builds it. `library` and `config`
 * are what it loads and opens by default. Equal arguments give equal text. Errors as
 * plumb_bench(). */
PLUMB_API int plumb_bench_program(char **out, const char *signature, const char *name,
                                  const char *file, const char *library, const char *config,
                                  const plumb_bench_result *result,
                                  const plumb_bench_options *options, plumb_error *err);

/* Opens a stage library (plumb/stage_library.h), which stays loaded for the life of the process,
 * and sets `out` to its table. Errors: PLUMB_ERR_NOT_FOUND: the loader cannot load it;
 * PLUMB_ERR_FORMAT: not a stage library, or of another version. */
PLUMB_API int plumb_stages_load(const struct plumb_stage_library **out, const char *path,
                                plumb_error *err);
/* Sets `out` to the stage called `name`. PLUMB_ERR_NOT_FOUND: the message lists the existing ones;
 * `path` is what it calls the library. */
PLUMB_API int plumb_stages_find(const plumb_stage_ops **out,
                                const struct plumb_stage_library *library, const char *name,
                                const char *path, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
