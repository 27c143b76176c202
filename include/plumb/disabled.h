/* disabled.h: the names of plumb.h with nothing behind them, for PLUMB_DISABLE. Included by
 * plumb.h; not by programs. Arguments are still evaluated where they were, so that a program means
 * the same. */
#ifndef PLUMB_DISABLED_H
#define PLUMB_DISABLED_H

#include <plumb/abi.h>

static inline plumb_span plumb_begin(struct plumb_point *point)
{
    plumb_span none = {0};
    (void)point;
    return none;
}
static inline plumb_span plumb_lap(plumb_span span, struct plumb_point *point)
{
    (void)point;
    return span;
}
#define PLUMB_OFF_SPAN_ plumb_off_span_()
static inline plumb_span plumb_off_span_(void)
{
    plumb_span none = {0};
    return none;
}
static inline plumb_async plumb_off_async_(void)
{
    plumb_async none = {0};
    return none;
}
static inline plumb_scope plumb_off_scope_(void)
{
    plumb_scope none = {0};
    return none;
}
/* Functions, because a value that nobody takes must not warn. */
static inline int plumb_off_status_(void)
{
    return PLUMB_ERR_ABSENT;
}
static inline plumb_node plumb_off_node_(void)
{
    return 0;
}
static inline plumb_pipeline *plumb_off_pipeline_(void)
{
    return NULL;
}
static inline plumb_device *plumb_off_device_(void)
{
    return NULL;
}
static inline void plumb_context_capture(plumb_context *out)
{
    size_t i;
    for (i = 0; i < sizeof *out; i++)
        ((unsigned char *)out)[i] = 0;
    out->step = -1;
}
static inline void plumb_timed_end(plumb_timed *timed)
{
    if (timed->begin_ns)
        timed->elapsed_seconds = (double)(plumb_now_ns() - timed->begin_ns) * 1e-9;
    timed->begin_ns = 0;
}
static inline plumb_request plumb_off_request_(void)
{
    plumb_request none = {0};
    return none;
}
static inline void plumb_memory_now(plumb_memory *out, const char *device, const char *pool)
{
    size_t i, size = out->size;
    (void)device;
    (void)pool;
    for (i = 0; i < size && i < sizeof *out; i++)
        ((unsigned char *)out)[i] = 0;
    out->size = size;
}
#define plumb_end(span) ((void)(span))
#define plumb_begin_node(node) ((void)(node), PLUMB_OFF_SPAN_)
#define plumb_span_fail(span, why) ((void)(span), (void)(why))
#define plumb_span_abandon(span) ((void)(span))
#define plumb_arg_i64(span, key, value) ((void)(span), (void)(key), (void)(value))
#define plumb_arg_f64(span, key, value) ((void)(span), (void)(key), (void)(value))
#define plumb_arg_str(span, key, value) ((void)(span), (void)(key), (void)(value))
#define plumb_node_get(name) ((void)(name), plumb_off_node_())
#define plumb_record_ns(node, ns) ((void)(node), (void)(ns))
#define plumb_record_device_ns(node, ns) ((void)(node), (void)(ns))
#define plumb_count(name, n) ((void)(name), (void)(n))
#define plumb_async_begin(node) ((void)(node), plumb_off_async_())
#define plumb_async_end(span) ((void)(span))
#define plumb_async_fail(span, why) ((void)(span), (void)(why))
#define plumb_async_abandon(span) ((void)(span))
#define plumb_phase_begin(name) ((void)(name), plumb_off_scope_())
#define plumb_step_begin(step) ((void)(step), plumb_off_scope_())
#define plumb_pipeline_begin(pipeline) ((void)(pipeline), plumb_off_scope_())
#define plumb_context_adopt(context) ((void)(context), plumb_off_scope_())
#define plumb_scope_end(scope) ((void)(scope))
#define plumb_pipeline_get(name) ((void)(name), plumb_off_pipeline_())
#define plumb_configure(pipeline, config, err)                                                     \
    ((void)(pipeline), (void)(config), (void)(err), plumb_off_status_())
#define plumb_pipeline_enabled(pipeline) ((void)(pipeline), 0)
#define plumb_reset(pipeline, err) ((void)(pipeline), (void)(err), plumb_off_status_())
#define plumb_pipeline_close(pipeline) ((void)(pipeline))
#define plumb_device_register(name, sync, arg)                                                     \
    ((void)(name), (void)(sync), (void)(arg), plumb_off_device_())
#define plumb_device_unregister(device, err) ((void)(device), (void)(err), plumb_off_status_())
#define plumb_pipeline_set_device(pipeline, device) ((void)(pipeline), (void)(device))
#define plumb_node_set_device(node, device) ((void)(node), (void)(device))
#define plumb_summary_rows(out, pipeline, phase, err)                                              \
    ((void)(out), (void)(pipeline), (void)(phase), (void)(err), plumb_off_status_())
#define plumb_rows_count(rows) ((void)(rows), (size_t)0)
#define plumb_rows_get(rows, i) ((void)(rows), (void)(i), (const plumb_row *)NULL)
#define plumb_rows_free(rows) ((void)(rows))
#define plumb_summary_text(out, pipeline, phase, frames, err)                                      \
    ((void)(out), (void)(pipeline), (void)(phase), (void)(frames), (void)(err), plumb_off_status_())
#define plumb_text_free(text) ((void)(text))
#define plumb_start(options, err) ((void)(options), (void)(err), plumb_off_status_())
#define plumb_stop(err) ((void)(err), plumb_off_status_())
#define plumb_is_recording() 0
#define plumb_run_dir(out, size, err) ((void)(out), (void)(size), (void)(err), plumb_off_status_())
#define plumb_set_debug(on) ((void)(on))
#define plumb_set_log(level, log, arg) ((void)(level), (void)(log), (void)(arg))
#define plumb_measure(out, fn, arg, options, err)                                                  \
    ((void)(out), (void)(fn), (void)(arg), (void)(options), (void)(err), plumb_off_status_())

#define plumb_begin_with(node, flags) ((void)(node), (void)(flags), PLUMB_OFF_SPAN_)
#define plumb_async_begin_with(node, flags) ((void)(node), (void)(flags), plumb_off_async_())
#define plumb_stage_metric(stage, name) ((void)(stage), (void)(name))
#define PLUMB_OFF_VALUE_(stage, name, value) ((void)(stage), (void)(name), (void)(value))
#define plumb_stage_input(stage, name, tensor) PLUMB_OFF_VALUE_(stage, name, tensor)
#define plumb_stage_output(stage, name, tensor) PLUMB_OFF_VALUE_(stage, name, tensor)
#define plumb_stage_input_value(stage, name, value) PLUMB_OFF_VALUE_(stage, name, value)
#define plumb_stage_output_value(stage, name, value) PLUMB_OFF_VALUE_(stage, name, value)
#define plumb_stage_metadata(stage, name, value) PLUMB_OFF_VALUE_(stage, name, value)
#define PLUMB_OFF_MEM_(device, pool, address, bytes)                                               \
    ((void)(device), (void)(pool), (void)(address), (void)(bytes))
#define plumb_mem_alloc(device, pool, address, bytes) PLUMB_OFF_MEM_(device, pool, address, bytes)
#define plumb_mem_free(device, pool, address, bytes) PLUMB_OFF_MEM_(device, pool, address, bytes)
#define plumb_mem_reserve(device, pool, address, bytes) PLUMB_OFF_MEM_(device, pool, address, bytes)
#define plumb_mem_release(device, pool, address, bytes) PLUMB_OFF_MEM_(device, pool, address, bytes)
#define plumb_mem_total(device, pool, bytes) PLUMB_OFF_MEM_(device, pool, 0, bytes)
#define plumb_memory_reset_peak() ((void)0)
#define plumb_stage_check(stage, part, name, rule, err)                                            \
    ((void)(stage), (void)(part), (void)(name), (void)(rule), (void)(err), plumb_off_status_())
#define plumb_stage_verify(stage, err) ((void)(stage), (void)(err), 0)
#define plumb_instant(name) ((void)(name))
#define plumb_counter(name, value) ((void)(name), (void)(value))
#define plumb_trace_keep(why, err) ((void)(why), (void)(err), plumb_off_status_())
#define PLUMB_OFF_CHANGE_(a, b, c, err)                                                            \
    ((void)(a), (void)(b), (void)(c), (void)(err), plumb_off_status_())
#define plumb_activation(node, label, tensor) ((void)(node), (void)(label), (void)(tensor))
#define plumb_activation_value(node, label, value) ((void)(node), (void)(label), (void)(value))
#define PLUMB_OFF_ARRAY_(n, l, d, s, r) ((void)(n), (void)(l), (void)(d), (void)(s), (void)(r))
#define plumb_activation_f64(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_f32(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_f16(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_bf16(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_i8(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_u8(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_i32(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_i64(n, l, data, shape, rank) PLUMB_OFF_ARRAY_(n, l, data, shape, rank)
#define plumb_activation_stat(name, fn, arg, err) PLUMB_OFF_CHANGE_(name, fn, arg, err)
#define plumb_activation_sink(fn, arg, err) PLUMB_OFF_CHANGE_(0, fn, arg, err)
#define plumb_activation_copy(type, fn, arg, err) PLUMB_OFF_CHANGE_(type, fn, arg, err)
#define plumb_hook_add(node, hook, err) PLUMB_OFF_CHANGE_(0, node, hook, err)
#define plumb_hook_replace(node, hook, err) PLUMB_OFF_CHANGE_(0, node, hook, err)
#define plumb_hook_remove(node, name, err) PLUMB_OFF_CHANGE_(0, node, name, err)
#define plumb_hook_get(out, node, name, err) PLUMB_OFF_CHANGE_(out, node, name, err)
#define plumb_checkpoint(name) ((void)(name))
#define plumb_memory_baseline() ((void)0)
#define plumb_runtime_begin(out, options, err)                                                     \
    (*(out) = NULL, (void)(options), (void)(err), plumb_off_status_())
#define plumb_runtime_finish(run, out, err)                                                        \
    ((void)(run), (void)(out), (void)(err), plumb_off_status_())
#define plumb_runtime_environment_get(out, framework, version, err)                                \
    ((void)(out), (void)(framework), (void)(version), (void)(err), plumb_off_status_())
#define plumb_request_begin(id, metadata) ((void)(id), (void)(metadata), plumb_off_request_())
#define plumb_request_end(request) ((void)(request))
#define plumb_request_fail(request, why) ((void)(request), (void)(why))

#define plumb_region_register(name, description, err)                                              \
    ((void)(name), (void)(description), (void)(err), plumb_off_status_())
#define plumb_region_resolve(name) ((void)(name), (const char *)NULL)
#define plumb_region_list(out, n) ((void)(out), (void)(n), (size_t)0)
#define plumb_region_begin(name) ((void)(name), PLUMB_OFF_SPAN_)
#define plumb_region_end(region) ((void)(region))

#define PLUMB_NOTHING_ struct plumb_nothing_
#define PLUMB_OFF_SCOPE_(value)                                                                    \
    plumb_scope PLUMB_ID_(plumb_scope_) __attribute__((unused)) =                                  \
        ((void)(value), plumb_off_scope_())
#define PLUMB_POINT(var, name)                                                                     \
    static struct plumb_point var = PLUMB_POINT_INIT(name, PLUMB_POINT_PLAIN)
#define PLUMB_SPAN(name) PLUMB_NOTHING_
#define PLUMB_SPAN_AS(var, name) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_SPAN_DEBUG(name) PLUMB_NOTHING_
#define PLUMB_STAGE(var, name) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_STAGE_DEBUG(var, name) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_STAGE_RUNNING_PEAK(var, name) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_SPAN_MEMORY(name) PLUMB_NOTHING_
#define PLUMB_REQUEST(var, id, metadata)                                                           \
    plumb_request var __attribute__((unused)) = plumb_request_begin(id, metadata)
#define PLUMB_REGION(name) PLUMB_NOTHING_
#define PLUMB_REGION_AS(var, name) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_SPAN_NODE(node) PLUMB_OFF_SCOPE_(node)
#define PLUMB_LAPS(var) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_LAP(var, name) ((void)(var))
#define PLUMB_STAGE_LAP(var, name) ((void)(var))
#define PLUMB_PHASE(name) PLUMB_OFF_SCOPE_(name)
#define PLUMB_STEP(step) PLUMB_OFF_SCOPE_(step)
#define PLUMB_PIPELINE(pipeline) PLUMB_OFF_SCOPE_(pipeline)
#define PLUMB_ADOPT(context) PLUMB_OFF_SCOPE_(context)
#define PLUMB_STEPS(step, n)                                                                       \
    int step##_end_ = (n), step = 0;                                                               \
    step < step##_end_;                                                                            \
    ++step

#endif
