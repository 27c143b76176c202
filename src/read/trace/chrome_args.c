/* chrome_args.c: values of a Chrome trace: args, flat as perfetto_args.c has them, and times. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "read/trace/chrome_parts.h"

enum { DEPTH_MAX = 32, KEY_MAX = 256, QUICK_DIGITS = 18 };
#define EXPONENT_MAX INT64_C(1000000000000000)

/* ---- Times ---------------------------------------------------------------------------------- */

/* The usual ones in one pass: sign, digits, a point, digits. False: slow_ns() must look. */
static bool quick_ns(const char *p, const char *end, bool negative, int64_t *out)
{
    bool point = false;
    int digits = 0, decimals = 0;
    int64_t v = 0;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9' || (point && decimals == 3) || ++digits > QUICK_DIGITS)
            return false;
        v = 10 * v + (*p - '0');
        decimals += point;
    }
    if (digits == 0 || digits + 3 - decimals > QUICK_DIGITS)
        return false;
    for (; decimals < 3; decimals++)
        v *= 10;
    *out = negative ? -v : v;
    return true;
}

/* Passes the digits of an exponent; its size ends at EXPONENT_MAX, which no text has digits for. */
static const char *pass_exponent(const char *p, const char *end, int64_t *out)
{
    bool negative = p < end && *p == '-';
    const char *first = p += p < end && (*p == '-' || *p == '+');
    int64_t v = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        v = v < EXPONENT_MAX ? 10 * v + (*p - '0') : v;
    *out = negative ? -v : v;
    return p > first ? p : NULL;
}

/* Any number of digits and decimals, and an exponent. The first `whole` digits are those of the
 * nanoseconds, the one after them rounds. */
static bool slow_ns(const char *p, const char *end, bool negative, int64_t *out)
{
    const char *digits = p, *last, *point = NULL;
    int64_t exponent = 0, whole, seen = 0;
    uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++)
        point = *p == '.' ? p : point;
    last = p;
    if (last - digits == (point != NULL))
        return false;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = pass_exponent(p + 1, end, &exponent);
    if (p != end)
        return false;
    whole = (point ? point : last) - digits + exponent + 3;
    for (p = digits; p < last && seen <= whole; p++) {
        if (*p == '.')
            continue;
        if (seen++ == whole)
            v += *p >= '5';
        else if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
                 __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    }
    for (; v > 0 && seen < whole; seen++)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v))
            return false;
    if (v > most)
        return false;
    *out = (int64_t)(negative ? 0 - v : v);
    return true;
}

bool plumb_chrome_ns(const char *text, size_t size, int64_t *out)
{
    const char *end = text + size;
    bool negative = text < end && *text == '-';
    text += negative;
    return quick_ns(text, end, negative, out) || slow_ns(text, end, negative, out);
}

/* In the file's own digits: a double has too few of them for ns since 1970. */
bool plumb_chrome_number_ns(const struct plumb_json_scan *s, int64_t *out)
{
    const char *end = plumb_json_here(s), *p = end;
    while (strchr("0123456789.-+eE", p[-1]) && p[-1])
        p--;
    return plumb_chrome_ns(p, (size_t)(end - p), out);
}

/* ---- Args ----------------------------------------------------------------------------------- */

static void add(struct plumb_chrome *r, enum plumb_table_type type, union plumb_table_number value)
{
    if (r->arg_count == r->arg_cap) {
        size_t cap = r->arg_cap ? 2 * r->arg_cap : 32;
        struct plumb_chrome_raw_arg *args = realloc(r->args, cap * sizeof *args);
        if (!args) {
            r->failed = true;
            return;
        }
        r->args = args;
        r->arg_cap = cap;
    }
    uint32_t key = r->key.len ? plumb_chrome_text(r, r->key.data, r->key.len) : 0;
    r->args[r->arg_count++] = (struct plumb_chrome_raw_arg){key, type, value};
}

static void add_scalar(struct plumb_chrome *r)
{
    const struct plumb_json_scan *s = &r->scan;
    union plumb_table_number v = {.u64 = 0};
    switch (s->token) {
    case PLUMB_JSON_STRING:
        v.u64 = plumb_chrome_text(r, s->text, s->size);
        add(r, PLUMB_ARG_TEXT, v);
        break;
    case PLUMB_JSON_TRUE:
    case PLUMB_JSON_FALSE:
        v.u64 = s->token == PLUMB_JSON_TRUE;
        add(r, PLUMB_ARG_BOOL, v);
        break;
    case PLUMB_JSON_NUMBER:
        v.u64 = s->number.whole;
        if (s->number.kind == PLUMB_JSON_NUMBER_REAL)
            v.f64 = s->number.real;
        add(r,
            s->number.kind == PLUMB_JSON_NUMBER_INT    ? PLUMB_ARG_I64
            : s->number.kind == PLUMB_JSON_NUMBER_UINT ? PLUMB_ARG_U64
                                                       : PLUMB_ARG_F64,
            v);
        break;
    default: /* null says nothing */
        break;
    }
}

static void extend_key(struct plumb_chrome *r, bool in_array, uint32_t place)
{
    const struct plumb_json_scan *s = &r->scan;
    size_t room = r->key.len < KEY_MAX ? KEY_MAX - r->key.len : 0;
    if (in_array && room > 0) {
        plumb_buf_printf(&r->key, "[%" PRIu32 "]", place);
    } else if (!in_array && s->key) {
        plumb_buf_str(&r->key, r->key.len ? "." : "");
        plumb_buf_append(&r->key, s->key, s->key_size < room ? s->key_size : room);
    }
}

bool plumb_chrome_args(struct plumb_chrome *r, int depth)
{
    struct plumb_json_scan *s = &r->scan;
    bool in_array = s->token == PLUMB_JSON_ARRAY;
    size_t length = r->key.len;
    uint32_t place = 0;
    if (!in_array && s->token != PLUMB_JSON_OBJECT) {
        add_scalar(r);
        return true;
    }
    if (depth == DEPTH_MAX)
        return plumb_json_skip(s) > PLUMB_JSON_END;
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_OBJECT_END || s->token == PLUMB_JSON_ARRAY_END)
            return true;
        extend_key(r, in_array, place++);
        if (!plumb_chrome_args(r, depth + 1))
            return false;
        r->key.len = length;
    }
    return false;
}
