/* pipeline.h: several engines in one process, each with rows of its own; and devices that are
 * synchronised before a clock is read. Part of plumb.h.
 *
 *     plumb_pipeline *render = plumb_pipeline_get("render");
 *     ...
 *     PLUMB_PIPELINE(render);              (this thread records into it, to the end of the block)
 *
 * Every function takes NULL as the default pipeline. Any thread may call; what a configuration
 * changes applies to spans that begin later. */
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Configuration of one pipeline; plumb_configure() replaces it as a whole. */
struct plumb_config {
    size_t size;      /* sizeof(plumb_config) */
    uint32_t enabled; /* 0 or 1 */
    uint32_t sync;    /* 0 or 1 */
    uint32_t reset;   /* 1: drop the rows collected so far */
    uint32_t reserved;
    int64_t skip_first_n; /* >= 0 */
};

/* Returns a configuration with every field at its default: off, no sync, no skip. */
static inline plumb_config plumb_config_default(void)
{
    plumb_config c = {sizeof(plumb_config), 0, 0, 0, 0, 0};
    return c;
}

/* Returns the pipeline called `name`, which the first call creates. It lives until the process ends
 * and must not be freed. NULL without a runtime. */
static inline plumb_pipeline *plumb_pipeline_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_get(name) : NULL;
}

/* Replaces the configuration as a whole: a field that is not set in `config` takes its default. A
 * changed skip_first_n applies to keys without samples; it never drops samples that were counted.
 * This does not open a run: without one the configuration is kept for the next run. A signal
 * handler may call it. Errors: PLUMB_ERR_ARG: skip_first_n is negative; nothing is changed then.
 * PLUMB_ERR_STATE: a handler that interrupted plumb. PLUMB_ERR_ABSENT. */
static inline int plumb_configure(plumb_pipeline *pipeline, const plumb_config *config,
                                  plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->configure(pipeline, config, err) : PLUMB_ERR_ABSENT;
}
/* Returns 1 when a run is open and the pipeline records into it, otherwise 0. */
static inline int plumb_pipeline_enabled(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_enabled(pipeline) : 0;
}
/* Drops the pipeline's rows and keeps its configuration. A span that is open leaves no sample.
 * Errors: PLUMB_ERR_STATE, PLUMB_ERR_ABSENT. */
static inline int plumb_reset(plumb_pipeline *pipeline, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->reset(pipeline, err) : PLUMB_ERR_ABSENT;
}
/* Drops the pipeline's rows and switches it off, also while other threads record into it. */
static inline void plumb_pipeline_close(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->pipeline_close(pipeline);
}

/* ---- Devices ------------------------------------------------------------------------------------
 * With sync on, plumb calls `sync(arg)` immediately before each clock read of a span, on the span's
 * thread: the function of the node's device, or of the pipeline's device if the node has none.
 * Without a device nothing is called. */

/* Registers a device and returns it; NULL without a runtime or memory. `sync` and `arg` must live
 * until plumb_device_unregister() succeeds. `name` is for the log. */
static inline plumb_device *plumb_device_register(const char *name, void (*sync)(void *arg),
                                                  void *arg)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->device_register(name, sync, arg) : NULL;
}
/* Removes a device from every pipeline and node; the handle is invalid afterwards. Call it before
 * the code of its `sync` is unloaded, not from `sync`. Waits at most 3 s until no thread is in
 * `sync`. Errors: PLUMB_ERR_STATE: a thread still is, so code and `arg` must stay;
 * PLUMB_ERR_ABSENT. */
static inline int plumb_device_unregister(plumb_device *device, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, device_unregister) ? api->device_unregister(device, err)
                                                : (int)PLUMB_ERR_ABSENT;
}
/* Sets the device of a pipeline; NULL: none. */
static inline void plumb_pipeline_set_device(plumb_pipeline *pipeline, plumb_device *device)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->pipeline_set_device(pipeline, device);
}
/* Sets the device of a node, which is used instead of its pipeline's; NULL: none. */
static inline void plumb_node_set_device(plumb_node node, plumb_device *device)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->node_set_device(node, device);
}

#ifdef __cplusplus
}
#endif
#endif
