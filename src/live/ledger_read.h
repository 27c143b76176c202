/* ledger_read.h: converts the ledger of a mapping (ledger.h) to the report's model: memory, stage
 * runs, requests, counts. The mapping may be a damaged file, as in read.c. */
#ifndef PLUMB_LIVE_LEDGER_READ_H
#define PLUMB_LIVE_LEDGER_READ_H

#include "live/merge.h"
#include "model/timing.h"

struct plumb_ledger_reader {
    struct plumb_timing *t; /* nodes are there already */
    struct plumb_merge *m;
    const uint32_t *node_of; /* [m->row_count]: index in t->nodes, or PLUMB_TIMING_NONE */
    struct plumb_anchor end;
    double tick_ns;
    uint64_t *serials; /* of the report's requests, by their index; set by the reading */
};

/* Fills the model. Texts still point into the mapping. A failed allocation is remembered in the
 * arena. */
void plumb_ledger_read(struct plumb_ledger_reader *r);
/* Copies the texts into the arena. */
void plumb_ledger_own(struct plumb_timing *t);

/* ---- Parts, for the files that they are in; the mapping may be a damaged file ---------------- */

void plumb_collectors_read(struct plumb_ledger_reader *r);
/* Fills the device figures of each row. */
void plumb_devices_read(struct plumb_ledger_reader *r);
void plumb_device_use_read(struct plumb_ledger_reader *r, struct plumb_timing_device_use *out,
                           const struct plumb_live_device_use *use);
/* The counters of stages and kernels; the texts are copied. */
void plumb_perf_rows_read(struct plumb_ledger_reader *r);
/* Fills the streams, after the requests. The second copies their texts into the arena. */
void plumb_streams_read(struct plumb_ledger_reader *r);
void plumb_streams_own(struct plumb_timing *t);
/* Fills the counts: each one, and by node, phase and step. The second copies their texts into the
 * arena. */
void plumb_counts_read(struct plumb_ledger_reader *r);
void plumb_counts_own(struct plumb_timing *t);
/* Returns the index in t->requests of a serial, or PLUMB_TIMING_NONE. */
uint32_t plumb_ledger_request_index(struct plumb_ledger_reader *r, uint64_t serial);
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
