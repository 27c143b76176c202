/* compare.h: compare runs, or groups of repeated runs. Part of libplumb-read; plumb/read.h has
 * the rules of all its headers. */
#ifndef PLUMB_READ_COMPARE_H
#define PLUMB_READ_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/report.h> /* units and folding of its tables */
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The figure of a node that is compared. */
enum plumb_figure {
    PLUMB_FIGURE_MEAN = 0, /* of one run of the node */
    PLUMB_FIGURE_TOTAL = 1,
    PLUMB_FIGURE_SELF = 2, /* total without nested nodes */
    PLUMB_FIGURE_P50 = 3,
    PLUMB_FIGURE_P95 = 4,
    PLUMB_FIGURE_DEVICE = 5, /* mean of the device time */
    PLUMB_FIGURE_MIN = 6     /* the shortest run of the node */
};
/* Differences between the runs that are refused by default, because they alone may explain a
 * change. */
enum plumb_allow {
    PLUMB_ALLOW_MACHINE = 1, /* host, processor, number of processors */
    PLUMB_ALLOW_PROGRAM = 2, /* names of pipelines; programs without a common node */
    PLUMB_ALLOW_SKIP = 4,    /* skip_first_n */
    PLUMB_ALLOW_STATE = 8,   /* ended, recovered, still recording */
    PLUMB_ALLOW_SCHEMA = 16, /* of the reports */
    PLUMB_ALLOW_ALL = 31
};
typedef struct plumb_compare_options {
    size_t size;              /* sizeof(plumb_compare_options) */
    double threshold_percent; /* 0: 5, or 2 with at least 3 runs a side; below 0: any difference */
    double alpha;             /* upper limit of p_table, between 0 and 1; 0: 0.015 */
    double min_delta_ms;      /* smaller differences of a time never count */
    uint32_t figure;          /* enum plumb_figure; by default the median */
    uint32_t allow;           /* enum plumb_allow, added up */
    uint32_t fold;    /* enum plumb_report_fold; ON: compared as one; AUTO: as the view says */
    const char *node; /* only nodes whose names match, as of a report; NULL: all */
    uint32_t depth;   /* only nodes of so many levels of the call tree; 0: all */
} plumb_compare_options;

/* Returns options with every field at its default. */
static inline plumb_compare_options plumb_compare_options_default(void)
{
    plumb_compare_options o = {
        sizeof(plumb_compare_options), 0, 0, 0, PLUMB_FIGURE_P50, 0, 0, NULL, 0};
    return o;
}

enum plumb_side { PLUMB_SIDE_A = 0, PLUMB_SIDE_B = 1 };
enum plumb_compare_sort {
    PLUMB_COMPARE_SEEN = 0,  /* in the order of first appearance */
    PLUMB_COMPARE_DELTA = 1, /* largest absolute difference first; PERCENT likewise */
    PLUMB_COMPARE_PERCENT = 2,
    PLUMB_COMPARE_A = 3, /* largest first */
    PLUMB_COMPARE_B = 4
};
typedef struct plumb_compare_view {
    size_t size;        /* sizeof(plumb_compare_view) */
    const char *format; /* "text", "json", "csv" or "md"; NULL: text */
    uint64_t top;       /* nodes shown, 0: all; hidden nodes still count */
    uint32_t sort;      /* enum plumb_compare_sort */
    uint32_t wide;      /* 1: counts and percentiles (text, md) */
    uint32_t unit;      /* enum plumb_report_unit: of times (text, md) */
} plumb_compare_view;

/* Returns a view with every field at its default. */
static inline plumb_compare_view plumb_compare_view_default(void)
{
    plumb_compare_view v = {sizeof(plumb_compare_view), NULL, 0, 0, 0, 0};
    return v;
}

typedef struct plumb_compare_result {
    size_t size;             /* sizeof(plumb_compare_result), set by the caller */
    uint64_t worse;          /* nodes and sums of the run that are worse in B */
    uint64_t better;         /* ... better */
    uint64_t unclear;        /* ... beyond the threshold, but p_table is above alpha */
    uint64_t nodes;          /* compared: nodes of A and nodes of B */
    uint64_t only_a, only_b; /* nodes of one side alone */
} plumb_compare_result;

typedef struct plumb_comparison plumb_comparison;

/* Compares the runs `a` (the baseline) with the runs `b`. Each path is one that plumb_report_open()
 * takes, except that a folder of runs stands for all of its runs. Several runs of a side are
 * repeats: their median is compared, and with at least 3 a side a test of the whole table decides
 * which nodes differ. docs/compare.md has the rules. Errors: those of plumb_report_open();
 * PLUMB_ERR_STATE: not comparable, `err` says why and how to compare anyway; PLUMB_ERR_ARG: an
 * option is out of range, there is no run, or a run is given twice on a side. */
PLUMB_API int plumb_comparison_open(plumb_comparison **out, const char *const *a, size_t a_count,
                                    const char *const *b, size_t b_count,
                                    const plumb_compare_options *options, plumb_error *err);
/* Frees the comparison. */
PLUMB_API void plumb_comparison_close(plumb_comparison *comparison);
/* Fills as much of `out` as its `size` says, which the caller has set. */
PLUMB_API void plumb_comparison_result(plumb_compare_result *out,
                                       const plumb_comparison *comparison);
/* Renders the comparison as text, without a newline at its end. `view`: NULL for the defaults.
 * Errors: PLUMB_ERR_ARG: no such format. */
PLUMB_API int plumb_comparison_render(char **out, const plumb_comparison *comparison,
                                      const plumb_compare_view *view, plumb_error *err);
/* Returns notes that affect the comparison, one line each; every format but CSV includes them. */
PLUMB_API int plumb_comparison_notes(char **out, const plumb_comparison *comparison,
                                     plumb_error *err);
/* Returns plumb_report_remarks() of all runs, each line with the side and, if there are several,
 * the run. */
PLUMB_API int plumb_comparison_remarks(char **out, const plumb_comparison *comparison,
                                       plumb_error *err);
/* Returns the path of run `i` of a side (enum plumb_side), or NULL beyond the last. */
PLUMB_API const char *plumb_comparison_run(const plumb_comparison *comparison, uint32_t side,
                                           size_t i);

/* ---- Files of benchmarks
 * ---------------------------------------------------------------------- */

typedef struct plumb_benchmarks_options {
    size_t size;              /* sizeof(plumb_benchmarks_options) */
    const char *format;       /* "text", "json", "csv" or "md"; NULL: text */
    const char *filter_a;     /* extended regular expressions: only benchmarks whose names match, */
    const char *filter_b;     /* with '.' in place of what matches; NULL: all */
    double threshold_percent; /* 0: 5; below 0: any difference */
    double alpha;             /* upper limit of p, between 0 and 1; 0: 0.05 */
    uint32_t aggregates;      /* 1: only aggregates and tests are shown */
    uint32_t reserved;
} plumb_benchmarks_options;

/* Returns options with every field at its default. */
static inline plumb_benchmarks_options plumb_benchmarks_options_default(void)
{
    plumb_benchmarks_options o = {sizeof(plumb_benchmarks_options), NULL, NULL, NULL, 0, 0, 0, 0};
    return o;
}

/* Returns 1 if `path` is a file of google/benchmark, as bench.json is one. Reads the file. */
PLUMB_API int plumb_benchmarks_are(const char *path);
/* Compares the file `a` with the file `b`, and renders the comparison without a newline at its end:
 * the lines of google/benchmark's tools/compare.py, and what is worse, better or unclear.
 * Benchmarks of one name and time unit are paired; from two repetitions a side on they are tested
 * by Mann-Whitney. A benchmark is worse if the median of its real time grew by more than the
 * threshold and p is at most alpha; with too few repetitions for so small a p the threshold alone
 * decides. `result` may be NULL; its size is set by the caller.
 *   errors  PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO: a file cannot be read; PLUMB_ERR_FORMAT: it has no
 *           benchmarks, or none is in both; PLUMB_ERR_ARG: a filter is not a regular expression */
PLUMB_API int plumb_benchmarks_compare(char **out, plumb_compare_result *result, const char *a,
                                       const char *b, const plumb_benchmarks_options *options,
                                       plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
