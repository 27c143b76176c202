/* pipeline.h: pipelines and devices: configured, enabled, synchronised, reset. */
#ifndef PLUMB_RECORD_SPAN_PIPELINE_H
#define PLUMB_RECORD_SPAN_PIPELINE_H

#include "record/runtime/names.h"
#include <plumb/pipeline.h>

/* Stores in the run whether the pipeline has a device, and whether it is synchronised. */
void plumb_pipeline_flags(struct plumb_live_pipeline *live, const plumb_pipeline *p);
int plumb_configure_impl(plumb_pipeline *pipeline, const plumb_config *config, plumb_error *err);
int plumb_pipeline_enabled_impl(plumb_pipeline *pipeline);
int plumb_reset_impl(plumb_pipeline *pipeline, plumb_error *err);
void plumb_pipeline_close_impl(plumb_pipeline *pipeline);
void plumb_pipeline_set_device_impl(plumb_pipeline *pipeline, plumb_device *device);
void plumb_node_set_device_impl(plumb_node node, plumb_device *device);
plumb_device *plumb_device_register_impl(const char *name, void (*sync)(void *), void *arg);
int plumb_device_unregister_impl(plumb_device *device, plumb_error *err);
/* Calls its `sync`, unless the device has been removed. */
void plumb_device_sync(plumb_device *device);

#endif
