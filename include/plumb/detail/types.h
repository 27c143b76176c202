/* types.h: the handles that the functions of plumb pass by value, and the names of the structs that
 * they pass by address. The header of each noun defines its structs. */
#ifndef PLUMB_DETAIL_TYPES_H
#define PLUMB_DETAIL_TYPES_H

#include <plumb/error.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Handles: plain values; all-zero means "none" and is accepted everywhere ----------------- */

typedef struct plumb_span { /* an open span of the calling thread */
    uint64_t id;
} plumb_span;
typedef struct plumb_async { /* an open span that any thread may end */
    uint64_t id;
} plumb_async;
typedef struct plumb_scope { /* a phase, step, pipeline or context to be restored */
    uint64_t id;
} plumb_scope;
typedef struct plumb_request { /* an open request */
    uint64_t id;
} plumb_request;
typedef struct plumb_stream { /* an open stream of sequences, of one run */
    uint64_t id;
} plumb_stream;
typedef struct plumb_stream_stage { /* a stage of one stream */
    uint64_t stream;
    uint32_t step, reserved;
} plumb_stream_stage;
typedef struct plumb_lane { /* a row of events of a collector, of one run */
    uint64_t id;
} plumb_lane;
typedef struct plumb_clock { /* the clock of event times, of one run; all-zero: the host's */
    uint64_t id;
} plumb_clock;
typedef uint32_t plumb_node; /* an interned node; 0 is not a node */
typedef uint32_t plumb_name; /* an interned text; 0 is not a text */

/* ---- Opaque objects -------------------------------------------------------------------------- */

typedef struct plumb_pipeline plumb_pipeline;   /* NULL is the default pipeline */
typedef struct plumb_device plumb_device;       /* something with a synchronise function */
typedef struct plumb_rows plumb_rows;           /* an immutable summary */
typedef struct plumb_stopwatch plumb_stopwatch; /* time and memory, from outside */
typedef struct plumb_collector plumb_collector; /* registered, never freed */

/* ---- Structs, defined by the header of their noun -------------------------------------------- */

typedef struct plumb_clock_options plumb_clock_options;         /* collector.h */
typedef struct plumb_collector_ops plumb_collector_ops;         /* collector.h */
typedef struct plumb_collector_status plumb_collector_status;   /* collector.h */
typedef struct plumb_event plumb_event;                         /* collector.h */
typedef struct plumb_lane_options plumb_lane_options;           /* collector.h */
typedef struct plumb_origin plumb_origin;                       /* collector.h */
typedef struct plumb_context plumb_context;                     /* context.h */
typedef struct plumb_count_scope plumb_count_scope;             /* count.h */
typedef struct plumb_counted plumb_counted;                     /* count.h */
typedef struct plumb_metric_series plumb_metric_series;         /* metrics.h */
typedef struct plumb_metric_options plumb_metric_options;       /* metrics.h */
typedef struct plumb_metric_value plumb_metric_value;           /* metrics.h */
typedef struct plumb_queue plumb_queue;                         /* metrics.h */
typedef struct plumb_queue_task plumb_queue_task;               /* metrics.h */
typedef struct plumb_hook plumb_hook;                           /* hook.h */
typedef struct plumb_memory plumb_memory;                       /* memory.h */
typedef struct plumb_config plumb_config;                       /* pipeline.h */
typedef struct plumb_region plumb_region;                       /* region.h */
typedef struct plumb_options plumb_options;                     /* run.h */
typedef struct plumb_pair plumb_pair;                           /* stage.h */
typedef struct plumb_rule plumb_rule;                           /* check.h */
typedef struct plumb_environment plumb_environment;             /* stopwatch.h */
typedef struct plumb_measure_options plumb_measure_options;     /* stopwatch.h */
typedef struct plumb_measured plumb_measured;                   /* stopwatch.h */
typedef struct plumb_stopwatch_options plumb_stopwatch_options; /* stopwatch.h */
typedef struct plumb_stopwatch_result plumb_stopwatch_result;   /* stopwatch.h */
typedef struct plumb_row plumb_row;                             /* summary.h */
typedef struct plumb_value plumb_value;                         /* value.h */

#endif
