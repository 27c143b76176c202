/* The P-square estimator; its golden values are in tests/rows/cv_9_p2_median_test.c. */
#include "base/stats/p2.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_has_the_median_zero(void **state)
{
    struct plumb_p2 p = {0};
    (void)state;
    assert_true(plumb_p2_median(&p) == 0);
}

static void the_struct_is_as_large_as_its_header_says(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct plumb_p2), 72);
}

static void up_to_five_samples_it_is_exact_in_any_order(void **state)
{
    static const double samples[][5] = {{5, 1, 4, 2, 3}, {1, 2, 3, 4, 5}, {3, 5, 1, 4, 2}};
    static const double medians[][5] = {{5, 3, 4, 3, 3}, {1, 1.5, 2, 2.5, 3}, {3, 4, 3, 3.5, 3}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct plumb_p2 p = {0};
        for (size_t i = 0; i < 5; i++) {
            plumb_p2_add(&p, samples[k][i]);
            assert_true(plumb_p2_median(&p) == medians[k][i]);
        }
    }
}

static void the_outer_markers_are_the_extremes_and_the_heights_are_in_order(void **state)
{
    struct plumb_p2 p = {0};
    uint64_t x = 88172645463325252u;
    double min = INFINITY;
    double max = 0;
    (void)state;
    for (uint32_t i = 1; i <= 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double v = (double)(x % 1000003);
        min = v < min ? v : min;
        max = v > max ? v : max;
        plumb_p2_add(&p, v);
        if (i < 5)
            continue;
        assert_true(p.height[0] == min && p.height[4] == max);
        assert_int_equal(p.position[0], 1);
        assert_int_equal(p.position[4], i);
        for (size_t k = 0; k < 4; k++) {
            assert_true(p.position[k] < p.position[k + 1]);
            assert_true(p.height[k] <= p.height[k + 1]);
        }
    }
    assert_true(fabs(plumb_p2_median(&p) - 500000) < 10000);
}

static void samples_beyond_the_last_position_are_ignored(void **state)
{
    struct plumb_p2 p = {.count = UINT32_MAX,
                         .height = {1, 2, 3, 4, 5},
                         .position = {1, 1u << 30, 1u << 31, 3u << 30, UINT32_MAX}};
    struct plumb_p2 before = p;
    (void)state;
    plumb_p2_add(&p, 100);
    assert_memory_equal(&p, &before, sizeof p);
}

/* ---- The plain formulas ---------------------------------------------------------------------- */

/* The paper's formulas, one sample after another, all in memory. The estimator under test must
 * agree to the last bit. */
static double plain_height(const struct plumb_p2 *p, size_t i, bool up)
{
    const double *h = p->height;
    const uint32_t *n = p->position;
    double below = (double)(n[i] - n[i - 1]), above = (double)(n[i + 1] - n[i]), d = up ? 1 : -1;
    double height = h[i] + d / (above + below) *
                               ((below + d) * (h[i + 1] - h[i]) / above +
                                (above - d) * (h[i] - h[i - 1]) / below);
    if (h[i - 1] < height && height < h[i + 1])
        return height;
    if (up)
        return h[i] + (h[i + 1] - h[i]) / ((double)n[i + 1] - (double)n[i]);
    return h[i] - (h[i - 1] - h[i]) / ((double)n[i - 1] - (double)n[i]);
}

static void plain_add(struct plumb_p2 *p, double x)
{
    size_t cell = 0;
    if (p->count < 5) {
        size_t i = (size_t)p->count++;
        for (; i > 0 && p->height[i - 1] > x; i--)
            p->height[i] = p->height[i - 1];
        p->height[i] = x;
        for (i = 0; i < 5 && p->count == 5; i++)
            p->position[i] = (uint32_t)i + 1;
        return;
    }
    p->count++;
    p->height[0] = x < p->height[0] ? x : p->height[0];
    p->height[4] = x > p->height[4] ? x : p->height[4];
    while (cell < 3 && !(x < p->height[cell + 1]))
        cell++;
    for (size_t i = cell + 1; i < 5; i++)
        p->position[i]++;
    for (size_t i = 1; i < 4; i++) {
        double gap = 1 + (double)(p->count - 1) * (double)i / 4 - (double)p->position[i];
        bool up = gap >= 1 && p->position[i + 1] - p->position[i] > 1;
        bool down = gap <= -1 && p->position[i] - p->position[i - 1] > 1;
        if (!up && !down)
            continue;
        if (p->height[i - 1] != p->height[i + 1])
            p->height[i] = plain_height(p, i, up);
        p->position[i] = up ? p->position[i] + 1 : p->position[i] - 1;
    }
}

enum { SHAPES = 12 };

static double sample(uint32_t shape, uint64_t i, uint64_t r)
{
    switch (shape) {
    case 0:
        return (double)(r % 1000003);
    case 1:
        return (double)(28 + 2 * (r % 2));
    case 2: /* few values, some of them rare */
        return (double)(26 + 2 * (r % 64 < 3 ? 0 : r % 64 < 30 ? 1 : r % 64 < 60 ? 2 : r % 9));
    case 3:
        return 42;
    case 4:
        return (double)i;
    case 5:
        return -(double)i;
    case 6:
        return (double)(i * 37 % 23);
    case 7: /* a step */
        return (double)(r % 100 + (i > 3000 ? 100000 : 0));
    case 8: /* any bits: infinities and NaN among them */
    {
        double x;
        memcpy(&x, &r, sizeof x);
        return x;
    }
    case 9: /* long tails on both sides */
        return ldexp(r & 1 ? 1 : -1, (int)(r >> 8 & 255));
    case 10:
        return (double)(r % 7 == 0 ? r : 0);
    default:
        return (double)r;
    }
}

static void every_sample_gives_what_the_plain_formulas_give(void **state)
{
    uint64_t r = 88172645463325252u;
    double x[64];
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        struct plumb_p2 want = {0}, one = {0}, rows = {0};
        for (uint64_t i = 0; i < 20000;) {
            size_t samples = (size_t)(r >> 32) % (sizeof x / sizeof x[0] + 1);
            for (size_t k = 0; k < samples; k++, i++) {
                r ^= r << 13;
                r ^= r >> 7;
                r ^= r << 17;
                x[k] = sample(shape, i, r);
                plumb_p2_add(&one, x[k]);
                plain_add(&want, x[k]);
                if (want.count >= 5)
                    assert_memory_equal(&one, &want, sizeof one);
            }
            plumb_p2_add_row(&rows, x, samples);
            assert_memory_equal(&rows, &one, sizeof one);
            r ^= r << 13;
            r ^= r >> 7;
            r ^= r << 17;
        }
    }
}

static void a_row_ends_where_the_positions_do(void **state)
{
    static const double x[3] = {100, 100, 100};
    struct plumb_p2 p = {.count = UINT32_MAX - 2,
                         .height = {1, 2, 3, 4, 5},
                         .position = {1, 1u << 30, 1u << 31, 3u << 30, UINT32_MAX - 2}};
    (void)state;
    plumb_p2_add_row(&p, x, 3);
    assert_int_equal(p.count, UINT32_MAX);
    assert_int_equal(p.position[4], UINT32_MAX);
    assert_true(p.height[4] == 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_the_median_zero),
        cmocka_unit_test(the_struct_is_as_large_as_its_header_says),
        cmocka_unit_test(up_to_five_samples_it_is_exact_in_any_order),
        cmocka_unit_test(the_outer_markers_are_the_extremes_and_the_heights_are_in_order),
        cmocka_unit_test(samples_beyond_the_last_position_are_ignored),
        cmocka_unit_test(every_sample_gives_what_the_plain_formulas_give),
        cmocka_unit_test(a_row_ends_where_the_positions_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
