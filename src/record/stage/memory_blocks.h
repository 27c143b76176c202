/* memory_blocks.h: the blocks and segments that allocators have reported and not released. Private
 * memory, bounded by a quarter of PLUMB_MAX_STATE; under the ledger's lock. */
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

/* Adds a block, whose address must be unknown. Returns false if the table is full. */
bool plumb_blocks_put(const struct plumb_block *b);
/* Removes a block. Returns false if it is unknown. */
bool plumb_blocks_take(uint32_t pool, uint64_t address, struct plumb_block *out);
/* Copies the largest blocks of a pool, largest first (of equals the lowest address). Returns how
 * many. */
uint32_t plumb_blocks_largest(uint32_t pool, struct plumb_block *out, uint32_t most);

void plumb_segments_put(uint32_t pool, uint64_t address, uint64_t bytes);
/* Removes a segment and returns its size; 0 if it is unknown. */
uint64_t plumb_segments_take(uint32_t pool, uint64_t address);
/* Computes the bytes of the pool's segments that no block covers, and the largest hole; both 0
 * without segments. O(n log n) of the pool's blocks; with more than 65536 of them the results are
 * unchanged. */
void plumb_blocks_holes(uint32_t pool, uint64_t *free_bytes, uint64_t *largest);

void plumb_blocks_clear(void);

#endif
