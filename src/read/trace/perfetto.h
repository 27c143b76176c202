/* perfetto.h: traces in Perfetto's protobuf format become tables: those that plumb writes, and the
 * track events of other writers (Chrome, the Perfetto SDK, rocprofiler). Their other data
 * (scheduling, samples, logs) is counted and left out.
 *
 * Read as a stream: memory is the table's and one packet's. Any thread, one table at a time. */
#ifndef PLUMB_READ_TRACE_PERFETTO_H
#define PLUMB_READ_TRACE_PERFETTO_H

#include <stddef.h>

#include "read/trace/table.h"

/* Fills `out` (then the caller's, to be ended with plumb_table_fini()) from the file `path`, which
 * gzip may have packed (see read/file/unpack.h), as packets may be packed into one. A file that
 * ends within a packet, as one does whose writer was killed, is read up to there, and the table's
 * faults say so.
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 *           PLUMB_ERR_FORMAT: not a trace in this format, or damaged; what is packed must be whole.
 *           `out` is untouched on errors. */
int plumb_perfetto_read(struct plumb_table *out, const char *path, plumb_error *err);

/* The same from `size` bytes; `name` is what error texts call them. */
int plumb_perfetto_parse(struct plumb_table *out, const void *bytes, size_t size, const char *name,
                         plumb_error *err);

/* Whether a file that begins with these bytes (16 are enough) can be such a trace. */
bool plumb_perfetto_looks(const unsigned char *bytes, size_t size);

#endif
