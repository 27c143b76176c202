/* parts.h: the parts of gz.c: finding matches, making codes, checksum. */
#ifndef PLUMB_CODEC_GZ_PARTS_H
#define PLUMB_CODEC_GZ_PARTS_H

#include "codec/gz/gz.h"

/* ---- Matches -------------------------------------------------------------------------------- */

/* Divides the n bytes of text from z->in.base + from on, which PLUMB_GZ_PAD zeros follow, into
 * pairs and counts their symbols, until the pairs are used up. Returns the bytes that they stand
 * for. */
size_t plumb_gz_match(struct plumb_gz *z, size_t from, size_t n);

/* ---- Codes (RFC 1951, 3.2) ------------------------------------------------------------------ */

enum {
    PLUMB_GZ_LITERALS = 288, /* 0..255, the end of a block, 29 lengths; two are not used */
    PLUMB_GZ_END = 256,
    PLUMB_GZ_DISTANCES = 30,
    PLUMB_GZ_BITS = 12, /* no longer code is made, so that four fit into one write */
};

struct plumb_gz_symbol {
    uint16_t code, extra, extra_bits;
};

/* Lengths 3..258, distances 1..32768. Small ones count as if they had one bit more, so that they
 * need no branch. */
static inline struct plumb_gz_symbol plumb_gz_length(uint32_t length)
{
    uint32_t v = length - 3, bits = 29 - (uint32_t)__builtin_clz(v | 4);
    if (length == 258)
        return (struct plumb_gz_symbol){285, 0, 0};
    return (struct plumb_gz_symbol){(uint16_t)(257 + 4 * bits + (v >> bits)),
                                    (uint16_t)(v & ((1u << bits) - 1)), (uint16_t)bits};
}

static inline struct plumb_gz_symbol plumb_gz_distance(uint32_t distance)
{
    uint32_t v = distance - 1, bits = 30 - (uint32_t)__builtin_clz(v | 2);
    return (struct plumb_gz_symbol){(uint16_t)(2 * bits + (v >> bits)),
                                    (uint16_t)(v & ((1u << bits) - 1)), (uint16_t)bits};
}

static inline uint32_t plumb_gz_length_extra(uint32_t symbol)
{
    return symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
}

static inline uint32_t plumb_gz_distance_extra(uint32_t symbol)
{
    return symbol < 4 ? 0 : symbol / 2 - 1;
}

/* A code as it is written, the first bit lowest, and its length. */
struct plumb_gz_code {
    uint16_t bits;
    uint8_t length;
};

/* Lengths of the codes of least total length, none above `limit`; 0 for a count of 0. n <= 288. */
void plumb_gz_lengths(uint8_t *lengths, const uint32_t *counts, uint32_t n, uint32_t limit);
/* The codes of these lengths. */
void plumb_gz_codes(struct plumb_gz_code *codes, const uint8_t *lengths, uint32_t n);

/* ---- CRC-32 of gzip ------------------------------------------------------------------------- */

void plumb_crc32_table(uint32_t table[8][256]);
/* Over `n` more bytes; `crc` is 0 at first. */
uint32_t plumb_crc32(uint32_t table[8][256], uint32_t crc, const unsigned char *p, size_t n);

#endif
