/* head.h: the metadata of a Chrome trace that precedes its events: devices, rank, the kinds of data
 * besides times, and the recorder. */
#ifndef PLUMB_REPORT_EXPORT_HEAD_H
#define PLUMB_REPORT_EXPORT_HEAD_H

#include "codec/chrome.h"
#include "read/trace/table.h"
#include "report/export/tracks.h"

struct plumb_export_head {
    struct plumb_chrome_head chrome; /* its devices are those below */
    struct plumb_chrome_device devices[64];
};

/* `tracks`: of plumb_export_tracks(). Texts are the table's, and `name` the caller's. */
void plumb_export_head_fill(struct plumb_export_head *out, const struct plumb_table *t,
                            const struct plumb_export_track *tracks, const char *name);
/* Returns the key of the `i`-th fact; NULL beyond the last. *text is its value, "" if the trace has
 * none. */
const char *plumb_export_head_fact(const struct plumb_table *t, size_t i, const char **text);

#endif
