/* timing_parts.h: the parts of a timing report that have a source file of their own to read them.
 * For timing*.c alone. */
#ifndef PLUMB_READ_RUN_TIMING_PARTS_H
#define PLUMB_READ_RUN_TIMING_PARTS_H

#include "model/timing.h"
#include "read/json/fields.h"

struct plumb_timing_cursor {
    struct plumb_timing *t; /* what is filled */
    struct plumb_fields f;
};

/* Read first, because the memory of nodes, requests and checkpoints refers to the pools. */
void plumb_timing_read_pools(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* After the requests. */
void plumb_timing_read_memory(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* "memory" of a node, a request or a checkpoint; missing or {}: nothing was measured. */
void plumb_timing_read_use(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                           struct plumb_timing_memory *out);
/* "asynchronous" of a node or a request's stage; missing or {}: no work on devices. */
void plumb_timing_read_device_use(struct plumb_timing_cursor *c,
                                  const struct plumb_json_value *object,
                                  struct plumb_timing_device_use *use);
/* Called after nodes and requests: checks that all that they refer to exists. */
void plumb_timing_check_device_uses(struct plumb_timing_cursor *c);
void plumb_timing_read_collectors(struct plumb_timing_cursor *c,
                                  const struct plumb_json_value *root);
/* After the nodes. Files of before have none. */
void plumb_timing_read_perf(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* Files of before have none. */
void plumb_timing_read_metrics(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* After the nodes. */
void plumb_timing_read_requests(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* After the requests. Files of before have none. */
void plumb_timing_read_streams(struct plumb_timing_cursor *c, const struct plumb_json_value *root);
/* The members of an object: strings or null. */
void plumb_timing_read_pairs(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                             struct plumb_timing_pair **out, size_t *count);

#endif
