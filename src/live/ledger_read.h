/* ledger_read.h: the ledger's part of a mapping (ledger.h) becomes the report's: memory, stage
 * runs, requests. As read.c: the mapping may be a damaged file. */
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

/* Texts still point into the mapping where they stand in one; what fails for lack of memory is
 * remembered in the arena. */
void plumb_ledger_read(struct plumb_ledger_reader *r);
/* Copies the texts into the arena. */
void plumb_ledger_own(struct plumb_timing *t);

#endif
