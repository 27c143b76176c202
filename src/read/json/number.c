/* number.c: the numbers that number.h has no quick and exact way for. Rare, so each goes
 * to strtod_l() in the C locale: strtod() alone would want the decimal separator of the host. */
#include "read/json/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#define POWER(high, low) {UINT64_C(high), UINT64_C(low)},
const uint64_t plumb_json_powers[][2] = {
#include "read/json/powers.def"
};
#undef POWER

/* Whether all of it are digits that fit into 64 bits. */
static bool is_large_whole(struct plumb_json_number *out, const char *p, const char *end)
{
    uint64_t value = 0;
    for (; p < end; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    out->kind = value > INT64_MAX ? PLUMB_JSON_NUMBER_UINT : PLUMB_JSON_NUMBER_INT;
    out->whole = value;
    out->real = (double)value;
    return true;
}

void plumb_json_number_slowly(struct plumb_json_number *out, const char *begin, const char *end)
{
    locale_t c;
    if (is_large_whole(out, begin, end))
        return;
    /* That of the C library itself: nothing is allocated for it. */
    if (!(c = newlocale(LC_ALL_MASK, "C", (locale_t)0))) {
        out->kind = PLUMB_JSON_NUMBER_MEMORY;
        return;
    }
    out->real = strtod_l(begin, NULL, c);
    out->kind = isinf(out->real) ? PLUMB_JSON_NUMBER_RANGE : PLUMB_JSON_NUMBER_REAL;
    freelocale(c);
}
