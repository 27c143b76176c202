/* symbols.h: names of functions for the addresses in a trace's call stacks. The trace tells where
 * the modules of its process lay, and their build ids; the names are read from the files of the
 * modules, where they are still the same. One thread at a time. */
#ifndef PLUMB_READ_TRACE_SYMBOLS_H
#define PLUMB_READ_TRACE_SYMBOLS_H

#include "read/trace/table.h"

struct plumb_symbols;

/* NULL: out of memory, or the trace tells of no modules; the functions below accept that. The table
 * must live as long. Files are read when an address of theirs is met first. */
struct plumb_symbols *plumb_symbols_open(const struct plumb_table *t);
void plumb_symbols_close(struct plumb_symbols *s);

/* Appends "function (libx.so)", "libx.so+0x1f" where no name is known, or "0x7f..." outside of all
 * modules. A return address: the call before it is meant. */
void plumb_symbols_put(struct plumb_buf *out, struct plumb_symbols *s, uint64_t address);

#endif
