/* The response of the designed filters, measured through the kernels and compared with the formula
 * of a Butterworth filter, which says nothing of sections: |H|^2 = 1 / (1 + (f / fc)^2N), with
 * frequencies warped as the bilinear transform warps them.
 * link: none
 */
#include "butterworth.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LENGTH = 1 << 16 };

static double samples[LENGTH];

/* Fills `samples` with the filter's response to one sample of 1. */
static void impulse(const struct iir_section *sections, size_t count)
{
    double state[BUTTERWORTH_SECTIONS_MAX][2] = {{0}};
    struct iir_signal s = {IIR_F64, 1, LENGTH, LENGTH, samples, samples};

    for (int n = 0; n < LENGTH; n++)
        samples[n] = n == 0;
    sos_forward(sections, count, state, &s);
}

static double gain_at(double turn) /* of a sample */
{
    double complex sum = 0.0, step = cexp(-2.0 * M_PI * I * turn), phase = 1.0;

    for (int n = 0; n < LENGTH; n++) {
        sum += samples[n] * phase;
        phase *= step;
    }
    return cabs(sum);
}

static double formula(enum butterworth_kind kind, int order, double f, double cutoff, double rate)
{
    double ratio = tan(M_PI * f / rate) / tan(M_PI * cutoff / rate);
    if (kind == BUTTERWORTH_HIGHPASS)
        ratio = 1.0 / ratio;
    return 1.0 / sqrt(1.0 + pow(ratio, 2.0 * order));
}

static void check(enum butterworth_kind kind, int order, double cutoff)
{
    const double rate = 48000.0, at[] = {20.0, 150.0, 900.0, 1000.0, 3000.0, 11000.0, 23000.0};
    struct iir_section sections[BUTTERWORTH_SECTIONS_MAX];
    size_t count = butterworth_design(sections, kind, order, cutoff, rate);

    assert_int_equal(count, (order + 1) / 2);
    impulse(sections, count);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        double measured = gain_at(at[i] / rate);
        double wanted = formula(kind, order, at[i], cutoff, rate);
        if (fabs(measured - wanted) > 1e-9)
            fail_msg("order %d, %g Hz: gain %.12g, formula %.12g", order, at[i], measured, wanted);
    }
}

static void every_order_has_the_response_of_the_formula(void **state)
{
    (void)state;
    for (int order = 1; order <= BUTTERWORTH_ORDER_MAX; order++) {
        check(BUTTERWORTH_LOWPASS, order, 1000.0);
        check(BUTTERWORTH_HIGHPASS, order, 1000.0);
        check(BUTTERWORTH_LOWPASS, order, 15000.0);
        check(BUTTERWORTH_HIGHPASS, order, 300.0);
    }
}

static void what_cannot_be_designed_is_refused(void **state)
{
    const double bad[] = {0.0, -1.0, 24000.0, 30000.0, NAN, INFINITY};
    struct iir_section s[BUTTERWORTH_SECTIONS_MAX];
    (void)state;

    assert_int_equal(butterworth_design(s, BUTTERWORTH_LOWPASS, 0, 1000.0, 48000.0), 0);
    assert_int_equal(butterworth_design(s, BUTTERWORTH_LOWPASS, 11, 1000.0, 48000.0), 0);
    assert_int_equal(butterworth_design(s, BUTTERWORTH_LOWPASS, 2, 1000.0, INFINITY), 0);
    assert_int_equal(butterworth_design(s, BUTTERWORTH_LOWPASS, 2, 1000.0, NAN), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(butterworth_design(s, BUTTERWORTH_HIGHPASS, 2, bad[i], 48000.0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_has_the_response_of_the_formula),
        cmocka_unit_test(what_cannot_be_designed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
