/* ledger_read.h: converts the ledger of a mapping (ledger.h) to the report's model: memory, stage
 * runs, requests. The mapping may be a damaged file, as in read.c. */
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

#endif
