/* recording.h: the functions that plumb.h declares and documents. */
#ifndef PLUMB_DETAIL_RECORDING_H
#define PLUMB_DETAIL_RECORDING_H

#include <plumb/detail/loop.h>
#include <plumb/detail/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline plumb_span plumb_begin(struct plumb_point *point)
{
    return plumb_begin_(point);
}
static inline void plumb_end(plumb_span span)
{
    plumb_end_(span);
}
static inline plumb_span plumb_lap(plumb_span span, struct plumb_point *point)
{
    return plumb_lap_(span, point);
}
static inline plumb_span plumb_begin_node(plumb_node node)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_span none = {0};
    return api && node ? api->span_begin_node(node) : none;
}
static inline void plumb_span_fail(plumb_span span, const char *why)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->span_mark(span, 1, why);
}
static inline void plumb_span_abandon(plumb_span span)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->span_mark(span, 2, NULL);
}
static inline void plumb_arg_i64(plumb_span span, const char *key, int64_t value)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->span_arg(span, key, 1, &value);
}
static inline void plumb_arg_f64(plumb_span span, const char *key, double value)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->span_arg(span, key, 2, &value);
}
static inline void plumb_arg_str(plumb_span span, const char *key, const char *value)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->span_arg(span, key, 3, value);
}
static inline plumb_node plumb_node_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->node_get(name) : 0;
}
static inline void plumb_record_ns(plumb_node node, uint64_t ns)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->record_ns(node, 0, ns);
}
static inline void plumb_record_device_ns(plumb_node node, uint64_t ns)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->record_ns(node, 1, ns);
}
static inline void plumb_counter_add(const char *name, int64_t n)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->counter_add(name, n);
}
static inline plumb_async plumb_async_begin(plumb_node node)
{
    const struct plumb_api *api = plumb_api_();
    plumb_async none = {0};
    return api && node ? api->async_begin(node) : none;
}
static inline void plumb_async_end(plumb_async span)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->async_end(span, 0, NULL);
}
static inline void plumb_async_fail(plumb_async span, const char *why)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->async_end(span, 1, why);
}
static inline void plumb_async_abandon(plumb_async span)
{
    const struct plumb_api *api = plumb_api_for_(span.id);
    if (api)
        api->async_end(span, 2, NULL);
}
static inline plumb_scope plumb_phase_begin(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->phase_begin(name) : none;
}
static inline plumb_scope plumb_step_begin(int64_t step)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->step_begin(step) : none;
}
static inline plumb_scope plumb_pipeline_begin(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->pipeline_begin(pipeline) : none;
}
static inline void plumb_scope_end(plumb_scope scope)
{
    const struct plumb_api *api = plumb_api_for_(scope.id);
    if (api)
        api->scope_end(scope);
}

/* The functions that PLUMB_STEPS calls. The handle lives in an int: the runtime's scope numbers are
 * small. `obeys`: the loop obeys a limit (loop.h). */
static inline int plumb_steps_enter_(void)
{
    plumb_scope s = plumb_step_begin(-1);
    return (int)s.id;
}
static inline int plumb_steps_set_(int handle, int obeys, int step)
{
    if (PLUMB_HAS_CLIENT_ && __builtin_expect(handle != 0, 0)) {
        plumb_scope s;
        s.id = (uint64_t)(unsigned)handle;
        plumb_client_api_()->step_set(s, step);
    }
    if (PLUMB_HAS_CLIENT_ && __builtin_expect(obeys, 0))
        plumb_loop_step_(step);
    return 1;
}
static inline void plumb_steps_leave_(int *handle)
{
    if (*handle) {
        plumb_scope s;
        s.id = (uint64_t)(unsigned)*handle;
        plumb_scope_end(s);
    }
}

#ifdef __cplusplus
}
#endif
#endif
