/* The square root, against libm's, which is correctly rounded. */
#include "base/stats/sqrt.h"

#include <float.h>
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void check(double x)
{
    int64_t off = bits_of(plumb_sqrt(x)) - bits_of(sqrt(x));
    int64_t newton = bits_of(plumb_sqrt_newton(x)) - bits_of(sqrt(x));
    if (off < -1 || off > 1 || newton < -1 || newton > 1)
        fail_msg("sqrt(%.17g) is off by %lld ulp, by Newton's way %lld", x, (long long)off,
                 (long long)newton);
}

static void it_is_within_one_ulp_everywhere(void **state)
{
    uint64_t x = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits;
        double v;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bits = x >> 1;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            check(v);
    }
    for (double v = 4e-323; v < 1e308; v *= 1.37)
        check(v);
    check(5e-324);
    check(DBL_MAX);
    check(DBL_MIN);
}

static void squares_have_exact_roots(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 100000; n += 7)
        assert_true(plumb_sqrt((double)(n * n)) == (double)n);
}

static void odd_values_are_defined(void **state)
{
    (void)state;
    assert_true(plumb_sqrt(0) == 0);
    assert_true(plumb_sqrt(-1) == 0);
    assert_true(plumb_sqrt(NAN) == 0);
    assert_true(isinf(plumb_sqrt(INFINITY)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_within_one_ulp_everywhere),
        cmocka_unit_test(squares_have_exact_roots),
        cmocka_unit_test(odd_values_are_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
