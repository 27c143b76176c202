/* Tests of meter.c: the energy of a part of the time, points that become fewer, and a machine
 * without counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "isolate/energy/meter.h"

static struct plumb_meter_series series(void)
{
    struct plumb_meter_series s = {.points = malloc(PLUMB_METER_POINTS * sizeof *s.points)};
    assert_non_null(s.points);
    return s;
}

static void the_energy_between_two_times_is_interpolated(void **state)
{
    struct plumb_meter_series s = series();
    (void)state;
    assert_true(plumb_meter_between(&s, 0, 100) == 0);
    plumb_meter_add(&s, 100, 0);
    plumb_meter_add(&s, 200, 10);
    plumb_meter_add(&s, 300, 10);
    plumb_meter_add(&s, 400, 50);
    assert_true(plumb_meter_between(&s, 100, 400) == 50);
    assert_true(plumb_meter_between(&s, 150, 300) == 5);
    assert_true(plumb_meter_between(&s, 200, 300) == 0);
    assert_true(plumb_meter_between(&s, 150, 350) == 25);
    assert_true(plumb_meter_between(&s, 0, 1000) == 50); /* beyond its begin and end */
    assert_true(plumb_meter_between(&s, 400, 300) == 0);
    free(s.points);
}

static void points_become_fewer_and_keep_the_sum(void **state)
{
    struct plumb_meter_series s = series();
    uint64_t n = 5 * (uint64_t)PLUMB_METER_POINTS;
    (void)state;
    for (uint64_t i = 0; i <= n; i++)
        plumb_meter_add(&s, 10 * i, (double)i);
    assert_true(s.count <= PLUMB_METER_POINTS);
    assert_true(s.count > PLUMB_METER_POINTS / 4);
    assert_true(plumb_meter_between(&s, 0, 10 * n) == (double)n);
    for (uint64_t i = 0; i < n; i += 4096) /* even power: any part is right */
        assert_true(fabs(plumb_meter_between(&s, 10 * i, 10 * i + 10000) -
                         (double)(n - i < 1000 ? n - i : 1000)) < 1e-6);
    free(s.points);
}

static void a_machine_without_counters_has_no_energy(void **state)
{
    struct plumb_meter *m;
    struct plumb_meter_sums sums;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_meter_open(&m, "nowhere", "libno-such-driver.so.1", &err), PLUMB_OK);
    plumb_meter_stop(m);
    plumb_meter_stop(m);
    plumb_meter_sums(&sums, m);
    assert_true(isnan(sums.cpu_joules) && isnan(sums.gpu_joules));
    assert_true(sums.seconds >= 0 && sums.gpu_samples == 0);
    assert_true(sums.rapl->why[0] && sums.gpu_why[0]);
    assert_true(plumb_meter_cpu_between(m, 0, UINT64_MAX) == 0);
    assert_true(plumb_meter_gpu_between(m, 0, UINT64_MAX) == 0);
    plumb_meter_close(m);
    plumb_meter_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_energy_between_two_times_is_interpolated),
        cmocka_unit_test(points_become_fewer_and_keep_the_sum),
        cmocka_unit_test(a_machine_without_counters_has_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
