/* TF-24: a capture has hashes of what the captured call gave out: by name the last, of a step those
 * at the step, and none of what the host cannot read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "record_signatures.h"

#include "isolate/inputs.h"
#include "tensor/value_hash.h"

static char dir[1024];

static void start(const char *capture)
{
    setenv("PLUMB_CAPTURE", capture, 1);
    record_start();
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
}

static int close_run(void **state)
{
    unsetenv("PLUMB_CAPTURE");
    return record_close(state);
}

static void captured(struct plumb_inputs *out, const char *stage)
{
    const struct plumb_inputs_options options = {.mode = PLUMB_INPUTS_CAPTURED, .dir = dir};
    struct plumb_signature s;
    plumb_error err = {0, ""};
    record_stop();
    record_signatures(&s, dir);
    if (plumb_inputs_make(out, signature_stage(&s, stage), &options, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(out->exact);
    plumb_signature_fini(&s);
}

static void has(const struct plumb_inputs *inputs, const char *name, plumb_value value)
{
    const struct plumb_named_hash *found = plumb_value_hashes_find(inputs->outputs, name);
    uint64_t hash = 0;
    if (!found)
        fail_msg("no output '%s'", name);
    assert_true(plumb_value_hash(&hash, &value));
    assert_true(found->known);
    assert_true(found->hash == hash);
}

/* Names the output "x" before the loop, at each step and after it. */
static void loop_stage(int64_t from)
{
    float data[6] = {(float)from};
    struct fixture_tensor t;
    fixture_tensor(&t, data, "float32", DIMS(6));
    PLUMB_STAGE(stage, "loop");
    plumb_stage_output_value(stage, "early", plumb_value_i64(from));
    plumb_stage_input(stage, "x", &t.dl);
    plumb_stage_output_value(stage, "before", plumb_value_i64(from));
    for (PLUMB_STEPS (step, 9)) {
        plumb_stage_input(stage, "x", &t.dl);
        data[1] = (float)step;
        plumb_stage_output_value(stage, "x", plumb_value_str("not yet"));
        plumb_stage_output(stage, "x", &t.dl);
    }
    plumb_stage_output_value(stage, "x", plumb_value_i64(from + 100));
}

static void of_a_step_the_outputs_at_the_step_count(void **state)
{
    float data[6] = {1, 7};
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    (void)state;
    fixture_tensor(&t, data, "float32", DIMS(6));
    start("loop:7");
    loop_stage(1);
    loop_stage(2);
    captured(&inputs, "loop");
    assert_int_equal(inputs.step, 7);
    assert_int_equal(inputs.outputs->count, 1);
    has(&inputs, "x", plumb_value_tensor(&t.dl));
    plumb_inputs_fini(&inputs);
}

static void of_a_whole_call_the_last_of_a_name_counts(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("loop");
    loop_stage(1);
    loop_stage(2);
    captured(&inputs, "loop");
    assert_int_equal(inputs.outputs->count, 2);
    has(&inputs, "x", plumb_value_i64(101));
    has(&inputs, "before", plumb_value_i64(1));
    plumb_inputs_fini(&inputs);
}

static void mappings_have_a_hash_for_each_field(void **state)
{
    const plumb_field in[] = {{"text", plumb_value_i64(3)}, {"n\\\xff\"", plumb_value_f64(0.5)}};
    const plumb_value list[] = {plumb_value_str("a"), plumb_value_null()};
    const plumb_field all[] = {{"cond", plumb_value_fields(in, 2)},
                               {"list", plumb_value_list(list, 2)}};
    struct plumb_inputs inputs;
    (void)state;
    start("encode");
    {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(1));
        plumb_stage_output_value(stage, "out", plumb_value_fields(all, 2));
    }
    captured(&inputs, "encode");
    assert_int_equal(inputs.outputs->count, 3);
    has(&inputs, "out.cond.text", in[0].value);
    has(&inputs, "out.cond.n\\\xff\"", in[1].value);
    has(&inputs, "out.list", all[1].value);
    plumb_inputs_fini(&inputs);
}

static void what_the_host_cannot_read_has_no_hash(void **state)
{
    float data[6] = {0};
    struct fixture_tensor device, null, wrong;
    struct plumb_inputs inputs;
    (void)state;
    fixture_tensor(&device, data, "float32", DIMS(6));
    fixture_tensor(&null, NULL, "float32", DIMS(6));
    fixture_tensor(&wrong, data, "float32", DIMS(6));
    device.dl.device = (DLDevice){kDLCUDA, 1};
    wrong.dl.ndim = -1;
    start("encode");
    {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(1));
        plumb_stage_output(stage, "device", &device.dl);
        plumb_stage_output(stage, "null", &null.dl);
        plumb_stage_output(stage, "wrong", &wrong.dl);
    }
    captured(&inputs, "encode");
    assert_int_equal(inputs.outputs->count, 3);
    for (uint32_t i = 0; i < inputs.outputs->count; i++)
        assert_false(inputs.outputs->at[i].known);
    plumb_inputs_fini(&inputs);
}

/* The abandoned call gives the capture back with what it had. */
static void only_the_kept_call_counts(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("encode");
    for (int64_t call = 0; call < 3; call++) {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(call));
        plumb_stage_output_value(stage, "n", plumb_value_i64(call));
        if (call == 0) {
            plumb_stage_output_value(stage, "other", plumb_value_i64(call));
            plumb_span_abandon(stage);
        }
    }
    captured(&inputs, "encode");
    assert_int_equal(inputs.outputs->count, 1);
    has(&inputs, "n", plumb_value_i64(1));
    plumb_inputs_fini(&inputs);
    start("encode");
    {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(0));
    }
    captured(&inputs, "encode");
    assert_null(inputs.outputs);
    plumb_inputs_fini(&inputs);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, NULL, close_run)
    const struct CMUnitTest tests[] = {
        CASE(of_a_step_the_outputs_at_the_step_count),
        CASE(of_a_whole_call_the_last_of_a_name_counts),
        CASE(mappings_have_a_hash_for_each_field),
        CASE(what_the_host_cannot_read_has_no_hash),
        CASE(only_the_kept_call_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
