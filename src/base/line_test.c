/* Sums over lines of counts, against plain loops. */
#include "base/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void fill(uint32_t *counts, uint32_t n)
{
    uint64_t x = 88172645463325252u;
    for (uint32_t i = 0; i < n; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        counts[i] = (uint32_t)(x >> 32);
    }
}

static void sums_are_those_of_a_loop(void **state)
{
    uint32_t counts[5 * PLUMB_LINE_COUNTS + 1];
    (void)state;
    fill(counts, 5 * PLUMB_LINE_COUNTS + 1);
    for (uint32_t from = 0; from < 2; from++) { /* also where a line does not begin */
        uint64_t want = 0;
        for (uint32_t lines = 0; lines < 5; lines++) {
            assert_int_equal(plumb_lines_sum(counts + from, lines), (uint32_t)want);
            assert_int_equal(plumb_lines_sum_wide(counts + from, lines), want);
            for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
                want += counts[from + lines * PLUMB_LINE_COUNTS + i];
        }
    }
}

static void lines_are_added_without_loss(void **state)
{
    uint32_t counts[PLUMB_LINE_COUNTS];
    uint64_t to[PLUMB_LINE_COUNTS];
    (void)state;
    fill(counts, PLUMB_LINE_COUNTS);
    for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
        to[i] = UINT64_C(0xffffffff) * i;
    plumb_line_add(to, counts);
    for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
        assert_int_equal(to[i], UINT64_C(0xffffffff) * i + counts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_a_loop),
        cmocka_unit_test(lines_are_added_without_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
