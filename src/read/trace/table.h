/* table.h: a trace as tables. Every reader of traces makes them, and reports and exports use them,
 * whatever file the trace came from.
 *
 *   tracks     what a viewer shows as a row: a thread, a queue of a device, one level of
 *             asynchronous work, a counter, a process
 *   slices    spans: a begin and a length on a track, nested
 *   instants  moments on a track
 *   counters  values on a track of their own
 *   flows     arrows from one event to another
 *   args      typed values of slices and instants
 *   facts     properties of the whole trace
 *   drops     places where events were lost
 *
 * Tables are columns: element i of each array of a struct belongs to row i. Slices, instants and
 * counters are sorted by track and then by time, so a track's are one range; a slice lies before
 * those that run inside it. Drops are sorted by time. Flows are in the order of their starts.
 *
 * Time is ns since the trace's zero, and nothing lies before zero: that is the run's zero, or the
 * first event, whichever is earlier. Texts are numbers of `strings`; 0 is "", none.
 *
 * Names identify plumb's own records. An instant "plumb.dropped" stands where spans were lost: each
 * whole number among its args is a drop, and its key the name of the lost spans or events. The
 * first arg is their sum if its key is "spans" or "events". Args "cut", "failed", "abandoned" and
 * "unbalanced" of a slice set its flags, and "clock_bound_ns" is one of a device's tracks.
 *
 * A reader fills the table with the functions below in any order and ends with
 * plumb_table_finish(), which sorts, nests and closes. Then the table is read, by any number of
 * threads, and changes no more. Memory: about 110 bytes for a span while it is built, 45 then, and
 * 17 for an arg. */
#ifndef PLUMB_READ_TRACE_TABLE_H
#define PLUMB_READ_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings/strings.h"

#define PLUMB_TABLE_NONE UINT32_MAX
#define PLUMB_DROPPED_NAME "plumb.dropped"

/* ---- Rows ----------------------------------------------------------------------------------- */

enum plumb_track_kind {
    PLUMB_TRACK_OTHER = 0, /* of the file's own making: asynchronous work, a stream, a group */
    PLUMB_TRACK_PROCESS = 1,
    PLUMB_TRACK_THREAD = 2,
    PLUMB_TRACK_COUNTER = 3,
    PLUMB_TRACK_DEVICE = 4, /* a queue of a device */
};
enum plumb_track_unit {
    PLUMB_UNIT_NONE = 0,
    PLUMB_UNIT_NS = 1,
    PLUMB_UNIT_COUNT = 2,
    PLUMB_UNIT_BYTES = 3,
};

struct plumb_table_range {
    uint32_t first, count;
};

struct plumb_table_track {
    uint64_t uuid; /* the file's own number for it */
    enum plumb_track_kind kind;
    enum plumb_track_unit unit; /* of a counter */
    uint32_t name, unit_name;
    uint32_t parent;  /* track, or PLUMB_TABLE_NONE; never in a circle */
    uint32_t process; /* the process track above it, or PLUMB_TABLE_NONE; of a process: itself */
    int64_t pid, tid; /* those of the track above where it has none of its own */
    bool has_pid, has_tid;
    bool whole;   /* of a counter: its values are whole numbers */
    bool known;   /* the file describes it; false: events mention it, nothing more is known */
    int32_t rank; /* among its siblings; 0: unknown */
    struct plumb_table_range slices, instants, counters;
    uint64_t lone_ends; /* ends without a begin: no slices are made of them */
};

enum plumb_slice_flag {
    PLUMB_SLICE_OPEN = 1,       /* had not ended: it is as long as the trace */
    PLUMB_SLICE_CUT = 2,        /* its end was lost: it ends where it was last known to run */
    PLUMB_SLICE_FAILED = 4,     /* has the arg "failed" */
    PLUMB_SLICE_VOID = 8,       /* has "abandoned" or "unbalanced": no run worth a sample */
    PLUMB_SLICE_NO_SAMPLE = 15, /* any of them: not in the statistics of its node */
};

struct plumb_table_slices {
    uint32_t count;
    uint64_t *ts_ns, *dur_ns;
    uint32_t *track, *name, *category;
    uint32_t *parent; /* slice, or PLUMB_TABLE_NONE */
    uint32_t *depth;  /* 0: outermost of its track */
    uint32_t *args;   /* first of its args; the next element is where they end */
    uint8_t *flags;   /* enum plumb_slice_flag */
};

struct plumb_table_instants {
    uint32_t count;
    uint64_t *ts_ns;
    uint32_t *track, *name, *category;
    uint32_t *slice; /* innermost of its track that runs then, or PLUMB_TABLE_NONE */
    uint32_t *args;  /* in instant_args */
};

union plumb_table_number {
    int64_t i64;
    uint64_t u64;
    double f64;
};

struct plumb_table_counters {
    uint32_t count;
    uint64_t *ts_ns;
    uint32_t *track;
    union plumb_table_number *value; /* i64 where the track is `whole`, otherwise f64 */
};

/* An end of a flow: a slice or an instant. */
struct plumb_table_end {
    uint32_t row;
    bool instant;
};
struct plumb_table_flow {
    uint64_t id;
    uint64_t from_ns, to_ns; /* when: a flow may leave a slice as it ends */
    struct plumb_table_end from, to;
};

enum plumb_table_type {
    PLUMB_ARG_I64 = 0,
    PLUMB_ARG_U64 = 1,
    PLUMB_ARG_F64 = 2,
    PLUMB_ARG_BOOL = 3,    /* u64 */
    PLUMB_ARG_POINTER = 4, /* u64 */
    PLUMB_ARG_TEXT = 5,    /* u64: a string */
    PLUMB_ARG_JSON = 6,    /* u64: a string that is JSON */
};

/* Nested values are one arg a leaf, with keys as in "shape[0]" and "device.name". */
struct plumb_table_args {
    uint32_t count;
    uint32_t *key;
    uint8_t *type; /* enum plumb_table_type */
    union plumb_table_number *value;
};

struct plumb_table_fact {
    uint32_t key;
    enum plumb_table_type type; /* I64 or TEXT */
    union plumb_table_number value;
};

struct plumb_table_drop {
    uint64_t ts_ns;
    uint64_t count; /* 0: unknown */
    uint32_t track;
    uint32_t name; /* of the lost spans or events; 0: unknown */
};

/* The limits of the file that a reader of the figures must know. */
struct plumb_table_faults {
    uint64_t cut_bytes;     /* of the last packet, which is not whole */
    uint64_t damaged;       /* packets that could not be understood, and are left out */
    uint64_t other;         /* packets of kinds that plumb does not read */
    uint64_t lost_state;    /* events left out, because what they refer to was lost */
    uint64_t unknown_clock; /* events left out, because their clock is not related to the others */
    uint64_t unknown_names; /* events whose name is not in the file */
    uint64_t lone_ends;     /* of all tracks */
    uint64_t losses;        /* places where the writer says that packets were lost */
    uint64_t moved; /* slices that overlapped others of their track: moved to an extra one */
    uint64_t odds;  /* places of a JSON file that are not JSON, and passed over */
    uint64_t odd_line, odd_column; /* of the first */
    const char *odd;               /* what it is: a static text */
};

struct plumb_table {
    struct plumb_strings strings;
    struct plumb_table_track *tracks;
    struct plumb_table_fact *facts;
    struct plumb_table_flow *flows;
    struct plumb_table_drop *drops;
    uint32_t track_count, fact_count, flow_count, drop_count;
    struct plumb_table_slices slices;
    struct plumb_table_instants instants;
    struct plumb_table_counters counters;
    struct plumb_table_args slice_args, instant_args;
    struct plumb_table_faults faults;
    uint64_t end_ns;  /* of the last event */
    uint64_t zero_ns; /* the trace's zero on its own clock */
    uint64_t unix_ns; /* ... in Unix time; 0: not known */
    uint64_t open;    /* slices that are flagged so; the next two likewise */
    uint64_t cut;
    uint64_t failed;
    uint64_t clock_jumps;            /* instants "plumb.clock_jumped" */
    uint64_t packet_bytes;           /* of the file's whole packets, unpacked; 0: it has none */
    bool plumb;                      /* plumb recorded it */
    struct plumb_table_build *build; /* until plumb_table_finish() */
};

static inline const char *plumb_table_text(const struct plumb_table *t, uint32_t id)
{
    return plumb_strings_get(&t->strings, id);
}
static inline uint64_t plumb_table_end_ns(const struct plumb_table *t, uint32_t slice)
{
    return t->slices.ts_ns[slice] + t->slices.dur_ns[slice];
}
/* The slice after the last one that runs inside `slice`. */
uint32_t plumb_table_after(const struct plumb_table *t, uint32_t slice);
/* Returns the index of slice `slice`'s arg in slice_args, or PLUMB_TABLE_NONE. `key` is the number
 * of a string, from plumb_strings_find(). Of several such args the last one counts. */
uint32_t plumb_table_arg(const struct plumb_table *t, uint32_t slice, uint32_t key);
/* The name of a category: plumb's categories are phases, and "inference" is not shown. */
const char *plumb_table_phase(const struct plumb_table *t, uint32_t category);
/* The fact, or NULL. */
const struct plumb_table_fact *plumb_table_fact(const struct plumb_table *t, const char *key);
/* The process of a distributed job that recorded the trace, from the facts of plumb or of PyTorch's
 * profiler. */
struct plumb_table_rank {
    int32_t rank, world_size; /* -1: unknown */
    const char *backend;      /* of the communication: "nccl"; NULL: unknown */
};
struct plumb_table_rank plumb_table_rank(const struct plumb_table *t);
/* Appends the value of an arg or a fact as text: numbers in full, pointers as 0x1f. */
void plumb_table_put_value(struct plumb_buf *out, const struct plumb_table *t,
                           enum plumb_table_type type, union plumb_table_number value);
/* Returns the track that groups a device's queue, or what belongs to a queue: its parent, unless
 * that is a process or a thread. PLUMB_TABLE_NONE: no such track. */
uint32_t plumb_table_group(const struct plumb_table *t, uint32_t track);
/* Appends the track's name, or a substitute: "thread 17", "process 4", "track 5". A trace of
 * plumb's has the same queues for each of its devices, so a queue's name follows the device's:
 * "cuda:1: stream 7". */
void plumb_table_put_track(struct plumb_buf *out, const struct plumb_table *t, uint32_t track);

/* ---- Building ------------------------------------------------------------------------------- */

/* 0 or PLUMB_ERR_MEMORY. An empty table, to be ended with plumb_table_fini() in any case. */
int plumb_table_init(struct plumb_table *t, plumb_error *err);
void plumb_table_fini(struct plumb_table *t);

/* Returns the number of a text. If memory or numbers run out (2^32 - 2 events, 2^29 tracks and as
 * many texts), the functions below remember it, and plumb_table_finish() fails. */
uint32_t plumb_table_string(struct plumb_table *t, const void *text, size_t n);
/* Returns the track with this number of the file; adds it when the number is met for the first
 * time. The pointer to its row lives until the next one is added. PLUMB_TABLE_NONE when out of
 * memory. */
uint32_t plumb_table_track(struct plumb_table *t, uint64_t uuid);
/* A track without a number of the file. */
uint32_t plumb_table_new_track(struct plumb_table *t);

/* Adds an event. Events come in any order; those of one track and one time stay in the order in
 * which they came. Times are ns on any one clock, and may be negative: zero is found in the end.
 * Each returns the event's number, for args and flows. Out of memory gives PLUMB_TABLE_NONE, which
 * the functions for args and flows accept. */
uint32_t plumb_table_begin(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name,
                           uint32_t category);
/* Ends the slice that began last on the track; with a name, the innermost that has it. */
uint32_t plumb_table_end(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name);
uint32_t plumb_table_complete(struct plumb_table *t, uint32_t track, int64_t ns, uint64_t dur_ns,
                              uint32_t name, uint32_t category);
uint32_t plumb_table_instant(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name,
                             uint32_t category);
void plumb_table_counter_i64(struct plumb_table *t, uint32_t track, int64_t ns, int64_t value);
void plumb_table_counter_f64(struct plumb_table *t, uint32_t track, int64_t ns, double value);

/* Adds an arg of an event; args of a slice's begin and of its end are the slice's. */
void plumb_table_add_arg(struct plumb_table *t, uint32_t event, uint32_t key,
                         enum plumb_table_type type, union plumb_table_number value);
/* A place where a flow begins or ends, which is not an event itself. It stands for the slice that
 * runs then on the track, or with `next` for the one that begins next. Its args are lost. */
uint32_t plumb_table_point(struct plumb_table *t, uint32_t track, int64_t ns, bool next);

enum plumb_flow_role {
    PLUMB_FLOW_ON = 0,   /* arrows go from each event of an id to the next in time */
    PLUMB_FLOW_ENDS = 1, /* and the flow ends here, so that the id may begin another */
    PLUMB_FLOW_LEAF = 2, /* an arrow comes here, and the next goes from where this one came */
};
void plumb_table_add_flow(struct plumb_table *t, uint32_t event, uint64_t id,
                          enum plumb_flow_role role);
void plumb_table_add_fact(struct plumb_table *t, uint32_t key, enum plumb_table_type type,
                          union plumb_table_number value);
/* Where the recording began, on the clock of the events; and in Unix time, 0: not known. The first
 * call counts. */
void plumb_table_set_zero(struct plumb_table *t, int64_t ns, uint64_t unix_ns);

/* Errors: PLUMB_ERR_MEMORY: out of memory or of numbers. Frees what building needed. */
int plumb_table_finish(struct plumb_table *t, plumb_error *err);

#endif
