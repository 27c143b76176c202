/* trace.h: read a timeline as columns, and render views of it. Part of libplumb-read;
 * plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_TRACE_H
#define PLUMB_READ_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trace as tables. Columns are arrays that belong to the trace: element i of each belongs to row
 * i. Rows are sorted by track and then by time; a slice comes before the slices inside it.
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
 * PLUMB_ERR_IO: it cannot be read. */
PLUMB_API int plumb_trace_open(plumb_trace **out, const char *what, plumb_error *err);
/* Frees the trace, and with it its columns and texts. */
PLUMB_API void plumb_trace_close(plumb_trace *trace);
/* Returns 1 if `path` is a file that begins like such a trace, 0 if it is not or cannot be read.
 * Reads its first 64 KiB. */
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
    uint32_t texts, tracks, facts, flows; /* how many there are */
    uint32_t plumb;                       /* 1: plumb recorded it */
    uint32_t reserved;
} plumb_trace_info;
/* Fills `out` with the numbers of the trace. */
PLUMB_API void plumb_trace_get_info(plumb_trace_info *out, const plumb_trace *trace);

/* Returns text number `id` (less than `texts` of the info), to which the columns `name`,
 * `category`, `key` and the values of text args refer. Number 0 is "". Returns "" beyond the
 * last. */
PLUMB_API const char *plumb_trace_get_text(const plumb_trace *trace, uint32_t id);

enum plumb_trace_track_kind {
    PLUMB_TRACE_TRACK_OTHER = 0, /* asynchronous work, a group */
    PLUMB_TRACE_TRACK_PROCESS = 1,
    PLUMB_TRACE_TRACK_THREAD = 2,
    PLUMB_TRACE_TRACK_COUNTER = 3,
    PLUMB_TRACE_TRACK_DEVICE = 4
};
typedef struct plumb_trace_track {
    size_t size;                      /* sizeof(plumb_trace_track) */
    uint64_t uuid;                    /* its number in the file */
    int64_t pid, tid;                 /* -1: unknown */
    const char *name;                 /* "": none */
    const char *unit;                 /* of a counter; "": unknown */
    uint32_t kind;                    /* enum plumb_trace_track_kind */
    uint32_t parent;                  /* track */
    uint32_t process;                 /* track */
    uint32_t first_slice, slices;     /* row, and how many */
    uint32_t first_instant, instants; /* likewise */
    uint32_t first_counter, counters; /* likewise */
    uint32_t whole;                   /* of a counter: its values are integers */
} plumb_trace_track;
/* Fills `out` with track `i`. Returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_track(plumb_trace_track *out, const plumb_trace *trace, uint32_t i);

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
    const uint32_t *track, *name, *category;
    const uint32_t *parent; /* slice */
    const uint32_t *depth;  /* 0: outermost of its track */
    const uint32_t *args;   /* first of its args; the next element is their end */
    const uint8_t *flags;   /* enum plumb_trace_flag, added up */
} plumb_trace_slices;
/* Fills `out` with the columns of the slices. */
PLUMB_API void plumb_trace_get_slices(plumb_trace_slices *out, const plumb_trace *trace);

typedef struct plumb_trace_instants {
    size_t size; /* sizeof(plumb_trace_instants) */
    uint64_t count;
    const uint64_t *ts_ns;
    const uint32_t *track, *name, *category;
    const uint32_t *slice; /* the innermost slice at that time */
    const uint32_t *args;  /* as of slices; of plumb_trace_get_instant_args() */
} plumb_trace_instants;
/* Fills `out` with the columns of the instants. */
PLUMB_API void plumb_trace_get_instants(plumb_trace_instants *out, const plumb_trace *trace);

typedef union plumb_trace_number {
    int64_t i64;
    uint64_t u64;
    double f64;
} plumb_trace_number;
typedef struct plumb_trace_counters {
    size_t size; /* sizeof(plumb_trace_counters) */
    uint64_t count;
    const uint64_t *ts_ns;
    const uint32_t *track;
    const plumb_trace_number *value; /* i64 where the track is `whole`, else f64 */
} plumb_trace_counters;
/* Fills `out` with the columns of the counter values. */
PLUMB_API void plumb_trace_get_counters(plumb_trace_counters *out, const plumb_trace *trace);

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
/* Fills `out` with the columns of the args: of the slices, or of the instants. */
PLUMB_API void plumb_trace_get_args(plumb_trace_args *out, const plumb_trace *trace);
PLUMB_API void plumb_trace_get_instant_args(plumb_trace_args *out, const plumb_trace *trace);

/* An arrow from one event to another. */
typedef struct plumb_trace_flow {
    size_t size; /* sizeof(plumb_trace_flow) */
    uint64_t id;
    uint64_t from_ns, to_ns;
    uint32_t from, to;                 /* rows */
    uint32_t from_instant, to_instant; /* 1: a row of the instants, 0: of the slices */
} plumb_trace_flow;
/* Fills `out` with flow `i`, in the order of their starts. Returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_flow(plumb_trace_flow *out, const plumb_trace *trace, uint32_t i);
/* A fact about the recording: its key ("plumb.version") and value. */
typedef struct plumb_trace_metadata {
    size_t size;     /* sizeof(plumb_trace_metadata) */
    const char *key; /* belongs to the trace */
    plumb_trace_number value;
    uint32_t type; /* enum plumb_trace_type */
    uint32_t reserved;
} plumb_trace_metadata;
/* Fills `out` with fact `i` of the trace. Returns 1, or 0 beyond the last. */
PLUMB_API int plumb_trace_get_metadata(plumb_trace_metadata *out, const plumb_trace *trace,
                                       uint32_t i);

enum plumb_trace_view_kind {
    PLUMB_TRACE_VIEW_OVERVIEW = 0, /* the next three, and dropped events; csv: as _NODES */
    PLUMB_TRACE_VIEW_NODES = 1,    /* time of nodes, over all threads and on each */
    PLUMB_TRACE_VIEW_GAPS = 2,    /* threads, and the largest gaps between their outermost slices */
    PLUMB_TRACE_VIEW_STEPS = 3,   /* the steps of nodes that have steps */
    PLUMB_TRACE_VIEW_SLOWEST = 4, /* the longest runs of a node, and the nodes inside */
    PLUMB_TRACE_VIEW_KERNELS = 5  /* kernels, and operators on the host, by their own time */
};
/* Rows of PLUMB_TRACE_VIEW_KERNELS. */
enum plumb_trace_kernels_by {
    PLUMB_TRACE_BY_NAME = 0,
    PLUMB_TRACE_BY_SHAPE = 1, /* a name and the shapes of its inputs, or the grid */
    PLUMB_TRACE_BY_STAGE = 2, /* a name and the stage that launched it */
    PLUMB_TRACE_BY_STEP = 3   /* a name and the step that launched it */
};
typedef struct plumb_trace_view {
    size_t size;        /* sizeof(plumb_trace_view) */
    const char *format; /* "text", "json", "csv" or "md"; NULL: text */
    const char *node;   /* of PLUMB_TRACE_VIEW_SLOWEST */
    uint64_t top;       /* rows of a table; 0: all of nodes and steps, 10 of gaps and slowest */
    uint32_t kind;      /* enum plumb_trace_view_kind */
    uint32_t explain;   /* 1: what the columns mean (text, md) */
    uint32_t by;        /* of PLUMB_TRACE_VIEW_KERNELS: enum plumb_trace_kernels_by */
    uint32_t reserved;
} plumb_trace_view;

/* Returns a view with every field at its default. */
static inline plumb_trace_view plumb_trace_view_default(void)
{
    plumb_trace_view v = {sizeof(plumb_trace_view), NULL, NULL, 0, 0, 0, 0, 0};
    return v;
}

/* Renders a view of the trace as text, without a newline at its end. `view`: NULL for the defaults.
 * Errors: PLUMB_ERR_ARG: no such format; PLUMB_ERR_NOT_FOUND: no slice has the name of the view;
 * `err` names one that is like it. */
PLUMB_API int plumb_trace_render(char **out, const plumb_trace *trace, const plumb_trace_view *view,
                                 plumb_error *err);
/* Writes the breakdown of the trace as JSON to `out`: `name`, and the 50 rows of kernels
 * (`top_kernels`) and of operators on the host (`top_ops`) with the most time of their own, those
 * of at least 0.01 ms; totals and numbers are of all such rows. A row has `name`, `ms`, `cuda_ms`
 * (null without a CUDA device), `cpu_ms`, `device_ms` (null without a device), `count`, `mean_us`,
 * `grid`, `shape`, `stage` and `step` (null where its runs differ). Times are in ms, rounded. */
PLUMB_API int plumb_trace_breakdown(char **out, const plumb_trace *trace, const char *name,
                                    plumb_error *err);
/* Writes what a reader of the trace must know to `out`, one line each: open and cut slices, drops,
 * packets that could not be read. "" if there is nothing. */
PLUMB_API int plumb_trace_remarks(char **out, const plumb_trace *trace, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
