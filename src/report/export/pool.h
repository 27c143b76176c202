/* pool.h: which counters of a plumb trace are pools of memory: "memory DEVICE [POOL] allocated". A
 * second counter, "... reserved", exists if the program reports reserved bytes. */
#ifndef PLUMB_REPORT_EXPORT_POOL_H
#define PLUMB_REPORT_EXPORT_POOL_H

#include "read/trace/table.h"

struct plumb_export_pool {
    int type;          /* of the device, as PyTorch numbers them; -1: PyTorch does not have this
                        * name */
    int64_t device;    /* its number; -1: it has none */
    uint32_t reserved; /* track, or PLUMB_TABLE_NONE */
};

/* Whether the counter `track` holds the allocated bytes of a pool. */
bool plumb_export_pool(const struct plumb_table *t, uint32_t track, struct plumb_export_pool *out);

#endif
