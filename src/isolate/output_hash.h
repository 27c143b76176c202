/* output_hash.h: a hash of the outputs of one run. Its code lies in tensor/value_hash_body.h, which
 * generated programs contain as it stands, so that both give the same hash. One thread. */
#ifndef PLUMB_ISOLATE_OUTPUT_HASH_H
#define PLUMB_ISOLATE_OUTPUT_HASH_H

#include <stdint.h>

#include <plumb/error.h>
#include <plumb/value.h>

struct plumb_output_hash {
    uint64_t value;
    uint64_t unread; /* tensors whose values the host cannot read: only their shapes count */
    uint32_t outputs;
};

void plumb_output_hash_init(struct plumb_output_hash *hash);
/* PLUMB_ERR_ARG: a name, a value or a text is NULL, or a tensor is refused by plumb_view_init(), or
 * there are more than 32 lists and mappings within each other. */
int plumb_output_hash_add(struct plumb_output_hash *hash, const char *name,
                          const plumb_value *value, plumb_error *err);
/* Returns the hash; 0 without outputs. */
uint64_t plumb_output_hash_end(const struct plumb_output_hash *hash);

#endif
