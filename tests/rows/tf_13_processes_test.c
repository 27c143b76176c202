/* labels: notsan
 * TF-13: signatures of stages in child processes, and of processes that are killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/run/load.h"
#include "record_signatures.h"

static void wait_for(pid_t pid, int expected)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, expected);
}

static void a_child_process_has_a_file_of_its_own(void **state)
{
    struct plumb_signature s;
    char dir[1024];
    int dirs[2];
    (void)state;
    assert_int_equal(pipe(dirs), 0);
    record_start();
    signature_call(9, 1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        signature_call(21, 2, 0);
        if (plumb_run_dir(dir, sizeof dir, NULL) < 0 || plumb_stop(NULL) < 0 ||
            write(dirs[1], dir, sizeof dir) != (ssize_t)sizeof dir)
            _exit(1);
        _exit(0);
    }
    wait_for(pid, 0);
    assert_int_equal(read(dirs[0], dir, sizeof dir), sizeof dir);
    record_signatures(&s, dir);
    assert_int_equal(s.pid, pid);
    assert_int_equal(signature_stage(&s, "denoise")->calls, 1);
    assert_int_equal(
        signature_tensor(&signature_stage(&s, "denoise")->last.inputs, "latents")->shape[0], 21);
    plumb_signature_fini(&s);
    record_finish_signatures(&s);
    assert_int_equal(signature_stage(&s, "denoise")->calls, 1);
    plumb_signature_fini(&s);
    close(dirs[0]);
    close(dirs[1]);
}

static void what_was_recorded_survives_kill(void **state)
{
    struct plumb_signature s;
    struct plumb_load run;
    plumb_error err = {0, ""};
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        plumb_options options = plumb_options_default();
        options.run_dir = "killed";
        options.quiet = PLUMB_ON;
        if (plumb_start(&options, NULL) < 0)
            _exit(1);
        for (int i = 0; i < 5; i++)
            signature_call(9, i, 0);
        PLUMB_STAGE(open, "denoise");
        plumb_stage_input_value(open, "never ended", plumb_value_i64(1));
        raise(SIGKILL);
    }
    wait_for(pid, SIGKILL);
    if (plumb_load_run(&run, "killed", &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    plumb_timing_fini(&run.timing);
    record_signatures(&s, "killed");
    assert_int_equal(signature_stage(&s, "denoise")->calls, 5);
    assert_int_equal(
        signature_value(&signature_stage(&s, "denoise")->last.inputs, "steps")->is.integer, 4);
    plumb_signature_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_process_has_a_file_of_its_own),
        cmocka_unit_test(what_was_recorded_survives_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
