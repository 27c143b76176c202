/* Numbers are written as printf writes them, with the fewest digits that read back as the same
 * number. */
#include "codec/real_text.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void same(double v)
{
    char fast[PLUMB_REAL_TEXT], slow[PLUMB_REAL_TEXT];
    size_t n = plumb_real_text(fast, v);
    assert_int_equal(n, strlen(fast));
    plumb_real_text_slowly(slow, v);
    assert_string_equal(fast, slow);
}

static void both_signs_and_neighbours(double v)
{
    double near[] = {v, nextafter(v, 0), nextafter(v, INFINITY)};
    for (int i = 0; i < 3; i++) {
        same(near[i]);
        same(-near[i]);
    }
}

static void numbers_that_people_write(void **state)
{
    static const char *const texts[] = {"0",     "1",      "-1",    "0.1",    "0.5",      "1.5",
                                        "1e-05", "0.0001", "1e+15", "100000", "2.25e-07", "1e+22"};
    char out[PLUMB_REAL_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        plumb_real_text(out, strtod(texts[i], NULL));
        assert_string_equal(out, texts[i]);
    }
    plumb_real_text(out, -0.0);
    assert_string_equal(out, "-0");
}

static void powers_of_two_and_of_ten_with_their_neighbours(void **state)
{
    (void)state;
    for (int e = -1022; e < 1024; e++)
        both_signs_and_neighbours(ldexp(1, e));
    for (int e = -300; e < 300; e++)
        both_signs_and_neighbours(pow(10, e));
    same(DBL_MAX);
    same(DBL_MIN);
    same(DBL_TRUE_MIN);
}

static void decimals_of_few_digits_come_back_as_they_were(void **state)
{
    (void)state;
    for (int i = 1; i < 20000; i++)
        for (int e = -12; e < 14; e += 5)
            same(i * pow(10, e));
}

static void random_bits(void **state)
{
    uint64_t x = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits;
        double v;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bits = x;
        if (i % 4) /* most of them near 1 */
            bits = (bits & ~((uint64_t)0x7ff << 52)) | (uint64_t)(1023 - 110 + (int)(x % 170))
                                                           << 52;
        if (i % 3 == 0) /* such as are converted from float */
            bits &= ~(uint64_t)0x1fffffff;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            same(v);
    }
}

/* Halfway between two of 15, 16, 17 digits: whole numbers beyond 2^53 are. */
static void ties(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        same((double)(9007199254740992u + i * 2));
        same((double)(99999999999999900u + i * 16));
        same((double)(1000000000000000u + i) + 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_people_write),
        cmocka_unit_test(powers_of_two_and_of_ten_with_their_neighbours),
        cmocka_unit_test(decimals_of_few_digits_come_back_as_they_were),
        cmocka_unit_test(random_bits),
        cmocka_unit_test(ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
