/* memory_blocks.c: an open-addressing table with backward-shift deletion, so look-ups do not get
 * slower with age. base/map.h does not fit here: it has no deletion. */
#include "record/stage/memory_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "record/runtime/runtime.h"

enum { FIRST = 1024, SEGMENTS = 4096, HOLES_MAX = 65536 };

struct segment {
    uint64_t address, bytes;
    uint32_t pool;
};

static struct {
    struct plumb_block *slot; /* address 0: empty */
    size_t capacity, count;   /* a power of two */
    struct segment *segment;
    size_t segments;
} blocks;

static size_t home(uint32_t pool, uint64_t address)
{
    uint64_t h = (address ^ (uint64_t)pool << 56) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 20) & (blocks.capacity - 1);
}

static size_t find(uint32_t pool, uint64_t address)
{
    size_t i = home(pool, address);
    while (blocks.slot[i].address &&
           (blocks.slot[i].address != address || blocks.slot[i].pool != pool))
        i = (i + 1) & (blocks.capacity - 1);
    return i;
}

static bool grow(void)
{
    struct plumb_block *old = blocks.slot;
    size_t had = blocks.capacity, want = had ? had * 2 : FIRST;
    struct plumb_block *more;
    if (want * sizeof *more > plumb_rt.settings.max_state_bytes / 4 ||
        !(more = plumb_pages_map(want * sizeof *more)))
        return false;
    blocks.slot = more;
    blocks.capacity = want;
    for (size_t i = 0; i < had; i++) {
        if (old[i].address)
            more[find(old[i].pool, old[i].address)] = old[i];
    }
    plumb_pages_unmap(old, had * sizeof *old);
    return true;
}

bool plumb_blocks_put(const struct plumb_block *b)
{
    /* At most three quarters full; the largest table that is allowed may get a little fuller. */
    if (blocks.count * 4 >= blocks.capacity * 3 && !grow() &&
        blocks.count * 8 >= blocks.capacity * 7)
        return false;
    blocks.slot[find(b->pool, b->address)] = *b;
    blocks.count++;
    return true;
}

bool plumb_blocks_take(uint32_t pool, uint64_t address, struct plumb_block *out)
{
    size_t mask = blocks.capacity - 1, gap, i;
    if (!blocks.capacity)
        return false;
    gap = find(pool, address);
    if (!blocks.slot[gap].address)
        return false;
    *out = blocks.slot[gap];
    for (i = (gap + 1) & mask; blocks.slot[i].address; i = (i + 1) & mask) {
        size_t from = home(blocks.slot[i].pool, blocks.slot[i].address);
        /* Stays in its place if its home is after the gap. */
        if (((i - from) & mask) < ((i - gap) & mask))
            continue;
        blocks.slot[gap] = blocks.slot[i];
        gap = i;
    }
    blocks.slot[gap].address = 0;
    blocks.count--;
    return true;
}

static bool larger(const struct plumb_block *a, const struct plumb_block *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->address < b->address;
}

uint32_t plumb_blocks_largest(uint32_t pool, struct plumb_block *out, uint32_t most)
{
    uint32_t n = 0;
    for (size_t i = 0; i < blocks.capacity; i++) {
        const struct plumb_block *b = &blocks.slot[i];
        uint32_t k;
        if (!b->address || b->pool != pool || (n == most && !larger(b, &out[n - 1])))
            continue;
        for (k = n < most ? n++ : n - 1; k && larger(b, &out[k - 1]); k--)
            out[k] = out[k - 1];
        out[k] = *b;
    }
    return n;
}

/* ---- Segments -------------------------------------------------------------------------------- */

void plumb_segments_put(uint32_t pool, uint64_t address, uint64_t bytes)
{
    if (!blocks.segment)
        blocks.segment = plumb_pages_map(SEGMENTS * sizeof *blocks.segment);
    /* With more segments holes are not exact; the sums are. */
    if (blocks.segment && blocks.segments < SEGMENTS)
        blocks.segment[blocks.segments++] = (struct segment){address, bytes, pool};
}

uint64_t plumb_segments_take(uint32_t pool, uint64_t address)
{
    for (size_t i = 0; address && i < blocks.segments; i++) {
        struct segment s = blocks.segment[i];
        if (s.address != address || s.pool != pool)
            continue;
        blocks.segment[i] = blocks.segment[--blocks.segments];
        return s.bytes;
    }
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Returns the first of `b` that ends after `address`: blocks of one pool do not overlap. */
static size_t first_behind(const struct segment *b, size_t n, uint64_t address)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b[middle].address + b[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the holes of one segment; `b` are all of the pool's blocks by address. */
static void holes_of(const struct segment *s, const struct segment *b, size_t n,
                     uint64_t *free_bytes, uint64_t *largest)
{
    uint64_t at = s->address, end = s->address + s->bytes;
    for (size_t i = first_behind(b, n, at); at < end; i++) {
        uint64_t next = i < n && b[i].address < end ? b[i].address : end;
        if (next > at) {
            *free_bytes += next - at;
            *largest = next - at > *largest ? next - at : *largest;
        }
        at = next < end ? b[i].address + b[i].bytes : end;
    }
}

void plumb_blocks_holes(uint32_t pool, uint64_t *free_bytes, uint64_t *largest)
{
    size_t bytes = (blocks.count + 1) * sizeof(struct segment), n = 0;
    struct segment *b =
        blocks.segments && blocks.count <= HOLES_MAX ? plumb_pages_map(bytes) : NULL;
    if (!b)
        return;
    for (size_t i = 0; i < blocks.capacity; i++) {
        if (blocks.slot[i].address && blocks.slot[i].pool == pool)
            b[n++] = (struct segment){blocks.slot[i].address, blocks.slot[i].bytes, pool};
    }
    qsort(b, n, sizeof *b, by_address);
    *free_bytes = *largest = 0;
    for (size_t i = 0; i < blocks.segments; i++) {
        if (blocks.segment[i].pool == pool)
            holes_of(&blocks.segment[i], b, n, free_bytes, largest);
    }
    plumb_pages_unmap(b, bytes);
}

void plumb_blocks_clear(void)
{
    plumb_pages_unmap(blocks.slot, blocks.capacity * sizeof *blocks.slot);
    plumb_pages_unmap(blocks.segment, SEGMENTS * sizeof *blocks.segment);
    memset(&blocks, 0, sizeof blocks);
}
