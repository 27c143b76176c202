/* record_errno.c: no function of the table changes errno. The host may have failed a call and look
 * at errno only after the block whose span ends.
 *
 * Functions that may wait, allocate, open or ask the helper are called through a wrapper, which
 * preserves errno. The rest (spans, scopes, samples, counters, events of allocators) make a system
 * call only on slow paths of their own, which preserve it there. They must cost nanoseconds, and a
 * wrapper is two more calls. tests/runtime/errno.sh calls every one of both kinds. */
#include <errno.h>

#include "api/record_errno.h"

/* Written once, before any client can see the table. */
static struct plumb_api inner;

#define KEEP(type, name, parameters, arguments)                                                    \
    static type name parameters                                                                    \
    {                                                                                              \
        int saved = errno;                                                                         \
        type result = inner.name arguments;                                                        \
        errno = saved;                                                                             \
        return result;                                                                             \
    }
#define KEEP_VOID(name, parameters, arguments)                                                     \
    static void name parameters                                                                    \
    {                                                                                              \
        int saved = errno;                                                                         \
        inner.name arguments;                                                                      \
        errno = saved;                                                                             \
    }

KEEP_VOID(point_register, (struct plumb_client * client, struct plumb_point *point),
          (client, point))
KEEP_VOID(client_detach, (struct plumb_client * client), (client))
KEEP_VOID(node_set_device, (plumb_node node, plumb_device *device), (node, device))
KEEP(plumb_pipeline *, pipeline_get, (const char *name), (name))
KEEP(int, configure, (plumb_pipeline * pipeline, const plumb_config *config, plumb_error *err),
     (pipeline, config, err))
KEEP(int, reset, (plumb_pipeline * pipeline, plumb_error *err), (pipeline, err))
KEEP_VOID(pipeline_close, (plumb_pipeline * pipeline), (pipeline))
KEEP_VOID(pipeline_set_device, (plumb_pipeline * pipeline, plumb_device *device),
          (pipeline, device))
KEEP(plumb_device *, device_register, (const char *name, void (*sync)(void *arg), void *arg),
     (name, sync, arg))
KEEP(int, device_unregister, (plumb_device * device, plumb_error *err), (device, err))

KEEP(int, summary_rows,
     (plumb_rows * *out, plumb_pipeline *pipeline, const char *phase, plumb_error *err),
     (out, pipeline, phase, err))
KEEP_VOID(rows_free, (plumb_rows * rows), (rows))
KEEP(int, summary_text,
     (char **out, plumb_pipeline *pipeline, const char *phase, uint64_t frames, plumb_error *err),
     (out, pipeline, phase, frames, err))
KEEP_VOID(free_text, (char *text), (text))

KEEP(int, start, (const plumb_options *options, plumb_error *err), (options, err))
KEEP(int, stop, (plumb_error * err), (err))
KEEP(int, run_dir, (char *out, size_t size, plumb_error *err), (out, size, err))
KEEP(int, control_open, (plumb_error * err), (err))
KEEP_VOID(control_close, (void), ())
KEEP_VOID(set_debug, (int on), (on))
KEEP_VOID(set_log, (int level, plumb_log_fn log, void *arg), (level, log, arg))
KEEP_VOID(log_line, (int level, const char *line), (level, line))
KEEP_VOID(log_line_to, (int level, const char *line, plumb_log_fn log, void *arg),
          (level, line, log, arg))
KEEP(int, measure,
     (plumb_measured * out, void (*fn)(void *arg), void *arg, const plumb_measure_options *options,
      plumb_error *err),
     (out, fn, arg, options, err))

KEEP_VOID(memory_now, (plumb_memory * out, const char *device, const char *pool),
          (out, device, pool))
KEEP_VOID(checkpoint, (const char *name, uint32_t baseline), (name, baseline))
KEEP(plumb_request, request_begin, (const char *id, const plumb_pair *metadata), (id, metadata))
KEEP_VOID(request_end, (plumb_request request, uint32_t failed, const char *why),
          (request, failed, why))
KEEP(int, stopwatch_start,
     (plumb_stopwatch * *out, const plumb_stopwatch_options *options, plumb_error *err),
     (out, options, err))
KEEP(int, stopwatch_stop,
     (plumb_stopwatch_result * out, plumb_stopwatch *stopwatch, plumb_error *err),
     (out, stopwatch, err))
KEEP(int, environment_read,
     (plumb_environment * out, const char *framework, const char *version, plumb_error *err),
     (out, framework, version, err))
KEEP(int, stage_check,
     (const char *stage, uint32_t part, const char *name, const plumb_rule *rule, plumb_error *err),
     (stage, part, name, rule, err))
KEEP(int, stage_verify, (plumb_span stage, plumb_error *err), (stage, err))

KEEP(plumb_name, name_get, (const char *text), (text))
KEEP(plumb_collector *, collector_register,
     (const plumb_collector_ops *ops, void *arg, plumb_error *err), (ops, arg, err))
KEEP(int, collector_unregister, (plumb_collector * collector, plumb_error *err), (collector, err))
KEEP(plumb_collector *, collector_find, (const char *name), (name))
KEEP(const void *, collector_offer, (plumb_collector * collector), (collector))
KEEP(int, collector_status, (plumb_collector_status * out, plumb_collector *collector),
     (out, collector))
KEEP(int, lane_open,
     (plumb_lane * out, plumb_collector *collector, const plumb_lane_options *options,
      plumb_error *err),
     (out, collector, options, err))
KEEP(int, clock_open,
     (plumb_clock * out, plumb_collector *collector, const plumb_clock_options *options,
      plumb_error *err),
     (out, collector, options, err))
KEEP(int, clock_anchor, (plumb_clock clock), (clock))
KEEP(int, clock_anchor_between,
     (plumb_clock clock, uint64_t source, uint64_t earliest, uint64_t latest),
     (clock, source, earliest, latest))
KEEP(int, trace_keep, (const char *why, plumb_error *err), (why, err))

KEEP(int, region_register, (const char *name, const char *description, plumb_error *err),
     (name, description, err))
KEEP(const char *, region_resolve, (const char *name), (name))
KEEP(size_t, region_list, (plumb_region * out, size_t n, size_t element_bytes),
     (out, n, element_bytes))

KEEP_VOID(activation_register, (struct plumb_client * client), (client))
KEEP(int, activation_stat,
     (const char *name, plumb_activation_stat_fn fn, void *arg, plumb_error *err),
     (name, fn, arg, err))
KEEP(int, activation_sink, (plumb_activation_sink_fn fn, void *arg, plumb_error *err),
     (fn, arg, err))
KEEP(int, activation_copy,
     (int32_t device_type, plumb_activation_copy_fn fn, void *arg, plumb_error *err),
     (device_type, fn, arg, err))
KEEP(int, node_hook,
     (uint32_t change, plumb_node node, const char *name, plumb_hook *hook, plumb_error *err),
     (change, node, name, hook, err))

KEEP(int64_t, count_get, (const plumb_count_scope *scope, uint32_t kind, const char *name),
     (scope, kind, name))
KEEP_VOID(counted_begin, (plumb_counted * out), (out))
KEEP(int, metric_get,
     (plumb_metric_series * *out, uint32_t type, const char *name,
      const plumb_metric_options *options, plumb_error *err),
     (out, type, name, options, err))
KEEP(int, metric_read, (plumb_metric_value * out, plumb_metric_series *metric), (out, metric))
KEEP_VOID(queue_get, (plumb_queue * out, const char *name), (out, name))
KEEP(int64_t, counted_get, (const plumb_counted *since, uint32_t kind, const char *name),
     (since, kind, name))

KEEP(plumb_stream, stream_begin, (const char *name, uint64_t at_ns), (name, at_ns))
KEEP(plumb_stream_stage, stream_stage, (plumb_stream stream, const char *name), (stream, name))
KEEP_VOID(stream_event,
          (const plumb_stream_stage *stage, uint32_t what, uint64_t sequence, const char *text,
           uint64_t at_ns),
          (stage, what, sequence, text, at_ns))
KEEP_VOID(stream_mark, (plumb_stream stream, uint32_t what, uint64_t sequence, uint64_t at_ns),
          (stream, what, sequence, at_ns))

void plumb_api_keep_errno(struct plumb_api *table)
{
    inner = *table;
#define KEPT(name) table->name = name
    KEPT(point_register), KEPT(client_detach), KEPT(node_set_device);
    KEPT(pipeline_get), KEPT(configure), KEPT(reset), KEPT(pipeline_close);
    KEPT(pipeline_set_device), KEPT(device_register), KEPT(device_unregister);
    KEPT(summary_rows), KEPT(rows_free), KEPT(summary_text), KEPT(free_text);
    KEPT(count_get), KEPT(counted_begin), KEPT(counted_get);
    KEPT(metric_get), KEPT(metric_read), KEPT(queue_get);
    KEPT(start), KEPT(stop), KEPT(run_dir), KEPT(set_debug), KEPT(set_log);
    KEPT(control_open), KEPT(control_close);
    KEPT(log_line), KEPT(log_line_to), KEPT(measure);
    KEPT(memory_now), KEPT(checkpoint), KEPT(request_begin), KEPT(request_end);
    KEPT(stopwatch_start), KEPT(stopwatch_stop), KEPT(environment_read);
    KEPT(stage_check), KEPT(stage_verify);
    KEPT(name_get), KEPT(collector_register), KEPT(collector_unregister), KEPT(collector_find);
    KEPT(collector_offer), KEPT(collector_status), KEPT(lane_open), KEPT(clock_open);
    KEPT(clock_anchor), KEPT(clock_anchor_between), KEPT(trace_keep);
    KEPT(region_register), KEPT(region_resolve), KEPT(region_list);
    KEPT(activation_register), KEPT(activation_stat), KEPT(activation_sink), KEPT(activation_copy);
    KEPT(node_hook);
    KEPT(stream_begin), KEPT(stream_stage), KEPT(stream_event), KEPT(stream_mark);
#undef KEPT
}
