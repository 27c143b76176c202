/* region.h: regions: the registry, what is selected, and being inside one.
 *
 * The registry outlives runs; entries are only added, under the runtime's lock, and are read
 * without it. Entering and leaving a region takes the ledger's lock: it is no matter of
 * nanoseconds, and nothing is added to spans inside. */
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

/* Under the lock, while a run is being opened: chooses by PLUMB_REGIONS, and enters the registry in
 * the mapping. */
void plumb_regions_open(struct plumb_run *run);
/* Ends the process with status 1 where PLUMB_REGIONS names no region, with
 * PLUMB_REGION_CHECK=abort. Called before a run opens. */
void plumb_regions_check(void);
/* When it is open, without locks: says what is wrong with PLUMB_REGIONS, once a list. */
void plumb_regions_tell(void);
/* Whether this process is the one of its machine's ranks that tells of regions. */
bool plumb_regions_speak(void);
/* Number of the region that a name means, from 1; 0: none. */
uint32_t plumb_region_number(const char *name);
/* What it was probably meant to be; NULL: nothing is near. */
const char *plumb_region_nearest(const char *token, size_t len);

/* ---- region_span.c: being inside one ----------------------------------------------------------
 */

plumb_span plumb_region_begin_impl(const char *name);
/* A trace point whose name is a region's. `frame`: of the function of the table that was called. */
plumb_span plumb_region_begin_point(struct plumb_point *point, const void *frame,
                                    struct plumb_caller caller);
/* Inside enter: the spans deeper than `depth` are about to end. */
void plumb_regions_closing(struct plumb_in in, uint32_t depth);
/* Inside enter: of the thread's scopes only the first `scopes` are still open. Regions declared
 * inside the others were left by a jump. */
void plumb_regions_scopes_ended(struct plumb_in in, uint32_t scopes);
/* Inside enter: the thread works below other nodes now. */
void plumb_regions_adopted(struct plumb_thread *th);
/* After those spans have ended: logs a collection that this has switched off. */
void plumb_regions_closed(struct plumb_thread *th);

#endif
