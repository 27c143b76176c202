/* trace_choice.h: what windows of a trace are kept to (record/trace/switch.h): regions and nodes
 * that a window names, or those that were chosen for the process. Under life_lock. */
#ifndef PLUMB_RECORD_SPAN_TRACE_CHOICE_H
#define PLUMB_RECORD_SPAN_TRACE_CHOICE_H

#include <stddef.h>

#include <plumb/error.h>

/* Makes the list of the nodes of regions, "" for none. `names` NULL: those that were chosen.
 * PLUMB_ERR_ARG: no such region, or too many. */
int plumb_trace_choose_regions(char *out, size_t size, const char *names, plumb_error *err);
/* Returns the patterns that were chosen; "": none. */
const char *plumb_trace_chosen_nodes(void);

#endif
