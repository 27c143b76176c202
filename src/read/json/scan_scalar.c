/* scan_scalar.c: the scan for any processor, 8 bytes at a time. */
#include <string.h>

#include "base/atomic.h"
#include "read/json/scan_parts.h"

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static PLUMB_ALWAYS_INLINE uint64_t load(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The highest bit of each byte that is 0; and, since borrows go up, of some above the first. */
static PLUMB_ALWAYS_INLINE uint64_t zero_bytes(uint64_t v)
{
    return (v - EACH(0x01)) & ~v & EACH(0x80);
}

static PLUMB_ALWAYS_INLINE const char *string_end(const char *p, bool *high)
{
    for (;; p += 8) {
        uint64_t v = load(p);
        uint64_t control = (v - EACH(0x20)) & ~v & EACH(0x80);
        uint64_t ends = control | zero_bytes(v ^ EACH('"')) | zero_bytes(v ^ EACH('\\'));
        uint64_t outside = v & EACH(0x80);
        if (ends) {
            unsigned at = (unsigned)__builtin_ctzll(ends);
            *high |= (outside & ((UINT64_C(1) << at) - 1)) != 0;
            return p + at / 8;
        }
        *high |= outside != 0;
    }
}

static PLUMB_ALWAYS_INLINE const char *blanks_end(const char *p, char newline)
{
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == newline)
        p++;
    return p;
}

static PLUMB_ALWAYS_INLINE bool spelled_here(const struct plumb_json_slot *slot, const char *p)
{
    return slot->spelled_size && memcmp(slot->spelled, p, slot->spelled_size) == 0;
}

#define NEXT plumb_json_next_scalar
#include "read/json/scan_body.h"
