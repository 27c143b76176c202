/* symbols.h: names of functions for the addresses in a trace's call stacks. The trace has the
 * address and the build id of each module of its process. Names are read from a module's file if
 * the file still has that build id. One thread at a time. */
#ifndef PLUMB_READ_TRACE_SYMBOLS_H
#define PLUMB_READ_TRACE_SYMBOLS_H

#include "read/trace/table.h"

struct plumb_symbols;

/* Returns NULL when out of memory, or when the trace describes no modules; the functions below
 * accept NULL. The table must live as long. A module's file is read when one of its addresses is
 * met first. */
struct plumb_symbols *plumb_symbols_open(const struct plumb_table *t);
void plumb_symbols_close(struct plumb_symbols *s);

/* Appends "function (libx.so)", "libx.so+0x1f" where no name is known, or "0x7f..." outside of all
 * modules. A return address: the call before it is meant. */
void plumb_symbols_put(struct plumb_buf *out, struct plumb_symbols *s, uint64_t address);

#endif
