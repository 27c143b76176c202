/* Tests of the Mann-Whitney test, against p-values that were published or counted out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/compare/ranksum.h"

#define N(array) (sizeof(array) / sizeof *(array))

static struct plumb_ranksum tested(const double *a, size_t na, const double *b, size_t nb)
{
    struct plumb_ranksum out;
    plumb_error err = {0, ""};
    if (plumb_ranksum(&out, a, na, b, nb, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

static void small_samples_have_the_counted_p(void **state)
{
    /* Of the 20 orders of 3 and 3 values 2 are as far apart; of 70, 2; of 126, 14. */
    static const double a3[] = {1, 2, 3}, b3[] = {4, 5, 6};
    static const double a4[] = {1, 2, 3, 4}, b4[] = {5, 6, 7, 8};
    static const double ages_a[] = {19, 22, 16, 29, 24}, ages_b[] = {20, 11, 17, 12};
    struct plumb_ranksum r = tested(a3, 3, b3, 3);
    (void)state;
    assert_true(r.exact);
    assert_float_equal(r.u, 0, 0);
    assert_float_equal(r.p, 2.0 / 20, 1e-15);
    r = tested(a4, 4, b4, 4);
    assert_float_equal(r.p, 2.0 / 70, 1e-15);
    r = tested(ages_a, 5, ages_b, 4);
    assert_float_equal(r.u, 17, 0);
    assert_float_equal(r.p, 14.0 / 126, 1e-15);
}

static void a_published_example_comes_out(void **state)
{
    /* Hollander and Wolfe (1973), p. 69: permeability of membranes, W = 35, two-sided p 0.2544. */
    static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    static const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    struct plumb_ranksum r = tested(term, N(term), early, N(early));
    (void)state;
    assert_true(r.exact);
    assert_float_equal(r.u, 35, 0);
    assert_float_equal(r.p, 0.2544122544122544, 1e-14);
}

static void the_sides_can_be_swapped(void **state)
{
    static const double a[] = {1, 3, 5, 8.5, 9}, b[] = {2, 4, 6, 7, 8, 10, 11};
    struct plumb_ranksum one = tested(a, N(a), b, N(b));
    struct plumb_ranksum other = tested(b, N(b), a, N(a));
    (void)state;
    assert_float_equal(one.p, other.p, 1e-15);
    assert_float_equal(one.u + other.u, 35, 0);
}

static void ties_take_the_corrected_approximation(void **state)
{
    static const double a[] = {10, 10, 12, 13, 15}, b[] = {12, 14, 15, 15, 17, 18};
    static const double ones[] = {1, 1, 1}, twos[] = {2, 2, 2};
    struct plumb_ranksum r = tested(a, N(a), b, N(b));
    (void)state;
    assert_false(r.exact);
    assert_float_equal(r.u, 4.5, 0);
    assert_float_equal(r.p, 0.06414661873440443, 1e-12);
    assert_float_equal(tested(ones, 3, twos, 3).p, 0.04685417760387374, 1e-12);
}

static void large_samples_are_approximated_and_agree(void **state)
{
    double a[30], b[30];
    (void)state;
    for (int i = 0; i < 30; i++) {
        a[i] = 2.0 * i;
        b[i] = 2.0 * i + 15;
    }
    struct plumb_ranksum r = tested(a, 25, b, 25);
    assert_true(r.exact);
    assert_float_equal(r.u, 153, 0);
    assert_float_equal(r.p, 0.001612984914176526, 1e-13);
    r = tested(a, 30, b, 30);
    assert_false(r.exact);
    assert_float_equal(r.u, 253, 0);
    assert_float_equal(r.p, 0.0036708933924506602, 1e-13);
    assert_float_equal(r.p, 0.0031935408185939456, 0.0006); /* counted out */
}

/* Figures of scipy 1.17, alternative "two-sided". */
static void as_scipy_counts_where_scipy_does(void **state)
{
    static const double a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9.5};
    static const double b[] = {4.5, 5.5, 6.5, 7.5, 8.5, 10, 11, 12, 13};
    static const double few[] = {1.5, 2.5, 30.5};
    double many[60];
    struct plumb_ranksum r;
    (void)state;
    for (int i = 0; i < 60; i++)
        many[i] = i;
    assert_int_equal(plumb_ranksum_as_scipy(&r, a, 9, b, 9, NULL), PLUMB_OK);
    assert_false(r.exact);
    assert_float_equal(r.p, 0.0272753837615853, 1e-12);
    assert_float_equal(tested(a, 9, b, 9).p, 0.024434389140271493, 1e-12);
    assert_int_equal(plumb_ranksum_as_scipy(&r, few, 3, many, 60, NULL), PLUMB_OK);
    assert_true(r.exact);
    assert_float_equal(r.p, 0.08602150537634408, 1e-12);
    assert_int_equal(plumb_ranksum_as_scipy(&r, many, 60, few, 0, NULL), PLUMB_OK);
    assert_float_equal(r.p, 1, 0);
}

static void what_does_not_differ_has_p_1(void **state)
{
    static const double same[] = {7, 7, 7, 7}, a[] = {1, 4}, b[] = {2, 3};
    (void)state;
    assert_float_equal(tested(same, 4, same, 4).p, 1, 0);
    assert_float_equal(tested(same, 2, same, 0).p, 1, 0);
    assert_float_equal(tested(a, 2, b, 2).p, 1, 0);
}

static void the_least_p_is_that_of_complete_separation(void **state)
{
    double a[12], b[12];
    (void)state;
    for (int i = 0; i < 12; i++) {
        a[i] = i;
        b[i] = 100 + i;
    }
    for (size_t na = 1; na <= 12; na++)
        for (size_t nb = 1; nb <= 12; nb++)
            assert_float_equal(plumb_ranksum_least_p(na, nb), tested(a, na, b, nb).p, 1e-12);
    assert_true(plumb_ranksum_least_p(100000, 100000) < 1e-100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_samples_have_the_counted_p),
        cmocka_unit_test(a_published_example_comes_out),
        cmocka_unit_test(the_sides_can_be_swapped),
        cmocka_unit_test(ties_take_the_corrected_approximation),
        cmocka_unit_test(large_samples_are_approximated_and_agree),
        cmocka_unit_test(as_scipy_counts_where_scipy_does),
        cmocka_unit_test(what_does_not_differ_has_p_1),
        cmocka_unit_test(the_least_p_is_that_of_complete_separation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
