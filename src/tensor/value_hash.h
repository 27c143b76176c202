/* value_hash.h: hashes of named values, of which two processes can say whether they are equal: the
 * outputs of a stage in its pipeline, and of the same stage run alone. The hash of a value is that
 * of value_hash_body.h from 0; it stands in files, so it never changes. */
#ifndef PLUMB_TENSOR_VALUE_HASH_H
#define PLUMB_TENSOR_VALUE_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/value.h>

enum {
    PLUMB_VALUE_HASHES = 64,    /* names in one set */
    PLUMB_VALUE_HASH_NAME = 512 /* bytes of a name, with the NUL; longer ones are cut */
};

/* Sets `out` to the hash of a value. False, and `out` is untouched: there is a part that the host
 * cannot read in place (other devices, no data, elements that do not fill whole bytes), a NULL for
 * a text, a kind that is not known, or more than 32 lists and mappings within each other. Any
 * thread; allocates nothing. Cost: it reads the value once, at 8 bytes a multiplication. */
bool plumb_value_hash(uint64_t *out, const plumb_value *value);

struct plumb_value_hashes { /* zeroes are an empty set */
    uint32_t count;
    uint64_t lost; /* values of further names */
    struct plumb_named_hash {
        char name[PLUMB_VALUE_HASH_NAME];
        uint64_t hash;
        bool known; /* false: the value cannot be read */
    } at[PLUMB_VALUE_HASHES];
};

/* Adds a value; of those with one name the last counts. `name` NULL is "". One thread at a time. */
void plumb_value_hashes_put(struct plumb_value_hashes *set, const char *name,
                            const plumb_value *value);
/* Returns the entry of that name, or NULL. */
const struct plumb_named_hash *plumb_value_hashes_find(const struct plumb_value_hashes *set,
                                                       const char *name);

#endif
