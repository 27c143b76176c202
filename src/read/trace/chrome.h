/* chrome.h: traces in Chrome's JSON format become tables: those of Kineto (the profiler of
 * PyTorch), Chrome, plumb's own export and many others. Times are microseconds there; every digit
 * down to the nanosecond counts. Any thread, one table at a time.
 *
 * A trace is an object with "traceEvents", or an array of events; it may end early, if its writer
 * was killed. A thread is identified by pid and tid, which may be texts. Superfluous commas and
 * control characters in texts, which other readers skip, are counted. */
#ifndef PLUMB_READ_TRACE_CHROME_H
#define PLUMB_READ_TRACE_CHROME_H

#include <stddef.h>

#include "read/trace/table.h"

/* As plumb_perfetto_read(). Holds the whole text in memory until it returns. */
int plumb_chrome_read(struct plumb_table *out, const char *path, plumb_error *err);
/* The same from `size` bytes that PLUMB_JSON_PADDING zero bytes follow. */
int plumb_chrome_parse(struct plumb_table *out, const char *text, size_t size, const char *name,
                       plumb_error *err);
/* Whether a file that begins with these bytes (64 KiB are enough) is such a trace. */
bool plumb_chrome_looks(const char *text, size_t size);

#endif
