/* pool.h: windows over the pools' sums: peaks of an interval that belongs to no thread. Under the
 * ledger's lock. */
#ifndef PLUMB_CORE_POOL_H
#define PLUMB_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "format/live_ledger.h"

struct plumb_run;
struct plumb_window {
    struct plumb_window *next;
    uint32_t run; /* generation */
    int64_t peak_allocated[PLUMB_LIVE_POOLS + 1], peak_reserved[PLUMB_LIVE_POOLS + 1];
};

void plumb_window_open(struct plumb_window *w, struct plumb_run *run);
void plumb_window_close(struct plumb_window *w);
/* False: no pool of that device has been told of. */
bool plumb_window_peaks(const struct plumb_window *w, struct plumb_run *run, const char *device,
                        uint64_t *peak_allocated, uint64_t *peak_reserved);

#endif
