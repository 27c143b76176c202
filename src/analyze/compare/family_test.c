/* Tests of the test of a whole table: p counted by hand, the error level over all relabellings, one
 * row among many, and the effect of outliers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "analyze/compare/family.h"

static uint64_t random_state;

/* Nearly normal: the sum of four values of a linear congruential generator. */
static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        sum += (double)(random_state >> 40) / (double)(1 << 24) - 0.5;
    }
    return sum * 1.73;
}

static void family(struct plumb_family_p *p, const double *values, size_t rows, size_t na,
                   size_t nb)
{
    plumb_error err = {0, ""};
    if (plumb_family(p, values, rows, na, nb, 0, &err) < 0)
        fail_msg("%s", err.message);
}

static void p_is_the_share_of_relabellings_that_reach_as_far(void **state)
{
    static const double apart[] = {100, 101, 102, 110, 111, 112};
    static const double second[] = {100, 101, 111, 110, 112, 113};
    static const double equal[] = {7, 7, 7, 7, 7, 7};
    struct plumb_family_p p;
    (void)state;
    family(&p, apart, 1, 3, 3);
    assert_float_equal(p.up, 1.0 / 20, 1e-12);
    assert_float_equal(p.down, 1, 0);
    family(&p, second, 1, 3, 3); /* only {100, 101, 110} lies lower than {100, 101, 111} */
    assert_float_equal(p.up, 2.0 / 20, 1e-12);
    family(&p, equal, 1, 3, 3);
    assert_float_equal(p.up, 1, 0);
    assert_float_equal(p.down, 1, 0);
    assert_float_equal(plumb_family_least_p(3, 3), 0.05, 1e-12);
    assert_float_equal(plumb_family_least_p(30, 30), 1e-4, 1e-12);
}

/* Of all ways to share 10 equal runs out, no more than alpha have a row with p <= alpha, though the
 * table has 40 rows; a test row by row finds one in most of them. */
static void the_level_is_that_of_the_table(void **state)
{
    enum { ROWS = 40, RUNS = 10, WAYS = 252 };
    double values[ROWS][RUNS];
    double shared[ROWS][RUNS];
    size_t by_table = 0;
    size_t by_row = 0;
    size_t ways = 0;
    (void)state;
    random_state = 1;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < RUNS; k++)
            values[i][k] = 100 * exp(0.05 * noise());
    for (unsigned set = 0; set < 1u << RUNS; set++) {
        struct plumb_family_p p[ROWS];
        size_t n[2] = {0, RUNS / 2};
        if (__builtin_popcount(set) != RUNS / 2)
            continue;
        for (size_t k = 0; k < RUNS; k++) {
            size_t at = n[set >> k & 1]++;
            for (size_t i = 0; i < ROWS; i++)
                shared[i][at] = values[i][k];
        }
        family(p, &shared[0][0], ROWS, RUNS / 2, RUNS / 2);
        double least = 1;
        double least_alone = 1;
        for (size_t i = 0; i < ROWS; i++) {
            struct plumb_family_p alone;
            family(&alone, shared[i], 1, RUNS / 2, RUNS / 2);
            least = fmin(least, p[i].up);
            least_alone = fmin(least_alone, alone.up);
        }
        by_table += least <= 0.02;
        by_row += least_alone <= 0.02;
        ways++;
    }
    assert_int_equal(ways, WAYS);
    assert_in_range(by_table, 1, WAYS / 50);
    assert_true(by_row > WAYS / 4);
}

static void one_changed_row_is_found_among_many(void **state)
{
    enum { ROWS = 60, SIDE = 10, RUNS = 2 * SIDE };
    double values[ROWS][RUNS];
    struct plumb_family_p p[ROWS];
    (void)state;
    random_state = 2;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < RUNS; k++)
            values[i][k] = (i == 17 && k >= SIDE ? 105 : 100) * exp(0.01 * noise());
    values[17][SIDE] = 900; /* a disturbed run, which alone would hide the rest */
    family(p, &values[0][0], ROWS, SIDE, SIDE);
    for (size_t i = 0; i < ROWS; i++)
        if (i == 17)
            assert_true(p[i].up <= 0.01 && p[i].down > 0.5);
        else
            assert_true(p[i].up > 0.02 && p[i].down > 0.02);
}

/* When the clearest row is explained, the others are measured against each other only. */
static void rows_step_down(void **state)
{
    static const double both[2][8] = {{100, 101, 102, 103, 200, 201, 202, 203},
                                      {10, 11, 12, 13, 14, 15, 16, 18}};
    struct plumb_family_p together[2];
    struct plumb_family_p alone;
    (void)state;
    family(together, &both[0][0], 2, 4, 4);
    family(&alone, both[1], 1, 4, 4);
    assert_float_equal(together[1].up, alone.up, 1e-12);
}

/* A row that moved by less than the threshold is not found, and does not hide one that moved. */
static void what_moves_by_less_than_the_threshold_does_not_count(void **state)
{
    static const double both[2][8] = {{100, 101, 100, 101, 102, 103, 102, 103},
                                      {10, 11, 12, 13, 14, 15, 11, 18}};
    struct plumb_family_p p[2];
    struct plumb_family_p alone;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_family(p, &both[0][0], 2, 4, 4, 0.05, &err), PLUMB_OK);
    assert_int_equal(plumb_family(&alone, both[1], 1, 4, 4, 0.05, &err), PLUMB_OK);
    assert_float_equal(p[0].up, 1, 0);
    assert_float_equal(p[1].up, alone.up, 1e-12);
    assert_true(alone.up < 0.1);
    family(p, &both[0][0], 2, 4, 4);
    assert_true(p[0].up < 0.05 && p[1].up > 0.05);
}

static void nothing_to_test_is_no_error(void **state)
{
    struct plumb_family_p p = {0.25, 0.25};
    static const double values[] = {1, 2};
    (void)state;
    family(&p, values, 0, 1, 1);
    family(&p, values, 1, 2, 0);
    assert_float_equal(p.up, 0.25, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_is_the_share_of_relabellings_that_reach_as_far),
        cmocka_unit_test(the_level_is_that_of_the_table),
        cmocka_unit_test(one_changed_row_is_found_among_many),
        cmocka_unit_test(rows_step_down),
        cmocka_unit_test(what_moves_by_less_than_the_threshold_does_not_count),
        cmocka_unit_test(nothing_to_test_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
