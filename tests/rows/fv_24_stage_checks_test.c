/* FV-24: named checks of a stage's inputs and outputs: what failed is named, with its stage, and
 * the program can stop; switched off they are not evaluated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlpack/dlpack.h>
#include <math.h>
#include <stdlib.h>

#include "record_timing.h"

static float values[24];
static int64_t shape[] = {2, 3, 4};

static DLTensor tensor(void)
{
    DLTensor t = {0};
    for (int i = 0; i < 24; i++)
        values[i] = (float)i;
    t.data = values;
    t.device.device_type = kDLCPU;
    t.ndim = 3;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

static int calls;

static int refuse(const plumb_value *value, void *arg, char *why, size_t size)
{
    calls++;
    assert_int_equal(value->kind, PLUMB_VALUE_TENSOR);
    snprintf(why, size, "%s", (const char *)arg);
    return arg != NULL;
}

static void checked(const char *stage, const char *what, plumb_rule c)
{
    plumb_error err = {0, ""};
    if (plumb_stage_check(stage, PLUMB_STAGE_INPUT, what, &c, &err) < 0)
        fail_msg("%s", err.message);
}

static void start(const char *verify)
{
    setenv("PLUMB_VERIFY", verify, 1);
    record_start();
    unsetenv("PLUMB_VERIFY");
}

/* Runs `stage` with one input `x`: the status of plumb_stage_verify(), and what it says. */
static int run(const char *stage, const plumb_value *x, plumb_error *err)
{
    plumb_span s = plumb_begin_with(plumb_node_get(stage), PLUMB_POINT_STAGE);
    int rc;
    plumb_stage_input_value(s, "x", *x);
    rc = plumb_stage_verify(s, err);
    plumb_end(s);
    return rc;
}

static void expect(const char *stage, const plumb_value *x, const char *what)
{
    plumb_error err = {0, ""};
    int rc = run(stage, x, &err);
    if (!what) {
        if (rc != PLUMB_OK)
            fail_msg("%s", err.message);
        return;
    }
    assert_int_equal(rc, PLUMB_ERR_CHECK);
    if (!strstr(err.message, what) || !strstr(err.message, stage) || !strstr(err.message, "'x"))
        fail_msg("'%s' does not tell '%s'", err.message, what);
}

static void each_kind_of_check_names_what_failed(void **state)
{
    plumb_rule c = plumb_rule_default();
    DLTensor t = tensor();
    plumb_value x = plumb_value_tensor(&t), list[2], number = plumb_value_f64(NAN);
    (void)state;
    start("fail");
    c.shape = "2,?,4";
    checked("shape", "x", c);
    expect("shape", &x, NULL);
    c.shape = "...,4";
    checked("shape", "x", c); /* replaces it */
    expect("shape", &x, NULL);
    c.shape = "2,3,5";
    checked("shape", "x", c);
    expect("shape", &x, "shape [2, 3, 4], want [2, 3, 5]");
    c = plumb_rule_default();
    c.dtype = "bfloat16|float32";
    checked("dtype", "x", c);
    expect("dtype", &x, NULL);
    c.dtype = "bfloat16";
    checked("dtype", "x", c);
    expect("dtype", &x, "dtype float32, want bfloat16");
    c = plumb_rule_default();
    c.finite = 1;
    checked("finite", "x", c);
    expect("finite", &x, NULL);
    values[5] = NAN;
    values[6] = -INFINITY;
    expect("finite", &x, "1 NaN and 1 infinite of 24 values");
    expect("finite", &number, "not finite");
    t = tensor();
    c = plumb_rule_default();
    c.range = 1;
    c.max = 23;
    checked("range", "x", c);
    expect("range", &x, NULL);
    values[0] = -0.5f;
    list[0] = plumb_value_i64(23);
    list[1] = x;
    x = plumb_value_list(list, 2);
    expect("range", &x, "'x[1]': values from -0.5 to 23, want 0 to 23");
    t.device.device_type = kDLCUDA;
    expect("range", &x, "cannot be checked");
    t = tensor();
    x = list[1];
    c = plumb_rule_default();
    c.fn = refuse;
    c.arg = (void *)(uintptr_t) "not a picture";
    checked("function", "x", c);
    expect("function", &x, "not a picture");
    record_stop();
}

static void nan_and_infinities_are_outside_of_every_range(void **state)
{
    static const struct {
        float value;
        double max;
        const char *what; /* NULL: within the range */
    } cases[] = {{NAN, 100, "1 NaN of 24 values, want 0 to 100"},
                 {NAN, INFINITY, "1 NaN of 24 values, want 0 to inf"},
                 {INFINITY, 100, "values from 0 to inf, want 0 to 100"},
                 {-INFINITY, 100, "values from -inf to 23, want 0 to 100"},
                 {INFINITY, INFINITY, NULL}};
    DLTensor t = tensor();
    plumb_value x = plumb_value_tensor(&t), number;
    plumb_rule c = plumb_rule_default();
    (void)state;
    start("fail");
    c.range = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.max = cases[i].max;
        checked("special", "x", c);
        t = tensor();
        values[5] = cases[i].value;
        expect("special", &x, cases[i].what);
        number = plumb_value_f64((double)cases[i].value);
        expect("special", &number, cases[i].what ? "want 0 to" : NULL);
    }
    /* Nothing finite at all, and nothing at all. */
    for (int i = 0; i < 24; i++)
        values[i] = INFINITY;
    c.max = 100;
    checked("special", "x", c);
    expect("special", &x, "values from inf to inf");
    shape[0] = 0;
    expect("special", &x, NULL);
    shape[0] = 2;
    record_stop();
}

static void a_run_that_fails_its_checks_is_a_failure_with_its_reason(void **state)
{
    plumb_rule c = plumb_rule_default();
    plumb_value x = plumb_value_i64(3);
    struct plumb_timing t;
    (void)state;
    start("fail");
    c.range = 1;
    c.max = 2;
    checked("limited", "x", c);
    run("limited", &x, NULL);
    x = plumb_value_i64(1);
    run("limited", &x, NULL);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "limited")->failures, 1);
    assert_int_equal(timing_node(&t, NULL, "limited")->host.ns.count, 1);
    assert_non_null(strstr(timing_node(&t, NULL, "limited")->last_failure, "input 'x'"));
    plumb_timing_fini(&t);
}

static void warn_only_tells(void **state)
{
    plumb_rule c = plumb_rule_default();
    plumb_value x = plumb_value_i64(3);
    struct plumb_timing t;
    plumb_error err = {0, ""};
    bool told = false;
    (void)state;
    start("warn");
    c.range = 1;
    c.max = 2;
    checked("warned", "x", c);
    for (int i = 0; i < 100; i++)
        assert_int_equal(run("warned", &x, &err), PLUMB_OK);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "warned")->failures, 0);
    assert_int_equal(timing_node(&t, NULL, "warned")->host.ns.count, 100);
    assert_int_equal(t.count_count, 1);
    assert_string_equal(t.counts[0].name, "plumb.verify.failed");
    assert_int_equal(t.counts[0].total, 100);
    assert_in_range(t.note_count, 1, 20);
    for (size_t i = 0; i < t.note_count; i++)
        told |= strstr(t.notes[i], "'warned'") && strstr(t.notes[i], "input 'x'");
    assert_true(told);
    plumb_timing_fini(&t);
}

static void what_a_stage_never_tells_of_is_missing(void **state)
{
    plumb_rule c = plumb_rule_default();
    plumb_error err = {0, ""};
    struct plumb_timing t;
    plumb_span s;
    (void)state;
    start("fail");
    checked("forgets", "text", c);
    assert_int_equal(plumb_stage_check("forgets", PLUMB_STAGE_OUTPUT, "video", &c, NULL), PLUMB_OK);
    c.optional = 1;
    checked("forgets", "negative", c);
    s = plumb_begin_with(plumb_node_get("forgets"), PLUMB_POINT_STAGE);
    assert_int_equal(plumb_stage_verify(s, &err), PLUMB_ERR_CHECK);
    assert_non_null(strstr(err.message, "input 'text': missing"));
    assert_null(strstr(err.message, "video"));
    plumb_end(s);
    record_finish(&t);
    assert_non_null(
        strstr(timing_node(&t, NULL, "forgets")->last_failure, "output 'video': missing"));
    assert_null(strstr(timing_node(&t, NULL, "forgets")->last_failure, "negative"));
    plumb_timing_fini(&t);
}

static void switched_off_nothing_is_evaluated(void **state)
{
    plumb_rule c = plumb_rule_default();
    DLTensor t = tensor();
    plumb_value x = plumb_value_tensor(&t);
    (void)state;
    record_start();
    c.fn = refuse;
    c.arg = (void *)(uintptr_t) "never";
    c.shape = "7";
    checked("off", "x", c);
    calls = 0;
    expect("off", &x, NULL);
    assert_int_equal(calls, 0);
    assert_int_equal(record_row("off").failures, 0);
    record_stop();
}

static void bad_checks_are_refused_with_a_reason(void **state)
{
    static const char *const shapes[] = {"2,", "a", "-1", "1,,2", "2 3"};
    plumb_rule c = plumb_rule_default();
    plumb_error err;
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        c.shape = shapes[i];
        assert_int_equal(plumb_stage_check("s", PLUMB_STAGE_INPUT, "x", &c, &err), PLUMB_ERR_ARG);
        assert_non_null(strstr(err.message, "shape"));
    }
    c = plumb_rule_default();
    c.dtype = "float33";
    assert_int_equal(plumb_stage_check("s", PLUMB_STAGE_INPUT, "x", &c, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "float33"));
    c = plumb_rule_default();
    c.range = 1;
    c.min = NAN;
    assert_int_equal(plumb_stage_check("s", PLUMB_STAGE_INPUT, "x", &c, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_stage_check("s", PLUMB_STAGE_METADATA, "x", &c, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_stage_check(NULL, PLUMB_STAGE_INPUT, "x", &c, &err), PLUMB_ERR_ARG);
    c = plumb_rule_default();
    for (int i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(plumb_stage_check("many", PLUMB_STAGE_INPUT, name, &c, &err), PLUMB_OK);
    }
    assert_int_equal(plumb_stage_check("many", PLUMB_STAGE_INPUT, "more", &c, &err),
                     PLUMB_ERR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_kind_of_check_names_what_failed, record_close),
        cmocka_unit_test_teardown(nan_and_infinities_are_outside_of_every_range, record_close),
        cmocka_unit_test_teardown(a_run_that_fails_its_checks_is_a_failure_with_its_reason,
                                  record_close),
        cmocka_unit_test_teardown(warn_only_tells, record_close),
        cmocka_unit_test_teardown(what_a_stage_never_tells_of_is_missing, record_close),
        cmocka_unit_test_teardown(switched_off_nothing_is_evaluated, record_close),
        cmocka_unit_test_teardown(bad_checks_are_refused_with_a_reason, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
