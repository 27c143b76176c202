/* process_list.h: the processes that can be controlled, as `plumb ps` shows them. Any thread. */
#ifndef PLUMB_REPORT_RUN_PROCESS_LIST_H
#define PLUMB_REPORT_RUN_PROCESS_LIST_H

#include <stddef.h>

#include "base/buf.h"
#include <plumb/control.h>

/* A process, and its spans per second; negative: not known. */
struct plumb_process_row {
    const plumb_process *process;
    double spans_per_s;
};

/* Appends a table, without a newline at its end; "" for no process. Check `out->failed`. */
void plumb_process_list_text(struct plumb_buf *out, const struct plumb_process_row *rows, size_t n);
/* The same as a JSON array. */
void plumb_process_list_json(struct plumb_buf *out, const struct plumb_process_row *rows, size_t n);

#endif
