/* Tests of signature.c: the contents of timing_io_signature.json. The tests of the reader read it
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "model/signature.h"
#include "signature_fixture.h"

static char *written(struct plumb_signature *s)
{
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    assert_int_equal(plumb_signature_write(s, &out, &err), PLUMB_OK);
    assert_false(out.failed);
    return out.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static char *file(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static void the_file_is_the_golden_one(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    char *text = written(&s);
    char *golden = file(TEST_PLUMB_SOURCE_DIR "/tests/fuzz/corpus/signature/golden.json");
    assert_string_equal(text, golden);
    free(golden);
    free(text);
    plumb_signature_fini(&s);
}

static void one_tensor_out_is_the_output_and_others_are_not(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    s.stage_count = 1;
    s.stages[0].distinct_count = 0;
    char *text = written(&s);
    assert_has(text, "\"output_signature\": {\n        \"shape\": [1, 16, 21, 60, 104],");
    free(text);
    s.stages[0].last.outputs.at[0].value = fixture_int(1);
    text = written(&s);
    assert_has(text, "\"output_signature\": null,\n      \"output_signatures\": {\n        "
                     "\"output\": 1\n      },");
    free(text);
    plumb_signature_fini(&s);
    fixture_signature(&s);
    s.stages = &s.stages[2];
    s.stage_count = 1;
    text = written(&s);
    assert_has(text, "\"output_signature\": null,\n      \"output_signatures\": {\n        "
                     "\"first\": {");
    free(text);
    plumb_signature_fini(&s);
}

static void nothing_is_a_whole_file(void **state)
{
    struct plumb_signature s;
    (void)state;
    plumb_signature_init(&s);
    char *text = written(&s);
    assert_string_equal(
        text, "{\n  \"format\": \"plumb-signature\",\n  \"schema\": 1,\n"
              "  \"request_id\": null,\n  \"timestamp\": null,\n  \"rank\": null,\n"
              "  \"pid\": 0,\n  \"lost_calls\": 0,\n  \"versions\": {\n    \"plumb\": null\n  },\n"
              "  \"stages\": {}\n}\n");
    free(text);
    plumb_signature_fini(&s);
}

static void lists_as_deep_as_allowed_are_written(void **state)
{
    struct plumb_signature s;
    struct plumb_signature_value v;
    (void)state;
    fixture_signature(&s);
    s.stage_count = 2;
    v = fixture_tensor_of(&s, DIMS_OF(1), "int8", "cpu", 1);
    for (int i = 0; i < PLUMB_SIGNATURE_DEPTH; i++)
        v = fixture_list(&s, &v, 1);
    fixture_add(&s, &s.stages[1].last.inputs, "deep", v);
    s.stages[1].distinct = &s.stages[1].last;
    s.stages[1].distinct_count = 1;
    free(written(&s));
    plumb_signature_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_the_golden_one),
        cmocka_unit_test(one_tensor_out_is_the_output_and_others_are_not),
        cmocka_unit_test(nothing_is_a_whole_file),
        cmocka_unit_test(lists_as_deep_as_allowed_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
