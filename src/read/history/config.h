/* config.h: the configuration of a benchmark, as FastVideo's runner has them: one JSON object.
 * Texts and values point into the tree, which must live as long. Any thread. */
#ifndef PLUMB_READ_HISTORY_CONFIG_H
#define PLUMB_READ_HISTORY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/error.h>

#include "read/json/tree.h"

struct plumb_benchmark_config {
    const struct plumb_json_value *root;
    const char *id;
    bool keyed;           /* version 2: has workload_id, variant_id and benchmark_version */
    int64_t warmup, runs; /* 1 and 3 by default */
    int64_t gpus;         /* that it needs; 0: none, or not known */
};

/* Checks the configuration `root`, of file `name`. PLUMB_ERR_FORMAT: "'NAME': FIELD must be
 * ...". */
int plumb_benchmark_config_read(struct plumb_benchmark_config *out,
                                const struct plumb_json_value *root, const char *name,
                                plumb_error *err);
/* Returns the block of static limits: of the first member of `thresholds`, in the order of the
 * file, whose name is a part of `device`, otherwise "default"; NULL: it has neither. */
const struct plumb_json_value *plumb_benchmark_limits(const struct plumb_benchmark_config *config,
                                                      const char *device);

#endif
