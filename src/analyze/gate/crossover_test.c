/* Tests of the crossover of two cost curves: the planted size is found, and noise widens the
 * interval that it lies in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analyze/gate/crossover.h"

enum { SIZES = 18, ROUNDS = 30 };

static double uniform(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*x >> 11) / 9007199254740992.0;
}

/* A sequential scan costs a * size, a parallel one a start and a third of that: equal at `planted`.
 * */
static struct plumb_gate_crossing sweep(double planted, double noise)
{
    static double a[SIZES][ROUNDS], b[SIZES][ROUNDS];
    struct plumb_gate_size points[SIZES];
    struct plumb_gate_crossing found;
    plumb_error err;
    uint64_t x = 5;
    for (int i = 0; i < SIZES; i++) {
        double size = floor(256 * pow(128, i / 17.0) + 0.5);
        points[i] = (struct plumb_gate_size){(uint64_t)size, a[i], b[i], ROUNDS, 0};
        for (int k = 0; k < ROUNDS; k++) {
            a[i][k] = 3 * size * (1 + noise * (uniform(&x) - 0.5));
            b[i][k] = (2 * planted + size) * (1 + noise * (uniform(&x) - 0.5));
        }
    }
    assert_int_equal(plumb_gate_find_crossover(&found, points, SIZES, &err), PLUMB_OK);
    return found;
}

static void the_planted_crossover_is_found(void **state)
{
    struct plumb_gate_crossing c = sweep(3000, 0.01);
    (void)state;
    assert_int_equal(c.threshold, 3341); /* the first size of the grid above it */
    assert_int_equal(c.from, 3341);
    assert_int_equal(c.to, 3341);
    assert_true(fabs(c.estimate / 3000 - 1) < 0.03);
    assert_int_equal(sweep(1000, 0.01).threshold, 1067);
}

static void noise_widens_the_interval_around_it(void **state)
{
    struct plumb_gate_crossing c = sweep(3000, 0.6);
    (void)state;
    assert_true(c.from <= 3341 && c.to >= 3341 && c.from < c.to);
}

static void without_a_crossover_none_is_reported(void **state)
{
    struct plumb_gate_crossing c = sweep(1e6, 0.01);
    (void)state;
    assert_int_equal(c.threshold, 0);
    assert_int_equal(c.to, 0);
    assert_int_equal(c.from, 0);
    assert_true(isnan(c.estimate));
    c = sweep(1, 0.01); /* B is always faster */
    assert_int_equal(c.threshold, 256);
    assert_int_equal(c.from, 256);
    assert_int_equal(c.to, 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_planted_crossover_is_found),
        cmocka_unit_test(noise_widens_the_interval_around_it),
        cmocka_unit_test(without_a_crossover_none_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
