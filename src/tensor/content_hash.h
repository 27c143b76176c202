/* content_hash.h: 64-bit hashes of values: of their bytes in order, and of values in whatever
 * order. The same on every processor (of little-endian byte order, as all that plumb runs on). They
 * do not protect against contents that are made to have one hash.
 *
 * Reference: the in-order hash multiplies the halves of each 64-bit word after adding a key, as
 * UMAC does (Black, Halevi, Krawczyk, Krovetz, Rogaway, 1999), in eight independent sums. */
#ifndef PLUMB_TENSOR_CONTENT_HASH_H
#define PLUMB_TENSOR_CONTENT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct plumb_content_hash {
    uint64_t sums[8];
    uint64_t bytes;
    uint32_t stripe; /* since the sums were last stirred */
    uint32_t filled;
    unsigned char held[64];
};

void plumb_content_hash_init(struct plumb_content_hash *hash);
/* Pieces of any size give the hash of the whole. */
void plumb_content_hash_add(struct plumb_content_hash *hash, const void *data, size_t bytes);
uint64_t plumb_content_hash_end(const struct plumb_content_hash *hash);

/* Sum over `n` values of 1, 2, 4 or 8 bytes; sums of parts add up to that of the whole. */
uint64_t plumb_set_hash(const void *data, uint64_t n, size_t bytes);

#endif
