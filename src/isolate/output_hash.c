#include "isolate/output_hash.h"

#include <string.h>

#include "tensor/dl_tensor.h"

#include "isolate/output_hash_body.h"

void plumb_output_hash_init(struct plumb_output_hash *hash)
{
    *hash = (struct plumb_output_hash){0};
}

void plumb_output_hash_add(struct plumb_output_hash *hash, const char *name,
                           const plumb_value *value)
{
    hash->value = hash_value(hash_text(hash->value, name), value, &hash->unread);
    hash->outputs++;
}

uint64_t plumb_output_hash_end(const struct plumb_output_hash *hash)
{
    return hash->outputs ? hash_word(hash->value, hash->outputs) : 0;
}
