/* trace_steps.h: PLUMB_TRACE_STEPS: which steps the trace has. */
#ifndef PLUMB_FORMAT_TRACE_STEPS_H
#define PLUMB_FORMAT_TRACE_STEPS_H

#include "format/trace_blocks.h"
#include <plumb/abi.h>

enum { PLUMB_TRACE_RANGES = 64 };

/* Spans of these steps, and what happens in them. */
struct plumb_trace_steps {
    struct plumb_trace_filter filter; /* valid after plumb_trace_steps_parse() */
    uint32_t count;
    struct {
        int64_t from, through;
    } range[PLUMB_TRACE_RANGES];
};

/* Reads "10-12, 40", blanks where one likes. PLUMB_ERR_ARG: it is no such list, and `out` has none.
 * Not to be moved afterwards: the filter points to it. */
int plumb_trace_steps_parse(struct plumb_trace_steps *out, const char *text, plumb_error *err);

#endif
