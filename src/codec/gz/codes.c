/* codes.c: Huffman codes of limited length, canonical as deflate wants them.
 *
 * Symbols are sorted by count (three passes by 7 bits), then merged in order. The two lightest of
 * leaves and inner nodes are always at the heads of two queues, because both are made in ascending
 * order. Lengths above the limit are then cut and paid for by making a shorter code longer, which
 * is not always the least total length, but nearly. */
#include <string.h>

#include "base/atomic.h"
#include "codec/gz/parts.h"

enum { SYMBOLS_MAX = 288, RADIX_BITS = 7, LENGTH_MAX = 15 };

/* Symbols with a count, lightest first; returns how many. */
static uint32_t sort_by_count(uint16_t *sorted, const uint32_t *counts, uint32_t n)
{
    uint16_t other[SYMBOLS_MAX], *from = other, *to = sorted;
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++)
        if (counts[i])
            from[used++] = (uint16_t)i;
    for (int shift = 0; shift < 3 * RADIX_BITS; shift += RADIX_BITS) {
        uint32_t starts[1 << RADIX_BITS] = {0}, at = 0;
        for (uint32_t i = 0; i < used; i++)
            starts[counts[from[i]] >> shift & ((1 << RADIX_BITS) - 1)]++;
        for (int k = 0; k < 1 << RADIX_BITS; k++) {
            uint32_t here = starts[k];
            starts[k] = at;
            at += here;
        }
        for (uint32_t i = 0; i < used; i++)
            to[starts[counts[from[i]] >> shift & ((1 << RADIX_BITS) - 1)]++] = from[i];
        uint16_t *swap = from;
        from = to;
        to = swap;
    }
    return used; /* three passes: the last one wrote `sorted` */
}

/* How many codes of each length the best tree has, for m >= 2 leaves. Depths above LENGTH_MAX count
 * as that. */
static void tree_lengths(uint32_t *of_length, const uint16_t *sorted, const uint32_t *counts,
                         uint32_t m)
{
    uint32_t weight[SYMBOLS_MAX], made = 0, leaf = 0, inner = 0;
    uint16_t parent_of_leaf[SYMBOLS_MAX], parent[SYMBOLS_MAX], depth[SYMBOLS_MAX];
    for (; made < m - 1; made++) {
        weight[made] = 0;
        for (int child = 0; child < 2; child++) {
            bool take_leaf = inner == made || (leaf < m && counts[sorted[leaf]] <= weight[inner]);
            if (take_leaf) {
                weight[made] += counts[sorted[leaf]];
                parent_of_leaf[leaf++] = (uint16_t)made;
            } else {
                weight[made] += weight[inner];
                parent[inner++] = (uint16_t)made;
            }
        }
    }
    depth[m - 2] = 0;
    for (uint32_t i = m - 2; i-- > 0;)
        depth[i] = depth[parent[i]] + 1;
    for (uint32_t i = 0; i < m; i++) {
        uint32_t length = depth[parent_of_leaf[i]] + 1u;
        of_length[length < LENGTH_MAX ? length : LENGTH_MAX]++;
    }
}

/* Codes of `limit` bits that are too many: one is taken from below a shorter code each time. */
static void keep_limit(uint32_t *of_length, uint32_t limit)
{
    uint32_t space = 0;
    for (uint32_t l = limit + 1; l <= LENGTH_MAX; l++) {
        of_length[limit] += of_length[l];
        of_length[l] = 0;
    }
    for (uint32_t l = 1; l <= limit; l++)
        space += of_length[l] << (limit - l);
    for (; space > 1u << limit; space--) {
        uint32_t l = limit - 1;
        while (of_length[l] == 0)
            l--;
        of_length[l]--;
        of_length[l + 1] += 2;
        of_length[limit]--;
    }
}

/* The frame holds an entry for each symbol: 4 KiB. put_block() in gz.c calls this function. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
void plumb_gz_lengths(uint8_t *lengths, const uint32_t *counts, uint32_t n, uint32_t limit)
{
    uint16_t sorted[SYMBOLS_MAX];
    uint32_t of_length[LENGTH_MAX + 1] = {0};
    uint32_t m = sort_by_count(sorted, counts, n), i = 0;
    memset(lengths, 0, n);
    if (m < 2) { /* one code of one bit, even where nothing needs it */
        lengths[m == 1 ? sorted[0] : 0] = 1;
        return;
    }
    tree_lengths(of_length, sorted, counts, m);
    keep_limit(of_length, limit);
    for (uint32_t l = limit; l >= 1; l--)
        for (uint32_t k = of_length[l]; k > 0; k--)
            lengths[sorted[i++]] = (uint8_t)l;
}
#pragma GCC diagnostic pop

void plumb_gz_codes(struct plumb_gz_code *codes, const uint8_t *lengths, uint32_t n)
{
    uint32_t next[LENGTH_MAX + 2] = {0}, of_length[LENGTH_MAX + 1] = {0};
    for (uint32_t i = 0; i < n; i++)
        of_length[lengths[i]]++;
    of_length[0] = 0;
    for (uint32_t l = 1; l <= LENGTH_MAX; l++)
        next[l + 1] = (next[l] + of_length[l]) << 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t l = lengths[i], code = l ? next[l]++ : 0, reversed = 0;
        for (uint32_t bit = 0; bit < l; bit++)
            reversed |= (code >> bit & 1) << (l - 1 - bit);
        codes[i] = (struct plumb_gz_code){(uint16_t)reversed, (uint8_t)l};
    }
}
