/* gz_match.c: where lines repeat earlier ones.
 *
 * An ordinary compressor searches at each byte. In the lines of a trace it is known where a search
 * pays: where numbers end, and where lines do. So nothing is searched inside a number, which would
 * find other numbers by accident and make the rest of the line harder to find; and at the end of a
 * line the candidate is the last line with the same beginning up to its time (the same name on the
 * same thread), which then gives all of it in one match. */
#include <string.h>

#include "base/atomic.h"
#include "format/gz_parts.h"

enum {
    LENGTH_MAX = 258,
    TOKEN = 5, /* bytes that are hashed where no line begins */
    LINE_HEAD_MAX = 320,
    LINE_END_MAX = 6, /* bytes from the last number of a line to its end: "}},\n" */
};

struct matcher {
    struct plumb_gz *z;
    const unsigned char *p, *end, *literals; /* literals: the first not yet in a pair */
    uint32_t first;                          /* position of in.base[0], modulo 2^32 */
};

static PLUMB_ALWAYS_INLINE uint64_t load_le64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static PLUMB_ALWAYS_INLINE uint32_t position_of(const struct matcher *m, const unsigned char *p)
{
    return m->first + (uint32_t)(p - m->z->in.base);
}

static PLUMB_ALWAYS_INLINE uint32_t equal_bytes(const unsigned char *p, const unsigned char *q,
                                                size_t most)
{
    uint32_t n = 0;
    for (; n + 8 <= most; n += 8) {
        uint64_t differ = load_le64(p + n) ^ load_le64(q + n);
        if (differ)
            return n + ((uint32_t)__builtin_ctzll(differ) >> 3);
    }
    while (n < most && p[n] == q[n])
        n++;
    return n;
}

/* How far the text at p equals that at `position`, when that may be referred to. */
static PLUMB_ALWAYS_INLINE uint32_t match_at(const struct matcher *m, const unsigned char *p,
                                             uint32_t position, uint32_t *distance)
{
    uint32_t d = position_of(m, p) - position;
    size_t behind = (size_t)(p - m->z->in.base) + m->z->history, left = (size_t)(m->end - p);
    if (d - 1 >= PLUMB_GZ_WINDOW || d > behind)
        return 0;
    *distance = d;
    return equal_bytes(p, p - d, left < LENGTH_MAX ? left : LENGTH_MAX);
}

static PLUMB_ALWAYS_INLINE void put_pair(struct matcher *m, uint32_t length, uint32_t distance)
{
    struct plumb_gz *z = m->z;
    z->pairs[z->pair_count++] = (struct plumb_gz_pair){(uint32_t)(m->p - m->literals),
                                                       (uint16_t)length, (uint16_t)(distance - 1)};
    z->literal_counts[plumb_gz_length(length).code]++;
    z->distance_counts[plumb_gz_distance(distance).code]++;
    m->p += length;
    m->literals = m->p;
}

static PLUMB_ALWAYS_INLINE uint32_t hash(uint64_t v)
{
    return (uint32_t)(v * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLUMB_GZ_HASH_BITS));
}

/* Bytes '.', '/' and '0' to '9' from p on. */
static PLUMB_ALWAYS_INLINE size_t number_bytes(const unsigned char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (size_t n = 0;; n += 8) {
        uint64_t v = load_le64(p + n);
        uint64_t other = ((v + ones * 0x46) | ~(v + ones * 0x52) | v) & ones << 7;
        if (other)
            return n + ((size_t)__builtin_ctzll(other) >> 3);
    }
}

/* Hash of a line up to and with its `"ts":`; without one, up to its end. */
static PLUMB_ALWAYS_INLINE uint32_t line_hash(const unsigned char *line, const unsigned char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const uint64_t ts = UINT64_C(0x3a22737422); /* "ts": */
    size_t most = (size_t)(end - line) < LINE_HEAD_MAX ? (size_t)(end - line) : LINE_HEAD_MAX;
    uint64_t h = 0;
    for (size_t n = 0; n < most; n += 8) {
        uint64_t v = load_le64(line + n), colons = v ^ ones * ':';
        colons = (colons - ones) & ~colons & tops; /* may have more above a true one */
        for (; colons; colons &= colons - 1) {
            size_t at = n + ((size_t)__builtin_ctzll(colons) >> 3);
            if (at >= 4 && (load_le64(line + at - 4) & UINT64_C(0xffffffffff)) == ts)
                return hash(h);
        }
        h = (h << 7 | h >> 57) ^ v;
    }
    return hash(h + 1);
}

/* At what ends a line: the last line that began as the next one does, with the end before it. */
static PLUMB_ALWAYS_INLINE bool try_line(struct matcher *m, const unsigned char *line)
{
    uint32_t ahead = (uint32_t)(line - m->p), distance, h = line_hash(line, m->end);
    uint32_t candidate = m->z->lines[h];
    m->z->lines[h] = position_of(m, line);
    uint32_t length = match_at(m, m->p, candidate - ahead, &distance);
    if (length < ahead + 8)
        return false;
    put_pair(m, length, distance);
    return true;
}

/* Where the line ends that ends soon, or NULL. */
static PLUMB_ALWAYS_INLINE const unsigned char *next_line(const struct matcher *m)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t v = load_le64(m->p) ^ ones * '\n';
    v = (v - ones) & ~v & ones << 7;
    if (!v)
        return NULL;
    const unsigned char *line = m->p + ((size_t)__builtin_ctzll(v) >> 3) + 1;
    return line - m->p <= LINE_END_MAX && line < m->end ? line : NULL;
}

static PLUMB_ALWAYS_INLINE bool try_token(struct matcher *m)
{
    uint32_t distance, h = hash(load_le64(m->p) << (64 - 8 * TOKEN));
    uint32_t candidate = m->z->tokens[h];
    m->z->tokens[h] = position_of(m, m->p);
    uint32_t length = match_at(m, m->p, candidate, &distance);
    if (length < TOKEN)
        return false;
    put_pair(m, length, distance);
    return true;
}

/* What is left as literals, counted; three tables more, because the next literal is often the same
 * and would wait for the store before it. */
static void count_literals(struct plumb_gz *z, const unsigned char *p)
{
    uint32_t more[3][256] = {{0}};
    for (uint32_t i = 0; i < z->pair_count; i++) {
        uint32_t n = z->pairs[i].literals;
        const unsigned char *end = p + n;
        for (; p + 4 <= end; p += 4) {
            z->literal_counts[p[0]]++;
            more[0][p[1]]++;
            more[1][p[2]]++;
            more[2][p[3]]++;
        }
        for (; p < end; p++)
            more[p - end + 3][*p]++;
        p += z->pairs[i].length;
    }
    for (int i = 0; i < 256; i++)
        z->literal_counts[i] += more[0][i] + more[1][i] + more[2][i];
}

size_t plumb_gz_match(struct plumb_gz *z, size_t from, size_t n)
{
    struct matcher m = {z, z->in.base + from, z->in.base + from + n, z->in.base + from,
                        (uint32_t)z->total};
    const unsigned char *start = m.p, *line;
    uint32_t misses = 0;
    memset(z->literal_counts, 0, sizeof z->literal_counts);
    memset(z->distance_counts, 0, sizeof z->distance_counts);
    z->pair_count = 0;
    while (m.p < m.end && z->pair_count < PLUMB_GZ_PAIRS - 1) {
        m.p += number_bytes(m.p);
        if (m.end - m.p < 8)
            break;
        line = next_line(&m);
        if ((line && try_line(&m, line)) || try_token(&m)) {
            misses = 0;
            continue;
        }
        /* What resembles nothing is searched less and less. */
        m.p += 1 + (misses++ >> 6);
    }
    if (z->pair_count < PLUMB_GZ_PAIRS - 1)
        m.p = m.end;
    if (m.p > m.literals) {
        z->pairs[z->pair_count++] = (struct plumb_gz_pair){(uint32_t)(m.p - m.literals), 0, 0};
    }
    z->literal_counts[PLUMB_GZ_END] = 1;
    count_literals(z, start);
    return (size_t)(m.p - start);
}
