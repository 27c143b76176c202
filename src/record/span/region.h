/* region.h: regions: the registry, the selection, and being inside one.
 *
 * The registry outlives runs; entries are only added, under the runtime's lock, and are read
 * without it. Entering and leaving a region takes the ledger's lock. That costs more than a span,
 * but the spans inside cost nothing more. */
#ifndef PLUMB_RECORD_SPAN_REGION_H
#define PLUMB_RECORD_SPAN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/runtime/caller.h"
#include "record/runtime/thread.h"
#include <plumb/region.h>

struct plumb_run;

/* ---- region.c: which there are, and which are selected ----------------------------------------
 */

int plumb_region_register_impl(const char *name, const char *description, plumb_error *err);
const char *plumb_region_resolve_impl(const char *name);
size_t plumb_region_list_impl(plumb_region *out, size_t n, size_t element_bytes);

/* Under the lock, while a run is being opened: makes the selection of PLUMB_REGIONS, and writes the
 * registry to the mapping. */
void plumb_regions_open(struct plumb_run *run);
/* With PLUMB_REGION_CHECK=abort, ends the process with status 1 if PLUMB_REGIONS names no region.
 * Called before a run opens. */
void plumb_regions_check(void);
/* When the run is open, without locks: reports problems of PLUMB_REGIONS, once for each value. */
void plumb_regions_log(void);
/* Returns whether this process is the rank of its machine that logs regions. */
bool plumb_regions_speak(void);
/* Returns the number of the region that a name stands for, from 1, or 0. */
uint32_t plumb_region_number(const char *name);
/* Returns the region that was probably meant, or NULL if no name is near. */
const char *plumb_region_nearest(const char *token, size_t len);

/* ---- region_span.c: being inside one ----------------------------------------------------------
 */

plumb_span plumb_region_begin_impl(const char *name);
/* Begins a region at a trace point with its name. `frame`: that of the function of the table that
 * was called. */
plumb_span plumb_region_begin_point(struct plumb_point *point, const void *frame,
                                    struct plumb_caller caller);
/* Inside enter: removes the regions of spans deeper than `depth`, which are about to end. */
void plumb_regions_closing(struct plumb_in in, uint32_t depth);
/* Inside enter: only the first `scopes` of the thread's scopes are still open. Leaves the regions
 * that were declared inside the others, because a jump has left those. */
void plumb_regions_scopes_ended(struct plumb_in in, uint32_t scopes);
/* Inside enter: updates the selection after the thread has adopted another context. */
void plumb_regions_adopted(struct plumb_thread *th);
/* After those spans have ended: logs a collection that this has switched off. */
void plumb_regions_closed(struct plumb_thread *th);

#endif
