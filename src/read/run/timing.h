/* timing.h: timing.json becomes the model of timing.h again, exactly: what
 * plumb_timing_write() makes of it is byte for byte the file. Any thread, one model at a time. */
#ifndef PLUMB_READ_RUN_TIMING_H
#define PLUMB_READ_RUN_TIMING_H

#include <stddef.h>

#include "model/timing.h"

/* Fills `out` (then the caller's, to be ended with plumb_timing_fini()) from the file `path`.
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 *           PLUMB_ERR_FORMAT: no JSON, no timing report, of a newer plumb, or damaged.
 *           `out` is untouched on errors. */
int plumb_timing_read(struct plumb_timing *out, const char *path, plumb_error *err);

/* The same from `size` bytes at `text`; `name` is what error texts call it. */
int plumb_timing_parse(struct plumb_timing *out, const char *text, size_t size, const char *name,
                       plumb_error *err);

#endif
