/* Conversions and divisions of 128-bit integers, against the compiler's own. */
#include "base/u128.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

static plumb_u128 of_bits(uint64_t *random, uint32_t bits)
{
    plumb_u128 x = 0;
    for (int i = 0; i < 5; i++)
        x = x << 31 | random_next(random);
    return bits ? x >> (128 - bits) : 0;
}

static void short_cuts_give_the_same_bits(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (uint32_t turn = 0; turn < 129 * 8; turn++) {
        plumb_u128 x = of_bits(&random, turn % 129);
        uint64_t divisor = (uint64_t)of_bits(&random, 1 + turn % 64) | 1;
        double want = (double)x, got = plumb_u128_double(x);
        assert_memory_equal(&got, &want, sizeof want);
        assert_true(plumb_u128_over(x, divisor) == x / divisor);
        want = (double)(uint64_t)(x >> 1) * 1.75;
        assert_true(plumb_u128_of(want) == (plumb_u128)want);
    }
    assert_true(plumb_u128_of(0x1p63) == (plumb_u128)1 << 63);
    assert_true(plumb_u128_of(0x1p100) == (plumb_u128)1 << 100);
    assert_true(plumb_u128_of(0.99) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_cuts_give_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
