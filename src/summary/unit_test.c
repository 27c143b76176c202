/* Tests of units: which one a column has, and how many digits a time keeps in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "summary/unit.h"

static const char *unit_of(enum plumb_unit_choice usual, const double *ns, size_t n)
{
    return plumb_unit_for(PLUMB_TIME_IN_AUTO, usual, ns, n)->name;
}

static void shows(enum plumb_unit_choice unit, double ns, const char *want)
{
    struct plumb_buf out = {0};
    plumb_unit_put(&out, plumb_unit(unit), ns, 0);
    assert_string_equal(out.data, want);
    plumb_buf_fini(&out);
}

static void the_usual_unit_stays_while_nothing_is_lost_in_it(void **state)
{
    static const double stages[] = {10e6, 2e6, 1388.21e6, 0};
    static const double exact[] = {0.05e6, 0.5e6, 12e6};
    static const double none[] = {0, 0};
    (void)state;
    assert_string_equal(unit_of(PLUMB_TIME_IN_MS, stages, 4), "ms");
    assert_string_equal(unit_of(PLUMB_TIME_IN_MS, exact, 3), "ms");
    assert_string_equal(unit_of(PLUMB_TIME_IN_S, none, 2), "s");
    assert_string_equal(unit_of(PLUMB_TIME_IN_MS, none, 0), "ms");
}

static void otherwise_half_of_the_column_is_1_or_more(void **state)
{
    static const double kernels[] = {10701, 823, 3204.5, 2e9, 0};
    static const double tiny[] = {45.3, 80.2, 120.9, 9e6};
    static const double sums[] = {3.4e9, 0.0000123e9, 2.2e9};
    (void)state;
    assert_string_equal(unit_of(PLUMB_TIME_IN_MS, kernels, 5), "us");
    assert_string_equal(unit_of(PLUMB_TIME_IN_MS, tiny, 4), "ns");
    assert_string_equal(unit_of(PLUMB_TIME_IN_S, sums, 3), "s");
    assert_string_equal(plumb_unit_for(PLUMB_TIME_IN_NS, PLUMB_TIME_IN_MS, sums, 3)->name, "ns");
}

static void a_time_that_was_measured_has_three_digits(void **state)
{
    (void)state;
    shows(PLUMB_TIME_IN_MS, 10e6, "10.00");
    shows(PLUMB_TIME_IN_MS, 213, "0.000213");
    shows(PLUMB_TIME_IN_MS, 823.4e3, "0.823");
    shows(PLUMB_TIME_IN_MS, 0.5e6, "0.50"); /* exact, and as scripts know it */
    shows(PLUMB_TIME_IN_US, 500, "0.500");
    shows(PLUMB_TIME_IN_US, 10701, "10.70");
    shows(PLUMB_TIME_IN_NS, 45.26, "45.3");
    shows(PLUMB_TIME_IN_NS, 1.5, "1.50");
    shows(PLUMB_TIME_IN_S, 9e6, "0.009");
    shows(PLUMB_TIME_IN_S, 31512345, "0.0315");
    shows(PLUMB_TIME_IN_S, 0, "0.000");
    shows(PLUMB_TIME_IN_S, 1e-9, "0.000000000000"); /* no clock measures that */
}

static void a_time_alone_has_the_unit_that_fits_it(void **state)
{
    static const struct {
        double ns;
        const char *want;
    } times[] = {{0, "0.0 ns"},
                 {300, "300.0 ns"},
                 {1234, "1.23 us"},
                 {5.5e6, "5.50 ms"},
                 {12.5e9, "12.500 s"}};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct plumb_buf out = {0};
        plumb_unit_put_any(&out, times[i].ns);
        assert_string_equal(out.data, times[i].want);
        plumb_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_unit_stays_while_nothing_is_lost_in_it),
        cmocka_unit_test(otherwise_half_of_the_column_is_1_or_more),
        cmocka_unit_test(a_time_that_was_measured_has_three_digits),
        cmocka_unit_test(a_time_alone_has_the_unit_that_fits_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
