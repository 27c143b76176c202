/* read_tables.h: the table that holds a trace of the public interface, for the other files of this
 * folder. */
#ifndef PLUMB_API_READ_TABLES_H
#define PLUMB_API_READ_TABLES_H

#include "read/trace/table.h"
#include <plumb/read.h>

/* Lives as long as the trace. */
const struct plumb_table *plumb_trace_table(const plumb_trace *trace);

#endif
