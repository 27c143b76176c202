/* random.c: see random.h. Everything is computed in integers, from the bits of the statistics: the
 * parameters become part of generated programs, and must not depend on who computed them. */
#include "isolate/random.h"

#include "base/error.h"
#include "base/u128.h"

enum { SPREAD_BITS = 41, VALUE_BITS = 58 }; /* random_fill.h allows 42 and 60 */

/* ---- Doubles as integers --------------------------------------------------------------------- */

struct scaled { /* mantissa * 2^exponent, exactly */
    int64_t mantissa;
    int32_t exponent;
};

static struct scaled scaled_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 52 & 0x7ff);
    int64_t mantissa = (int64_t)(bits & ((UINT64_C(1) << 52) - 1));
    if (exponent > 0)
        mantissa |= INT64_C(1) << 52;
    else
        exponent = 1;
    return (struct scaled){bits >> 63 ? -mantissa : mantissa, exponent - 1075};
}

static bool is_finite(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff;
}

/* Bits before the binary point of the magnitude: 1 for 1.0; very few for 0. */
static int32_t size_of(double value)
{
    struct scaled s = scaled_of(value);
    uint64_t m = s.mantissa < 0 ? 0 - (uint64_t)s.mantissa : (uint64_t)s.mantissa;
    return m ? plumb_random_bits(m) + s.exponent : -2000;
}

enum rounding { DOWN, NEAREST, UP };

/* `value` in units of 2^exponent, which are so large that it fits. */
static int64_t in_units(double value, int32_t exponent, enum rounding rounding)
{
    struct scaled s = scaled_of(value);
    int32_t up = s.exponent - exponent;
    if (up >= 0 || s.mantissa == 0)
        return s.mantissa * (INT64_C(1) << (s.mantissa ? up : 0));
    if (up < -60)
        return rounding == DOWN && s.mantissa < 0 ? -1 : rounding == UP && s.mantissa > 0;
    int64_t down = plumb_random_shift(s.mantissa, (unsigned)-up);
    int64_t rest = s.mantissa - down * (INT64_C(1) << -up);
    if (rounding == NEAREST)
        return down + (rest >= INT64_C(1) << (-up - 1));
    return down + (rounding == UP && rest > 0);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static uint32_t share(plumb_u128 part, plumb_u128 whole)
{
    plumb_u128 of = part >= whole ? UINT32_MAX : (part << 32) / whole;
    return of > UINT32_MAX ? UINT32_MAX : (uint32_t)of;
}

static void only_extremes(struct plumb_random *r)
{
    uint64_t above = (uint64_t)(r->center - r->low), range = (uint64_t)(r->high - r->low);
    r->shape = 0;
    r->high_of = range ? share(above, range) : 0;
}

/* Values whose variance is that of a uniform range of the half-width `h`, `uniform`, or more. The
 * two bounds alone, in the proportion that gives the mean, have the largest variance there is. */
static void mix(struct plumb_random *r, uint64_t deviation, uint64_t h)
{
    plumb_u128 wanted = (plumb_u128)deviation * deviation;
    plumb_u128 uniform = (plumb_u128)h * h / 3;
    plumb_u128 most = (plumb_u128)(uint64_t)(r->high - r->center) * (uint64_t)(r->center - r->low);
    only_extremes(r);
    if (most <= wanted || most <= uniform)
        return;
    r->shape = 1;
    r->spread = (int64_t)h;
    /* Both are below 2^90, so the shift of 32 bits fits. */
    r->extreme = share(wanted - uniform, most - uniform);
}

static void choose_shape(struct plumb_random *r, uint64_t deviation)
{
    uint64_t below = (uint64_t)(r->center - r->low), above = (uint64_t)(r->high - r->center);
    uint64_t h = below < above ? below : above;
    /* sqrt(3) * 2^30 */
    uint64_t uniform = (uint64_t)((plumb_u128)deviation * UINT64_C(1859775393) >> 30);
    r->spread = (int64_t)deviation;
    if (deviation <= h / 6)
        r->shape = 12;
    else if (deviation <= h / 3)
        r->shape = 3;
    else if (uniform <= h) {
        r->shape = 1;
        r->spread = (int64_t)uniform;
    } else {
        mix(r, deviation, h);
    }
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* In units; no more than the range, whatever the file says. */
static uint64_t deviation_of(const struct plumb_random *r, double std, int32_t most)
{
    uint64_t range = (uint64_t)(r->high - r->low);
    uint64_t units = size_of(std) > most ? range : (uint64_t)in_units(std, r->exponent, NEAREST);
    return units < range ? units : range;
}

static int from_stats(struct plumb_random *r, const struct plumb_signature_stats *s,
                      plumb_error *err)
{
    double std = s->std == s->std ? s->std : 0; /* a single value has none */
    if (!is_finite(s->min) || !is_finite(s->max) || !is_finite(s->mean) || !is_finite(std) ||
        s->min > s->max || std < 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "its statistics contradict each other (min %g, max %g, mean %g, std %g)",
                          s->min, s->max, s->mean, s->std);
    int32_t size = larger(size_of(s->min), size_of(s->max)), most = size + 1;
    r->exponent =
        larger(size - VALUE_BITS, (size_of(std) < most ? size_of(std) : most) - SPREAD_BITS);
    r->exponent = larger(r->exponent, -1200);
    r->low = in_units(s->min, r->exponent, UP);
    r->high = in_units(s->max, r->exponent, DOWN);
    /* A range that lies between two units is one value. */
    if (r->low > r->high)
        r->low = r->high = in_units(s->min, r->exponent, NEAREST);
    /* Rounding may put a mean outside, by far if the file says so. */
    r->center = s->mean <= s->min   ? r->low
                : s->mean >= s->max ? r->high
                                    : in_units(s->mean, r->exponent, NEAREST);
    if (r->low == r->high) {
        r->shape = 0;
        return PLUMB_OK;
    }
    choose_shape(r, deviation_of(r, std, most));
    return PLUMB_OK;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static int element_of(uint32_t *out, struct plumb_dtype type, plumb_error *err)
{
    static const struct {
        uint8_t code, bits, element;
    } known[] = {
        {PLUMB_DTYPE_FLOAT, 64, PLUMB_RANDOM_F64},
        {PLUMB_DTYPE_FLOAT, 32, PLUMB_RANDOM_F32},
        {PLUMB_DTYPE_FLOAT, 16, PLUMB_RANDOM_F16},
        {PLUMB_DTYPE_BFLOAT, 16, PLUMB_RANDOM_BF16},
        {PLUMB_DTYPE_FLOAT8_E4M3FN, 8, PLUMB_RANDOM_F8_E4M3FN},
        {PLUMB_DTYPE_FLOAT8_E5M2, 8, PLUMB_RANDOM_F8_E5M2},
        {PLUMB_DTYPE_INT, 64, PLUMB_RANDOM_I64},
        {PLUMB_DTYPE_INT, 32, PLUMB_RANDOM_I32},
        {PLUMB_DTYPE_INT, 16, PLUMB_RANDOM_I16},
        {PLUMB_DTYPE_INT, 8, PLUMB_RANDOM_I8},
        {PLUMB_DTYPE_UINT, 64, PLUMB_RANDOM_U64},
        {PLUMB_DTYPE_UINT, 32, PLUMB_RANDOM_U32},
        {PLUMB_DTYPE_UINT, 16, PLUMB_RANDOM_U16},
        {PLUMB_DTYPE_UINT, 8, PLUMB_RANDOM_U8},
        {PLUMB_DTYPE_BOOL, 8, PLUMB_RANDOM_U8},
        {PLUMB_DTYPE_COMPLEX, 128, PLUMB_RANDOM_F64},
        {PLUMB_DTYPE_COMPLEX, 64, PLUMB_RANDOM_F32},
    };
    char name[PLUMB_DTYPE_NAME_MAX];
    for (size_t i = 0; i < sizeof known / sizeof *known && type.lanes == 1; i++) {
        if (known[i].code == type.code && known[i].bits == type.bits) {
            *out = known[i].element;
            return PLUMB_OK;
        }
    }
    return plumb_fail(err, PLUMB_ERR_ARG, "plumb makes no values of the element type %s",
                      plumb_dtype_name(name, type));
}

/* Sets the bounds of integers: those of the type and of the recorded range. Recorded bounds of
 * integers are whole numbers; if a file has others, they are rounded inwards. */
static void bound_integers(struct plumb_random *r, struct plumb_dtype type,
                           const struct plumb_signature_stats *s)
{
    int bits = type.code == PLUMB_DTYPE_BOOL ? 1 : type.bits, above;
    bool is_signed = type.code == PLUMB_DTYPE_INT;
    uint64_t most = UINT64_MAX >> (64 - bits + is_signed);
    r->most = is_signed ? (int64_t)most : INT64_MAX;
    r->least = is_signed ? -r->most - 1 : 0;
    r->unsigned_most = most;
    if (!s || r->exponent > 0) /* bounds of so large numbers are those of fixed point */
        return;
    int64_t low = plumb_random_whole(in_units(s->min, 0, UP), 0, &above);
    int64_t high = plumb_random_whole(in_units(s->max, 0, DOWN), 0, &above);
    if (low > high || low > r->most || high < r->least)
        return;
    r->least = low > r->least ? low : r->least;
    r->most = high < r->most ? high : r->most;
    r->unsigned_least = low > 0 ? (uint64_t)low : 0;
    if (high >= 0 && (uint64_t)high < r->unsigned_most)
        r->unsigned_most = (uint64_t)high;
}

static void set_default(struct plumb_random *r, struct plumb_dtype type)
{
    if (r->element <= PLUMB_RANDOM_F8_E5M2) {
        r->shape = 12;
        r->exponent = -30;
        r->spread = INT64_C(1) << 30;
        r->high = 6 * r->spread;
        r->low = -r->high;
    } else if (type.code == PLUMB_DTYPE_UINT && type.bits == 8) {
        r->shape = 1; /* -0.5 to 255.5, rounded */
        r->exponent = -20;
        r->center = INT64_C(255) << 19;
        r->spread = INT64_C(1) << 27;
        r->low = -(INT64_C(1) << 19);
        r->high = (INT64_C(511) << 19) - 1;
    } else {
        r->shape = 0;
        r->high = 1;
        r->high_of = UINT32_C(1) << 31;
    }
}

int plumb_random_of(struct plumb_random *out, struct plumb_dtype type,
                    const struct plumb_signature_stats *stats, plumb_error *err)
{
    struct plumb_random r = {.seed = 0};
    int rc = element_of(&r.element, type, err);
    if (rc < 0)
        return rc;
    if (stats && stats->min != stats->min)
        stats = NULL; /* there was no finite value */
    if (!stats)
        set_default(&r, type);
    else if ((rc = from_stats(&r, stats, err)) < 0)
        return rc;
    if (r.element > PLUMB_RANDOM_F8_E5M2)
        bound_integers(&r, type, stats);
    *out = r;
    return PLUMB_OK;
}
