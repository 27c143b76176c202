/* lane_names.h: the names of events and their arguments (plumb_name_get()), as numbers. The table
 * is the process's and only grows; a run's mapping has the names that its events use. Threads:
 * any. */
#ifndef PLUMB_RECORD_COLLECT_LANE_NAMES_H
#define PLUMB_RECORD_COLLECT_LANE_NAMES_H

#include <plumb/collector.h>

struct plumb_run;

/* Writes the name to the run's mapping if it is not there yet, under the runtime's lock. Returns
 * the name, or 0 if it is not one. Inside enter. */
plumb_name plumb_lane_name(struct plumb_run *run, plumb_name name);

/* Return the names "bytes" and "flops", which mark copies and kernels; 0: no event has it. */
plumb_name plumb_lane_name_bytes(void);
plumb_name plumb_lane_name_flops(void);

#endif
