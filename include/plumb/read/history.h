/* history.h: results of benchmarks and runs over time, kept in one SQLite file, and the baseline
 * that a new result is compared with. Part of libplumb-read; plumb/read.h has the rules of all its
 * headers.
 *
 *     plumb_history *history;
 *     plumb_results *results;
 *     plumb_baseline baseline = {sizeof baseline};
 *     if (plumb_results_open(&results, "bench.json", NULL, &err) < 0 ||
 *         plumb_history_open(&history, NULL, NULL, &err) < 0)
 *         return fail(err.message);
 *     const plumb_result *r = plumb_results_get(results, 0);
 *     if (plumb_history_baseline(&baseline, history, &r->cohort, r->metrics[0].name, 0, &err) < 0)
 *         return fail(err.message);
 *     if (baseline.state == PLUMB_BASELINE_FOUND)
 *         printf("%g, was %g\n", r->metrics[0].value, baseline.median);
 *
 * A library that was built without SQLite has these functions too; those that return a status then
 * return PLUMB_ERR_ABSENT. */
#ifndef PLUMB_READ_HISTORY_H
#define PLUMB_READ_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a history lies by default. */
#define PLUMB_HISTORY_PATH ".plumb/history.db"

enum { PLUMB_BASELINE_RECORDS = 5 }; /* records whose median is the baseline */

/* The keys of a result. Two results are comparable if all six are equal as texts. NULL: not known;
 * such a result is not comparable with any other. */
typedef struct plumb_cohort {
    const char *workload; /* what is measured */
    const char *variant;  /* of the workload: a size, a stage, a benchmark */
    const char *version;  /* of the benchmark; another one begins a new cohort */
    const char *recipe;   /* SHA-256 of the canonical JSON of how it was run */
    const char *hardware; /* "hw-" and 16 hex digits */
    const char *software; /* "sw-" and 16 hex digits */
} plumb_cohort;

/* A figure of a result. */
typedef struct plumb_metric {
    const char *name;          /* "latency", a node, a benchmark's counter */
    const char *unit;          /* "s", "ms", "ns", "MB", "bytes", "1/s", "" */
    double value;              /* NaN: not measured */
    uint32_t higher_is_better; /* 1: as a throughput; 0: as a time */
    uint32_t gated;            /* 1: makes a result a regression; 0: is only shown */
    double floor_relative;     /* a change counts above this part of the baseline, ... */
    double floor_absolute;     /* ... and above this, in `unit` */
} plumb_metric;

/* How a comparison of a result with its baseline ends. */
enum plumb_history_status {
    PLUMB_HISTORY_PASS = 0,
    PLUMB_HISTORY_REGRESSION = 1,
    PLUMB_HISTORY_INFRA_ERROR = 2,        /* it could not be made */
    PLUMB_HISTORY_CALIBRATION_NEEDED = 3, /* no baseline yet */
    PLUMB_HISTORY_RECIPE_MISMATCH = 4,    /* the baseline was run in another way */
    PLUMB_HISTORY_QUALITY_BLOCKED = 5,    /* reserved, never returned */
    PLUMB_HISTORY_NOT_COMPARED = 6        /* an import of old results */
};

/* One result: a benchmark, or a run. */
typedef struct plumb_result {
    plumb_cohort cohort;
    const char *label;      /* for people: a model, a program */
    const char *device;     /* for people; NULL: not known */
    const char *commit;     /* NULL: not known, as the next two */
    const char *branch;     /* */
    const char *pr;         /* number of the pull request */
    const char *run_source; /* "pr", "local", "scheduled_main" or "unknown" */
    const char *source;     /* the file that it was read from */
    const char *reason;     /* of the status, one line; NULL: none */
    uint64_t time_ns;       /* when it was measured, Unix time */
    int64_t id;             /* in the history; 0: not in it */
    uint32_t success;       /* 1: measured, and within its static limits */
    uint32_t eligible;      /* 1: counts for baselines */
    uint32_t status;        /* enum plumb_history_status */
    uint32_t baseline;      /* enum plumb_baseline_state */
    const plumb_metric *metrics;
    size_t metric_count;
} plumb_result;

/* ---- Reading results ------------------------------------------------------------------------- */

typedef struct plumb_results_options {
    size_t size;          /* sizeof(plumb_results_options) */
    const char *workload; /* replace those of the file; NULL: as the file has them */
    const char *variant;
    const char *version;
    const char *recipe;   /* path of a JSON file, or 64 hex digits */
    const char *hardware; /* path of a JSON file, or an id */
    const char *software; /* path of a JSON file, or an id */
    const char *config;   /* path of a benchmark's configuration, for a run whose requests are the
                                runs of that benchmark; NULL: none */
    char *const *environ_of; /* "NAME=value" entries, NULL-terminated, to infer the source of the
                                run from; NULL: those of the process */
} plumb_results_options;

/* Returns options with every field at its default. */
static inline plumb_results_options plumb_results_options_default(void)
{
    plumb_results_options o;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    return o;
}

typedef struct plumb_results plumb_results;

/* Reads the results at `path`, whose kind it recognises: bench.json of plumb bench and other files
 * of google/benchmark, perf_*.json of FastVideo, a run directory or a timing.json, or a folder of
 * results of airspeed velocity.
 *   errors  PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO: it cannot be read; PLUMB_ERR_FORMAT: another kind
 *           of file, or damaged; PLUMB_ERR_ABSENT: built without SQLite */
PLUMB_API int plumb_results_open(plumb_results **out, const char *path,
                                 const plumb_results_options *options, plumb_error *err);
/* Reads the results at `path` too. After an error the results are as they were, except for their
 * remarks. Pointers from plumb_results_get() are no longer valid. Errors: those of
 * plumb_results_open(). */
PLUMB_API int plumb_results_read(plumb_results *results, const char *path,
                                 const plumb_results_options *options, plumb_error *err);
/* Frees the results, and the texts in them. */
PLUMB_API void plumb_results_close(plumb_results *results);
/* Returns how many there are. */
PLUMB_API size_t plumb_results_count(const plumb_results *results);
/* Returns result `i`, in the order of time, or NULL beyond the last. */
PLUMB_API const plumb_result *plumb_results_get(const plumb_results *results, size_t i);
/* Returns the raw record that was made of result `i`, a run with a configuration: the JSON of
 * FastVideo's perf_*.json. NULL: it has none. */
PLUMB_API const char *plumb_results_raw(const plumb_results *results, size_t i);
/* Returns what was left out while reading, one line each; "": nothing. */
PLUMB_API const char *plumb_results_remarks(const plumb_results *results);

/* ---- The history ----------------------------------------------------------------------------- */

typedef struct plumb_history plumb_history;

typedef struct plumb_history_options {
    size_t size;      /* sizeof(plumb_history_options) */
    uint32_t write;   /* 1: makes the file, and its folder, where there is none */
    uint32_t wait_ms; /* for another process that has it locked; 0: 10000 */
} plumb_history_options;

/* Returns options with every field at its default. */
static inline plumb_history_options plumb_history_options_default(void)
{
    plumb_history_options o = {sizeof(plumb_history_options), 0, 0};
    return o;
}

/* Opens the history at `path` (NULL: PLUMB_HISTORY_PATH). Several processes may have it open; a
 * process that is killed while it writes leaves the history as it was before.
 *   errors  PLUMB_ERR_NOT_FOUND: there is none; PLUMB_ERR_IO: it cannot be opened or made;
 *           PLUMB_ERR_FORMAT: another kind of file, damaged, or written by a newer plumb;
 *           PLUMB_ERR_STATE: locked by another process; PLUMB_ERR_ABSENT: built without SQLite */
PLUMB_API int plumb_history_open(plumb_history **out, const char *path,
                                 const plumb_history_options *options, plumb_error *err);
/* Frees the history, and closes its file. NULL is ignored. */
PLUMB_API void plumb_history_close(plumb_history *history);

enum plumb_baseline_state {
    PLUMB_BASELINE_FOUND = 0,
    PLUMB_BASELINE_NEW_COHORT = 1,       /* no record with these keys counts for baselines */
    PLUMB_BASELINE_RECIPE_MISMATCH = 2,  /* the same, but trusted ones differ in the recipe alone */
    PLUMB_BASELINE_MISSING_IDENTITY = 3, /* a key is not known */
    PLUMB_BASELINE_INVALID_IDENTITY = 4, /* the result says that it has keys, and one is missing */
    PLUMB_BASELINE_INFRA_ERROR = 5
};

/* The baseline of a metric. */
typedef struct plumb_baseline {
    size_t size;     /* sizeof(plumb_baseline), set by the caller */
    uint32_t state;  /* enum plumb_baseline_state */
    uint32_t status; /* enum plumb_history_status: PASS where the median can be compared with,
                        CALIBRATION_NEEDED, RECIPE_MISMATCH or INFRA_ERROR otherwise */
    uint32_t count;  /* values, at most PLUMB_BASELINE_RECORDS */
    uint32_t higher_is_better; /* of the newest record, as the next three */
    double floor_relative, floor_absolute;
    char unit[16];
    double median; /* of an even number: the mean of the middle two; NaN without a value */
    double values[PLUMB_BASELINE_RECORDS];     /* the oldest first */
    uint64_t times_ns[PLUMB_BASELINE_RECORDS]; /* Unix time of each */
} plumb_baseline;

/* Fills as much of `out` as its `size` says with the baseline of `metric`: the median over the last
 * five records, by time, that were successful, count for baselines and equal `cohort` in all keys.
 * Records that lack the metric give no value. `until_ns`: records measured later are not looked at;
 * 0: all are. Finding no baseline is a state and not an error.
 *   errors  PLUMB_ERR_FORMAT: the file is damaged; PLUMB_ERR_STATE: locked; PLUMB_ERR_IO */
PLUMB_API int plumb_history_baseline(plumb_baseline *out, plumb_history *history,
                                     const plumb_cohort *cohort, const char *metric,
                                     uint64_t until_ns, plumb_error *err);

/* ---- Adding
 * ----------------------------------------------------------------------------------- */

enum plumb_history_counts {
    PLUMB_HISTORY_COUNTS_AUTO = 0, /* for baselines: what passed in a scheduled run of main */
    PLUMB_HISTORY_COUNTS = 1,      /* all but those that could not be compared */
    PLUMB_HISTORY_COUNTS_NOT = 2   /* none */
};
typedef struct plumb_history_add_options {
    size_t size;         /* sizeof(plumb_history_add_options) */
    uint32_t counts;     /* enum plumb_history_counts */
    uint32_t no_compare; /* 1: stores without comparing */
    uint32_t dry;        /* 1: compares without storing */
    uint32_t failed;     /* 1: the program that measured ended with an error */
} plumb_history_add_options;

/* Returns options with every field at its default. */
static inline plumb_history_add_options plumb_history_add_options_default(void)
{
    plumb_history_add_options o = {sizeof(plumb_history_add_options), 0, 0, 0, 0};
    return o;
}

typedef struct plumb_history_added {
    size_t size;    /* sizeof(plumb_history_added), set by the caller */
    uint64_t added; /* records */
    uint64_t known; /* results that the history had already */
    uint32_t exit;  /* of all statuses: 0 pass, 1 regression, 2 trouble, 3 inconclusive */
} plumb_history_added;

/* Compares each result with the records of its cohort that were measured no later, sets its status,
 * reason and id, and adds it, all in one transaction: either all are added, or none. A result that
 * the history has already is not added again; the record counts for baselines from then on, if this
 * one does. Errors: those of plumb_history_baseline(). */
PLUMB_API int plumb_history_add(plumb_history_added *out, plumb_history *history,
                                plumb_results *results, const plumb_history_add_options *options,
                                plumb_error *err);
/* Renders the comparison of results that were added as "text", "md", "csv" or "json" (NULL: text),
 * without a newline at its end. Markdown has a row for each result. */
PLUMB_API int plumb_results_render(char **out, const plumb_results *results, const char *format,
                                   plumb_error *err);
/* Returns the name of a status, as "CALIBRATION_NEEDED". The text is static. */
PLUMB_API const char *plumb_history_status_text(uint32_t status);

/* ---- Looking at a history
 * --------------------------------------------------------------------- */

/* Which records; zero or NULL: all. */
typedef struct plumb_history_filter {
    size_t size; /* sizeof(plumb_history_filter) */
    plumb_cohort cohort;
    const char *branch, *run_source;
    const char *metric;          /* of a plot */
    uint64_t since_ns, until_ns; /* measured in this interval, Unix time */
    uint64_t newest;             /* so many of the newest */
    uint32_t eligible;           /* 1: only those that count for baselines */
} plumb_history_filter;

/* Returns a filter that selects everything. */
static inline plumb_history_filter plumb_history_filter_default(void)
{
    plumb_history_filter f;
    memset(&f, 0, sizeof f);
    f.size = sizeof f;
    return f;
}

/* Renders a table of the records, the oldest first, as "text", "md", "csv" or "json" (NULL: text),
 * without a newline at its end. */
PLUMB_API int plumb_history_list(char **out, plumb_history *history,
                                 const plumb_history_filter *filter, const char *format,
                                 plumb_error *err);
/* Renders one record with its metrics, their baselines and its identity, as "text", "md" or "json"
 * (NULL: text). PLUMB_ERR_NOT_FOUND: no record has this id. */
PLUMB_API int plumb_history_show(char **out, plumb_history *history, int64_t id, const char *format,
                                 plumb_error *err);
/* Renders the records as an SVG with a plot for each cohort and metric: the values over their order
 * in time, the level of each segment between two steps with its noise band, and a mark at each
 * step. PLUMB_ERR_NOT_FOUND: no record is selected. */
PLUMB_API int plumb_history_plot(char **out, plumb_history *history,
                                 const plumb_history_filter *filter, plumb_error *err);
/* Renders the steps of the same plots as a table: "text", "md", "csv" or "json" (NULL: text). */
PLUMB_API int plumb_history_steps(char **out, plumb_history *history,
                                  const plumb_history_filter *filter, const char *format,
                                  plumb_error *err);

typedef struct plumb_history_prune_options {
    size_t size;       /* sizeof(plumb_history_prune_options) */
    uint64_t until_ns; /* records measured before this Unix time go; 0: none by age */
    uint64_t keep;     /* of each cohort all but so many of the newest go; 0: none by number */
    int64_t id;        /* this one goes; 0: none by id */
} plumb_history_prune_options;

/* Removes records, in one transaction, and gives their space back to the file system. The last five
 * records of a cohort that count for its baseline stay, unless they are named by id. Sets `*out` to
 * how many were removed. PLUMB_ERR_NOT_FOUND: no record has this id. */
PLUMB_API int plumb_history_prune(uint64_t *out, plumb_history *history,
                                  const plumb_history_prune_options *options, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
