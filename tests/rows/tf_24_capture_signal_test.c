/* TF-24: a stage that runs in a signal handler is captured as any other, whatever the handler
 * interrupts: a call of the stage, or the copying of an input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/time.h>

#include "record_capture.h"
#include "signal_point.h"

enum { VALUES = 50, RUNS = 10, HANDLED = 20 };

static volatile sig_atomic_t handled;

/* A call of the stage whose inputs all have one number. */
static void call(int64_t number)
{
    int64_t values[VALUES];
    struct fixture_tensor t;
    fixture_tensor(&t, values, "int64", DIMS(VALUES));
    for (int i = 0; i < VALUES; i++)
        values[i] = number;
    PLUMB_STAGE(stage, "busy");
    plumb_stage_input(stage, "a", &t.dl);
    plumb_stage_input_value(stage, "number", plumb_value_i64(number));
    plumb_stage_input(stage, "b", &t.dl);
}

static void on_signal(int signal)
{
    (void)signal;
    call(1000000 + handled);
    handled = handled + 1;
}

static void handle(int signal)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    assert_int_equal(sigaction(signal, &action, NULL), 0);
    handled = 0;
}

/* Of whichever call: all of it. Returns its number. */
static int64_t one_whole_call(void)
{
    struct plumb_inputs inputs;
    int64_t number;
    capture_read(&inputs, "busy");
    assert_int_equal(inputs.count, 3);
    number = capture_input(&inputs, "number")->as.i64;
    for (int part = 0; part < 2; part++) {
        const DLTensor *t = capture_input(&inputs, part ? "b" : "a")->as.tensor;
        for (int i = 0; i < VALUES; i++)
            assert_int_equal(((const int64_t *)t->data)[i], number);
    }
    plumb_inputs_fini(&inputs);
    return number;
}

static void a_call_in_a_handler_is_captured(void **state)
{
    (void)state;
    handle(SIGUSR1);
    capture_start("busy");
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    capture_finish();
    assert_int_equal(one_whole_call(), 1000000);
}

/* The captured stage is interrupted between two inputs by a call of the same stage. */
static void a_call_that_interrupts_the_captured_one_is_passed_over(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    handle(SIGUSR1);
    capture_start("busy");
    {
        PLUMB_STAGE(stage, "busy");
        plumb_stage_input_value(stage, "first", plumb_value_i64(1));
        assert_int_equal(raise(SIGUSR1), 0);
        plumb_stage_input_value(stage, "second", plumb_value_i64(2));
    }
    capture_finish();
    assert_int_equal(handled, 1);
    capture_read(&inputs, "busy");
    assert_int_equal(inputs.count, 2);
    assert_int_equal(capture_input(&inputs, "second")->as.i64, 2);
    plumb_inputs_fini(&inputs);
}

static int copy_and_raise(void *to, const void *from, uint64_t bytes, int32_t device, void *arg)
{
    (void)device;
    (void)arg;
    raise(SIGUSR1);
    memcpy(to, from, bytes);
    return 0;
}

static void a_call_that_interrupts_the_copying_is_passed_over(void **state)
{
    float data[4] = {1, 2, 3, 4};
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    struct plumb_signature s;
    const struct plumb_inputs_options options = {
        .mode = PLUMB_INPUTS_CAPTURED, .dir = capture_dir, .devices_on_host = true};
    plumb_error err = {0, ""};
    (void)state;
    handle(SIGUSR1);
    fixture_tensor(&t, data, "float32", DIMS(4));
    t.dl.device = (DLDevice){kDLVPI, 0};
    assert_int_equal(plumb_activation_copy(kDLVPI, copy_and_raise, NULL, &err), PLUMB_OK);
    capture_start("busy");
    {
        PLUMB_STAGE(stage, "busy");
        plumb_stage_input(stage, "x", &t.dl);
    }
    capture_finish();
    assert_true(handled > 0);
    record_signatures(&s, capture_dir);
    assert_int_equal(plumb_inputs_make(&inputs, signature_stage(&s, "busy"), &options, &err),
                     PLUMB_OK);
    assert_int_equal(inputs.count, 1);
    assert_memory_equal(inputs.tensors->view.data, data, sizeof data);
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

/* The timer counts processor time: however busy the machine is, the program gets on. */
static void of_calls_in_the_program_and_in_handlers_one_is_kept_whole(void **state)
{
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    (void)state;
    handle(SIGVTALRM);
    for (int run = 0; run < RUNS; run++) {
        int64_t number = 0;
        handled = 0;
        assert_int_equal(setitimer(ITIMER_VIRTUAL, &often, NULL), 0);
        capture_start("busy");
        while (handled < HANDLED) {
            call(number++);
            signal_point();
        }
        assert_int_equal(setitimer(ITIMER_VIRTUAL, &never, NULL), 0);
        capture_finish();
        one_whole_call();
        record_remove(capture_dir);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, NULL, capture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_call_in_a_handler_is_captured),
        CASE(a_call_that_interrupts_the_captured_one_is_passed_over),
        CASE(a_call_that_interrupts_the_copying_is_passed_over),
        CASE(of_calls_in_the_program_and_in_handlers_one_is_kept_whole),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(capture_report);
    return failed;
}
