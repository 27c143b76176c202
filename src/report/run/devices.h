/* devices.h: the part of a report that compares times of the host and of devices. */
#ifndef PLUMB_REPORT_RUN_DEVICES_H
#define PLUMB_REPORT_RUN_DEVICES_H

#include "report/run/render.h"

/* Whether the run has rows for that part: work on a device, a wait, a row of launch times. */
bool plumb_devices_any(const struct plumb_timing *t);
/* Appends a table, as a further part of the page: rows that launched or waited, rows with device
 * time, rows on a device. Nothing where there are none. */
void plumb_devices_write(const struct plumb_render_input *in, struct plumb_buf *out, bool md);
/* "waiting for A", "waiting for A (80 %), B"; NULL: no waits. In the arena `a`. */
const char *plumb_devices_waits(struct plumb_arena *a, const struct plumb_timing *t,
                                const struct plumb_timing_device_use *use);

#endif
