/* timing_parts.h: the parts of timing.json that have a source file of their own. For timing*.c, and
 * for reports that show the same things under the same names. */
#ifndef PLUMB_MODEL_TIMING_PARTS_H
#define PLUMB_MODEL_TIMING_PARTS_H

#include "codec/json_fields.h"
#include "model/timing.h"

/* The old names at the top: request_id to metadata, of the last section; and "run". Errors:
 * PLUMB_ERR_MEMORY. */
int plumb_timing_write_section(const struct plumb_timing *t, struct plumb_json *j);
void plumb_timing_write_memory(const struct plumb_timing *t, struct plumb_json *j);
void plumb_timing_write_requests(const struct plumb_timing *t, struct plumb_json *j);
/* One entry of `requests`. */
void plumb_timing_write_request(const struct plumb_timing *t, struct plumb_json *j,
                                const struct plumb_timing_request *request);
/* "streams": nothing where the run had none. */
void plumb_timing_write_streams(const struct plumb_timing *t, struct plumb_json *j);
/* Members of its object: "names"; the streams and what was lost; and those of one sequence. */
void plumb_timing_write_stream_names(const struct plumb_timing *t, struct plumb_json *j);
void plumb_timing_write_stream_list(const struct plumb_timing *t, struct plumb_json *j);
void plumb_timing_write_sequence(struct plumb_json *j, const struct plumb_timing_sequence *s);

/* "asynchronous" of a row or of a request's stage: {} when it had nothing to do with devices. */
void plumb_timing_write_device_use(const struct plumb_timing *t, struct plumb_json *j,
                                   const struct plumb_timing_device_use *use);
void plumb_timing_write_collectors(const struct plumb_timing *t, struct plumb_json *j);
/* "perf": nothing where its collector did not run. */
void plumb_timing_write_perf(const struct plumb_timing *t, struct plumb_json *j);
/* "metrics": nothing where there is none. */
void plumb_timing_write_metrics(const struct plumb_timing *t, struct plumb_json *j);
const char *plumb_timing_metric_type_name(uint32_t type); /* NULL: not a type */
/* Members of an object: "counters", what each is and why it is absent. */
void plumb_timing_write_counter_states(const struct plumb_timing *t, struct plumb_json *j);
/* Members of an object, one for each counter that was there. */
void plumb_timing_write_counters(const struct plumb_timing_counted *c, struct plumb_json *j);

/* The parts of `memory`: each writes its key too. `request`: whose checkpoints are analysed. */
void plumb_timing_write_analysis(const struct plumb_timing *t, struct plumb_json *j,
                                 uint32_t request);
void plumb_timing_write_checkpoints(const struct plumb_timing *t, struct plumb_json *j);
void plumb_timing_write_pools(const struct plumb_timing *t, struct plumb_json *j);

/* "memory" of a node, a request or a checkpoint: {} when nothing was measured. */
void plumb_timing_write_use(const struct plumb_timing *t, struct plumb_json *j,
                            const struct plumb_timing_memory *m);
/* Four members in MiB with two decimals, as the old names want them. */
struct plumb_timing_bytes;
void plumb_timing_write_mib(struct plumb_json *j, const struct plumb_timing_bytes *b);
/* Members of an object; of a key that is given twice the last one. */
void plumb_timing_write_pairs(struct plumb_json *j, const struct plumb_timing_pair *pairs,
                              size_t n);

/* Null for PLUMB_TIMING_NONE. */
static inline void plumb_put_index(struct plumb_json *j, const char *key, uint32_t index)
{
    if (index == PLUMB_TIMING_NONE)
        plumb_put_null(j, key);
    else
        plumb_put_u64(j, key, index);
}

#endif
