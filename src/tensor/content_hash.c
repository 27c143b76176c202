/* content_hash.c: see content_hash.h. Plain C on purpose: it is nearly as fast as memory as it is,
 * and one path cannot differ from another. */
#include "tensor/content_hash.h"

#include <string.h>

enum { SUMS = 8, STRIPE = 8 * SUMS, STIR = 16 };

/* The fraction of the square roots of the first primes. */
static const uint64_t keys[SUMS] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                    0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                    0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static inline uint64_t load64(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Every bit of `x` changes every bit of the result with a chance of one half. */
static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    return x ^ x >> 32;
}

void plumb_content_hash_init(struct plumb_content_hash *hash)
{
    memset(hash, 0, sizeof *hash);
    memcpy(hash->sums, keys, sizeof keys);
}

/* The word itself goes to the neighbour, so that a half that is multiplied by 0 is not lost. */
static inline void stripe(uint64_t sums[SUMS], const unsigned char *at, uint64_t place)
{
    for (int i = 0; i < SUMS; i++) {
        uint64_t word = load64(at + 8 * i);
        uint64_t keyed = word ^ (keys[i] + place);
        sums[i] += (keyed & 0xffffffff) * (keyed >> 32);
        sums[i ^ 1] += word;
    }
}

/* Called after each STIR stripes; among these the key distinguishes their order. */
static void stir(uint64_t sums[SUMS])
{
    for (int i = 0; i < SUMS; i++)
        sums[i] = (sums[i] ^ sums[i] >> 29 ^ keys[i]) * 0x9e3779b97f4a7c15;
}

static void stripes(struct plumb_content_hash *hash, const unsigned char *at, size_t n)
{
    for (; n > 0; n--, at += STRIPE) {
        stripe(hash->sums, at, hash->stripe * UINT64_C(0xc2b2ae3d27d4eb4f));
        hash->stripe = (hash->stripe + 1) % STIR;
        if (hash->stripe == 0)
            stir(hash->sums);
    }
}

void plumb_content_hash_add(struct plumb_content_hash *hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    hash->bytes += bytes;
    if (hash->filled > 0) {
        size_t room = STRIPE - hash->filled;
        size_t n = bytes < room ? bytes : room;
        memcpy(hash->held + hash->filled, at, n);
        hash->filled += (uint32_t)n;
        at += n;
        bytes -= n;
        if (hash->filled < STRIPE)
            return;
        stripes(hash, hash->held, 1);
        hash->filled = 0;
    }
    stripes(hash, at, bytes / STRIPE);
    at += bytes / STRIPE * STRIPE;
    hash->filled = (uint32_t)(bytes % STRIPE);
    if (hash->filled)
        memcpy(hash->held, at, hash->filled);
}

uint64_t plumb_content_hash_end(const struct plumb_content_hash *hash)
{
    struct plumb_content_hash h = *hash;
    uint64_t result = mix(h.bytes + 1);
    if (h.filled > 0) {
        memset(h.held + h.filled, 0, STRIPE - h.filled);
        stripes(&h, h.held, 1);
    }
    for (int i = 0; i < SUMS; i++)
        result = mix(result ^ mix(h.sums[i] + keys[i])) + (uint64_t)i;
    return result;
}

#define SET_HASH(type)                                                                             \
    for (uint64_t i = 0; i < n; i++) {                                                             \
        type value;                                                                                \
        memcpy(&value, at + i * sizeof value, sizeof value);                                       \
        sum += mix((uint64_t)value + keys[0]);                                                     \
    }                                                                                              \
    break

uint64_t plumb_set_hash(const void *data, uint64_t n, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t sum = 0;
    switch (bytes) {
    case 1:
        SET_HASH(uint8_t);
    case 2:
        SET_HASH(uint16_t);
    case 4:
        SET_HASH(uint32_t);
    case 8:
        SET_HASH(uint64_t);
    default:
        break;
    }
    return sum;
}
