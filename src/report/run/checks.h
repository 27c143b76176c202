/* checks.h: the table of `plumb doctor`. Any thread. */
#ifndef PLUMB_REPORT_RUN_CHECKS_H
#define PLUMB_REPORT_RUN_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include <plumb/read/doctor.h>

/* Appends a line for each of `n` checks: state, name, detail, and the cure if there is one. No
 * newline at the end. `colour`: the state is coloured for a terminal. Check `out->failed`
 * afterwards. */
void plumb_checks_text(struct plumb_buf *out, const plumb_check *checks, size_t n, bool colour);

#endif
