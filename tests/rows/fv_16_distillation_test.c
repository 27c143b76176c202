/* FV-16: the regions of a distillation are entered where they mean something: a student learns from
 * a teacher, step by step, and the trace of the chosen ones has them in the training's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "record_region.h"

enum { IN = 6, OUT = 3, STEPS = 200 };

struct layer {
    double w[OUT][IN];
};

static void forward(const struct layer *l, const double *x, double *y)
{
    for (int o = 0; o < OUT; o++) {
        y[o] = 0;
        for (int i = 0; i < IN; i++)
            y[o] += l->w[o][i] * x[i];
    }
}

static void teacher_forward(const struct layer *teacher, const double *x, double *y)
{
    PLUMB_REGION("distillation_teacher_forward");
    forward(teacher, x, y);
}

static void student_forward(const struct layer *student, const double *x, double *y)
{
    PLUMB_REGION("distillation_student_forward");
    forward(student, x, y);
}

static double loss_of(const double *want, const double *have, double *gradient)
{
    double loss = 0;
    PLUMB_REGION("distillation_loss");
    for (int o = 0; o < OUT; o++) {
        gradient[o] = have[o] - want[o];
        loss += gradient[o] * gradient[o];
    }
    return loss;
}

static void update(struct layer *student, const double *x, const double *gradient)
{
    PLUMB_REGION("distillation_update");
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++)
            student->w[o][i] -= 0.05 * gradient[o] * x[i];
}

static double train_one_step(const struct layer *teacher, struct layer *student, const double *x)
{
    double want[OUT], have[OUT], gradient[OUT], loss;
    PLUMB_REGION("training_step");
    teacher_forward(teacher, x, want);
    student_forward(student, x, have);
    loss = loss_of(want, have, gradient);
    update(student, x, gradient);
    return loss;
}

/* Losses of the first and of the last tenth. */
static void distill(double *first, double *last)
{
    struct layer teacher, student = {{{0}}};
    uint64_t seed = 3;
    *first = *last = 0;
    for (int k = 0; k < OUT * IN; k++)
        teacher.w[k / IN][k % IN] = (double)(random_next(&seed) % 1000) * 1e-3 - 0.5;
    for (int s = 0; s < STEPS; s++) {
        double x[IN], loss;
        for (int i = 0; i < IN; i++)
            x[i] = (double)(random_next(&seed) % 1000) * 2e-3 - 1.0;
        loss = train_one_step(&teacher, &student, x);
        *first += s < STEPS / 10 ? loss : 0;
        *last += s >= STEPS - STEPS / 10 ? loss : 0;
    }
}

static void each_part_of_a_step_is_in_the_trace(void **state)
{
    static const char *const parts[] = {"teacher_forward", "student_forward", "loss", "update"};
    struct trace_read t;
    double first, last;
    char name[128];
    (void)state;
    region_start("training_step", PLUMB_REGION_THREAD);
    distill(&first, &last);
    assert_true(last < first / 10);
    traced_finish(&t);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, REGION_NODE "distillation_%s", parts[i]);
        assert_int_equal(trace_count(&t, name), STEPS);
        assert_string_equal(trace_parent(&t, trace_find(&t, name, STEPS - 1)),
                            REGION_NODE "training_train_one_step");
    }
    assert_int_equal(t.whole, 5 * STEPS);
    trace_fini(&t);
}

static void parts_can_be_chosen_alone(void **state)
{
    struct trace_read t;
    double first, last;
    (void)state;
    region_start("distillation_loss,distillation_update", PLUMB_REGION_THREAD);
    distill(&first, &last);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, REGION_NODE "distillation_loss"), STEPS);
    assert_int_equal(trace_count(&t, REGION_NODE "distillation_update"), STEPS);
    assert_int_equal(t.whole, 2 * STEPS);
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_of_a_step_is_in_the_trace),
        cmocka_unit_test(parts_can_be_chosen_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
