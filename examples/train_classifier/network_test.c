/* The network and the optimizer, compiled with REAL=double.
 * link: none
 */
#include "adam.h"
#include "network.h"
#include "random.h"

#include <math.h>
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

_Static_assert(sizeof(real) == sizeof(double), "finite differences need the digits of double");

enum { ROWS = 7, INPUTS = 5, CLASSES = 4 };
static const int widths[NETWORK_LAYERS + 1] = {INPUTS, 6, 3, CLASSES};

/* Random inputs and labels, and a network whose biases are not 0 either. */
struct problem {
    struct network net;
    real x[ROWS * INPUTS];
    int labels[ROWS];
};

static void make_problem(struct problem *p, uint64_t seed)
{
    struct random r = random_of(seed, RANDOM_DIGIT, 0);

    assert_int_equal(network_init(&p->net, widths, ROWS), 0);
    network_randomize(&p->net, seed);
    for (size_t i = 0; i < p->net.n_parameters; i++)
        p->net.parameters[i] += random_between(&r, -0.2, 0.2);
    for (int i = 0; i < ROWS * INPUTS; i++)
        p->x[i] = random_between(&r, -2.0, 2.0);
    for (int i = 0; i < ROWS; i++)
        p->labels[i] = (int)random_below(&r, CLASSES);
}

static double mean_loss(struct problem *p)
{
    int correct = 0;

    network_forward(&p->net, p->x, ROWS);
    return network_loss(&p->net, p->labels, ROWS, &correct) / ROWS;
}

static void every_gradient_is_the_difference_quotient_of_the_loss(void **state)
{
    const double step = 1e-5;
    struct problem p;
    double largest = 0.0;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_problem(&p, seed);
        mean_loss(&p);
        network_backward(&p.net, ROWS);
        for (size_t i = 0; i < p.net.n_parameters; i++) {
            real kept = p.net.parameters[i];
            double above, below, quotient;
            p.net.parameters[i] = kept + step;
            above = mean_loss(&p);
            p.net.parameters[i] = kept - step;
            below = mean_loss(&p);
            p.net.parameters[i] = kept;
            quotient = (above - below) / (2.0 * step);
            if (fabs(quotient - p.net.gradients[i]) > 1e-8)
                fail_msg("parameter %zu of seed %d: gradient %.12g, quotient %.12g", i, (int)seed,
                         p.net.gradients[i], quotient);
            largest = fmax(largest, fabs(quotient));
        }
        network_fini(&p.net);
    }
    assert_true(largest > 0.1); /* there was something to compare */
}

static void the_backward_pass_sets_gradients_and_does_not_add_to_them(void **state)
{
    struct problem p;
    real first;
    (void)state;

    make_problem(&p, 1);
    mean_loss(&p);
    network_backward(&p.net, ROWS);
    first = p.net.gradients[0];
    mean_loss(&p);
    network_backward(&p.net, ROWS);
    assert_true(p.net.gradients[0] == first && first != 0.0);
    network_fini(&p.net);
}

static void a_row_gives_the_same_logits_alone_and_in_a_batch(void **state)
{
    real together[ROWS * CLASSES];
    struct problem p;
    (void)state;

    make_problem(&p, 2);
    for (int i = 0; i < ROWS * CLASSES; i++)
        together[i] = network_forward(&p.net, p.x, ROWS)[i];
    for (int row = 0; row < ROWS; row++) {
        const real *alone = network_forward(&p.net, p.x + row * INPUTS, 1);
        for (int i = 0; i < CLASSES; i++)
            assert_true(alone[i] == together[row * CLASSES + i]);
    }
    network_fini(&p.net);
}

static void equal_logits_cost_the_logarithm_of_the_number_of_classes(void **state)
{
    struct problem p;
    (void)state;

    make_problem(&p, 3);
    for (size_t i = 0; i < p.net.n_parameters; i++)
        p.net.parameters[i] = 0.0;
    assert_true(fabs(mean_loss(&p) - log(CLASSES)) < 1e-12);
    network_fini(&p.net);
}

static void huge_logits_give_a_finite_loss(void **state)
{
    struct problem p;
    int correct = 0;
    double loss;
    (void)state;

    make_problem(&p, 4);
    p.net.layers[NETWORK_LAYERS - 1].bias[0] = 1e4; /* exp(1e4) is not finite */
    p.labels[0] = 1;
    network_forward(&p.net, p.x, 1);
    loss = network_loss(&p.net, p.labels, 1, &correct);
    assert_true(fabs(loss - 1e4) < 10.0);
    assert_int_equal(correct, 0);
    network_backward(&p.net, 1);
    for (size_t i = 0; i < p.net.n_parameters; i++)
        assert_true(isfinite(p.net.gradients[i]));
    network_fini(&p.net);
}

/* After one step both means are corrected to the gradient itself, so a parameter moves by the
 * learning rate against its sign; the decay is apart from that. */
static void the_first_step_of_adam_has_the_length_of_the_learning_rate(void **state)
{
    real parameters[] = {1.0, -2.0, 3.0}, gradients[] = {0.5, -1e-3, 0.0};
    struct adam a;
    (void)state;

    assert_int_equal(adam_init(&a, 3, 0.01, 0.1), 0);
    adam_step(&a, parameters, gradients);
    assert_true(fabs(parameters[0] - (1.0 * 0.999 - 0.01)) < 1e-7);
    assert_true(fabs(parameters[1] - (-2.0 * 0.999 + 0.01)) < 1e-6);
    assert_true(fabs(parameters[2] - 3.0 * 0.999) < 1e-12);
    adam_fini(&a);
}

/* (1 - 0.9) g2 + 0.9 (1 - 0.9) g1 over 1 - 0.9^2, and so on, by hand for gradients 1 and 3. */
static void the_second_step_of_adam_is_that_of_the_paper(void **state)
{
    real parameter = 0.0, gradient = 1.0;
    double mean = (0.1 * 3.0 + 0.9 * 0.1) / 0.19;
    double squares = (0.001 * 9.0 + 0.999 * 0.001) / (1.0 - 0.999 * 0.999);
    struct adam a;
    (void)state;

    assert_int_equal(adam_init(&a, 1, 0.5, 0.0), 0);
    adam_step(&a, &parameter, &gradient);
    assert_true(fabs(parameter + 0.5) < 1e-7);
    gradient = 3.0;
    adam_step(&a, &parameter, &gradient);
    assert_true(fabs(parameter + 0.5 + 0.5 * mean / sqrt(squares)) < 1e-7);
    adam_fini(&a);
}

static void steps_against_the_gradient_lower_the_loss(void **state)
{
    struct problem p;
    struct adam a;
    double before, after;
    (void)state;

    make_problem(&p, 5);
    assert_int_equal(adam_init(&a, p.net.n_parameters, 0.02, 0.0), 0);
    before = mean_loss(&p);
    for (int i = 0; i < 500; i++) {
        mean_loss(&p);
        network_backward(&p.net, ROWS);
        adam_step(&a, p.net.parameters, p.net.gradients);
    }
    after = mean_loss(&p);
    if (after > 0.05 * before)
        fail_msg("the loss went from %g to %g only", before, after);
    adam_fini(&a);
    network_fini(&p.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_is_the_difference_quotient_of_the_loss),
        cmocka_unit_test(the_backward_pass_sets_gradients_and_does_not_add_to_them),
        cmocka_unit_test(a_row_gives_the_same_logits_alone_and_in_a_batch),
        cmocka_unit_test(equal_logits_cost_the_logarithm_of_the_number_of_classes),
        cmocka_unit_test(huge_logits_give_a_finite_loss),
        cmocka_unit_test(the_first_step_of_adam_has_the_length_of_the_learning_rate),
        cmocka_unit_test(the_second_step_of_adam_is_that_of_the_paper),
        cmocka_unit_test(steps_against_the_gradient_lower_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
