/* Tests of signature.c: what was written comes back, the predecessor's files are understood,
 * and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "read/run/signature.h"
#include "signature_fixture.h"

#define CORPUS TEST_PLUMB_SOURCE_DIR "/tests/fuzz/corpus/signature/"

static struct plumb_buf written(const struct plumb_signature *s)
{
    struct plumb_buf out = {0};
    assert_int_equal(plumb_signature_write(s, &out, NULL), PLUMB_OK);
    return out;
}

static struct plumb_signature parsed(const char *text)
{
    struct plumb_signature s;
    plumb_error err = {0, ""};
    if (plumb_signature_parse(&s, text, strlen(text), "x.json", &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

/* ---- plumb's own ----------------------------------------------------------------------------- */

static void what_was_written_reads_back_exactly(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    struct plumb_buf first = written(&s);
    struct plumb_signature again = parsed(first.data);
    struct plumb_buf second = written(&again);
    assert_string_equal(first.data, second.data);
    assert_false(again.foreign);
    assert_int_equal(again.rank, 3);
    assert_string_equal(again.stages[2].name, s.stages[2].name);
    assert_string_equal(again.stages[2].last.inputs.at[1].name, "\xff");
    assert_string_equal(again.stages[2].last.inputs.at[2].name, "\\xff");
    assert_true(again.stages[2].calls == UINT64_MAX);
    plumb_signature_fini(&again);
    plumb_signature_fini(&s);
    plumb_buf_fini(&first);
    plumb_buf_fini(&second);
}

static void requests_and_mappings_read_back_exactly(void **state)
{
    struct plumb_signature s;
    struct plumb_signature_request requests[2] = {{.id = "one"}, {.id = "two", .other_calls = 7}};
    (void)state;
    fixture_signature(&s);
    struct plumb_signature_value mapping = {.kind = PLUMB_SIGNATURE_FIELDS};
    fixture_add(&s, &mapping.is.fields, "shape", fixture_int(3));
    fixture_add(&s, &mapping.is.fields, "\xff", mapping);
    struct plumb_signature_value none = {.kind = PLUMB_SIGNATURE_FIELDS};
    const struct plumb_signature_value list[] = {mapping, none};
    fixture_add(&s, &s.stages[0].distinct[0].inputs, "mapping", mapping);
    fixture_add(&s, &s.stages[0].distinct[0].inputs, "mappings", fixture_list(&s, list, 2));
    requests[0].stages = s.stages;
    requests[0].stage_count = 3;
    requests[1].stages = s.stages;
    requests[1].stage_count = 1;
    s.requests = requests;
    s.request_count = 2;
    s.request_id = "two";
    struct plumb_buf first = written(&s);
    struct plumb_signature again = parsed(first.data);
    struct plumb_buf second = written(&again);
    assert_string_equal(first.data, second.data);
    assert_int_equal(again.stage_count, 3);
    assert_int_equal(again.request_count, 2);
    assert_int_equal(again.requests[0].stage_count, 3);
    assert_int_equal(again.requests[1].other_calls, 7);
    plumb_signature_fini(&again);
    plumb_buf_fini(&second);
    plumb_buf_fini(&first);
    /* A last request that is not kept has no stages here. */
    s.request_id = "three";
    first = written(&s);
    assert_non_null(strstr(first.data, "\"stages\": {},"));
    plumb_buf_fini(&first);
    plumb_signature_fini(&s);
}

static const struct plumb_signature_value *item(const struct plumb_signature_items *items,
                                                const char *name)
{
    for (size_t i = 0; i < items->count; i++)
        if (strcmp(items->at[i].name, name) == 0)
            return &items->at[i].value;
    fail_msg("no '%s'", name);
    return NULL;
}

static void every_kind_of_value_keeps_its_kind(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    struct plumb_buf text = written(&s);
    struct plumb_signature r = parsed(text.data);
    const struct plumb_signature_items *in = &r.stages[0].last.inputs;
    const struct plumb_signature_items *meta = &r.stages[0].last.metadata;
    const struct plumb_signature_tensor *t = item(in, "cond.text")->is.tensor;
    assert_int_equal(t->ndim, 2);
    assert_int_equal(t->strides[1], -77);
    assert_int_equal(t->stats->nan, 1);
    assert_true(t->stats->min == -2.5 && t->requires_grad == -1);
    t = item(in, "latents")->is.tensor;
    assert_null(t->strides);
    assert_null(t->stats);
    assert_string_equal(t->stats_error, "the tensor lies in memory of cuda:0");
    assert_int_equal(t->requires_grad, 0);
    assert_int_equal(item(in, "scale")->is.tensor->ndim, 0);
    assert_int_equal(item(in, "none")->kind, PLUMB_SIGNATURE_NULL);
    assert_int_equal(item(in, "empty")->is.list.count, 0);
    assert_int_equal(item(in, "mixed")->is.list.at[1].is.integer, 7);
    assert_int_equal(item(in, "deep")->is.list.at[0].is.list.at[0].kind, PLUMB_SIGNATURE_TENSOR);
    assert_int_equal(item(meta, "steps")->kind, PLUMB_SIGNATURE_INT);
    assert_int_equal(item(meta, "cfg_scale")->kind, PLUMB_SIGNATURE_REAL);
    assert_true(item(meta, "tiny")->is.real == 0x1p-1074);
    assert_true(item(meta, "minus_zero")->kind == PLUMB_SIGNATURE_REAL &&
                signbit(item(meta, "minus_zero")->is.real));
    assert_true(isnan(item(meta, "unknown")->is.real));
    assert_true(isinf(item(meta, "bound")->is.real));
    assert_true(item(meta, "least")->is.integer == INT64_MIN);
    assert_true(item(meta, "tiled")->is.boolean);
    assert_int_equal(r.stages[0].distinct[1].count, 3);
    plumb_signature_fini(&r);
    plumb_signature_fini(&s);
    plumb_buf_fini(&text);
}

static void unknown_fields_are_skipped(void **state)
{
    (void)state;
    struct plumb_signature s = parsed(
        "{\"format\": \"plumb-signature\", \"schema\": 1, \"pid\": 1, \"lost_calls\": 0, "
        "\"versions\": {}, \"new\": "
        "[], \"stages\": {\"a\": {\"input_signatures\": {\"x\": {\"shape\": [2], \"dtype\": "
        "\"int8\", \"device\": \"cpu\", \"layout\": 7}}, \"output_signatures\": {}, \"metadata\": "
        "{}, \"dropped\": 0, \"calls\": 1, \"other_calls\": 0, \"signatures\": [], \"more\": 1}}}");
    assert_int_equal(s.stages[0].last.inputs.at[0].value.is.tensor->bytes, -1);
    plumb_signature_fini(&s);
}

/* ---- The predecessor's ----------------------------------------------------------------------- */

static void the_predecessors_file_is_read(void **state)
{
    struct plumb_signature s;
    plumb_error err = {0, ""};
    (void)state;
    if (plumb_signature_read(&s, CORPUS "predecessor.json", &err) < 0)
        fail_msg("%s", err.message);
    assert_true(s.foreign);
    assert_int_equal(s.rank, -1);
    assert_string_equal(s.request_id, "req_20260102_030405_123456");
    assert_int_equal(s.stage_count, 2);
    assert_string_equal(s.stages[0].name, "text_encoding");
    assert_int_equal(s.stages[0].calls, 0);
    assert_int_equal(s.stages[0].distinct_count, 1);
    assert_string_equal(s.stages[0].last.outputs.at[0].name, "output");
    assert_int_equal(s.stages[0].last.outputs.at[0].value.is.tensor->shape[2], 4096);
    const struct plumb_signature_items *in = &s.stages[1].last.inputs;
    assert_int_equal(item(in, "latents")->is.tensor->requires_grad, 1);
    assert_int_equal(item(in, "without_grad")->is.tensor->requires_grad, 0);
    assert_int_equal(item(in, "without_grad")->is.tensor->ndim, 0);
    assert_string_equal(item(in, "prompt_embeds")->is.list.at[1].is.tensor->device, "cuda:1");
    assert_string_equal(item(in, "timesteps")->is.text, "list[int]");
    assert_string_equal(item(in, "scheduler")->is.text, "FlowMatchScheduler");
    assert_true(item(in, "cfg_scale")->is.real == 5);
    assert_true(item(in, "sigma_max")->is.real == INFINITY);
    assert_true(item(in, "sigma_min")->is.real == -INFINITY);
    assert_true(isnan(item(in, "eta")->is.real));
    assert_string_equal(item(in, "seed")->is.text, "18446744073709551615");
    assert_string_equal(item(in, "path")->is.text, "C:\\xffmpeg \\xff, not NaN");
    assert_int_equal(s.stages[1].last.outputs.count, 0);
    plumb_signature_fini(&s);
}

static void what_was_read_from_the_predecessor_is_written_whole(void **state)
{
    struct plumb_signature s;
    (void)state;
    assert_int_equal(plumb_signature_read(&s, CORPUS "predecessor.json", NULL), PLUMB_OK);
    struct plumb_buf text = written(&s);
    struct plumb_signature r = parsed(text.data);
    assert_false(r.foreign);
    assert_string_equal(item(&r.stages[1].last.inputs, "path")->is.text,
                        "C:\\xffmpeg \\xff, not NaN");
    assert_int_equal(r.stages[0].distinct_count, 1);
    assert_string_equal(r.stages[0].last.outputs.at[0].name, "output");
    plumb_signature_fini(&r);
    plumb_signature_fini(&s);
    plumb_buf_fini(&text);
}

static void a_stage_needs_no_more_than_its_inputs(void **state)
{
    (void)state;
    struct plumb_signature s = parsed("{\"stages\": {\"a\": {\"input_signatures\": {}}}}");
    assert_int_equal(s.stage_count, 1);
    assert_int_equal(s.stages[0].last.outputs.count + s.stages[0].last.metadata.count, 0);
    plumb_signature_fini(&s);
    s = parsed("{\"stages\": {}}");
    assert_int_equal(s.stage_count, 0);
    plumb_signature_fini(&s);
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void assert_refused(const char *text, const char *why)
{
    struct plumb_signature out;
    plumb_error err = {0, ""};
    assert_int_equal(plumb_signature_parse(&out, text, strlen(text), "x.json", &err),
                     PLUMB_ERR_FORMAT);
    assert_int_equal(err.code, PLUMB_ERR_FORMAT);
    assert_string_equal(err.message, why);
}

/* The predecessor's tensor `x` of stage `a`. */
static void assert_tensor_refused(const char *tensor, const char *why)
{
    char text[512];
    snprintf(text, sizeof text, "{\"stages\": {\"a\": {\"input_signatures\": {\"x\": [1, %s]}}}}",
             tensor);
    assert_refused(text, why);
}

#define X1 "'x.json' is damaged: stages.a.input_signatures.x[1]"

static void a_damaged_tensor_is_named_with_its_place(void **state)
{
    (void)state;
    assert_tensor_refused("{}", X1 ".shape is missing");
    assert_tensor_refused("{\"shape\": 1}", X1 ".shape is not a list");
    assert_tensor_refused("{\"shape\": [-1]}", X1 ".shape holds a negative size");
    assert_tensor_refused("{\"shape\": [1.5]}",
                          X1 ".shape holds something that is not a whole number");
    assert_tensor_refused("{\"shape\": [9223372036854775808]}",
                          X1 ".shape holds something that is not a whole number");
    assert_tensor_refused("{\"shape\": []}", X1 ".dtype is missing");
    assert_tensor_refused("{\"shape\": [], \"dtype\": 7}", X1 ".dtype is not a string");
    assert_tensor_refused("{\"shape\": [], \"dtype\": \"int8\"}", X1 ".device is missing");
#define SOUND "{\"shape\": [2], \"dtype\": \"int8\", \"device\": \"cpu\""
    assert_tensor_refused(SOUND ", \"strides\": [1, 2]}",
                          X1 ".strides does not hold as many numbers as 'shape'");
    assert_tensor_refused(SOUND ", \"strides\": 1}", X1 ".strides is not a list");
    assert_tensor_refused(SOUND ", \"requires_grad\": 1}",
                          X1 ".requires_grad is not true or false");
    assert_tensor_refused(SOUND ", \"bytes\": -1}",
                          X1 ".bytes is not a whole number from 0 to 2^63-1");
    assert_tensor_refused(SOUND ", \"values\": 1}", X1 ".values is not an object");
    assert_tensor_refused(SOUND ", \"values\": {}}", X1 ".values.min is missing");
    assert_tensor_refused(SOUND ", \"values_error\": 1}", X1 ".values_error is not a string");
}

#define OWN                                                                                        \
    "{\"format\": \"plumb-signature\", \"schema\": 1, \"pid\": 1, \"lost_calls\": 0, "             \
    "\"versions\": {}, "

static void a_damaged_stage_is_named_with_its_place(void **state)
{
    (void)state;
    assert_refused(OWN "\"stages\": 1}", "'x.json' is damaged: stages is not an object");
    assert_refused(OWN "\"stages\": {\"a\": 1}}", "'x.json' is damaged: stages.a is not an object");
    assert_refused(OWN "\"stages\": {\"a\": {}}}",
                   "'x.json' is damaged: stages.a.input_signatures is missing");
    assert_refused(OWN "\"stages\": {\"a\": {\"input_signatures\": {}, \"metadata\": {}, "
                       "\"output_signatures\": {}, \"dropped\": 0, \"calls\": -1}}}",
                   "'x.json' is damaged: stages.a.calls is not a whole number from 0 to 2^64-1");
    assert_refused(OWN
                   "\"stages\": {\"a\": {\"input_signatures\": {}, \"metadata\": {}, "
                   "\"output_signatures\": {}, \"dropped\": 0, \"calls\": 1, \"other_calls\": 0, "
                   "\"signatures\": [{\"count\": 1, \"input_signatures\": []}]}}}",
                   "'x.json' is damaged: stages.a.signatures[0].input_signatures is not an object");
    assert_refused(OWN "\"stages\": {\"\\\\xFF\": {}}}",
                   "'x.json' is damaged: stages.\\xFF is not a name that plumb would write");
    assert_refused("{\"stages\": {\"a\": {\"input_signatures\": {\"x\": "
                   "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}}}}",
                   "'x.json' is damaged: stages.a.input_signatures.x[0][0][0][0][0][0][0][0][0][0]"
                   "[0][0][0][0][0][0] holds lists that are nested too deeply");
}

static void foreign_and_newer_files_are_told_apart(void **state)
{
    (void)state;
    assert_refused("{\"format\": \"plumb-timing\", \"schema\": 1, \"stages\": {}}",
                   "'x.json' is not a file of I/O signatures (its \"format\" is not "
                   "\"plumb-signature\")");
    assert_refused("{\"stages\": {\"a\": {\"duration_ms\": 1}}}",
                   "'x.json' is not a file of I/O signatures (no \"stages\" with their "
                   "\"input_signatures\")");
    assert_refused("[]", "'x.json' is not a file of I/O signatures (no \"stages\" with their "
                         "\"input_signatures\")");
    assert_refused("{\"format\": \"plumb-signature\", \"schema\": 2}",
                   "'x.json' was written by a newer plumb (schema 2; this one reads up to 1)");
    assert_refused("{\"format\": \"plumb-signature\"}", "'x.json' is damaged: schema is missing");
    assert_refused(
        "{\"stages\": {\"a\": {\"input_signatures\": {\"x\": 1, \"x\": 2}}}}",
        "'x.json' is not valid JSON: line 1, column 55: the object that ends here has 'x' "
        "twice");
    assert_refused(
        "{\"stages\": {\"a\": {\"input_signatures\": {\"x\": NaNs}}}}",
        "'x.json' is not valid JSON: line 1, column 48: ',' or '}' is missing after a value");
    assert_refused(
        "", "'x.json' is not valid JSON: line 1, column 1: it ends in the middle of a value");
}

static void a_long_path_of_names_is_cut(void **state)
{
    char text[2048];
    char name[900];
    struct plumb_signature out;
    plumb_error err = {0, ""};
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "{\"stages\": {\"%s\": {\"input_signatures\": {\"%s\": {}}}}}",
             name, name);
    assert_int_equal(plumb_signature_parse(&out, text, strlen(text), "x.json", &err),
                     PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, "'x.json' is damaged: stages.nnnn"));
}

static void every_truncation_is_refused_in_one_line(void **state)
{
    struct plumb_signature s;
    struct plumb_signature out;
    (void)state;
    fixture_signature(&s);
    struct plumb_buf text = written(&s);
    for (size_t n = 0; n + 2 < text.len; n += 1 + n % 61) {
        plumb_error err = {0, ""};
        char *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, text.data, n);
        assert_int_equal(plumb_signature_parse(&out, cut, n, "x.json", &err), PLUMB_ERR_FORMAT);
        assert_non_null(strstr(err.message, "'x.json' is not valid JSON: line "));
        assert_null(strchr(err.message, '\n'));
        free(cut);
    }
    plumb_buf_fini(&text);
    plumb_signature_fini(&s);
}

static void files_that_cannot_be_read_say_why(void **state)
{
    struct plumb_signature out;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_signature_read(&out, "no/such.json", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "cannot read 'no/such.json': No such file or directory");
    assert_int_equal(plumb_signature_read(&out, "/", &err), PLUMB_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_reads_back_exactly),
        cmocka_unit_test(requests_and_mappings_read_back_exactly),
        cmocka_unit_test(every_kind_of_value_keeps_its_kind),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(the_predecessors_file_is_read),
        cmocka_unit_test(what_was_read_from_the_predecessor_is_written_whole),
        cmocka_unit_test(a_stage_needs_no_more_than_its_inputs),
        cmocka_unit_test(a_damaged_tensor_is_named_with_its_place),
        cmocka_unit_test(a_damaged_stage_is_named_with_its_place),
        cmocka_unit_test(foreign_and_newer_files_are_told_apart),
        cmocka_unit_test(a_long_path_of_names_is_cut),
        cmocka_unit_test(every_truncation_is_refused_in_one_line),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
