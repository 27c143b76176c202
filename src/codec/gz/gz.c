/* gz.c: the stream and its blocks.
 *
 * All matches of a block are found before it is written, so that it gets the code that suits it
 * best: one of its own, the fixed one, or none, if the text does not get shorter at all. Positions
 * are kept modulo 2^32; a position before the window is recognised by its distance. */
#include "codec/gz/gz.h"

#include <string.h>

#include "codec/gz/parts.h"
#include "codec/varint.h"

struct codes {
    uint8_t lengths[PLUMB_GZ_LITERALS + PLUMB_GZ_DISTANCES]; /* of literals, then of distances */
    struct plumb_gz_code literals[PLUMB_GZ_LITERALS], distances[PLUMB_GZ_DISTANCES];
};

/* The order in which deflate lists the lengths of a code: symbols, with counts of repetitions in
 * `extra`. */
struct description {
    uint32_t literals, distances, symbols, count;
    uint8_t symbol[PLUMB_GZ_LITERALS + PLUMB_GZ_DISTANCES];
    uint8_t extra[PLUMB_GZ_LITERALS + PLUMB_GZ_DISTANCES];
    uint8_t lengths[19];
    struct plumb_gz_code codes[19];
};

static const uint8_t description_order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};

/* ---- Bits ----------------------------------------------------------------------------------- */

/* Writes through a local copy, so that the bits stay in registers. */
struct bits {
    unsigned char *p;
    uint64_t bits;
    uint32_t count;
};

static struct bits bits_of(const struct plumb_gz *z, const struct plumb_out *out)
{
    return (struct bits){out->base + out->used, z->bits, z->bit_count};
}

static void keep_bits(struct plumb_gz *z, struct plumb_out *out, const struct bits *b)
{
    out->used = (size_t)(b->p - out->base);
    z->bits = b->bits;
    z->bit_count = b->count;
}

/* Up to 56 bits between two plumb_drain(). */
static PLUMB_ALWAYS_INLINE void add(struct bits *b, uint64_t bits, uint32_t n)
{
    b->bits |= bits << b->count;
    b->count += n;
}

static PLUMB_ALWAYS_INLINE void drain(struct bits *b)
{
    plumb_store_le64(b->p, b->bits);
    b->p += b->count >> 3;
    b->bits >>= b->count & 56;
    b->count &= 7;
}

/* ---- What a block costs --------------------------------------------------------------------- */

static void fixed_lengths(uint8_t *lengths)
{
    for (int i = 0; i < PLUMB_GZ_LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(lengths + PLUMB_GZ_LITERALS, 5, PLUMB_GZ_DISTANCES);
}

static uint64_t block_bits(const struct plumb_gz *z, const uint8_t *lengths)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < PLUMB_GZ_LITERALS; i++)
        bits += (uint64_t)z->literal_counts[i] * (lengths[i] + plumb_gz_length_extra(i));
    for (uint32_t i = 0; i < PLUMB_GZ_DISTANCES; i++)
        bits += (uint64_t)z->distance_counts[i] *
                (lengths[PLUMB_GZ_LITERALS + i] + plumb_gz_distance_extra(i));
    return bits;
}

/* ---- Telling a code ------------------------------------------------------------------------- */

static void describe_run(struct description *d, uint8_t length, uint32_t run)
{
    while (run > 0) {
        uint32_t n = 1;
        uint8_t symbol = length;
        if (length == 0 && run >= 3) {
            n = run < 138 ? run : 138;
            symbol = n < 11 ? 17 : 18;
        } else if (length && run >= 4) { /* the first is written as it is */
            d->extra[d->symbols] = 0;
            d->symbol[d->symbols++] = length;
            run--;
            n = run < 6 ? run : 6;
            symbol = 16;
        }
        d->extra[d->symbols] = (uint8_t)(symbol < 16 ? 0 : n - (symbol == 18 ? 11 : 3));
        d->symbol[d->symbols++] = symbol;
        run -= n;
    }
}

/* Bits of the description. */
static uint32_t describe(struct description *d, const uint8_t *lengths)
{
    uint8_t all[PLUMB_GZ_LITERALS + PLUMB_GZ_DISTANCES];
    uint32_t counts[19] = {0}, bits = 5 + 5 + 4;
    d->literals = PLUMB_GZ_LITERALS;
    d->distances = PLUMB_GZ_DISTANCES;
    d->symbols = 0;
    while (d->literals > 257 && lengths[d->literals - 1] == 0)
        d->literals--;
    while (d->distances > 1 && lengths[PLUMB_GZ_LITERALS + d->distances - 1] == 0)
        d->distances--;
    memcpy(all, lengths, d->literals);
    memcpy(all + d->literals, lengths + PLUMB_GZ_LITERALS, d->distances);
    for (uint32_t i = 0, n = d->literals + d->distances, run; i < n; i += run) {
        run = 1;
        while (i + run < n && all[i + run] == all[i])
            run++;
        describe_run(d, all[i], run);
    }
    for (uint32_t i = 0; i < d->symbols; i++)
        counts[d->symbol[i]]++;
    plumb_gz_lengths(d->lengths, counts, 19, 7);
    plumb_gz_codes(d->codes, d->lengths, 19);
    for (d->count = 19; d->count > 4 && d->lengths[description_order[d->count - 1]] == 0;)
        d->count--;
    for (uint32_t i = 0; i < 19; i++)
        bits += counts[i] * (d->lengths[i] + (i == 16 ? 2u : i == 17 ? 3u : i == 18 ? 7u : 0u));
    return bits + 3 * d->count;
}

static void put_description(struct bits *b, const struct description *d)
{
    add(b, d->literals - 257, 5);
    add(b, d->distances - 1, 5);
    add(b, d->count - 4, 4);
    drain(b);
    for (uint32_t i = 0; i < d->count; i++) {
        add(b, d->lengths[description_order[i]], 3);
        drain(b);
    }
    for (uint32_t i = 0; i < d->symbols; i++) {
        uint32_t symbol = d->symbol[i];
        add(b, d->codes[symbol].bits, d->codes[symbol].length);
        add(b, d->extra[i], symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0);
        drain(b);
    }
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* Codes of what blocks have most: two bytes of a number, by their low four bits, and lengths with
 * their extra bits. 24 bits of code, the length above. */
struct quick {
    uint32_t digits[256], lengths[259];
    bool short_digits; /* four times two of them fit into one write */
};

static uint32_t packed(uint32_t bits, uint32_t length)
{
    return bits | length << 24;
}

enum { NO_DIGIT = 15 }; /* marks a byte that is not written */

static void make_quick(struct quick *q, const struct codes *c)
{
    const struct plumb_gz_code none = {0, 0};
    for (uint32_t i = 0; i < 256; i++) {
        struct plumb_gz_code a = c->literals['.'], b = a;
        uint32_t low = i & 15, high = i >> 4;
        a = low == NO_DIGIT ? none : low < 10 ? c->literals['0' + low] : a;
        b = high == NO_DIGIT ? none : high < 10 ? c->literals['0' + high] : b;
        q->digits[i] = packed(a.bits | (uint32_t)b.bits << a.length, a.length + b.length);
    }
    q->short_digits = c->literals['.'].length <= 6;
    for (int i = '0'; i <= '9'; i++)
        q->short_digits &= c->literals[i].length <= 6;
    for (uint32_t i = 3; i < 259; i++) {
        struct plumb_gz_symbol s = plumb_gz_length(i);
        struct plumb_gz_code code = c->literals[s.code];
        q->lengths[i] =
            packed(code.bits | (uint32_t)s.extra << code.length, code.length + s.extra_bits);
    }
}

static PLUMB_ALWAYS_INLINE void add_packed(struct bits *b, uint32_t code)
{
    add(b, code & 0xffffff, code >> 24);
}

/* Up to eight literals, all of them '.' or '0' to '9', without a branch for how many. False: others
 * are among them. */
static PLUMB_ALWAYS_INLINE bool put_number(struct bits *b, const struct quick *q,
                                           const unsigned char *p, uint32_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t beyond = n < 8 ? UINT64_MAX << 8 * n : 0;
    uint64_t v = plumb_load_le64(p), slash = v ^ ones * '/';
    uint64_t other = (v + ones * 0x46) | ~(v + ones * 0x52) | v | (slash - ones);
    if (other & tops & ~beyond)
        return false;
    v = (v | beyond) & ones * 15;
    v |= v >> 4;
    add_packed(b, q->digits[v & 255]);
    add_packed(b, q->digits[v >> 16 & 255]);
    if (PLUMB_UNLIKELY(!q->short_digits))
        drain(b);
    add_packed(b, q->digits[v >> 32 & 255]);
    add_packed(b, q->digits[v >> 48 & 255]);
    drain(b);
    return true;
}

static PLUMB_ALWAYS_INLINE void put_literals(struct bits *b, const struct codes *c,
                                             const struct quick *q, const unsigned char *p,
                                             uint32_t n)
{
    for (const unsigned char *end = p + n; p < end; p += 8) {
        uint32_t left = (uint32_t)(end - p), here = left < 8 ? left : 8;
        if (PLUMB_LIKELY(put_number(b, q, p, here)))
            continue;
        for (uint32_t i = 0; i < here; i++) {
            add(b, c->literals[p[i]].bits, c->literals[p[i]].length);
            if (i & 1)
                drain(b);
        }
        drain(b);
    }
}

static void put_pairs(struct bits *out, const struct plumb_gz *z, const struct codes *c,
                      const unsigned char *p)
{
    struct bits b = *out;
    struct quick q;
    make_quick(&q, c);
    for (uint32_t i = 0; i < z->pair_count; i++) {
        struct plumb_gz_pair pair = z->pairs[i];
        put_literals(&b, c, &q, p, pair.literals);
        p += pair.literals + pair.length;
        if (pair.length == 0)
            continue;
        struct plumb_gz_symbol s = plumb_gz_distance(pair.distance + 1u);
        add_packed(&b, q.lengths[pair.length]);
        add(&b, c->distances[s.code].bits, c->distances[s.code].length);
        add(&b, s.extra, s.extra_bits);
        drain(&b);
    }
    add(&b, c->literals[PLUMB_GZ_END].bits, c->literals[PLUMB_GZ_END].length);
    drain(&b);
    *out = b;
}

static void put_stored(struct bits *b, const unsigned char *p, size_t n)
{
    while (n > 0) {
        uint32_t piece = n < 65535 ? (uint32_t)n : 65535;
        add(b, 0, 3);
        b->count = (b->count + 7) & ~7u;
        drain(b);
        add(b, piece | (uint64_t)(~piece & 0xffff) << 16, 32);
        drain(b);
        memcpy(b->p, p, piece);
        b->p += piece;
        p += piece;
        n -= piece;
    }
}

/* The frame holds the codes of a block: 5 KiB. Files are compressed when a run ends, or by a
 * command. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
/* The pairs that were found for the text [p, p + n). */
static void put_block(struct plumb_gz *z, struct bits *b, const unsigned char *p, size_t n)
{
    struct codes c;
    struct description d;
    uint8_t fixed[sizeof c.lengths];
    plumb_gz_lengths(c.lengths, z->literal_counts, PLUMB_GZ_LITERALS, PLUMB_GZ_BITS);
    plumb_gz_lengths(c.lengths + PLUMB_GZ_LITERALS, z->distance_counts, PLUMB_GZ_DISTANCES,
                     PLUMB_GZ_BITS);
    fixed_lengths(fixed);
    uint64_t own_bits = describe(&d, c.lengths) + block_bits(z, c.lengths);
    uint64_t fixed_bits = block_bits(z, fixed);
    uint64_t least = own_bits < fixed_bits ? own_bits : fixed_bits;
    if (least >= 8 * (uint64_t)n + 32) {
        put_stored(b, p, n);
        return;
    }
    if (own_bits < fixed_bits) {
        add(b, 2 << 1, 3);
        drain(b);
        put_description(b, &d);
    } else {
        memcpy(c.lengths, fixed, sizeof fixed);
        add(b, 1 << 1, 3);
        drain(b);
    }
    plumb_gz_codes(c.literals, c.lengths, PLUMB_GZ_LITERALS);
    plumb_gz_codes(c.distances, c.lengths + PLUMB_GZ_LITERALS, PLUMB_GZ_DISTANCES);
    put_pairs(b, z, &c, p);
}
#pragma GCC diagnostic pop

/* ---- The stream ----------------------------------------------------------------------------- */

void plumb_gz_open(struct plumb_gz *z)
{
    memset(z, 0, offsetof(struct plumb_gz, crc_table));
    plumb_crc32_table(z->crc_table);
    z->in = (struct plumb_out){z->text + PLUMB_GZ_WINDOW, PLUMB_GZ_TEXT, 0};
}

static void put_head(struct bits *b)
{
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3}; /* fast; Unix */
    memcpy(b->p, head, sizeof head);
    b->p += sizeof head;
}

/* The compressed text becomes the window that later matches refer to. */
static void slide(struct plumb_gz *z)
{
    size_t n = z->in.used, keep = z->history + n;
    keep = keep < PLUMB_GZ_WINDOW ? keep : PLUMB_GZ_WINDOW;
    memmove(z->in.base - keep, z->in.base + n - keep, keep);
    z->history = (uint32_t)keep;
    z->total += n;
    z->in.used = 0;
}

bool plumb_gz_flush(struct plumb_gz *z, struct plumb_out *out)
{
    if (out->size - out->used < PLUMB_GZ_OUT)
        return false;
    size_t n = z->in.used;
    struct bits b = bits_of(z, out);
    if (!z->begun)
        put_head(&b);
    z->begun = true;
    /* Searches read a little beyond the text: always the same. */
    memset(z->in.base + n, 0, PLUMB_GZ_PAD);
    z->crc = plumb_crc32(z->crc_table, z->crc, z->in.base, n);
    for (size_t from = 0, taken; from < n; from += taken) {
        taken = plumb_gz_match(z, from, n - from);
        put_block(z, &b, z->in.base + from, taken);
    }
    keep_bits(z, out, &b);
    slide(z);
    return true;
}

bool plumb_gz_close(struct plumb_gz *z, struct plumb_out *out)
{
    if (!plumb_gz_flush(z, out))
        return false;
    struct bits b = bits_of(z, out);
    add(&b, 1 | 1 << 1, 3 + 7); /* a last block, of the fixed code, with nothing but its end */
    b.count = (b.count + 7) & ~7u;
    drain(&b);
    add(&b, z->crc, 32);
    drain(&b);
    add(&b, (uint32_t)z->total, 32);
    drain(&b);
    keep_bits(z, out, &b);
    return true;
}
