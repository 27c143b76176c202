/* abi.h: the binary interface of plumb: statuses, handles, options, rows, trace points and the
 * table of functions. plumb.h includes it; programs include plumb.h.
 *
 * Structs that cross between an object and the runtime begin with their size, or are only appended
 * to; the table carries its own size. A checked-in list of sizes and offsets guards them. */
#ifndef PLUMB_ABI_H
#define PLUMB_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_VERSION_MAJOR 0
#define PLUMB_VERSION_MINOR 1
#define PLUMB_VERSION_PATCH 0
#define PLUMB_VERSION "0.1.0"

/* ---- Status codes and errors ------------------------------------------------------------------
 * Zero or more is success, less is one of these. */
enum plumb_status {
    PLUMB_OK = 0,
    PLUMB_ERR_ARG = -1,       /* an argument is out of its documented range */
    PLUMB_ERR_MEMORY = -2,    /* out of memory, or beyond a PLUMB_MAX_* bound */
    PLUMB_ERR_IO = -3,        /* a file or directory could not be read or written */
    PLUMB_ERR_ABSENT = -4,    /* no runtime in this process */
    PLUMB_ERR_STATE = -5,     /* not now: not recording, already recording, ... */
    PLUMB_ERR_FORMAT = -6,    /* a file is not what it should be */
    PLUMB_ERR_NOT_RUN = -7,   /* plumb_measure: the work did not happen */
    PLUMB_ERR_NOT_FOUND = -8, /* no such run, node, pipeline, ... */
    PLUMB_ERR_CHECK = -9      /* a check of a stage's inputs or outputs has failed */
};

/* Filled by the function that first knows the cause; the caller owns it. May be NULL everywhere. */
typedef struct plumb_error {
    int32_t code;      /* one of enum plumb_status */
    char message[508]; /* one line, NUL-terminated, no newline: what, where, what to do */
} plumb_error;

/* ---- Handles ----------------------------------------------------------------------------------
 * All are plain values; all-zero means "none" and is accepted everywhere. */
typedef struct plumb_span { /* an open span of the calling thread */
    uint64_t id;
} plumb_span;
typedef struct plumb_async { /* an open span that any thread may end */
    uint64_t id;
} plumb_async;
typedef struct plumb_scope { /* a phase, step, pipeline or context to be restored */
    uint64_t id;
} plumb_scope;
typedef uint32_t plumb_node;                  /* an interned node; 0 is none */
typedef struct plumb_pipeline plumb_pipeline; /* opaque; NULL is the default pipeline */
typedef struct plumb_device plumb_device;     /* opaque; something with a synchronise function */
typedef struct plumb_rows plumb_rows;         /* opaque; an immutable summary */
typedef struct plumb_request {                /* an open request */
    uint64_t id;
} plumb_request;

/* Where a captured context came from: its open nodes, phase, step and pipeline (plain data, to be
 * kept by value while a task waits in a queue). */
typedef struct plumb_context {
    uint64_t flow;     /* links the capture to its adoption in a trace */
    int64_t step;      /* -1: none */
    uint32_t group;    /* (pipeline, phase) of the run */
    uint32_t depth;    /* number of valid entries of `path`, outermost first */
    uint32_t run;      /* generation of the run; a context of an earlier run is ignored */
    uint32_t request;  /* that the work is for */
    uint32_t memory;   /* whose thread of control it belongs to */
    uint32_t path[27]; /* node ids */
} plumb_context;

/* ---- Options ----------------------------------------------------------------------------------
 * Zero means the default everywhere; start from plumb_options_default(). Every setting is a field
 * and a variable PLUMB_<NAME>, which wins over the field (`plumb help environment`), but for two
 * that are variables only: PLUMB, for which plumb_start() stands, and PLUMB_CLOCK, because the
 * clock is chosen when the library is loaded. Strings are borrowed until plumb_start() returns. */
typedef void (*plumb_log_fn)(int level, const char *line, void *arg); /* level: enum plumb_log */
enum plumb_log { PLUMB_LOG_ERROR = 1, PLUMB_LOG_WARN = 2, PLUMB_LOG_INFO = 3, PLUMB_LOG_DEBUG = 4 };
enum plumb_switch { PLUMB_DEFAULT = 0, PLUMB_ON = 1, PLUMB_OFF = 2 };
/* As enum plumb_switch; ALWAYS also emits ranges on a machine without a GPU. */
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

typedef struct plumb_options {
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
} plumb_options;

/* Configuration of one pipeline; plumb_configure() replaces it as a whole. */
typedef struct plumb_config {
    size_t size;      /* sizeof(plumb_config) */
    uint32_t enabled; /* 0 or 1 */
    uint32_t sync;    /* 0 or 1 */
    uint32_t reset;   /* 1: drop the rows collected so far */
    uint32_t reserved;
    int64_t skip_first_n; /* >= 0 */
} plumb_config;

/* One row of a summary. Key: (pipeline, phase, node). Times in milliseconds; all zero when count is
 * 0. Quantiles are order statistics within 0.8 % (exact up to 5 samples). */
typedef struct plumb_row {
    const char *pipeline;
    const char *phase;
    const char *node;
    uint64_t count;    /* samples, without skipped and failed ones */
    uint64_t skipped;  /* dropped by skip_first_n */
    uint64_t failures; /* runs that plumb_span_fail() marked */
    double mean_ms;
    double median_ms;
    double std_ms; /* population */
    double min_ms;
    double max_ms;
    double total_ms;
    double self_ms; /* total without the time of nested spans */
    double last_ms;
    double p50_ms; /* of the sketch, whatever median_ms is */
    double p90_ms;
    double p95_ms;
    double p99_ms;
    uint64_t device_count; /* the device channel: plumb_record_device_ns() and collectors */
    double device_total_ms;
    double device_mean_ms;
    double device_min_ms;
    double device_max_ms;
    double device_median_ms;
    uint32_t threads;          /* threads that ran the node */
    uint32_t median_estimator; /* enum plumb_median */
} plumb_row;
enum plumb_median { PLUMB_MEDIAN_SKETCH = 0, PLUMB_MEDIAN_P2 = 1, PLUMB_MEDIAN_EXACT = 2 };

/* A name and its value, both text. Arrays of them end with a NULL key. */
typedef struct plumb_pair {
    const char *key, *value;
} plumb_pair;

/* Memory that allocators reported, in bytes: of one pool, of all pools of a device, or of all
 * pools. */
typedef struct plumb_memory {
    size_t size; /* sizeof(plumb_memory) */
    uint64_t allocated, reserved;
    uint64_t peak_allocated, peak_reserved; /* since the last plumb_memory_reset_peak() */
    uint64_t overhead;                      /* reserved and not allocated */
    double overhead_percent;                /* of reserved; 0 when nothing is reserved */
    uint64_t rss, peak_rss; /* resident set of the process, whatever was asked for; 0: unknown */
} plumb_memory;
enum plumb_mem_event {
    PLUMB_MEM_ALLOC = 0,
    PLUMB_MEM_FREE = 1,
    PLUMB_MEM_RESERVE = 2,
    PLUMB_MEM_RELEASE = 3,
    PLUMB_MEM_TOTAL = 4, /* of the device */
    PLUMB_MEM_RESET_PEAK = 5,
    /* Passed to mem_sized() once, before main(): from here on an interposer reports malloc events;
     * `bytes` are already allocated. If recording is switched on, this opens the run. */
    PLUMB_MEM_HELD = 6
};

/* An input or output of a stage; made by plumb_value_*() of signature.h. */
enum plumb_value_kind {
    PLUMB_VALUE_NULL = 0,
    PLUMB_VALUE_BOOL = 1,
    PLUMB_VALUE_I64 = 2,
    PLUMB_VALUE_F64 = 3,
    PLUMB_VALUE_STR = 4,
    PLUMB_VALUE_TENSOR = 5,
    PLUMB_VALUE_LIST = 6,
    PLUMB_VALUE_FIELDS = 7
};
struct plumb_field;
typedef struct plumb_value {
    uint32_t kind;  /* enum plumb_value_kind */
    uint32_t count; /* of a list, or of fields */
    union {
        int64_t i64; /* BOOL too */
        double f64;
        const char *str;
        const void *tensor; /* a DLTensor */
        const struct plumb_value *list;
        const struct plumb_field *fields;
    } as;
} plumb_value;
typedef struct plumb_field { /* a field of a mapping or of a struct */
    const char *name;
    plumb_value value;
} plumb_field;
enum plumb_stage_part { PLUMB_STAGE_INPUT = 0, PLUMB_STAGE_OUTPUT = 1, PLUMB_STAGE_METADATA = 2 };

/* A condition on an input or output of a stage; a zero field is not checked. */
typedef struct plumb_rule {
    size_t size;       /* sizeof(plumb_rule) */
    const char *shape; /* "2,?,64": ? is any size; "...,64": any dimensions before */
    const char *dtype; /* "float32", or "float32|bfloat16": one of them */
    uint32_t finite;   /* 1: no NaN and no infinity */
    uint32_t range;    /* 1: every value within [min, max]; NaN fails */
    uint32_t optional; /* 1: a run may omit it */
    uint32_t reserved;
    double min, max;
    /* Returns 0 if the value passes; otherwise it may write the reason to `why` [size]. Called on
     * the stage's thread. */
    int (*fn)(const plumb_value *value, void *arg, char *why, size_t size);
    void *arg;
} plumb_rule;

/* Describes a region. Its texts live as long as the process. */
typedef struct plumb_region {
    const char *name;        /* "profiler_region_" and the short one */
    const char *short_name;  /* "training_train_one_step" */
    const char *twin;        /* another spelling of it; NULL: none */
    const char *description; /* "" when none was given */
    uint64_t entered;        /* times, in the run that is open */
    uint32_t selected;       /* 1: PLUMB_REGIONS names it */
    uint32_t reserved;
} plumb_region;

/* A custom statistic (plumb/activation.h). Called on the thread that records the tensor. Returns 0
 * if `out` is set; otherwise it may write the reason to `why` [size]. */
typedef int (*plumb_activation_stat_fn)(const void *tensor, double *out, char *why, size_t size,
                                        void *arg);
/* Receives every record as a line of JSON. Called on one of plumb's own threads. */
typedef void (*plumb_activation_sink_fn)(const char *line, size_t bytes, void *arg);
/* Copies `bytes` from a device address to the host; returns 0 on success. */
typedef int (*plumb_activation_copy_fn)(void *to, const void *from, size_t bytes,
                                        int32_t device_index, void *arg);

/* Callbacks for the runs of a node; each may be NULL. The struct is copied when it is added. */
typedef struct plumb_hook {
    size_t size;                                /* sizeof(plumb_hook) */
    const char *name;                           /* unique among the node's hooks */
    void (*before)(plumb_node node, void *arg); /* a span begins: first added, first called */
    void (*after)(plumb_node node, void *arg);  /* it has ended: last added, first called */
    void (*on_attach)(plumb_node node, void *arg);
    void (*on_detach)(plumb_node node, void *arg);
    void *arg;
} plumb_hook;
enum plumb_hook_change {
    PLUMB_HOOK_ADD = 0,
    PLUMB_HOOK_REPLACE = 1,
    PLUMB_HOOK_REMOVE = 2,
    PLUMB_HOOK_GET = 3
};

/* plumb_runtime_begin(): zero fields take the defaults. */
typedef struct plumb_runtime_options {
    size_t size;                /* sizeof(plumb_runtime_options) */
    const char *const *devices; /* names as given to plumb_mem_alloc(); duplicates count once */
    size_t device_count;
    uint32_t capture_peak_memory; /* 0 or 1 */
    uint32_t reserved;
    double (*now_s)(void *arg); /* default: the monotonic clock */
    void *arg;
} plumb_runtime_options;
enum { PLUMB_RUNTIME_DEVICES = 16 };
typedef struct plumb_runtime_result {
    size_t size; /* sizeof(plumb_runtime_result) */
    double seconds;
    uint32_t device_count, reserved;
    struct {
        char device[56];
        uint64_t peak_allocated_bytes, peak_reserved_bytes;
    } memory[PLUMB_RUNTIME_DEVICES]; /* in the order of `devices`, without duplicates */
} plumb_runtime_result;
typedef struct plumb_runtime_run plumb_runtime_run; /* opaque */
enum { PLUMB_RUNTIME_GPUS = 16 };
/* plumb_runtime_environment_get(): an empty text means unknown. */
typedef struct plumb_runtime_environment {
    size_t size;        /* sizeof(plumb_runtime_environment) */
    char platform[256]; /* system, release and machine of uname() */
    char libc[64];      /* "glibc 2.36" */
    char compiler[128]; /* of libplumb */
    char plumb[32];     /* version */
    char framework[64]; /* as the program passed it */
    char framework_version[64];
    char nvidia_driver[64]; /* "550.54.14" */
    char git_commit[72];    /* in hexadecimal digits */
    uint32_t gpu_count, reserved;
    char gpus[PLUMB_RUNTIME_GPUS][64]; /* names, in the order of the bus */
} plumb_runtime_environment;

/* plumb_measure(): zero fields take the defaults. */
typedef struct plumb_measure_options {
    size_t size;          /* sizeof(plumb_measure_options) */
    int32_t warmups;      /* default 3; negative: none */
    int32_t samples;      /* default 20 */
    plumb_device *device; /* synchronised before each clock read; default none */
    const char *counter;  /* a plumb_count() name that must move in every sample; default none */
} plumb_measure_options;

typedef struct plumb_measured {
    double median_ns; /* upper middle of the sorted samples */
    double min_ns;
    double max_ns;
    double mean_ns;
    uint32_t samples;
    uint32_t warmups;
} plumb_measured;

/* ---- Collectors: see plugin.h -----------------------------------------------------------------
 */
typedef struct plumb_collector plumb_collector; /* opaque; registered, never freed */
typedef struct plumb_lane {                     /* a row of events, of one run */
    uint64_t id;
} plumb_lane;
typedef struct plumb_clock { /* the clock of event times, of one run; all-zero: the host's */
    uint64_t id;
} plumb_clock;
typedef uint32_t plumb_name; /* an interned text; 0 is none */

/* The functions of a collector. plumb calls `start`, `stop` and the clocks' `now` one at a time, on
 * a thread that belongs to this collector. If one does not return in time, the collector is
 * abandoned. */
typedef struct plumb_collector_ops {
    size_t size;         /* sizeof(plumb_collector_ops) */
    const char *name;    /* one word: the name in PLUMB_COLLECT */
    const char *help;    /* one line */
    uint32_t on_request; /* 1: started only if PLUMB_COLLECT names it */
    uint32_t reserved;
    /* Called when a run begins: makes lanes and clocks. `options` is the text after the name and
     * its colon in PLUMB_COLLECT, or "". PLUMB_ERR_ABSENT: there is no such device here. */
    int (*start)(plumb_collector *self, void *arg, const char *options, plumb_error *err);
    /* Called when the run ends: emits the remaining events. No event may follow after it
     * returns. */
    int (*stop)(void *arg, plumb_error *err);
    void (*destroy)(void *arg); /* NULL: nothing to free */
    const void *offer;          /* functions for the program: plumb_collector_offer() */
} plumb_collector_ops;

enum plumb_lane_of {
    PLUMB_LANE_OF_WORK = 1,  /* work of a device */
    PLUMB_LANE_OF_HOST = 2,  /* events on the host */
    PLUMB_LANE_OF_VALUES = 3 /* values over time */
};
enum plumb_lane_flags {
    PLUMB_LANE_LAUNCH_ONLY = 1 /* the device reports no times: only launches are seen */
};
typedef struct plumb_lane_options {
    size_t size; /* sizeof(plumb_lane_options) */
    const char *name;
    const char *device; /* "cuda:0"; NULL: none */
    plumb_lane parent;  /* all-zero: none */
    uint32_t kind;      /* enum plumb_lane_of */
    uint32_t flags;     /* enum plumb_lane_flags */
    uint32_t slots;     /* capacity of the queue to the trace, in events; 0: 4096 */
    uint32_t reserved;
} plumb_lane_options;

typedef struct plumb_clock_options {
    size_t size; /* sizeof(plumb_clock_options) */
    const char *name;
    double hz;         /* nominal rate, ticks a second */
    double drift_ppm;  /* maximum difference of the real rate from `hz`; 0: 200 */
    double wander_ppm; /* maximum change of the rate between two anchors; 0: 1 */
    /* Reads the clock. < 0: it cannot be read now. */
    int (*now)(void *arg, uint64_t *ticks);
    void *arg;
} plumb_clock_options;

/* The origin of a piece of work: captured where the work is launched, kept by value until it is
 * done. */
typedef struct plumb_origin {
    uint64_t flow;    /* links the launch to the work in a trace; 0: there is no origin */
    uint64_t request; /* serial; 0: none */
    uint64_t stage;   /* innermost stage + 1; 0: none */
    int64_t step;     /* -1: none */
    uint32_t node;    /* the node that the device time counts for */
    uint32_t group;   /* (pipeline, phase) */
    uint32_t run;     /* generation of the run; an origin of an earlier run is ignored */
    uint32_t tid;     /* of the launching thread */
} plumb_origin;

enum plumb_event_kind {
    PLUMB_EVENT_SPAN = 1,    /* `begin` to `end` */
    PLUMB_EVENT_INSTANT = 2, /* at `begin` */
    PLUMB_EVENT_COUNTER = 3, /* `value` from `begin` on */
    PLUMB_EVENT_FLOW = 4,    /* `flow` passes through this lane at `begin` */
    PLUMB_EVENT_WAIT = 5     /* the calling thread waited for work of `origin` */
};
typedef struct plumb_event_arg {
    plumb_name key;
    uint32_t type; /* 1 i64, 2 f64, 3 a plumb_name in i64 */
    union {
        int64_t i64;
        double f64;
    } value;
} plumb_event_arg;
enum { PLUMB_EVENT_ARGS = 6 }; /* maximum; further ones are dropped */
typedef struct plumb_event {
    uint32_t size; /* sizeof(plumb_event) */
    uint32_t kind; /* enum plumb_event_kind */
    plumb_name name;
    uint32_t arg_count;
    uint64_t begin, end; /* ticks of the clock */
    uint64_t flow;
    double value;
    const plumb_origin *origin; /* NULL: unknown */
    const plumb_event_arg *args;
} plumb_event;

enum plumb_collector_state {
    PLUMB_COLLECTOR_IDLE = 0, /* no run wants it */
    PLUMB_COLLECTOR_STARTING = 1,
    PLUMB_COLLECTOR_RUNNING = 2,
    PLUMB_COLLECTOR_STOPPING = 3,
    PLUMB_COLLECTOR_STOPPED = 4,  /* of the run that is open, or was last */
    PLUMB_COLLECTOR_ABSENT = 5,   /* it found no device */
    PLUMB_COLLECTOR_FAILED = 6,   /* see `why` */
    PLUMB_COLLECTOR_ABANDONED = 7 /* a function of it has not returned */
};
typedef struct plumb_collector_status {
    size_t size;    /* sizeof(plumb_collector_status) */
    uint32_t state; /* enum plumb_collector_state */
    uint32_t lanes, clocks;
    uint32_t reserved;
    uint64_t emitted;       /* events accepted, in the open run or the last one */
    uint64_t dropped;       /* of these, events whose lane's queue was full */
    uint64_t refused_times; /* rejected: impossible times */
    uint64_t refused_late;  /* rejected: after its stop, or for another run */
    char why[256];
} plumb_collector_status;

/* ---- Trace points -----------------------------------------------------------------------------
 * A static object of the caller. Fields belong to the runtime; use the macros. */
enum plumb_point_flags {
    PLUMB_POINT_PLAIN = 0,
    PLUMB_POINT_DEBUG = 1,  /* recorded only while debug is on (PLUMB_DEBUG, plumb_set_debug) */
    PLUMB_POINT_STAGE = 2,  /* a pipeline stage: memory, signature, request; logged at info */
    PLUMB_POINT_MEMORY = 4, /* memory is measured as for a stage */
    PLUMB_POINT_RUNNING_PEAK = 8, /* its begin does not reset memory peaks */
    PLUMB_POINT_REGION = 16       /* `name` is the name of a region */
};
enum plumb_point_mode {
    PLUMB_MODE_OFF = 0,
    PLUMB_MODE_ON = 1,
    PLUMB_MODE_UNKNOWN = 2, /* not seen by the runtime yet */
    PLUMB_MODE_SPECIAL = 3  /* on, and needs the slower entry */
};
struct plumb_point {
    uint32_t mode; /* enum plumb_point_mode; atomic, relaxed */
    uint32_t node;
    const char *name;
    const char *file;
    uint32_t line;
    uint32_t flags; /* enum plumb_point_flags */
    struct plumb_point *next;
};
#define PLUMB_POINT_INIT(name_, flags_)                                                            \
    {                                                                                              \
        PLUMB_MODE_UNKNOWN, 0, (name_), __FILE__, __LINE__, (flags_), NULL                         \
    }

enum plumb_client_state {
    PLUMB_CLIENT_FOUND = 1,
    PLUMB_CLIENT_ABSENT = 2,       /* 0: not looked up */
    PLUMB_CLIENT_LOOKING = 1 << 30 /* combined with the id of the thread that looks it up */
};
/* A shared object's link to the runtime; one per shared object, merged by the linker. */
struct plumb_client {
    const struct plumb_api *api;
    struct plumb_point *points;
    uint32_t state;       /* enum plumb_client_state */
    uint32_t activations; /* enum plumb_point_mode but SPECIAL; atomic, relaxed */
};

/* The function table: with the structs above, the whole binary interface. Only appended to; a
 * member beyond `size` does not exist. */
struct plumb_api {
    uint32_t version; /* 1 */
    uint32_t size;    /* bytes of this struct in the runtime */

    plumb_span (*span_begin)(struct plumb_point *point);
    void (*span_end)(plumb_span span);
    plumb_span (*span_lap)(plumb_span span, struct plumb_point *point);
    plumb_span (*span_begin_node)(plumb_node node);
    plumb_span (*span_begin_special)(struct plumb_point *point);
    void (*span_mark)(plumb_span span, uint32_t mark, const char *why); /* 1 fail, 2 abandon */
    void (*span_arg)(plumb_span span, const char *key, uint32_t type, const void *value);
    plumb_async (*async_begin)(plumb_node node);
    void (*async_end)(plumb_async span, uint32_t mark, const char *why);
    void (*record_ns)(plumb_node node, uint32_t channel, uint64_t ns);
    void (*count)(const char *name, int64_t n);

    void (*point_register)(struct plumb_client *client, struct plumb_point *point);
    void (*client_detach)(struct plumb_client *client);
    plumb_node (*node_get)(const char *name);
    void (*node_set_device)(plumb_node node, plumb_device *device);

    plumb_scope (*phase_begin)(const char *name);
    plumb_scope (*step_begin)(int64_t step);
    void (*step_set)(plumb_scope scope, int64_t step);
    plumb_scope (*pipeline_begin)(plumb_pipeline *pipeline);
    void (*context_capture)(plumb_context *out);
    plumb_scope (*context_adopt)(const plumb_context *context);
    void (*scope_end)(plumb_scope scope);

    plumb_pipeline *(*pipeline_get)(const char *name);
    int (*configure)(plumb_pipeline *pipeline, const plumb_config *config, plumb_error *err);
    int (*pipeline_enabled)(plumb_pipeline *pipeline);
    int (*reset)(plumb_pipeline *pipeline, plumb_error *err);
    void (*pipeline_close)(plumb_pipeline *pipeline);
    void (*pipeline_set_device)(plumb_pipeline *pipeline, plumb_device *device);
    plumb_device *(*device_register)(const char *name, void (*sync)(void *arg), void *arg);

    int (*summary_rows)(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                        plumb_error *err);
    size_t (*rows_count)(const plumb_rows *rows);
    const plumb_row *(*rows_get)(const plumb_rows *rows, size_t i);
    void (*rows_free)(plumb_rows *rows);
    int (*summary_text)(char **out, plumb_pipeline *pipeline, const char *phase, uint64_t frames,
                        plumb_error *err);
    void (*free_text)(char *text);

    int (*start)(const plumb_options *options, plumb_error *err);
    int (*stop)(plumb_error *err);
    int (*is_recording)(void);
    int (*run_dir)(char *out, size_t size, plumb_error *err);
    void (*set_debug)(int on);
    void (*set_log)(int level, plumb_log_fn log, void *arg);
    void (*log_line)(int level, const char *line);
    int (*measure)(plumb_measured *out, void (*fn)(void *arg), void *arg,
                   const plumb_measure_options *options, plumb_error *err);

    plumb_span (*span_begin_with)(plumb_node node, uint32_t flags); /* enum plumb_point_flags */
    void (*stage_metric)(plumb_span span, const char *name);
    void (*mem_event)(uint32_t event, const char *device, const char *pool, const void *address,
                      uint64_t bytes);                 /* enum plumb_mem_event */
    void (*mem_sized)(uint32_t event, uint64_t bytes); /* malloc(3)'s, of known size */
    void (*memory_now)(plumb_memory *out, const char *device, const char *pool);
    void (*checkpoint)(const char *name, uint32_t baseline);
    plumb_request (*request_begin)(const char *id, const plumb_pair *metadata);
    void (*request_end)(plumb_request request, uint32_t failed, const char *why);
    int (*runtime_begin)(plumb_runtime_run **out, const plumb_runtime_options *options,
                         plumb_error *err);
    int (*runtime_finish)(plumb_runtime_run *run, plumb_runtime_result *out, plumb_error *err);

    void (*stage_value)(plumb_span stage, uint32_t part, const char *name,
                        const plumb_value *value); /* enum plumb_stage_part */
    int (*stage_check)(const char *stage, uint32_t part, const char *name, const plumb_rule *rule,
                       plumb_error *err);
    int (*stage_verify)(plumb_span stage, plumb_error *err);

    plumb_name (*name_get)(const char *text);
    plumb_collector *(*collector_register)(const plumb_collector_ops *ops, void *arg,
                                           plumb_error *err);
    int (*collector_unregister)(plumb_collector *collector, plumb_error *err);
    plumb_collector *(*collector_find)(const char *name);
    const void *(*collector_offer)(plumb_collector *collector);
    int (*collector_status)(plumb_collector *collector, plumb_collector_status *out);
    int (*lane_open)(plumb_lane *out, plumb_collector *collector, const plumb_lane_options *options,
                     plumb_error *err);
    int (*clock_open)(plumb_clock *out, plumb_collector *collector,
                      const plumb_clock_options *options, plumb_error *err);
    int (*clock_anchor)(plumb_clock clock);
    uint64_t (*host_ticks)(void);
    int (*emit)(plumb_lane lane, plumb_clock clock, const plumb_event *event);
    void (*origin_capture)(plumb_origin *out, plumb_lane lane, plumb_node node);
    void (*instant)(const char *name);
    void (*counter)(const char *name, double value);
    int (*trace_keep)(const char *why, plumb_error *err);

    int (*region_register)(const char *name, const char *description, plumb_error *err);
    const char *(*region_resolve)(const char *name);
    size_t (*region_list)(plumb_region *out, size_t n, size_t element_bytes);
    plumb_span (*region_begin)(const char *name);

    void (*activation_register)(struct plumb_client *client);
    void (*activation)(plumb_node node, const char *label, const plumb_value *value);
    int (*activation_stat)(const char *name, plumb_activation_stat_fn fn, void *arg,
                           plumb_error *err);
    int (*activation_sink)(plumb_activation_sink_fn fn, void *arg, plumb_error *err);
    int (*activation_copy)(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                           plumb_error *err);
    int (*node_hook)(uint32_t change, plumb_node node, const char *name, plumb_hook *hook,
                     plumb_error *err); /* enum plumb_hook_change */

    void (*log_line_to)(int level, const char *line, plumb_log_fn log, void *arg);
    plumb_async (*async_begin_with)(plumb_node node, uint32_t flags); /* enum plumb_point_flags */
    int (*runtime_environment)(plumb_runtime_environment *out, const char *framework,
                               const char *version, plumb_error *err);
    int (*device_unregister)(plumb_device *device, plumb_error *err);
};

/* The mapping that every runtime leaves in its process, for objects that the linker cannot connect
 * (RTLD_LOCAL, a static copy in a stripped host): its first 16 bytes are this magic and the table.
 */
#define PLUMB_RENDEZVOUS "plumb-runtime-1"
#define PLUMB_RENDEZVOUS_MAGIC UINT64_C(0x31656d75722d6d70)

/* ---- Shared by plumb.h and disabled.h -------------------------------------------------------- */

#define PLUMB_CAT2_(a, b) a##b
#define PLUMB_CAT_(a, b) PLUMB_CAT2_(a, b)
#define PLUMB_ID_(prefix) PLUMB_CAT_(prefix, __COUNTER__)

static inline plumb_options plumb_options_default(void)
{
    plumb_options o;
    size_t i;
    for (i = 0; i < sizeof o; i++)
        ((unsigned char *)&o)[i] = 0;
    o.size = sizeof o;
    return o;
}

static inline plumb_config plumb_config_default(void)
{
    plumb_config c = {sizeof(plumb_config), 0, 0, 0, 0, 0};
    return c;
}

/* Returns the host's time in nanoseconds: monotonic where the language mode declares POSIX,
 * otherwise wall-clock time (in whole seconds before C11). */
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
 * A stopwatch that works also without recording. Its end writes one log line, "<name> completed in
 * <seconds, 3 decimals>s". */
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
 * (PLUMB_LOG, plumb_set_log). */
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
#ifdef __cplusplus
}
#endif
#endif
