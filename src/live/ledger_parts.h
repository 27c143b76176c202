/* ledger_parts.h: converts collectors, lanes and the ledger's figures of devices to the report's
 * model. The mapping may be a damaged file, as in ledger_read.h. */
#ifndef PLUMB_LIVE_LEDGER_PARTS_H
#define PLUMB_LIVE_LEDGER_PARTS_H

#include "live/ledger_read.h"

void plumb_collectors_read(struct plumb_ledger_reader *r);
/* Fills the device figures of each row. */
void plumb_devices_read(struct plumb_ledger_reader *r);
void plumb_device_use_read(struct plumb_ledger_reader *r, struct plumb_timing_device_use *out,
                           const struct plumb_live_device_use *use);
/* The counters of stages and kernels; the texts are copied. */
void plumb_perf_rows_read(struct plumb_ledger_reader *r);
/* Copies the texts into the arena. */
void plumb_collectors_own(struct plumb_timing *t);
/* Returns the index in t->nodes of a key, or PLUMB_TIMING_NONE. */
uint32_t plumb_ledger_node_of(struct plumb_ledger_reader *r, uint64_t key);
/* Returns how many elements of a table the mapping can hold. */
uint32_t plumb_ledger_count(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                            size_t bytes);
/* Returns the name of a state of enum plumb_collector_state, such as "running". */
const char *plumb_collector_state_name(uint32_t state);

#endif
