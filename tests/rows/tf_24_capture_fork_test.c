/* labels: notsan
 * TF-24: a process that is forked while the inputs of a stage are captured, or written, has a
 * capture of its own, and that of its parent is whole. (ThreadSanitizer of gcc 12 ends a child that
 * makes a thread where its parent had one: "dup thread with used id". It does so without plumb
 * too.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "record_capture.h"

enum { FLOATS = 4 << 20 };

/* Runs the stage and ends the run; the folder of the run goes to `out`. */
static void in_the_child(int out)
{
    char own[1024] = "";
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, "steps", plumb_value_i64(99));
    }
    plumb_run_dir(own, sizeof own, NULL);
    plumb_stop(NULL);
    _exit(write(out, own, sizeof own) == sizeof own ? 0 : 1);
}

/* Waits for the child, and reads what it captured. */
static void child_has_its_own(pid_t pid, int in)
{
    struct plumb_inputs inputs;
    char child[1024];
    int status;
    assert_int_equal(read(in, child, sizeof child), sizeof child);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_not_equal(child, capture_dir);
    snprintf(capture_dir, sizeof capture_dir, "%s", child);
    capture_read(&inputs, "denoise");
    assert_int_equal(inputs.count, 1);
    assert_int_equal(capture_input(&inputs, "steps")->as.i64, 99);
    plumb_inputs_fini(&inputs);
}

static void a_child_of_the_captured_call_has_a_capture_of_its_own(void **state)
{
    struct plumb_inputs inputs;
    int tube[2];
    pid_t pid;
    (void)state;
    assert_int_equal(pipe(tube), 0);
    capture_start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, "steps", plumb_value_i64(1));
        pid = fork();
        if (pid == 0) {
            close(tube[0]);
            plumb_span_abandon(stage);
            in_the_child(tube[1]);
        }
        plumb_stage_input_value(stage, "after", plumb_value_i64(2));
    }
    close(tube[1]);
    capture_finish();
    capture_read(&inputs, "denoise");
    assert_int_equal(capture_input(&inputs, "steps")->as.i64, 1);
    assert_int_equal(capture_input(&inputs, "after")->as.i64, 2);
    plumb_inputs_fini(&inputs);
    child_has_its_own(pid, tube[0]);
    close(tube[0]);
}

static void a_child_that_is_forked_while_the_file_is_written_leaves_it_alone(void **state)
{
    float *data = calloc(FLOATS, sizeof *data);
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    int tube[2];
    pid_t pid;
    (void)state;
    assert_non_null(data);
    for (int i = 0; i < FLOATS; i++)
        data[i] = (float)i;
    fixture_tensor(&t, data, "float32", DIMS(FLOATS));
    assert_int_equal(pipe(tube), 0);
    capture_start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    pid = fork();
    if (pid == 0) {
        close(tube[0]);
        in_the_child(tube[1]);
    }
    close(tube[1]);
    capture_finish();
    capture_read(&inputs, "denoise");
    assert_int_equal(inputs.tensors->view.bytes, FLOATS * sizeof *data);
    assert_memory_equal(inputs.tensors->view.data, data, FLOATS * sizeof *data);
    plumb_inputs_fini(&inputs);
    child_has_its_own(pid, tube[0]);
    close(tube[0]);
    free(data);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, NULL, capture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_child_of_the_captured_call_has_a_capture_of_its_own),
        CASE(a_child_that_is_forked_while_the_file_is_written_leaves_it_alone),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(capture_report);
    return failed;
}
