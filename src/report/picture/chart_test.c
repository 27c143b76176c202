/* Tests of chart.c: round ticks that cover the range, units that suit it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/picture/chart.h"

static void assert_label(const struct plumb_chart_axis *axis, double tick, const char *text)
{
    struct plumb_buf out = {0};
    plumb_chart_label(&out, axis, tick);
    assert_string_equal(out.data, text);
    plumb_buf_fini(&out);
}

static void bytes_have_binary_units_and_round_steps(void **state)
{
    const double mib = 1048576;
    (void)state;
    struct plumb_chart_axis a = plumb_chart_bytes(300 * mib, 6);
    assert_string_equal(a.name, "MiB");
    assert_float_equal(a.step, 50 * mib, 1e-3);
    assert_float_equal(a.to, 300 * mib, 1e-3);
    assert_label(&a, a.step, "50");
    a = plumb_chart_bytes(301 * mib, 6);
    assert_float_equal(a.to, 400 * mib, 1e-3);
    a = plumb_chart_bytes(1.5 * 1024 * mib, 6);
    assert_string_equal(a.name, "GiB");
    assert_label(&a, a.step, "0.5");
    a = plumb_chart_bytes(0, 6);
    assert_string_equal(a.name, "B");
    assert_label(&a, a.to, "1");
    a = plumb_chart_bytes((double)UINT64_MAX, 6);
    assert_string_equal(a.name, "EiB");
    assert_label(&a, a.to, "20");
}

static void time_keeps_its_range(void **state)
{
    (void)state;
    struct plumb_chart_axis a = plumb_chart_time(0, 3.937e9, 12);
    assert_string_equal(a.name, "s");
    assert_float_equal(a.to, 3.937e9, 1e-3);
    assert_float_equal(a.step, 0.5e9, 1e-3);
    assert_label(&a, 3 * a.step, "1.5");
    a = plumb_chart_time(100e9, 100.01e9, 12);
    assert_label(&a, plumb_chart_first(&a) + a.step, "100.001");
    a = plumb_chart_time(7, 7, 12);
    assert_true(a.to > a.from && a.step > 0);
    a = plumb_chart_time(0, 832e6, 12);
    assert_string_equal(a.name, "ms");
    assert_label(&a, a.step, "100");
}

static void any_range_has_few_ticks(void **state)
{
    (void)state;
    for (double most = 1; most < 2e19; most *= 1.37)
        for (int ticks = 2; ticks < 15; ticks++) {
            struct plumb_chart_axis bytes = plumb_chart_bytes(most, ticks);
            struct plumb_chart_axis time = plumb_chart_time(most, 3 * most, ticks);
            assert_true(bytes.to >= most * (1 - 1e-9) && isfinite(bytes.step) && bytes.step > 0);
            assert_true(bytes.to / bytes.step <= ticks + 1.001);
            assert_true(plumb_chart_first(&time) >= most * (1 - 1e-9));
            assert_true((time.to - plumb_chart_first(&time)) / time.step <= ticks + 1e-6);
            assert_true(time.decimals >= 0 && time.decimals < 12);
        }
}

static void durations_have_the_unit_that_suits_them(void **state)
{
    static const struct {
        double ns;
        const char *text;
    } pairs[] = {{0, "0 ns"},         {999, "999 ns"},          {1000, "1.00 us"},
                 {12345, "12.35 us"}, {494660000, "494.66 ms"}, {2953629311.0, "2.954 s"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct plumb_buf out = {0};
        plumb_put_duration(&out, pairs[i].ns);
        assert_string_equal(out.data, pairs[i].text);
        plumb_buf_fini(&out);
    }
}

static void bytes_for_people_have_the_unit_that_suits_them(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } pairs[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {-1572864, "-1.5 MiB"},
                 {312795136, "298.3 MiB"},
                 {18446744073709551615.0, "16.0 EiB"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct plumb_buf out = {0};
        plumb_put_bytes(&out, pairs[i].bytes);
        assert_string_equal(out.data, pairs[i].text);
        plumb_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_binary_units_and_round_steps),
        cmocka_unit_test(time_keeps_its_range),
        cmocka_unit_test(any_range_has_few_ticks),
        cmocka_unit_test(durations_have_the_unit_that_suits_them),
        cmocka_unit_test(bytes_for_people_have_the_unit_that_suits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
