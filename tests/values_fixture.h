/* values_fixture.h: statistics of tensors by every path, and what they ought to be by plain sums in
 * two passes. For cmocka tests. */
#ifndef TESTS_VALUES_FIXTURE_H
#define TESTS_VALUES_FIXTURE_H

#include <math.h>
#include <stdlib.h>

#include "tensor/moments.h"
#include "tensor/value_stats.h"
#include "tensor_fixture.h"

enum { EVERYTHING = 63 };

static inline bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static inline bool near(double a, double b, double within)
{
    return same(a, b) || fabs(a - b) <= within;
}

/* Checks the results that must not depend on the processor; the others may differ in rounding. */
static inline void assert_agree(const struct plumb_value_stats *a,
                                const struct plumb_value_stats *b, const char *path)
{
    bool good = a->n == b->n && a->nan == b->nan && a->pos_inf == b->pos_inf &&
                a->neg_inf == b->neg_inf && a->zeros == b->zeros && a->hash == b->hash &&
                a->set_hash == b->set_hash && a->samples == b->samples;
    good = good && memcmp(a->histogram, b->histogram, sizeof a->histogram) == 0 &&
           memcmp(a->sample, b->sample, a->samples * sizeof *a->sample) == 0 &&
           (memcmp(&a->min, &b->min, sizeof a->min) == 0 || isnan(a->min)) &&
           (memcmp(&a->max, &b->max, sizeof a->max) == 0 || isnan(a->max));
    if (!good)
        fail_msg("%s finds other counts, bounds or hashes", path);
    if (!near(a->sum, b->sum, 2e-6 * b->abs_sum) || !near(a->std, b->std, 2e-6 * b->std) ||
        !near(a->abs_sum, b->abs_sum, 2e-6 * b->abs_sum) || !near(a->rms, b->rms, 2e-6 * b->rms))
        fail_msg("%s: sum %.17g, std %.17g, not %.17g and %.17g", path, a->sum, a->std, b->sum,
                 b->std);
}

/* By the best path, after comparing it with all others. */
static inline struct plumb_value_stats stats_of(const DLTensor *dl)
{
    const struct plumb_moments_kernels *path;
    const uint32_t wants[] = {0, PLUMB_VALUE_SPREAD, PLUMB_VALUE_ZEROS, 3};
    struct plumb_view view;
    struct plumb_value_stats best, other;
    uint32_t all = dl->shape && dl->ndim && dl->shape[0] > INT64_C(1) << 40
                       ? EVERYTHING & ~(uint32_t)PLUMB_VALUE_HASH
                       : EVERYTHING;
    plumb_error err = {0, ""};
    if (plumb_view_init(&view, dl, &err) < 0 || plumb_value_stats(&best, &view, all, &err) < 0)
        fail_msg("%s", err.message);
    for (unsigned i = 0; (path = plumb_moments_path(i)); i++) {
        assert_int_equal(plumb_value_stats_by(&other, &view, all, path, &err), 0);
        assert_agree(&other, &best, path->name);
        for (size_t k = 0; k < sizeof wants / sizeof wants[0]; k++) {
            assert_int_equal(plumb_value_stats_by(&other, &view, wants[k], path, &err), 0);
            assert_true(other.n == best.n && other.nan == best.nan);
            assert_true(near(other.sum, best.sum, 2e-6 * best.abs_sum));
            assert_true(near(other.abs_sum, best.abs_sum, 2e-6 * best.abs_sum));
            assert_true(!(wants[k] & PLUMB_VALUE_SPREAD) || same(other.max, best.max));
            assert_true(!(wants[k] & PLUMB_VALUE_ZEROS) || other.zeros == best.zeros);
        }
    }
    return best;
}

/* ---- The reference --------------------------------------------------------------------------- */

/* Of finite values, in two passes and long double, each counted from the first of them: sums of
 * large numbers would not be exact enough to judge by. */
static inline struct plumb_value_stats reference(const double *x, size_t n, double *magnitudes)
{
    struct plumb_value_stats s = {.min = NAN, .max = NAN, .mean = NAN, .std = NAN};
    long double origin = 0;
    long double sum = 0;
    long double squares = 0;
    long double all = 0;
    long double raw = 0;
    uint64_t finite = 0;
    for (size_t i = 0; i < n; i++) {
        s.nan += isnan(x[i]) != 0;
        s.pos_inf += isinf(x[i]) && x[i] > 0;
        s.neg_inf += isinf(x[i]) && x[i] < 0;
        if (!isfinite(x[i]))
            continue;
        s.min = finite == 0 || x[i] < s.min ? x[i] : s.min;
        s.max = finite == 0 || x[i] > s.max ? x[i] : s.max;
        origin = finite == 0 ? x[i] : origin;
        sum += x[i] - origin;
        all += fabsl(x[i]);
        raw += (long double)x[i] * x[i];
        s.zeros += x[i] == 0;
        finite++;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            squares += (x[i] - origin - sum / finite) * (x[i] - origin - sum / finite);
    s.n = n;
    s.sum = (double)(sum + origin * finite);
    s.l2 = (double)sqrtl(raw);
    if (finite > 0)
        s.mean = (double)(origin + sum / finite);
    if (finite > 1)
        s.std = (double)sqrtl(squares / (finite - 1));
    *magnitudes = (double)all;
    return s;
}

/* `rounding`: how far sums may be off, relative to the sum of magnitudes. */
static inline void assert_same(struct plumb_value_stats got, struct plumb_value_stats want,
                               double magnitudes, double rounding)
{
    assert_int_equal(got.n, want.n);
    assert_int_equal(got.nan, want.nan);
    assert_int_equal(got.pos_inf, want.pos_inf);
    assert_int_equal(got.neg_inf, want.neg_inf);
    if (!same(got.min, want.min) || !same(got.max, want.max))
        fail_msg("bounds %g %g, not %g %g", got.min, got.max, want.min, want.max);
    if (!near(got.sum, want.sum, rounding * magnitudes))
        fail_msg("sum %.17g, not %.17g", got.sum, want.sum);
    if (!near(got.mean, want.mean, rounding * magnitudes / (double)want.n))
        fail_msg("mean %.17g, not %.17g", got.mean, want.mean);
    if (!near(got.abs_sum, magnitudes, rounding * magnitudes))
        fail_msg("sum of magnitudes %.17g, not %.17g", got.abs_sum, magnitudes);
    if (!near(got.l2, want.l2, fmax(1e-9, rounding) * want.l2))
        fail_msg("l2 %.17g, not %.17g", got.l2, want.l2);
    assert_int_equal(got.zeros, want.zeros);
    if (!near(got.std, want.std, fmax(1e-9, rounding) * want.std))
        fail_msg("std %.17g, not %.17g", got.std, want.std);
}

static inline void assert_stats(const DLTensor *dl, const double *x, size_t n)
{
    double magnitudes;
    struct plumb_value_stats want = reference(x, n, &magnitudes);
    bool exact = dl->dtype.bits > 32 || dl->dtype.code < kDLFloat || dl->dtype.bits == 8;
    assert_same(stats_of(dl), want, magnitudes, exact ? 1e-12 : 1e-6);
}

static inline uint64_t next_random(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

/* About N(0, 1): twelve uniform numbers. */
static inline double next_normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(next_random() >> 11) * 0x1p-53;
    return sum;
}

/* The value of a float given by its parts, without the cleverness of the code under test. */
static inline double float_by_parts(unsigned v, int exponent_bits, int mantissa_bits, bool has_inf)
{
    int sign = (int)(v >> (exponent_bits + mantissa_bits));
    int exponent = (int)(v >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double fraction = ldexp((double)(v & ((1u << mantissa_bits) - 1)), -mantissa_bits);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double value = ldexp(exponent ? 1 + fraction : fraction, (exponent ? exponent : 1) - bias);
    if (has_inf && exponent == (1 << exponent_bits) - 1)
        value = fraction > 0 ? NAN : INFINITY;
    if (!has_inf && (v & 0x7f) == 0x7f)
        value = NAN;
    return sign ? -value : value;
}

#endif
