/* labels: plain
 * (The allocator of a sanitizer does not survive a fork while other threads run.)
 *
 * The options that a program sets in plumb_options take effect in the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/signature.h"
#include "record_timing.h"

static int fail_always(const plumb_value *value, void *arg, char *why, size_t size)
{
    (void)value;
    (void)arg;
    snprintf(why, size, "never right");
    return 1;
}

static void one_stage(void)
{
    plumb_span s = plumb_begin_with(plumb_node_get("decode"), PLUMB_POINT_STAGE);
    plumb_stage_input_value(s, "x", plumb_value_f64(1));
    plumb_end(s);
}

/* Of a run that a stage was part of; ends it. */
static bool finish_with_signatures(struct plumb_timing *t)
{
    char dir[1024], path[1100];
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_finish(t);
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_SIGNATURE_FILE);
    return access(path, F_OK) == 0;
}

static void zero_is_the_default(void **state)
{
    struct plumb_timing t;
    (void)state;
    record_start();
    one_stage();
    assert_true(finish_with_signatures(&t));
    assert_true(timing_node(&t, NULL, "decode")->memory.samples > 0);
    assert_int_equal(t.memory.checkpoint_count, 0);
    assert_false(timing_node(&t, NULL, "decode")->memory.peak_exact);
    plumb_timing_fini(&t);
}

static void choices_reach_the_run(void **state)
{
    struct plumb_timing t, copy;
    plumb_options o = plumb_options_default();
    plumb_rule rule = plumb_rule_default();
    plumb_error err = {0, ""};
    (void)state;
    o.memory_peak = PLUMB_MEMORY_PEAK_EXACT;
    o.memory_checkpoints = PLUMB_ON;
    o.memory_interval_ms = -1;
    o.signature = PLUMB_SIGNATURE_OFF;
    o.verify = PLUMB_VERIFY_FAIL;
    o.timing_report = "copies/of_options.json";
    record_start_with(o);
    rule.fn = fail_always;
    assert_int_equal(plumb_stage_check("decode", PLUMB_STAGE_INPUT, "x", &rule, &err), PLUMB_OK);
    one_stage();
    assert_int_equal(record_row("decode").failures, 1);
    assert_false(finish_with_signatures(&t));
    assert_true(timing_node(&t, NULL, "decode")->memory.peak_exact);
    assert_true(timing_node(&t, NULL, "decode")->memory.samples <= 2); /* of both ends */
    assert_int_equal(t.memory.checkpoint_count, 2);
    assert_int_equal(plumb_timing_read(&copy, "copies/of_options.json", &err), PLUMB_OK);
    assert_int_equal(timing_node(&copy, NULL, "decode")->failures, 1);
    plumb_timing_fini(&copy);
    plumb_timing_fini(&t);
}

static void memory_can_be_left_out(void **state)
{
    struct plumb_timing t;
    plumb_options o = plumb_options_default();
    (void)state;
    o.memory = PLUMB_MEMORY_OFF;
    record_start_with(o);
    one_stage();
    assert_true(finish_with_signatures(&t));
    assert_int_equal(timing_node(&t, NULL, "decode")->memory.samples, 0);
    plumb_timing_fini(&t);
}

static int child_records(uint32_t fork_choice)
{
    plumb_options o = plumb_options_default();
    int status = 0;
    pid_t pid;
    o.fork = fork_choice;
    record_start_with(o);
    pid = fork();
    if (pid == 0) {
        one_stage();
        _exit(plumb_is_recording());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    record_stop();
    return WEXITSTATUS(status);
}

static void children_are_followed_or_not(void **state)
{
    (void)state;
    assert_int_equal(child_records(PLUMB_FORK_FOLLOW), 1);
    assert_int_equal(child_records(PLUMB_FORK_OFF), 0);
}

static void a_wrong_choice_starts_nothing(void **state)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    (void)state;
    o.memory_peak = 2;
    assert_int_equal(plumb_start(&o, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "plumb_options.memory_peak is 2, not 0 to 1 (sampled|exact)");
    assert_false(plumb_is_recording());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(zero_is_the_default, record_close),
        cmocka_unit_test_teardown(choices_reach_the_run, record_close),
        cmocka_unit_test_teardown(memory_can_be_left_out, record_close),
        cmocka_unit_test_teardown(children_are_followed_or_not, record_close),
        cmocka_unit_test_teardown(a_wrong_choice_starts_nothing, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
