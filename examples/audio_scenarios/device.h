/* The filters of a scenario on an OpenCL device: a cascade of sections over every channel, one work
 * item a channel. The arithmetic is that of libiir, operation by operation, so the samples are
 * equal. */
#ifndef AUDIO_SCENARIOS_DEVICE_H
#define AUDIO_SCENARIOS_DEVICE_H

#include <audio_filter_chain/iir.h>

enum { DEVICE_ERROR_BYTES = 160 };

struct device; /* opaque */

/* Opens the first device of the first platform that can compute in double, with memory for
 * [channels][frames] of float. Returns NULL with `error` filled. */
struct device *device_open(const struct iir_section *sections, size_t count, size_t channels,
                           size_t frames, char error[DEVICE_ERROR_BYTES]);
void device_close(struct device *d); /* NULL is fine */

/* Filters `samples` in place, from silence. Returns 0, or -1. */
int device_filter(struct device *d, float *samples, char error[DEVICE_ERROR_BYTES]);

#endif
