/* head.h: what a Chrome trace says of itself before its events: devices, rank, what was
 * recorded besides times, and who recorded it. */
#ifndef PLUMB_REPORT_EXPORT_HEAD_H
#define PLUMB_REPORT_EXPORT_HEAD_H

#include "codec/chrome.h"
#include "read/trace/table.h"
#include "report/export/lanes.h"

struct plumb_export_head {
    struct plumb_chrome_head chrome; /* its devices are those below */
    struct plumb_chrome_device devices[64];
};

/* `lanes`: of plumb_export_lanes(). Texts are the table's, and `name` the caller's. */
void plumb_export_head_fill(struct plumb_export_head *out, const struct plumb_table *t,
                            const struct plumb_export_lane *lanes, const char *name);
/* The key of the `i`-th fact that is told, *text its value, "" where the trace has none; NULL
 * beyond the last. */
const char *plumb_export_head_fact(const struct plumb_table *t, size_t i, const char **text);

#endif
