/* Tests of gpu_power.c: the trapezoidal rule, and a driver that is absent or of another kind. A
 * driver that answers is in tests/rows/tx_22_energy.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "isolate/energy/gpu_power.h"

static void a_ramp_is_integrated_exactly(void **state)
{
    struct plumb_power_sum sum = {0};
    (void)state;
    for (uint64_t i = 0; i <= 10; i++) /* from 50 W to 150 W in a second */
        plumb_power_add(&sum, UINT64_C(7000000000) + i * 100000000, 50 + 10 * (double)i);
    assert_true(fabs(sum.joules - 100) < 1e-12);
    assert_true(sum.peak_w == 150);
    assert_int_equal(sum.samples, 11);
}

static void samples_need_not_be_evenly_spaced(void **state)
{
    struct plumb_power_sum sum = {0};
    (void)state;
    plumb_power_add(&sum, 0, 8);
    assert_true(sum.joules == 0 && sum.peak_w == 8);
    plumb_power_add(&sum, 3000000000, 4);
    plumb_power_add(&sum, 3500000000, 4);
    assert_true(sum.joules == 18 + 2);
    assert_true(sum.peak_w == 8);
}

static void a_driver_that_is_not_there_is_named(void **state)
{
    struct plumb_gpu_power power;
    (void)state;
    plumb_gpu_power_open(&power, "libno-such-driver.so.1");
    assert_int_equal(power.count, 0);
    assert_non_null(strstr(power.why, "libno-such-driver.so.1 cannot be loaded"));
    assert_true(isnan(plumb_gpu_power_watts(&power)));
    plumb_gpu_power_close(&power);
    plumb_gpu_power_open(&power, "libm.so.6");
    assert_int_equal(power.count, 0);
    assert_non_null(strstr(power.why, "lacks functions of NVML"));
    plumb_gpu_power_close(&power);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ramp_is_integrated_exactly),
        cmocka_unit_test(samples_need_not_be_evenly_spaced),
        cmocka_unit_test(a_driver_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
