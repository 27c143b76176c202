/* report.h: render what a run recorded, or one file of signatures, as text. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_REPORT_H
#define PLUMB_READ_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/run.h> /* where runs lie, and their states */
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_report plumb_report;

/* Opens a run directory, a timing.json, a folder of runs (the newest of them), the name of a run in
 * plumb_runs_dir(), or NULL: the newest run there. A run that was killed is recovered first; of a
 * run that is still recording the present state is read. An open report never changes. Errors:
 * PLUMB_ERR_NOT_FOUND: there is no such run, and `err` lists those that are; PLUMB_ERR_FORMAT: not
 * a report, damaged, or of a newer plumb; PLUMB_ERR_IO: it cannot be read. Cost: O(rows); 0.08 s
 * for 3,600 nodes (12 MB). */
PLUMB_API int plumb_report_open(plumb_report **out, const char *run, plumb_error *err);
/* Frees the report. */
PLUMB_API void plumb_report_close(plumb_report *report);

enum plumb_report_sort {
    PLUMB_SORT_TOTAL = 0,
    PLUMB_SORT_SELF = 1,
    PLUMB_SORT_MEAN = 2,
    PLUMB_SORT_P95 = 3
};
enum plumb_report_view {
    PLUMB_VIEW_NODES = 0,      /* the table of nodes, or the call tree */
    PLUMB_VIEW_MEMORY = 1,     /* memory of nodes and pools, checkpoints; svg: over time */
    PLUMB_VIEW_REQUESTS = 2,   /* all requests, or the stages of one */
    PLUMB_VIEW_SUMMARY = 3,    /* cost of the last request, or of the run; text only */
    PLUMB_VIEW_SIGNATURES = 4, /* inputs and outputs of stages; not svg */
    PLUMB_VIEW_COUNTS = 5,     /* exact counts of nodes, steps and phases; not svg */
    PLUMB_VIEW_STREAMS = 6     /* streams by sequence: idle time, latencies; not svg */
};
/* The unit of times in text and Markdown tables; other formats use ms or ns, as their field names
 * say. */
enum plumb_report_unit {
    PLUMB_REPORT_UNIT_AUTO = 0, /* one that fits each column */
    PLUMB_REPORT_NS = 1,
    PLUMB_REPORT_US = 2,
    PLUMB_REPORT_MS = 3,
    PLUMB_REPORT_S = 4
};
/* Shows nodes whose names differ only in a number (layer.0 to layer.31) as one row (layer.*), with
 * the spread over its members. */
enum plumb_report_fold {
    PLUMB_FOLD_AUTO = 0, /* in a text or md table or tree of more than 40 lines */
    PLUMB_FOLD_ON = 1,
    PLUMB_FOLD_OFF = 2
};

/* The counts that one row adds up, within its pipeline. */
enum plumb_report_by {
    PLUMB_BY_ALL = 0,  /* a row for each node, phase and step, and one for all steps together */
    PLUMB_BY_NODE = 1, /* of a node: all phases and steps */
    PLUMB_BY_STEP = 2, /* of a phase and step: all nodes */
    PLUMB_BY_PHASE = 3 /* of a phase: all nodes and steps */
};

typedef struct plumb_report_options {
    size_t size;          /* sizeof(plumb_report_options) */
    const char *format;   /* "text", "json", "csv", "md" or "svg"; NULL: text */
    const char *pipeline; /* NULL: all, one table each */
    const char *phase;    /* NULL: all */
    uint64_t frames;     /* 0: unknown; else shown, and less skip_first_n the divisor of averages */
    uint64_t top;        /* rows shown, 0: all; sums are over all rows */
    uint32_t sort;       /* enum plumb_report_sort */
    uint32_t wide;       /* 1: self time, percentiles, device time (text) */
    uint32_t tree;       /* 1: the call tree */
    uint32_t explain;    /* 1: explains the columns */
    double min_width;    /* svg: narrower rectangles share one; in pixels, 0: 0.1 */
    const char *request; /* ID of a request, for views that have requests; NULL: all */
    uint32_t view;       /* enum plumb_report_view */
    uint32_t unit;       /* enum plumb_report_unit */
    const char *node;    /* a regular expression searched for in the names of nodes; NULL: all */
    uint32_t depth;      /* levels of the call tree that are shown; 0: all */
    uint32_t fold;       /* enum plumb_report_fold */
    uint32_t by;         /* enum plumb_report_by: rows of the view of counts */
    uint32_t reserved;
} plumb_report_options;

/* Returns options with every field at its default. */
static inline plumb_report_options plumb_report_options_default(void)
{
    plumb_report_options o = {sizeof(plumb_report_options),
                              NULL,
                              NULL,
                              NULL,
                              0,
                              0,
                              0,
                              0,
                              0,
                              0,
                              0,
                              NULL,
                              0,
                              0,
                              NULL,
                              0,
                              0,
                              0,
                              0};
    return o;
}

/* Renders the report as text, without a newline at its end. `options`: NULL for the defaults.
 * Errors: PLUMB_ERR_NOT_FOUND: the report has rows, but none of the selected pipeline, phase, node
 * or request; the error lists the existing ones. PLUMB_ERR_ARG: the view has no such format, or
 * `node` is not a valid regular expression. PLUMB_ERR_FORMAT, PLUMB_ERR_IO: the signatures next to
 * it, which their view reads. */
PLUMB_API int plumb_report_render(char **out, const plumb_report *report,
                                  const plumb_report_options *options, plumb_error *err);
/* Renders a single file of signatures, written by plumb or by TeleFuser. (The signatures of a run
 * are a view of its report.) `options`: format, request, top, explain. Errors: PLUMB_ERR_NOT_FOUND:
 * no such file, or no such request; PLUMB_ERR_FORMAT: the file has no signatures; PLUMB_ERR_IO: it
 * cannot be read; PLUMB_ERR_ARG: no such format. */
PLUMB_API int plumb_signatures_render(char **out, const char *path,
                                      const plumb_report_options *options, plumb_error *err);
/* Writes remarks that affect the figures to `out`, one line each: open spans, drops, failures,
 * notes of the run, and problems while it was opened. "" if there are none. */
PLUMB_API int plumb_report_remarks(char **out, const plumb_report *report, plumb_error *err);
/* Returns the path of the run directory, or of the file that was opened. */
PLUMB_API const char *plumb_report_path(const plumb_report *report);
/* Returns the state of the run, an enum plumb_run_state. */
PLUMB_API int plumb_report_state(const plumb_report *report);
/* Returns the number of rows, (pipeline, phase, node), or of their samples. */
PLUMB_API uint64_t plumb_report_nodes(const plumb_report *report);
PLUMB_API uint64_t plumb_report_samples(const plumb_report *report);

/* Returns the name of format `i` of plumb_report_options, or NULL beyond the last. */
PLUMB_API const char *plumb_report_format(size_t i);

#ifdef __cplusplus
}
#endif
#endif
