/* pipeline.h: several engines in one process, each with rows of its own; and devices that are
 * synchronised before a clock is read. Part of plumb.h.
 *
 *     plumb_pipeline *render = plumb_pipeline_get("render");
 *     ...
 *     PLUMB_PIPELINE(render);              (this thread records into it, to the end of the block)
 *
 * Every function takes NULL as the default pipeline. Any thread may call; what a configuration
 * changes applies to spans that begin later. A change takes the runtime's lock, and costs some
 * tenths of a microsecond more for each thread that records. Statuses and signal handlers: as in
 * plumb.h. */
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Configuration of one pipeline; plumb_configure() replaces it as a whole. */
struct plumb_config {
    size_t size;      /* sizeof(plumb_config) */
    uint32_t enabled; /* 1: records */
    uint32_t sync;    /* 1: its device is synchronised before each clock read */
    uint32_t reset;   /* 1: drop the rows collected so far */
    uint32_t reserved;
    int64_t skip_first_n; /* samples dropped at the start of each key; 0 or more */
};

/* Returns a configuration with every field at its default: off, no sync, no skip. */
static inline plumb_config plumb_config_default(void)
{
    plumb_config c = {sizeof(plumb_config), 0, 0, 0, 0, 0};
    return c;
}

/* Returns the pipeline called `name`, which the first call creates with the settings of the default
 * one; NULL or "": the default one. It lives until the process ends and must not be freed. Beyond
 * 255 names it is the pipeline "(other)". NULL without a runtime, and in a signal handler that
 * interrupted plumb, for a new name. O(pipelines), 10 ns where there are few. */
static inline plumb_pipeline *plumb_pipeline_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_get(name) : NULL;
}

/* Replaces the configuration as a whole: a field that is not set in `config` takes its default. A
 * changed skip_first_n applies to keys without samples; it never drops samples that were counted.
 * This does not open a run: without one the configuration is kept for the next run. A signal
 * handler may call it. Errors, with nothing changed: PLUMB_ERR_ARG: skip_first_n is negative, or
 * `config` is NULL or has no size. */
static inline int plumb_configure(plumb_pipeline *pipeline, const plumb_config *config,
                                  plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->configure(pipeline, config, err) : PLUMB_ERR_ABSENT;
}
/* Returns 1 while the pipeline is enabled and a run is open or will open at the first span,
 * otherwise 0. Two loads. */
static inline int plumb_pipeline_enabled(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_enabled(pipeline) : 0;
}
/* Drops the pipeline's rows and keeps its configuration. A span that is open leaves no sample.
 * Without an open run it does nothing and succeeds. */
static inline int plumb_reset(plumb_pipeline *pipeline, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->reset(pipeline, err) : PLUMB_ERR_ABSENT;
}
/* Drops the pipeline's rows, switches it off and takes its device away, also while other threads
 * record into it. The handle stays valid: plumb_configure() switches the pipeline on again. */
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

/* Registers a device. Returns it, to be given back with plumb_device_unregister(), until whose
 * success `sync` and `arg` must live. `sync` is called on any thread, and by several at a time.
 * `name` is for the log. NULL: no runtime, `sync` is NULL, 64 devices are registered (which is
 * logged), or in a signal handler that interrupted plumb. */
static inline plumb_device *plumb_device_register(const char *name, void (*sync)(void *arg),
                                                  void *arg)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->device_register(name, sync, arg) : NULL;
}
/* Removes a device from every pipeline and node; the handle is invalid afterwards. Call it before
 * the code of its `sync` is unloaded, not from `sync`. Waits at most 3 s until no thread is in
 * `sync`. Errors: PLUMB_ERR_STATE: a thread still is, so code and `arg` must stay; PLUMB_ERR_ARG:
 * it is not a device, or is removed already. */
static inline int plumb_device_unregister(plumb_device *device, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, device_unregister) ? api->device_unregister(device, err)
                                                : (int)PLUMB_ERR_ABSENT;
}
/* Sets the device of a pipeline; `device` NULL: none. */
static inline void plumb_pipeline_set_device(plumb_pipeline *pipeline, plumb_device *device)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->pipeline_set_device(pipeline, device);
}
/* Sets the device of a node, which is used instead of its pipeline's; `device` NULL: none. */
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
