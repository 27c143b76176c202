/* ledger_parts.h: collectors, lanes and what the ledger has of devices, from the mapping to the
 * report's model. As ledger_read.h: the mapping may be a damaged file. */
#ifndef PLUMB_LIVE_LEDGER_PARTS_H
#define PLUMB_LIVE_LEDGER_PARTS_H

#include "live/ledger_read.h"

void plumb_collectors_read(struct plumb_ledger_reader *r);
/* The figures of devices of each row. */
void plumb_devices_read(struct plumb_ledger_reader *r);
void plumb_device_use_read(struct plumb_ledger_reader *r, struct plumb_timing_device_use *out,
                           const struct plumb_live_device_use *use);
/* Copies the texts into the arena. */
void plumb_collectors_own(struct plumb_timing *t);
/* Index in t->nodes of a key, or PLUMB_TIMING_NONE. */
uint32_t plumb_ledger_node_of(struct plumb_ledger_reader *r, uint64_t key);
/* Elements of a table that can be there. */
uint32_t plumb_ledger_count(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                            size_t bytes);
/* "running" for enum plumb_collector_state. */
const char *plumb_collector_state_name(uint32_t state);

#endif
