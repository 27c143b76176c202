/* trace.h: read recordings of plumb. The interface of libplumb-read; the `plumb` command uses it
 * too.
 *
 *     plumb_report *report;
 *     plumb_error err;
 *     char *text;
 *     if (plumb_report_open(&report, NULL, &err) < 0)          (the newest run)
 *         return fail(err.message);
 *     if (plumb_report_render(report, NULL, &text, &err) == 0) {
 *         puts(text);
 *         plumb_trace_free(text);
 *     }
 *     plumb_report_close(report);
 *
 * Rules
 *   - Zero or more is success, less is an enum plumb_status; outputs are set only on success.
 *   - Nothing prints, exits or aborts on input. No state is kept between calls.
 *   - Any thread may call anything; one object belongs to one thread at a time.
 *   - The caller owns texts returned through `char **` and frees them with plumb_trace_free().
 *     Texts inside structs belong to the object they were read from.
 *   - Options structs start with their size; zero means the default, NULL means all defaults.
 */
#ifndef PLUMB_TRACE_H
#define PLUMB_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/abi.h>

#ifndef PLUMB_API
#define PLUMB_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

PLUMB_API void plumb_trace_free(char *text);
/* "0.1.0": of the library in use. */
PLUMB_API const char *plumb_trace_version(void);
/* Returns the one of the `n` candidates that is most similar to a misspelt `word`, without regard
 * to case, or NULL if none is similar. */
PLUMB_API const char *plumb_word_nearest(const char *word, const char *const *candidates, size_t n);

/* ---- Runs ------------------------------------------------------------------------------------ */

enum plumb_run_state {
    PLUMB_RUN_ENDED = 0,     /* has its timing.json */
    PLUMB_RUN_RECOVERED = 1, /* was killed; its timing.json was made from its live mapping */
    PLUMB_RUN_OPEN = 2       /* has a live mapping only: it records, or was killed */
};

typedef struct plumb_run_info {
    const char *path;
    const char *name;     /* last part of the path */
    const char *pipeline; /* the folder that contains it; "" for the searched folder itself */
    const char *started;  /* "2026-01-02 03:04:05", local time */
    uint64_t bytes;       /* on disk */
    uint32_t state;       /* PLUMB_RUN_ENDED or PLUMB_RUN_OPEN */
    uint32_t reserved;
} plumb_run_info;

/* Writes the path of the folder for runs to `out`: PLUMB_DIR with its patterns expanded, or
 * "plumb-out". Errors: PLUMB_ERR_ARG when PLUMB_DIR cannot be expanded or does not fit. */
PLUMB_API int plumb_runs_dir(char *out, size_t size, plumb_error *err);

/* Lists the runs below `dir` (NULL: plumb_runs_dir()), newest first. A folder that does not exist
 * gives an empty list. */
typedef struct plumb_run_list plumb_run_list;
PLUMB_API int plumb_run_list_open(plumb_run_list **out, const char *dir, plumb_error *err);
PLUMB_API void plumb_run_list_close(plumb_run_list *list);
PLUMB_API size_t plumb_run_list_count(const plumb_run_list *list);
/* Returns run `i`, or NULL beyond the last; it lives as long as the list. */
PLUMB_API const plumb_run_info *plumb_run_list_get(const plumb_run_list *list, size_t i);

typedef struct plumb_prune_options {
    size_t size;           /* sizeof(plumb_prune_options) */
    uint64_t older_than_s; /* removes runs last changed longer ago; 0: no limit */
    uint64_t max_bytes;    /* keeps the newest runs that fit into this; 0: no limit */
} plumb_prune_options;
typedef struct plumb_pruned_runs {
    uint64_t runs;
    uint64_t bytes;
} plumb_pruned_runs;
/* Removes run directories: only those that plumb itself named, and none that is still recording.
 * The list does not change. */
PLUMB_API int plumb_run_list_prune(const plumb_run_list *list, const plumb_prune_options *options,
                                   plumb_pruned_runs *out, plumb_error *err);

typedef struct plumb_recovered {
    uint64_t nodes; /* (pipeline, phase, node) rows */
    uint64_t samples;
    uint64_t open_spans;
    char path[512]; /* of the timing.json */
} plumb_recovered;
/* Writes the timing.json of a run that was killed, from its live mapping, which is kept, and the
 * summary of its rank. Returns 1 if it was written now (`err` says if the summary could not be
 * saved), 0 if it existed already. `run` as for plumb_report_open(). Errors: PLUMB_ERR_STATE: the
 * process is still recording; PLUMB_ERR_NOT_FOUND, PLUMB_ERR_FORMAT, PLUMB_ERR_IO. */
PLUMB_API int plumb_recover(const char *run, plumb_recovered *out, plumb_error *err);

/* ---- Reports --------------------------------------------------------------------------------- */

typedef struct plumb_report plumb_report;

/* Opens a run directory, a timing.json, a folder of runs (the newest of them), the name of a run in
 * plumb_runs_dir(), or NULL: the newest run there. A run that was killed is recovered first; of a
 * run that is still recording the present state is read. Errors: PLUMB_ERR_NOT_FOUND,
 * PLUMB_ERR_FORMAT (not a report, damaged, of a newer plumb), PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_report_open(plumb_report **out, const char *run, plumb_error *err);
PLUMB_API void plumb_report_close(plumb_report *report);

enum plumb_report_sort {
    PLUMB_SORT_TOTAL = 0,
    PLUMB_SORT_SELF = 1,
    PLUMB_SORT_MEAN = 2,
    PLUMB_SORT_P95 = 3
};
enum plumb_report_view {
    PLUMB_VIEW_NODES = 0,     /* the table of nodes, or the call tree */
    PLUMB_VIEW_MEMORY = 1,    /* memory of nodes and pools, checkpoints; svg: over time */
    PLUMB_VIEW_REQUESTS = 2,  /* all requests, or the stages of one */
    PLUMB_VIEW_SUMMARY = 3,   /* cost of the last request, or of the run; text only */
    PLUMB_VIEW_SIGNATURES = 4 /* inputs and outputs of stages; not svg */
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
} plumb_report_options;

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
                              0};
    return o;
}

/* Renders the report as text, without a newline at its end. PLUMB_ERR_NOT_FOUND: the report has
 * rows, but none of the selected pipeline, phase or node; the error lists the existing ones.
 * PLUMB_ERR_ARG: `node` is not a valid regular expression. */
PLUMB_API int plumb_report_render(const plumb_report *report, const plumb_report_options *options,
                                  char **out, plumb_error *err);
/* Renders a single file of signatures, written by plumb or by TeleFuser. (The signatures of a run
 * are a view of its report.) `options`: format, request, top, explain. Errors: PLUMB_ERR_NOT_FOUND,
 * PLUMB_ERR_FORMAT: the file has no signatures, PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_signatures_render(const char *path, const plumb_report_options *options,
                                      char **out, plumb_error *err);
/* Returns remarks that affect the figures, one line each: open spans, drops, failures, notes of the
 * run, and problems while it was opened. "" if there are none. */
PLUMB_API int plumb_report_remarks(const plumb_report *report, char **out, plumb_error *err);
/* Returns the path of the run directory, or of the file that was opened. */
PLUMB_API const char *plumb_report_path(const plumb_report *report);
PLUMB_API int plumb_report_state(const plumb_report *report); /* enum plumb_run_state */
PLUMB_API uint64_t plumb_report_nodes(const plumb_report *report);
PLUMB_API uint64_t plumb_report_samples(const plumb_report *report);

/* Returns the name of format `i` of plumb_report_options, or NULL beyond the last. */
PLUMB_API const char *plumb_report_format(size_t i);

/* ---- Traces ---------------------------------------------------------------------------------- */

/* A trace as tables. Columns are arrays that belong to the trace: element i of each belongs to row
 * i. Rows are sorted by lane and then by time; a slice comes before the slices inside it.
 * PLUMB_TRACE_NONE stands for a missing number. Times are ns since the trace's zero. An open trace
 * never changes: any number of threads may read it. */
typedef struct plumb_trace plumb_trace;
#define PLUMB_TRACE_NONE UINT32_MAX

/* Opens a trace file, a run directory that has one, a folder of runs (the newest of them), the name
 * of a run in plumb_runs_dir(), or NULL: the newest run there. The file may have Perfetto's
 * protobuf format (plumb's, and track events of other tools) or be Chrome's JSON, as Kineto and
 * many other tools write it. It may be compressed with gzip; its name does not matter. A file that
 * ends within a packet, as after a kill, is read up to that packet. Cost: about 5 ns a byte of
 * uncompressed data, and memory of 4 to 10 times its size. Errors: PLUMB_ERR_NOT_FOUND: no such
 * file, or the run has no trace; PLUMB_ERR_FORMAT: the file is not a trace or is damaged, or its
 * compressed data is damaged, truncated, or expands to more than 64 MiB and 200 times its size;
 * PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_trace_open(plumb_trace **out, const char *what, plumb_error *err);
PLUMB_API void plumb_trace_close(plumb_trace *trace);
/* Returns 1 if `path` is a file that begins like such a trace, 0 if it is not or cannot be read. */
PLUMB_API int plumb_trace_looks(const char *path);
/* Returns the path of the trace file. */
PLUMB_API const char *plumb_trace_path(const plumb_trace *trace);

/* The structs below are filled as far as their `size` says, which the caller sets. */
typedef struct plumb_trace_info {
    size_t size;        /* sizeof(plumb_trace_info) */
    uint64_t end_ns;    /* of the last event */
    uint64_t unix_ns;   /* Unix time of the trace's zero; 0: unknown */
    uint64_t open;      /* slices that had not ended */
    uint64_t cut;       /* slices whose end was lost */
    uint64_t failed;    /* slices that were marked as failed */
    uint64_t dropped;   /* spans that the recording process dropped because a buffer was full */
    uint64_t cut_bytes; /* at the end of the file: an incomplete packet */
    uint32_t texts, lanes, facts, flows;
    uint32_t plumb; /* 1: plumb recorded it */
    uint32_t reserved;
} plumb_trace_info;
PLUMB_API void plumb_trace_get_info(const plumb_trace *trace, plumb_trace_info *out);

/* Returns text number `id` (less than `texts` of the info), to which the columns `name`,
 * `category`, `key` and the values of text args refer. Number 0 is "". Returns "" beyond the
 * last. */
PLUMB_API const char *plumb_trace_get_text(const plumb_trace *trace, uint32_t id);

enum plumb_trace_lane_kind {
    PLUMB_TRACE_LANE_OTHER = 0, /* asynchronous work, a group */
    PLUMB_TRACE_LANE_PROCESS = 1,
    PLUMB_TRACE_LANE_THREAD = 2,
    PLUMB_TRACE_LANE_COUNTER = 3,
    PLUMB_TRACE_LANE_DEVICE = 4
};
typedef struct plumb_trace_lane {
    size_t size;      /* sizeof(plumb_trace_lane) */
    uint64_t uuid;    /* its number in the file */
    int64_t pid, tid; /* -1: unknown */
    const char *name; /* "": none */
    const char *unit; /* of a counter; "": unknown */
    uint32_t kind;    /* enum plumb_trace_lane_kind */
    uint32_t parent;  /* lane */
    uint32_t process; /* lane */
    uint32_t first_slice, slices;
    uint32_t first_instant, instants;
    uint32_t first_counter, counters;
    uint32_t whole; /* of a counter: its values are integers */
} plumb_trace_lane;
/* Fills `out` with lane `i` and returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_lane(const plumb_trace *trace, uint32_t i, plumb_trace_lane *out);

enum plumb_trace_flag {
    PLUMB_TRACE_SLICE_OPEN = 1, /* had not ended: it lasts to the end of the trace */
    PLUMB_TRACE_SLICE_CUT = 2,  /* its end was lost: it ends at the last time it was known to run */
    PLUMB_TRACE_SLICE_FAILED = 4, /* was marked as failed: its arg "failed" says why */
    PLUMB_TRACE_SLICE_VOID = 8    /* was abandoned, or ended by an outer one: no sample */
};
typedef struct plumb_trace_slices {
    size_t size;    /* sizeof(plumb_trace_slices) */
    uint64_t count; /* of rows */
    const uint64_t *ts_ns, *dur_ns;
    const uint32_t *lane, *name, *category;
    const uint32_t *parent; /* slice */
    const uint32_t *depth;  /* 0: outermost of its lane */
    const uint32_t *args;   /* first of its args; the next element is their end */
    const uint8_t *flags;   /* enum plumb_trace_flag, added up */
} plumb_trace_slices;
PLUMB_API void plumb_trace_get_slices(const plumb_trace *trace, plumb_trace_slices *out);

typedef struct plumb_trace_instants {
    size_t size; /* sizeof(plumb_trace_instants) */
    uint64_t count;
    const uint64_t *ts_ns;
    const uint32_t *lane, *name, *category;
    const uint32_t *slice; /* the innermost slice at that time */
    const uint32_t *args;
} plumb_trace_instants;
PLUMB_API void plumb_trace_get_instants(const plumb_trace *trace, plumb_trace_instants *out);

typedef union plumb_trace_number {
    int64_t i64;
    uint64_t u64;
    double f64;
} plumb_trace_number;
typedef struct plumb_trace_counters {
    size_t size; /* sizeof(plumb_trace_counters) */
    uint64_t count;
    const uint64_t *ts_ns;
    const uint32_t *lane;
    const plumb_trace_number *value; /* i64 where the lane is `whole`, else f64 */
} plumb_trace_counters;
PLUMB_API void plumb_trace_get_counters(const plumb_trace *trace, plumb_trace_counters *out);

enum plumb_trace_type {
    PLUMB_TRACE_ARG_I64 = 0,
    PLUMB_TRACE_ARG_U64 = 1,
    PLUMB_TRACE_ARG_F64 = 2,
    PLUMB_TRACE_ARG_BOOL = 3,    /* u64 */
    PLUMB_TRACE_ARG_POINTER = 4, /* u64 */
    PLUMB_TRACE_ARG_TEXT = 5,    /* u64: a text */
    PLUMB_TRACE_ARG_JSON = 6     /* u64: a text that is JSON */
};
/* A nested value is one arg for each leaf, with keys such as "shape[0]" and "device.name". */
typedef struct plumb_trace_args {
    size_t size; /* sizeof(plumb_trace_args) */
    uint64_t count;
    const uint32_t *key;
    const uint8_t *type; /* enum plumb_trace_type */
    const plumb_trace_number *value;
} plumb_trace_args;
PLUMB_API void plumb_trace_get_args(const plumb_trace *trace, plumb_trace_args *out);
PLUMB_API void plumb_trace_get_instant_args(const plumb_trace *trace, plumb_trace_args *out);

/* An arrow from one event to another. */
typedef struct plumb_trace_flow {
    size_t size; /* sizeof(plumb_trace_flow) */
    uint64_t id;
    uint64_t from_ns, to_ns;
    uint32_t from, to;                 /* rows */
    uint32_t from_instant, to_instant; /* 1: a row of the instants, 0: of the slices */
} plumb_trace_flow;
/* Fills `out` with flow `i`, in the order of their starts, and returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_flow(const plumb_trace *trace, uint32_t i, plumb_trace_flow *out);
/* Reads fact `i` of the trace's metadata ("plumb.version"): returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_fact(const plumb_trace *trace, uint32_t i, const char **key,
                                   plumb_trace_number *value, uint32_t *type);

enum plumb_trace_view_kind {
    PLUMB_TRACE_VIEW_OVERVIEW = 0, /* the next three, and dropped events; csv: as _NODES */
    PLUMB_TRACE_VIEW_NODES = 1,    /* time of nodes, over all threads and on each */
    PLUMB_TRACE_VIEW_GAPS = 2,   /* threads, and the largest gaps between their outermost slices */
    PLUMB_TRACE_VIEW_STEPS = 3,  /* the steps of nodes that have steps */
    PLUMB_TRACE_VIEW_SLOWEST = 4 /* the longest runs of a node, and the nodes inside */
};
typedef struct plumb_trace_view {
    size_t size;        /* sizeof(plumb_trace_view) */
    const char *format; /* "text", "json", "csv" or "md"; NULL: text */
    const char *node;   /* of PLUMB_TRACE_VIEW_SLOWEST */
    uint64_t top;       /* rows of a table; 0: all of nodes and steps, 10 of gaps and slowest */
    uint32_t kind;      /* enum plumb_trace_view_kind */
    uint32_t explain;   /* 1: what the columns mean (text, md) */
} plumb_trace_view;

static inline plumb_trace_view plumb_trace_view_default(void)
{
    plumb_trace_view v = {sizeof(plumb_trace_view), NULL, NULL, 0, 0, 0};
    return v;
}

/* The trace as text, without a newline at its end. PLUMB_ERR_NOT_FOUND: no slice has the name that
 * was asked for; the text names one that is like it. */
PLUMB_API int plumb_trace_render(const plumb_trace *trace, const plumb_trace_view *view, char **out,
                                 plumb_error *err);
/* What a reader of the trace must know, one line each: open and cut slices, drops, packets that
 * could not be read. "" when there is nothing. */
PLUMB_API int plumb_trace_remarks(const plumb_trace *trace, char **out, plumb_error *err);

/* ---- Exporting traces ------------------------------------------------------------------------ */

typedef struct plumb_export_options {
    size_t size;        /* sizeof(plumb_export_options) */
    const char *format; /* NULL: "chrome"; see plumb_export_format_name() */
    /* A file (compressed when its name ends in ".gz"), or a folder, which exists or whose name ends
     * in '/': a file of the default name in it. NULL: the same in the working directory. */
    const char *output;
    /* Takes the bytes instead of a file, uncompressed; less than 0: it cannot. `output` is only the
     * name that the trace gives itself then. Not for formats that are folders. */
    int (*write)(void *arg, const void *bytes, size_t n);
    /* Called now and then with how much of how much is done. NULL: nobody asks. */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg; /* of both */
} plumb_export_options;

static inline plumb_export_options plumb_export_options_default(void)
{
    plumb_export_options o = {sizeof(plumb_export_options), NULL, NULL, NULL, NULL, NULL};
    return o;
}

typedef struct plumb_exported {
    char path[4096]; /* of the output; "" with write() */
    uint64_t bytes;  /* 0 for a folder */
    uint64_t spans;
    uint32_t replaced; /* 1: a file of that name was there before */
    uint32_t folder;   /* 1: `path` is a folder */
    char *remarks;     /* lost or incomplete data, a line each; plumb_trace_free() */
} plumb_exported;

/* Writes the trace of a run, or of a file, in the format of another tool. `run` as for
 * plumb_report_open(), or the file. The output file is complete or does not appear. Errors:
 * PLUMB_ERR_NOT_FOUND: no such run, or it has no trace; PLUMB_ERR_FORMAT; PLUMB_ERR_ARG: no such
 * format; PLUMB_ERR_STATE: the output is the trace itself, or an existing folder; PLUMB_ERR_IO: it
 * cannot be read or written; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_export(const char *run, const plumb_export_options *options,
                           plumb_exported *out, plumb_error *err);
/* Return the name and the description of format `i`, or NULL beyond the last. */
PLUMB_API const char *plumb_export_format_name(size_t i);
PLUMB_API const char *plumb_export_format_help(size_t i);

/* ---- Comparing runs -------------------------------------------------------------------------- */

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
    const char *format; /* as of plumb_report_options */
    uint64_t top;       /* nodes shown, 0: all; hidden nodes still count */
    uint32_t sort;      /* enum plumb_compare_sort */
    uint32_t wide;      /* 1: counts and percentiles (text, md) */
    uint32_t unit;      /* enum plumb_report_unit: of times (text, md) */
} plumb_compare_view;

static inline plumb_compare_view plumb_compare_view_default(void)
{
    plumb_compare_view v = {sizeof(plumb_compare_view), NULL, 0, 0, 0, 0};
    return v;
}

typedef struct plumb_compare_result {
    size_t size;      /* sizeof(plumb_compare_result), set by the caller */
    uint64_t worse;   /* nodes and sums of the run that are worse in B */
    uint64_t better;  /* ... better */
    uint64_t unclear; /* ... beyond the threshold, but p_table is above alpha */
    uint64_t nodes;   /* compared: nodes of A and nodes of B */
    uint64_t only_a, only_b;
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
PLUMB_API void plumb_comparison_close(plumb_comparison *comparison);
/* Fills as much of `out` as its `size` says. */
PLUMB_API void plumb_comparison_result(const plumb_comparison *comparison,
                                       plumb_compare_result *out);
/* The comparison as text, without a newline at its end. */
PLUMB_API int plumb_comparison_render(const plumb_comparison *comparison,
                                      const plumb_compare_view *view, char **out, plumb_error *err);
/* Returns notes that affect the comparison, one line each; every format but CSV includes them. */
PLUMB_API int plumb_comparison_notes(const plumb_comparison *comparison, char **out,
                                     plumb_error *err);
/* Returns plumb_report_remarks() of all runs, each line with the side and, if there are several,
 * the run. */
PLUMB_API int plumb_comparison_remarks(const plumb_comparison *comparison, char **out,
                                       plumb_error *err);
/* Returns the path of run `i` of a side (enum plumb_side), or NULL beyond the last. */
PLUMB_API const char *plumb_comparison_run(const plumb_comparison *comparison, uint32_t side,
                                           size_t i);

/* ---- First divergence ------------------------------------------------------------------------ */

/* How equal two runs must be. AUTO: bit for bit if both are runs of one engine that begin equal to
 * the last bit, otherwise within the tolerance of their element types. */
enum plumb_divergence_expect {
    PLUMB_DIVERGENCE_EXPECT_AUTO = 0,
    PLUMB_DIVERGENCE_EXPECT_SAME = 1, /* equal in every bit */
    PLUMB_DIVERGENCE_EXPECT_CLOSE = 2 /* within tolerance */
};
/* Which records are compared. */
enum plumb_divergence_only {
    PLUMB_DIVERGENCE_ALL = 0,
    PLUMB_DIVERGENCE_NAMED = 1, /* records with the same name, or with a name from a map */
    PLUMB_DIVERGENCE_MAPPED = 2 /* records with a name from a map */
};

typedef struct plumb_divergence_options {
    size_t size;             /* sizeof(plumb_divergence_options) */
    double relative;         /* 0: by the element types (docs/diverge.md); below 0: none */
    double absolute;         /* likewise */
    const char *const *maps; /* from names of A to names of B: "s/OLD/NEW/", or files */
    uint64_t map_count;
    uint32_t expect; /* enum plumb_divergence_expect */
    uint32_t only;   /* enum plumb_divergence_only */
} plumb_divergence_options;

static inline plumb_divergence_options plumb_divergence_options_default(void)
{
    plumb_divergence_options o = {sizeof(plumb_divergence_options), 0, 0, NULL, 0, 0, 0};
    return o;
}

typedef struct plumb_divergence_view {
    size_t size;        /* sizeof(plumb_divergence_view) */
    const char *format; /* "text" (NULL), "json", "csv" (the table), "md", "svg" */
    uint64_t top;       /* rows of the table around the culprit; 0: 20 */
    uint32_t all;       /* 1: all rows */
    uint32_t reserved;
} plumb_divergence_view;

static inline plumb_divergence_view plumb_divergence_view_default(void)
{
    plumb_divergence_view v = {sizeof(plumb_divergence_view), NULL, 0, 0, 0};
    return v;
}

typedef struct plumb_divergence_result {
    size_t size;       /* sizeof(plumb_divergence_result), set by the caller */
    uint64_t diverged; /* 1: a record is beyond tolerance */
    uint64_t compared; /* pairs of records */
    uint64_t only_a, only_b;
} plumb_divergence_result;

typedef struct plumb_divergence plumb_divergence;

/* Compares the activations `a` and `b` (files or folders of any kind in docs/diverge.md) and finds
 * the first record that is wrong while its inputs are right. Errors: PLUMB_ERR_NOT_FOUND,
 * PLUMB_ERR_IO, PLUMB_ERR_FORMAT: a side cannot be read, or the sides have nothing in common;
 * PLUMB_ERR_ARG: an invalid map, or options without a size; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_divergence_open(plumb_divergence **out, const char *a, const char *b,
                                    const plumb_divergence_options *options, plumb_error *err);
PLUMB_API void plumb_divergence_close(plumb_divergence *divergence);
/* Fills as much of `out` as its `size` says. */
PLUMB_API void plumb_divergence_summary(const plumb_divergence *divergence,
                                        plumb_divergence_result *out);
/* Renders the report as text, without a newline at its end. If both sides stored values, the first
 * call reads them. */
PLUMB_API int plumb_divergence_render(plumb_divergence *divergence,
                                      const plumb_divergence_view *view, char **out,
                                      plumb_error *err);

/* ---- Activations ----------------------------------------------------------------------------- */

/* The outputs of the layers of one run: statistics of each tensor of each call of a module. */
typedef struct plumb_activation_log plumb_activation_log;

/* Reads recorded activations: JSONL of plumb or of FastVideo, a dump.json of msprobe, .npy or
 * .safetensors files (their statistics are computed), a folder of these, one for each step, or a
 * run directory (the newest one in a folder of runs). The format is detected from the contents.
 * Errors: PLUMB_ERR_NOT_FOUND; PLUMB_ERR_FORMAT: of another kind, without a record, or damaged (one
 * line that says where); PLUMB_ERR_IO; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_activation_log_open(plumb_activation_log **out, const char *path,
                                        plumb_error *err);
PLUMB_API void plumb_activation_log_close(plumb_activation_log *log);
PLUMB_API uint64_t plumb_activation_log_records(const plumb_activation_log *log);

enum plumb_activations_kind {
    PLUMB_ACTIVATIONS_SUMMARY = 0,  /* suspect values, and a row for each layer */
    PLUMB_ACTIVATIONS_STEPS = 1,    /* a row for each layer and step */
    PLUMB_ACTIVATIONS_SUSPECTS = 2, /* suspect values only: NaN, infinite, near the largest value of
                                       the type, all zero, constant */
};
typedef struct plumb_activation_log_view {
    size_t size;        /* sizeof(plumb_activation_log_view) */
    const char *format; /* "text", "json", "csv" or "md"; NULL: text */
    const char *module; /* extended regular expression, searched for in module names; NULL: all */
    uint64_t top;       /* rows of each table; 0: all, but 10 suspects in a summary */
    uint32_t kind;      /* enum plumb_activations_kind */
    uint32_t explain;   /* 1: what the columns mean (text, md) */
} plumb_activation_log_view;

static inline plumb_activation_log_view plumb_activation_log_view_default(void)
{
    plumb_activation_log_view v = {sizeof(plumb_activation_log_view), NULL, NULL, 0, 0, 0};
    return v;
}

/* Renders the view as text, without a newline at its end. PLUMB_ERR_ARG: no such format, or an
 * invalid expression; PLUMB_ERR_NOT_FOUND: no module matches. */
PLUMB_API int plumb_activation_log_render(const plumb_activation_log *log,
                                          const plumb_activation_log_view *view, char **out,
                                          plumb_error *err);

/* ---- Settings -------------------------------------------------------------------------------- */

enum plumb_setting_kind {
    PLUMB_KIND_BOOL = 0,
    PLUMB_KIND_NUMBER = 1,
    PLUMB_KIND_SIZE = 2,
    PLUMB_KIND_CHOICE = 3,
    PLUMB_KIND_TEXT = 4
};
/* Describes one setting. */
typedef struct plumb_setting_info {
    char variable[64]; /* "PLUMB_MAX_NODES" */
    char option[64];   /* "--max-nodes"; "": none */
    const char *default_text;
    const char *help;
    const char *choices; /* "a|b" of a choice, else NULL */
    uint32_t kind;       /* enum plumb_setting_kind */
    uint32_t hidden;     /* 1: set by plumb itself */
} plumb_setting_info;
/* Fills `out` with setting `i` and returns 1, or 0 beyond the last. */
PLUMB_API int plumb_setting_get(size_t i, plumb_setting_info *out);
/* Checks whether `text` is a valid value of the setting with this variable or option name; if not,
 * `err` lists the valid ones. PLUMB_ERR_NOT_FOUND: no such setting. */
PLUMB_API int plumb_setting_check(const char *name, const char *text, plumb_error *err);
/* Returns the text of `plumb help environment`. */
PLUMB_API int plumb_setting_help(char **out, plumb_error *err);
/* Returns the text of `plumb help regions`: the regions that every program has. */
PLUMB_API int plumb_region_help(char **out, plumb_error *err);

/* ---- What can be collected on this machine --------------------------------------------------- */

enum plumb_check_state {
    PLUMB_CHECK_SEEN = 0,     /* works */
    PLUMB_CHECK_NOT_SEEN = 1, /* missing, but nothing prevents it */
    PLUMB_CHECK_BLOCKED = 2   /* something prevents it: `detail` says what, `cure` what to do */
};
typedef struct plumb_check {
    const char *name;
    uint32_t state; /* enum plumb_check_state */
    char detail[256];
    char cure[256]; /* "": nothing to do */
} plumb_check;
/* Runs check `i` of this machine and process and returns 1, or 0 beyond the last. The only side
 * effect is a file that is created and removed in the output folder. */
PLUMB_API int plumb_doctor_check(size_t i, plumb_check *out);
/* Fills `out` with line `i` about the settings in this process's environment: what is recorded of
 * the timeline, and each PLUMB_* variable that is misspelt, invalid, or has no effect. Returns 1,
 * or 0 beyond the last. */
PLUMB_API int plumb_doctor_setting(size_t i, plumb_check *out);
/* Fills `out` with variable `i` of this process's environment that belongs to one of the systems
 * that plumb replaces: its purpose, and the variable to set instead. Returns 1, or 0 beyond the
 * last. `state` is never PLUMB_CHECK_BLOCKED. */
PLUMB_API int plumb_doctor_variable(size_t i, plumb_check *out);

/* ---- Names of the systems that plumb replaces ------------------------------------------------ */

/* Translates a name of FastVideo, TeleFuser, TorchFX or CUVIS.AI to plumb. NULL: every name, a line
 * each. `name` may be a name, NAME=value, a call, or a file or console line that these systems
 * write. Returns 1 if there is no such name: the text is then about the most similar one, and `err`
 * says so. PLUMB_ERR_NOT_FOUND: no name is similar. */
PLUMB_API int plumb_predecessor_help(char **out, const char *name, plumb_error *err);
/* Returns the tables of docs/coming-from.md, in Markdown. */
PLUMB_API int plumb_predecessor_page(char **out, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
