/* run_list.h: the table of `plumb runs`. Any thread. */
#ifndef PLUMB_REPORT_RUN_RUN_LIST_H
#define PLUMB_REPORT_RUN_RUN_LIST_H

#include <stddef.h>

#include "base/buf.h"
#include <plumb/read/run.h>

/* Appends a line of headings and a line for each of `n` runs, in their order, without a newline at
 * the end; nothing for no run. Check `out->failed` afterwards. */
void plumb_run_list_text(struct plumb_buf *out, const plumb_run_info *runs, size_t n);

#endif
