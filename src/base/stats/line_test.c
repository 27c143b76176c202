/* Sums over lines of counts, against plain loops. */
#include "base/stats/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

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
    enum { N = PLUMB_LINE_SUMS * PLUMB_LINE_COUNTS };
    uint32_t counts[N + 1], sums[PLUMB_LINE_SUMS];
    (void)state;
    fill(counts, N + 1);
    for (uint32_t at = 0; at < 2; at++) { /* also where a line does not begin */
        plumb_line_sums(sums, counts + at);
        for (uint32_t l = 0; l < PLUMB_LINE_SUMS; l++) {
            uint32_t want = 0;
            for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
                want += counts[at + l * PLUMB_LINE_COUNTS + i];
            assert_int_equal(sums[l], want);
        }
    }
}

static void lines_are_added_with_and_without_loss(void **state)
{
    enum { N = 4 * PLUMB_LINE_COUNTS };
    uint32_t counts[N + 1], to[N];
    uint64_t wide[N];
    (void)state;
    fill(counts, N + 1);
    for (uint32_t i = 0; i < N; i++)
        wide[i] = UINT64_C(0xffffffff) * i;
    for (uint32_t at = 0; at < 2; at++) { /* also where a line does not begin */
        for (uint32_t i = 0; i < N; i++)
            to[i] = 77u * i;
        for (uint32_t i = 0; i < N; i += PLUMB_LINE_COUNTS)
            plumb_line_add(to + i, counts + at + i);
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(to[i], (uint32_t)(77u * i + counts[at + i]));
    }
    for (uint32_t i = 0; i < N; i += PLUMB_LINE_COUNTS)
        plumb_line_add_wide(wide + i, counts + i);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(wide[i], UINT64_C(0xffffffff) * i + counts[i]);
}

static void the_place_of_a_rank_is_that_of_a_walk(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (int turn = 0; turn < 300; turn++) {
        uint32_t counts[PLUMB_LINE_COUNTS], sum = 0, total = 0;
        for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
            total += counts[i] = (uint32_t)random_next(&random) % (turn % 3 ? 3 : 134217727);
        for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++) {
            if (counts[i]) {
                assert_int_equal(plumb_line_place(counts, sum + 1), i);
                assert_int_equal(plumb_line_place(counts, sum + counts[i]), i);
            }
            sum += counts[i];
        }
        assert_int_equal(sum, total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_a_loop),
        cmocka_unit_test(the_place_of_a_rank_is_that_of_a_walk),
        cmocka_unit_test(lines_are_added_with_and_without_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
