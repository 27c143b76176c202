/* chrome_args.h: the arguments of a table as those of Chrome events. */
#ifndef PLUMB_REPORT_EXPORT_CHROME_ARGS_H
#define PLUMB_REPORT_EXPORT_CHROME_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/chrome.h"
#include "read/trace/table.h"

/* Appends rows `from` to `to` of `args` to the `n` arguments in `out`, which has
 * PLUMB_CHROME_ARGS_MAX: later ones are left out. Returns how many there are now. Texts are the
 * table's. */
size_t plumb_export_chrome_args(const struct plumb_table *t, const struct plumb_table_args *args,
                                uint32_t from, uint32_t to, struct plumb_chrome_arg *out, size_t n);

#endif
