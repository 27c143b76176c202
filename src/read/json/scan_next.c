/* scan_next.c: the step of the scan, 8 bytes at a time.
 *
 * Everything relies on the zeros that follow the text: a NUL is part of no token, so no step needs
 * to check for the end of the text. */
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

/* The first quote, backslash or control character from p on; sets *high when a byte before it is
 * not ASCII. */
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

/* The first byte that is not blank; `newline` is '\n' or ' '. */
static PLUMB_ALWAYS_INLINE const char *blanks_end(const char *p, char newline)
{
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == newline)
        p++;
    return p;
}

/* Whether the name of the slot stands at p, spelled as before. */
static PLUMB_ALWAYS_INLINE bool spelled_here(const struct plumb_json_slot *slot, const char *p)
{
    return slot->spelled_size && memcmp(slot->spelled, p, slot->spelled_size) == 0;
}

static PLUMB_ALWAYS_INLINE const char *skip_blanks(const struct plumb_json_scan *s, const char *p)
{
    if (PLUMB_LIKELY((unsigned char)*p > ' '))
        return p;
    if (*p == ' ' && (unsigned char)p[1] > ' ')
        return p + 1;
    return blanks_end(p, (char)s->newline);
}

/* Reads the string whose opening quote is just before `p`; returns the place after it, NULL:
 * refused. */
static PLUMB_ALWAYS_INLINE const char *take_string(struct plumb_json_scan *s, const char *p,
                                                   struct plumb_buf *decoded, const char **text,
                                                   size_t *size)
{
    bool high = false;
    const char *end = string_end(p, &high);
    if (PLUMB_UNLIKELY(high || *end != '"'))
        return plumb_json_string_slowly(s, p, end, decoded, text, size);
    *text = p;
    *size = (size_t)(end - p);
    return end + 1;
}

/* The name of a member, and the colon. */
static PLUMB_ALWAYS_INLINE const char *take_name(struct plumb_json_scan *s, const char *p,
                                                 bool first)
{
    uint8_t *before = &s->slot_at[s->depth % 8];
    uint8_t *guess = first ? &s->first_slot[s->depth % 8] : &s->slots[*before].next;
    if (PLUMB_LIKELY(*guess < PLUMB_JSON_SLOTS)) {
        const struct plumb_json_slot *slot = &s->slots[*guess];
        if (PLUMB_LIKELY(spelled_here(slot, p))) {
            s->slot = *before = *guess;
            s->key = slot->name;
            s->key_size = slot->name_size;
            return p + slot->spelled_size;
        }
    }
    if (*p != '"')
        return plumb_json_no_name(s, p, first);
    const char *end = take_string(s, p + 1, &s->key_buf, &s->key, &s->key_size);
    if (!end)
        return NULL;
    end = skip_blanks(s, end);
    if (*end != ':')
        return plumb_json_fault(s, end, "':' is missing after a name");
    end = skip_blanks(s, end + 1);
    s->slot = plumb_json_slot_of(s, p, end);
    if (s->slot != PLUMB_JSON_NO_SLOT) {
        *guess = (uint8_t)s->slot;
        *before = (uint8_t)s->slot;
    }
    return end;
}

static PLUMB_ALWAYS_INLINE enum plumb_json_token give(struct plumb_json_scan *s, const char *p,
                                                      enum plumb_json_token token)
{
    s->at = p;
    return s->token = token;
}

static PLUMB_ALWAYS_INLINE enum plumb_json_token open_container(struct plumb_json_scan *s,
                                                                const char *p, bool object)
{
    if (s->depth == PLUMB_JSON_MAX_DEPTH) {
        plumb_json_fault(s, p, "nested too deeply");
        return s->token;
    }
    uint64_t bit = UINT64_C(1) << (++s->depth % 64);
    if (object)
        s->in_object[s->depth / 64] |= bit;
    else
        s->in_object[s->depth / 64] &= ~bit;
    s->expect = object ? EXPECT_FIRST_MEMBER : EXPECT_FIRST_ITEM;
    return give(s, p + 1, object ? PLUMB_JSON_OBJECT : PLUMB_JSON_ARRAY);
}

static PLUMB_ALWAYS_INLINE void expect_more(struct plumb_json_scan *s)
{
    s->expect = s->depth == 0                                        ? EXPECT_NOTHING
                : s->in_object[s->depth / 64] >> (s->depth % 64) & 1 ? EXPECT_MEMBER
                                                                     : EXPECT_ITEM;
}

static inline enum plumb_json_token close_container(struct plumb_json_scan *s, const char *p,
                                                    bool object)
{
    s->depth--;
    s->key = NULL;
    expect_more(s);
    return give(s, p + 1, object ? PLUMB_JSON_OBJECT_END : PLUMB_JSON_ARRAY_END);
}

static PLUMB_ALWAYS_INLINE enum plumb_json_token take_value(struct plumb_json_scan *s,
                                                            const char *p)
{
    switch (*p) {
    case '{':
        return open_container(s, p, true);
    case '[':
        return open_container(s, p, false);
    case '"':
        if (!(p = take_string(s, p + 1, &s->text_buf, &s->text, &s->size)))
            return s->token;
        expect_more(s);
        return give(s, p, PLUMB_JSON_STRING);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': {
        const char *end = plumb_json_take_number(p, &s->number);
        if (PLUMB_UNLIKELY(!end || s->number.kind >= PLUMB_JSON_NUMBER_RANGE))
            return plumb_json_odd_number(s, p, end);
        expect_more(s);
        return give(s, end, PLUMB_JSON_NUMBER);
    }
    default:
        return plumb_json_word(s, p);
    }
}

/* The value that comes next, with its name; NULL: none comes, `s->token` says why. */
static PLUMB_ALWAYS_INLINE const char *find_value(struct plumb_json_scan *s, const char *p)
{
    switch (s->expect) {
    case EXPECT_MEMBER:
        if (PLUMB_LIKELY(*p == ','))
            return take_name(s, skip_blanks(s, p + 1), false);
        if (*p != '}')
            return plumb_json_fault(s, p, "',' or '}' is missing after a value");
        close_container(s, p, true);
        return NULL;
    case EXPECT_FIRST_MEMBER:
        if (*p != '}')
            return take_name(s, p, true);
        close_container(s, p, true);
        return NULL;
    case EXPECT_ITEM:
        s->key = NULL;
        if (PLUMB_LIKELY(*p == ','))
            return p + 1;
        if (*p != ']')
            return plumb_json_fault(s, p, "',' or ']' is missing after a value");
        close_container(s, p, false);
        return NULL;
    case EXPECT_FIRST_ITEM:
        s->key = NULL;
        if (*p != ']')
            return p;
        close_container(s, p, false);
        return NULL;
    case EXPECT_VALUE:
    case EXPECT_NOTHING:
        s->key = NULL;
        return plumb_json_between(s, p);
    default:
        return NULL;
    }
}

enum plumb_json_token plumb_json_next(struct plumb_json_scan *s)
{
    const char *p = find_value(s, skip_blanks(s, s->at));
    return PLUMB_LIKELY(p) ? take_value(s, skip_blanks(s, p)) : s->token;
}
