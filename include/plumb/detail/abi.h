/* abi.h: the binary interface between an object and the runtime: trace points, the object's link to
 * the runtime, and the table of functions.
 *
 * Structs that cross this interface begin with their size, or are only appended to; the table
 * carries its own size. A checked-in list of sizes and offsets guards them (tests/abi). */
#ifndef PLUMB_DETAIL_ABI_H
#define PLUMB_DETAIL_ABI_H

#include <plumb/detail/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Trace points ------------------------------------------------------------------------------
 * A static object of the caller. Its fields belong to the runtime; use the macros. */
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

/* The innermost open node of a thread, and the step that it is in. */
struct plumb_open_node {
    uint64_t key;   /* group << 20 | node; node 0: outside every node */
    int64_t step;   /* -1: outside steps */
    uint32_t known; /* 0: the function cannot tell here; the rest is unset */
    uint32_t reserved;
};
/* Where a thread's record lies. Two words of it, `head` and `base`, tell whether another node,
 * phase or step may have begun: while neither has changed, it is still what `look` said. So code
 * that runs at every call of a function asks seldom, and reads two words otherwise. */
struct plumb_open_place {
    uint32_t size; /* sizeof(struct plumb_open_place) of the caller */
    uint32_t reserved;
    int64_t thread_at; /* offset from the thread pointer of a pointer to the record; NULL: none */
    uint32_t head_at, base_at; /* offsets of the words in the record; 64 bits each */
    /* Both fill in the node of the calling thread, at any place, and keep errno. `glance` knows a
     * span that is deeper than those of the last fold, in a few ns, and changes no vector register;
     * `look` knows any, in 10 to 100 ns. It cannot tell in a signal handler that interrupted the
     * runtime. */
    void (*glance)(struct plumb_open_node *out);
    void (*look)(struct plumb_open_node *out);
};

/* The function table: with the structs that it names, the whole binary interface. Only appended to;
 * a member beyond `size` does not exist. */
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
    void (*counter_add)(const char *name, int64_t n);

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
    void (*set_log)(int level, void (*log)(int level, const char *line, void *arg), void *arg);
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
    int (*stopwatch_start)(plumb_stopwatch **out, const plumb_stopwatch_options *options,
                           plumb_error *err);
    int (*stopwatch_stop)(plumb_stopwatch_result *out, plumb_stopwatch *stopwatch,
                          plumb_error *err);

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
    int (*collector_status)(plumb_collector_status *out, plumb_collector *collector);
    int (*lane_open)(plumb_lane *out, plumb_collector *collector, const plumb_lane_options *options,
                     plumb_error *err);
    int (*clock_open)(plumb_clock *out, plumb_collector *collector,
                      const plumb_clock_options *options, plumb_error *err);
    int (*clock_anchor)(plumb_clock clock);
    uint64_t (*host_ticks)(void);
    int (*emit)(plumb_lane lane, plumb_clock clock, const plumb_event *event);
    void (*origin_capture)(plumb_origin *out, plumb_lane lane, plumb_node node);
    void (*instant)(const char *name);
    void (*gauge_set)(const char *name, double value);
    int (*trace_keep)(const char *why, plumb_error *err);

    int (*region_register)(const char *name, const char *description, plumb_error *err);
    const char *(*region_resolve)(const char *name);
    size_t (*region_list)(plumb_region *out, size_t n, size_t element_bytes);
    plumb_span (*region_begin)(const char *name);

    void (*activation_register)(struct plumb_client *client);
    void (*activation)(plumb_node node, const char *label, const plumb_value *value);
    int (*activation_stat)(const char *name,
                           int (*fn)(double *out, const void *tensor, char *why, size_t size,
                                     void *arg),
                           void *arg, plumb_error *err);
    int (*activation_sink)(void (*fn)(const char *line, size_t bytes, void *arg), void *arg,
                           plumb_error *err);
    int (*activation_copy)(int32_t device_type,
                           int (*fn)(void *to, const void *from, size_t bytes, int32_t device_index,
                                     void *arg),
                           void *arg, plumb_error *err);
    int (*node_hook)(uint32_t change, plumb_node node, const char *name, plumb_hook *hook,
                     plumb_error *err); /* enum plumb_hook_change */

    void (*log_line_to)(int level, const char *line,
                        void (*log)(int level, const char *line, void *arg), void *arg);
    plumb_async (*async_begin_with)(plumb_node node, uint32_t flags); /* enum plumb_point_flags */
    int (*environment_read)(plumb_environment *out, const char *framework, const char *version,
                            plumb_error *err);
    int (*device_unregister)(plumb_device *device, plumb_error *err);
    int (*clock_anchor_between)(plumb_clock clock, uint64_t source, uint64_t earliest,
                                uint64_t latest);
    void (*count_add)(uint32_t kind, const char *name, int64_t n); /* enum plumb_count_kind */
    int64_t (*count_get)(const plumb_count_scope *scope, uint32_t kind, const char *name);
    void (*counted_begin)(plumb_counted *out);
    int64_t (*counted_get)(const plumb_counted *since, uint32_t kind, const char *name);
    void (*open_place)(struct plumb_open_place *out);
    int (*control_open)(plumb_error *err);
    void (*control_close)(void);
    int (*metric_get)(plumb_metric_series **out, uint32_t type, const char *name,
                      const plumb_metric_options *options, plumb_error *err);
    int (*metric_add)(plumb_metric_series *metric, double amount);
    int (*metric_set)(plumb_metric_series *metric, double value);
    int (*metric_observe)(plumb_metric_series *metric, double value);
    int (*metric_read)(plumb_metric_value *out, plumb_metric_series *metric);
    void (*queue_get)(plumb_queue *out, const char *name);
    void (*queue_task)(const plumb_queue *queue, plumb_queue_task *task, uint32_t step);
    plumb_stream (*stream_begin)(const char *name, uint64_t at_ns);
    plumb_stream_stage (*stream_stage)(plumb_stream stream, const char *name);
    void (*stream_event)(const plumb_stream_stage *stage, uint32_t what, uint64_t sequence,
                         const char *text, uint64_t at_ns); /* enum plumb_stream_what */
    void (*stream_mark)(plumb_stream stream, uint32_t what, uint64_t sequence, uint64_t at_ns);
    /* The process is about to end without its exit handlers: ends the run, in at most 2 s. At any
     * place; does nothing in a child that shares the memory of its parent. */
    void (*leave)(void);
};

/* The mapping that every runtime leaves in its process, for objects that the linker cannot connect
 * (RTLD_LOCAL, a static copy in a stripped host): its first 16 bytes are this magic and the table.
 */
#define PLUMB_RENDEZVOUS "plumb-runtime-1"
#define PLUMB_RENDEZVOUS_MAGIC UINT64_C(0x31656d75722d6d70)

#ifdef __cplusplus
}
#endif
#endif
