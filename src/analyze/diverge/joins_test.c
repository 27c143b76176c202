/* Tests of wholes and their parts: parts that add up become one record, others are left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diverge/diverge.h"

enum { ROWS = 4, WIDTH = 3, MOST = 64 };

struct runs {
    struct plumb_activations a, b;
    struct plumb_diverge d;
};

static void begin(struct runs *r)
{
    plumb_activations_init(&r->a);
    plumb_activations_init(&r->b);
}

static void end(struct runs *r)
{
    plumb_diverge_fini(&r->d);
    plumb_activations_fini(&r->a);
    plumb_activations_fini(&r->b);
}

static void run(struct runs *r)
{
    plumb_error err = {0, ""};
    struct plumb_diverge_options options = {.relative = -1, .absolute = -1};
    plumb_diverge_init(&r->d, &r->a, &r->b, &options);
    if (plumb_diverge_run(&r->d, &err) < 0)
        fail_msg("%s", err.message);
}

/* The i-th value of a made-up tensor; `kind` tells tensors apart. */
static double value_of(int kind, int i)
{
    return sin(1.7 * (kind + 1) * (i + 1)) + 0.1 * kind;
}

/* A record of `n` values of shape [rows, n / rows], or [n] for 0 rows; `stats` of abs_mean and sum,
 * or of all. */
static void add_at(struct plumb_activations *t, int step, const char *module, const double *values,
                   int n, int rows, bool all)
{
    struct plumb_activation r = plumb_activation_of(t, module, "out", step);
    int64_t shape[2] = {rows ? rows : n, rows ? n / rows : 0};
    double sum = 0, magnitude = 0, square = 0, min = INFINITY, max = -INFINITY;
    for (int i = 0; i < n; i++) {
        sum += values[i];
        magnitude += fabs(values[i]);
        square += values[i] * values[i];
        min = fmin(min, values[i]);
        max = fmax(max, values[i]);
    }
    plumb_activation_set(&r, PLUMB_ACT_ABS_MEAN, magnitude / n);
    plumb_activation_set(&r, PLUMB_ACT_SUM, sum);
    if (all) {
        plumb_activation_set(&r, PLUMB_ACT_MIN, min);
        plumb_activation_set(&r, PLUMB_ACT_MAX, max);
        plumb_activation_set(&r, PLUMB_ACT_MEAN, sum / n);
        plumb_activation_set(&r, PLUMB_ACT_L2, sqrt(square));
        plumb_activation_set(&r, PLUMB_ACT_RMS, sqrt(square / n));
        plumb_activation_set(&r, PLUMB_ACT_STD, sqrt((square - sum * sum / n) / (n - 1)));
    }
    r.dtype = plumb_activations_str_id(t, "float32");
    r.shape = plumb_activations_shape_id(t, shape, rows ? 2 : 1);
    r.has |= 1u << PLUMB_ACT_SHAPE;
    plumb_activations_add(t, &r);
}

static void add(struct plumb_activations *t, const char *module, const double *values, int n,
                int rows, bool all)
{
    add_at(t, 0, module, values, n, rows, all);
}

/* A tensor that both sides give out. */
static void add_both(struct runs *r, const char *module, int kind)
{
    double values[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        values[i] = value_of(kind, i);
    add(&r->a, module, values, ROWS * WIDTH, ROWS, true);
    add(&r->b, module, values, ROWS * WIDTH, ROWS, true);
}

/* Two parts in A; in B what both are together, times `factor`, of `rows` rows. */
static void add_fused(struct runs *r, const char *name, int kind, double scale, double factor,
                      int rows, bool all)
{
    char text[MOST];
    double parts[2 * ROWS * WIDTH];
    for (int i = 0; i < 2 * ROWS * WIDTH; i++)
        parts[i] = scale * value_of(kind + i / (ROWS * WIDTH), i);
    snprintf(text, sizeof text, "%s.gate", name);
    add(&r->a, text, parts, ROWS * WIDTH, ROWS, all);
    snprintf(text, sizeof text, "%s.up", name);
    add(&r->a, text, parts + ROWS * WIDTH, ROWS * WIDTH, ROWS, all);
    for (int i = 0; i < 2 * ROWS * WIDTH; i++)
        parts[i] *= factor;
    snprintf(text, sizeof text, "%s.both", name);
    add(&r->b, text, parts, 2 * ROWS * WIDTH, rows, all);
}

static void parts_that_add_up_are_the_whole(void **state)
{
    struct runs r;
    (void)state;
    for (int all = 0; all < 2; all++) {
        begin(&r);
        add_both(&r, "before", 1);
        add_fused(&r, "mlp", 3, 1, 1, ROWS, all);
        add_both(&r, "after", 2);
        run(&r);
        assert_int_equal(r.d.join_count, 1);
        assert_int_equal(r.d.joins[0].dimension, 1);
        assert_false(r.d.joins[0].by_kind);
        assert_int_equal(r.d.by_how[PLUMB_HOW_JOINED], 1);
        assert_int_equal(r.d.pairs, 3);
        assert_int_equal(r.d.given[PLUMB_DIVERGE_A], 4);
        assert_int_equal(r.d.sides[PLUMB_DIVERGE_A].unmatched, 0);
        assert_int_equal(r.d.sides[PLUMB_DIVERGE_B].unmatched, 0);
        assert_int_equal(r.d.culprit.kind, PLUMB_DIVERGE_SAME);
        /* Behind its parts, with all that adds up. */
        const struct plumb_activations *t = r.d.sides[PLUMB_DIVERGE_A].t;
        assert_int_equal(t->count, 5);
        assert_string_equal(plumb_activations_text(t, t->module[3]), "mlp.{gate,up}");
        for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
            double x = plumb_activations_stat(t, 3, f);
            double y = plumb_activations_stat(&r.b, 1, f);
            assert_int_equal(isnan(x), isnan(y));
            assert_true(isnan(x) || fabs(x - y) < 1e-9);
        }
        end(&r);
    }
}

static void parts_that_do_not_add_up_are_left_alone(void **state)
{
    struct runs r;
    (void)state;
    begin(&r);
    add_both(&r, "before", 1);
    add_fused(&r, "mlp", 3, 1, 1.5, ROWS, true);
    add_both(&r, "after", 2);
    run(&r);
    assert_int_equal(r.d.join_count, 0);
    assert_int_equal(r.d.sides[PLUMB_DIVERGE_A].unmatched, 2);
    assert_int_equal(r.d.sides[PLUMB_DIVERGE_B].unmatched, 1);
    end(&r);
}

static void zeros_prove_nothing(void **state)
{
    struct runs r;
    (void)state;
    begin(&r);
    add_both(&r, "before", 1);
    add_fused(&r, "mlp", 3, 0, 1, ROWS, true);
    add_both(&r, "after", 2);
    run(&r);
    assert_int_equal(r.d.join_count, 0);
    end(&r);
}

static void without_a_dimension_more_figures_must_agree(void **state)
{
    struct runs r;
    (void)state;
    for (int all = 0; all < 2; all++) {
        begin(&r);
        add_both(&r, "before", 1);
        add_fused(&r, "mlp", 3, 1, 1, 3, all); /* 3 rows of 8 are not two times 4 of 3 */
        add_both(&r, "after", 2);
        run(&r);
        assert_int_equal(r.d.join_count, all);
        if (all)
            assert_int_equal(r.d.joins[0].dimension, -1);
        end(&r);
    }
}

static void a_fault_in_one_is_known_by_its_kind(void **state)
{
    struct runs r;
    char name[MOST];
    (void)state;
    begin(&r);
    for (int block = 0; block < 4; block++) {
        snprintf(name, sizeof name, "block.%d.norm", block);
        add_both(&r, name, 10 + block);
        snprintf(name, sizeof name, "block.%d", block);
        add_fused(&r, name, 20 + 2 * block, 1, block == 2 ? 1.5 : 1, ROWS, true);
    }
    run(&r);
    assert_int_equal(r.d.join_count, 4);
    assert_true(r.d.joins[3].by_kind);
    assert_int_equal(r.d.culprit.kind, PLUMB_DIVERGE_JUMP);
    const struct plumb_activations *t = r.d.sides[PLUMB_DIVERGE_A].t;
    assert_string_equal(plumb_activations_text(t, t->module[r.d.culprit.a]), "block.2.{gate,up}");
    end(&r);
}

static void sizes_of_one_do_not_count(void **state)
{
    struct runs r;
    double both[2 * WIDTH];
    (void)state;
    begin(&r);
    add_both(&r, "before", 1);
    for (int i = 0; i < 2 * WIDTH; i++)
        both[i] = value_of(3, i);
    add(&r.a, "mlp.gate", both, WIDTH, 1, false); /* [1, 3] twice, and [6] */
    add(&r.a, "mlp.up", both + WIDTH, WIDTH, 1, false);
    add(&r.b, "mlp.both", both, 2 * WIDTH, 0, false);
    add_both(&r, "after", 2);
    run(&r);
    assert_int_equal(r.d.join_count, 1);
    assert_int_equal(r.d.joins[0].dimension, 0);
    end(&r);
}

/* q, k in A; in B both in one, and a rotation of q that turns nothing in the first step. The record
 * after it is wrong in the second. */
static void a_part_is_not_what_it_equals_in_one_step(void **state)
{
    enum { N = ROWS * WIDTH };
    struct runs r;
    (void)state;
    begin(&r);
    for (int step = 0; step < 2; step++) {
        double x[N];
        double both[2 * N];
        double turned[N];
        double wrong[N];
        for (int i = 0; i < 2 * N; i++)
            both[i] = value_of(20 + 5 * step, i);
        for (int i = 0; i < N; i++) {
            x[i] = value_of(50 + step, i);
            turned[i] = step ? value_of(33, i) : both[i];
            wrong[i] = value_of(60 + step, i);
        }
        add_at(&r.a, step, "norm", x, N, ROWS, true);
        add_at(&r.b, step, "norm", x, N, ROWS, true);
        add_at(&r.a, step, "first.q", both, N, ROWS, true);
        add_at(&r.a, step, "first.k", both + N, N, ROWS, true);
        add_at(&r.b, step, "second.both", both, 2 * N, ROWS, true);
        add_at(&r.b, step, "second.turned", turned, N, ROWS, true);
        add_at(&r.a, step, "mixed", wrong, N, ROWS, true);
        for (int i = 0; i < N && step; i++)
            wrong[i] *= 1.5;
        add_at(&r.b, step, "mixed", wrong, N, ROWS, true);
    }
    run(&r);
    assert_int_equal(r.d.join_count, 1);
    const struct plumb_activations *t = r.d.sides[PLUMB_DIVERGE_A].t;
    assert_string_equal(plumb_activations_text(t, t->module[r.d.culprit.a]), "mixed");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_that_add_up_are_the_whole),
        cmocka_unit_test(parts_that_do_not_add_up_are_left_alone),
        cmocka_unit_test(zeros_prove_nothing),
        cmocka_unit_test(without_a_dimension_more_figures_must_agree),
        cmocka_unit_test(a_fault_in_one_is_known_by_its_kind),
        cmocka_unit_test(sizes_of_one_do_not_count),
        cmocka_unit_test(a_part_is_not_what_it_equals_in_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
