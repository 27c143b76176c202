/* span_records.h: what is recorded of a span besides its begin and its end: its mark, its
 * arguments, and times that were measured elsewhere. Functions of the table: any thread; what does
 * not fit is dropped and counted. */
#ifndef PLUMB_RECORD_SPAN_SPAN_RECORDS_H
#define PLUMB_RECORD_SPAN_SPAN_RECORDS_H

#include <plumb/plumb.h>

void plumb_span_mark_impl(plumb_span span, uint32_t what, const char *why);
void plumb_span_arg_impl(plumb_span span, const char *key, uint32_t type, const void *value);
void plumb_record_ns_impl(plumb_node node, uint32_t channel, uint64_t ns);

#endif
