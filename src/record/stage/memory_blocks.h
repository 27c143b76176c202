/* memory_blocks.h: the blocks and segments that allocators have told of and that are still there.
 * Private memory, bounded by a quarter of PLUMB_MAX_STATE; under the ledger's lock. */
#ifndef PLUMB_RECORD_STAGE_MEMORY_BLOCKS_H
#define PLUMB_RECORD_STAGE_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_block {
    uint64_t address, bytes;
    uint32_t owner; /* index + 1 in the table of owners; 0: none */
    uint32_t scope;
    uint64_t pool : 8;
    uint64_t born : 56; /* plumb_scope_clock() when it was allocated */
};

/* False: no room. The address must not be known yet. */
bool plumb_blocks_put(const struct plumb_block *b);
/* Removes a block; false: it is not known. */
bool plumb_blocks_take(uint32_t pool, uint64_t address, struct plumb_block *out);
/* The largest blocks of a pool, largest first (of equals the lowest address); returns how many. */
uint32_t plumb_blocks_largest(uint32_t pool, struct plumb_block *out, uint32_t most);

void plumb_segments_put(uint32_t pool, uint64_t address, uint64_t bytes);
/* Removes a segment and returns its size; 0: it is not known. */
uint64_t plumb_segments_take(uint32_t pool, uint64_t address);
/* Bytes of the pool's segments that no block covers, and the largest hole; both 0 without segments.
 * O(n log n) of the pool's blocks; beyond 65536 of them nothing is changed. */
void plumb_blocks_holes(uint32_t pool, uint64_t *free_bytes, uint64_t *largest);

void plumb_blocks_clear(void);

#endif
