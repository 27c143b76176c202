/* match.c: finds where lines repeat earlier ones.
 *
 * An ordinary compressor searches at each byte. In the lines of a trace the places where a search
 * pays are known: the ends of numbers and of lines. So there is no search inside a number: it would
 * find other numbers by accident and make the rest of the line harder to find. At the end of a line
 * the candidate is a line with the same beginning up to its time (the same name on the same
 * thread), which then gives all of it in one match. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "codec/gz/parts.h"
#include "codec/varint.h"

enum {
    LENGTH_MAX = 258,
    TOKEN = 5,    /* bytes that are hashed inside a line */
    TAIL_MAX = 6, /* of a line: left to the match of the next one, which reaches back */
    BACK_MAX = 8,
    SKIP_MAX = 16,    /* with what is read there, less than PLUMB_GZ_PAD */
    PAIRS_SPARE = 32, /* for a line of one match */
    LINE_MAX = 4096,
    LINE_HEAD_MIN = 8,
    LINE_HEAD_MAX = 320,
    SAMPLE_EVERY = 13, /* pairs; unlike what a line has */
    SAMPLE_FROM = 2048,
};

/* ---- Bytes ---------------------------------------------------------------------------------- */

/* How many bytes at p and q are equal, up to `most`. */
static PLUMB_ALWAYS_INLINE uint32_t equal_bytes(const unsigned char *p, const unsigned char *q,
                                                size_t most)
{
    uint32_t n = 0;
    for (; n + 8 <= most; n += 8) {
        uint64_t differ = plumb_load_le64(p + n) ^ plumb_load_le64(q + n);
        if (differ)
            return n + ((uint32_t)__builtin_ctzll(differ) >> 3);
    }
    while (n < most && p[n] == q[n])
        n++;
    return n;
}

/* How many bytes at p are '.', '/' or digits. PLUMB_GZ_PAD bytes after them may be read. */
static PLUMB_ALWAYS_INLINE size_t number_bytes(const unsigned char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (size_t n = 0;; n += 8) {
        uint64_t v = plumb_load_le64(p + n);
        uint64_t other = ((v + ones * 0x46) | ~(v + ones * 0x52) | v) & ones << 7;
        if (other)
            return n + ((size_t)__builtin_ctzll(other) >> 3);
    }
}

/* How many bytes at p there are up to and with the first '\n', or `most`. */
static PLUMB_ALWAYS_INLINE size_t line_bytes(const unsigned char *p, size_t most)
{
    const unsigned char *end = memchr(p, '\n', most);
    return end ? (size_t)(end - p) + 1 : most;
}

/* The values that change with each pair. They are here and not in *z, so that they stay in
 * registers. */
struct matcher {
    struct plumb_gz *z;
    uintptr_t base;                    /* address of position 0, modulo 2^32 */
    const unsigned char *oldest;       /* that may be referred to, and some bytes */
    const unsigned char *p, *literals; /* literals: the first not yet in a pair */
    struct plumb_gz_pair *pair, *pairs_end;
    uint32_t line_count, likely_line, until_sample, misses;
};

static PLUMB_ALWAYS_INLINE uint32_t position_of(const struct matcher *m, const unsigned char *p)
{
    return (uint32_t)((uintptr_t)p - m->base);
}

static PLUMB_ALWAYS_INLINE uint32_t hash(uint64_t v)
{
    return (uint32_t)(v * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLUMB_GZ_HASH_BITS));
}

/* ---- Counts --------------------------------------------------------------------------------- */

static void count_pair(struct plumb_gz *z, const unsigned char *literals, const unsigned char *end,
                       uint32_t length, uint32_t distance)
{
    for (; literals < end; literals++)
        z->literal_counts[*literals]++;
    if (length > 0) {
        z->literal_counts[plumb_gz_length(length).code]++;
        z->distance_counts[plumb_gz_distance(distance).code]++;
    }
}

static void clear_counts(struct plumb_gz *z)
{
    memset(z->literal_counts, 0, sizeof z->literal_counts);
    memset(z->distance_counts, 0, sizeof z->distance_counts);
}

/* The counts may be those of a sample. A sample is enough if there are so many pairs, and so few
 * literals between them, that the text gets shorter whatever their codes are. Otherwise all pairs
 * are counted. */
static void finish_counts(struct plumb_gz *z, const unsigned char *p, size_t n)
{
    const uint64_t pair_bits = PLUMB_GZ_BITS + 5 + PLUMB_GZ_BITS + 13;
    uint64_t literals = 0;
    for (uint32_t i = 0; i < z->pair_count; i++)
        literals += z->pairs[i].literals;
    bool sample = z->pair_count >= SAMPLE_FROM &&
                  literals * PLUMB_GZ_BITS + z->pair_count * pair_bits < 8 * (uint64_t)n;
    if (!sample)
        clear_counts(z);
    for (uint32_t i = 0; !sample && i < z->pair_count; i++) {
        const struct plumb_gz_pair *pair = &z->pairs[i];
        count_pair(z, p, p + pair->literals, pair->length, pair->distance + 1u);
        p += pair->literals + pair->length;
    }
    for (uint32_t i = 0; sample && i < PLUMB_GZ_LITERALS - 2; i++)
        z->literal_counts[i] = SAMPLE_EVERY * z->literal_counts[i] + 1;
    for (uint32_t i = 0; sample && i < PLUMB_GZ_DISTANCES; i++)
        z->distance_counts[i] = SAMPLE_EVERY * z->distance_counts[i] + 1;
    z->literal_counts[PLUMB_GZ_END] = 1;
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE void put_pair(struct matcher *m, uint32_t length, uint32_t distance)
{
    if (PLUMB_UNLIKELY(--m->until_sample == 0)) {
        m->until_sample = SAMPLE_EVERY;
        count_pair(m->z, m->literals, m->p, length, distance);
    }
    *m->pair++ = (struct plumb_gz_pair){(uint32_t)(m->p - m->literals), (uint16_t)length,
                                        (uint16_t)(distance - 1)};
    m->p += length;
    m->literals = m->p;
}

/* A match of any length. */
static PLUMB_ALWAYS_INLINE void put_match(struct matcher *m, uint32_t length, uint32_t distance)
{
    while (PLUMB_UNLIKELY(length > LENGTH_MAX)) {
        uint32_t part = length - LENGTH_MAX < 3 ? LENGTH_MAX - 3 : LENGTH_MAX;
        put_pair(m, part, distance);
        length -= part;
    }
    put_pair(m, length, distance);
}

/* Compares the text at `p`, up to `end`, with that at `position`, and takes at least `least` equal
 * bytes as a match. With `back` the match also takes equal bytes before `p` that are not yet in a
 * pair. */
static PLUMB_ALWAYS_INLINE bool take(struct matcher *m, const unsigned char *p,
                                     const unsigned char *end, uint32_t position, uint32_t least,
                                     bool back)
{
    uint32_t distance = position_of(m, p) - position;
    if (distance - 1 >= PLUMB_GZ_WINDOW || (ptrdiff_t)distance > p - m->oldest)
        return false;
    uint32_t length = equal_bytes(p, p - distance, (size_t)(end - p));
    if (length < least)
        return false;
    m->p = p;
    if (back) {
        size_t pending = (size_t)(p - m->literals);
        uint64_t differ = plumb_load_le64(p - BACK_MAX) ^ plumb_load_le64(p - BACK_MAX - distance);
        size_t equal = differ ? (size_t)__builtin_clzll(differ) >> 3 : BACK_MAX;
        equal = equal < pending ? equal : pending;
        m->p -= equal;
        length += (uint32_t)equal;
    }
    put_match(m, length, distance);
    return true;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* A line up to and with its `"ts":`; without one, up to its end or LINE_HEAD_MAX. */
static PLUMB_ALWAYS_INLINE struct plumb_gz_line line_head(const unsigned char *line,
                                                          const unsigned char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const uint64_t ts = UINT64_C(0x3a22737422); /* "ts": */
    size_t most = (size_t)(end - line) < LINE_HEAD_MAX ? (size_t)(end - line) : LINE_HEAD_MAX;
    uint64_t h = 0;
    for (size_t n = 0; n < most; n += 8) {
        uint64_t v = plumb_load_le64(line + n), colons = v ^ ones * ':';
        colons = (colons - ones) & ~colons & tops; /* may have more above a true one */
        for (; colons; colons &= colons - 1) {
            size_t at = n + ((size_t)__builtin_ctzll(colons) >> 3);
            if (at >= 4 && (plumb_load_le64(line + at - 4) & UINT64_C(0xffffffffff)) == ts)
                return (struct plumb_gz_line){0, (uint16_t)hash(h), (uint16_t)(at + 1)};
        }
        h = (h << 7 | h >> 57) ^ v;
    }
    return (struct plumb_gz_line){0, (uint16_t)hash(h + 1), (uint16_t)most};
}

static PLUMB_ALWAYS_INLINE bool try_line(struct matcher *m, const unsigned char *line,
                                         const unsigned char *end)
{
    struct plumb_gz *z = m->z;
    uint32_t number = m->likely_line;
    struct plumb_gz_line likely = z->lines[number & (PLUMB_GZ_LINES - 1)];
    struct plumb_gz_line *here = &z->lines[m->line_count & (PLUMB_GZ_LINES - 1)];
    bool taken =
        likely.head >= LINE_HEAD_MIN && take(m, line, end, likely.position, likely.head, true);
    /* Pipelines are loops: the likely line is the one after the line that the previous line
     * matched. Otherwise it is the last one with the same beginning as this line. */
    if (!taken) {
        struct plumb_gz_line own = line_head(line, end);
        number = z->by_head[own.hash];
        likely = z->lines[number & (PLUMB_GZ_LINES - 1)];
        if (likely.hash == own.hash && own.head >= LINE_HEAD_MIN)
            taken = take(m, line, end, likely.position, own.head, true);
        likely = own;
    }
    if (taken)
        m->likely_line = number + 1;
    *here = (struct plumb_gz_line){position_of(m, line), likely.hash, likely.head};
    z->by_head[likely.hash] = m->line_count++;
    return taken;
}

static PLUMB_ALWAYS_INLINE bool try_token(struct matcher *m, const unsigned char *end, bool back)
{
    uint32_t h = hash(plumb_load_le64(m->p) << (64 - 8 * TOKEN));
    uint32_t candidate = m->z->tokens[h];
    m->z->tokens[h] = position_of(m, m->p);
    return take(m, m->p, end, candidate, TOKEN, back);
}

/* The longer nothing matches, the more bytes are skipped between two searches. */
static PLUMB_ALWAYS_INLINE uint32_t skip_of(uint32_t misses)
{
    return misses < SKIP_MAX * 64 ? 1 + misses / 64 : SKIP_MAX;
}

static PLUMB_ALWAYS_INLINE void match_line(struct matcher *m, const unsigned char *line,
                                           const unsigned char *end)
{
    m->p = line;
    if (!try_line(m, line, end))
        try_token(m, end, true);
    while (m->pair < m->pairs_end) {
        m->p += number_bytes(m->p);
        if (end - m->p <= TAIL_MAX)
            return;
        if (try_token(m, end, false))
            m->misses = 0;
        else
            m->p += skip_of(m->misses++);
    }
}

size_t plumb_gz_match(struct plumb_gz *z, size_t from, size_t n)
{
    const unsigned char *start = z->in.base + from, *end = start + n, *line = start;
    struct matcher m = {.z = z,
                        .base = (uintptr_t)z->in.base - (uintptr_t)z->total,
                        .oldest = z->in.base - z->history + BACK_MAX,
                        .literals = start,
                        .pair = z->pairs,
                        .pairs_end = z->pairs + PLUMB_GZ_PAIRS - PAIRS_SPARE,
                        .line_count = z->line_count,
                        .likely_line = z->likely_line,
                        .until_sample = SAMPLE_EVERY};
    clear_counts(z);
    while (line < end && m.pair < m.pairs_end) {
        size_t most = (size_t)(end - line) < LINE_MAX ? (size_t)(end - line) : LINE_MAX;
        size_t bytes = line_bytes(line, most);
        match_line(&m, line, line + bytes);
        line += bytes;
    }
    if (line > m.literals)
        *m.pair++ = (struct plumb_gz_pair){(uint32_t)(line - m.literals), 0, 0};
    z->pair_count = (uint32_t)(m.pair - z->pairs);
    z->line_count = m.line_count;
    z->likely_line = m.likely_line;
    finish_counts(z, start, (size_t)(line - start));
    return (size_t)(line - start);
}
