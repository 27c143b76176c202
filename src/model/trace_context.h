/* trace_context.h: the W3C trace context (https://www.w3.org/TR/trace-context/) that a caller gave
 * to a request in its metadata. No state; any thread. */
#ifndef PLUMB_MODEL_TRACE_CONTEXT_H
#define PLUMB_MODEL_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define PLUMB_TRACEPARENT "traceparent"
#define PLUMB_TRACESTATE "tracestate"

struct plumb_trace_context {
    char trace_id[33]; /* hex digits in lower case */
    char parent_id[17];
    uint8_t flags; /* bit 0: the caller samples the trace */
};

/* Reads a `traceparent`: version 00, and the known part of later versions. Returns NULL, or why the
 * header is to be ignored, as a text that lives for ever. */
const char *plumb_traceparent_read(struct plumb_trace_context *out, const char *text);
/* Returns NULL for a valid `tracestate`, otherwise why it is to be ignored; the traceparent then
 * still counts. */
const char *plumb_tracestate_check(const char *text);

#endif
