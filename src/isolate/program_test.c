/* Tests of program.c: what the program says of a stage is C, whatever the signature has. That
 * programs build and compute the same is tests/cli/bench.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/inputs.h"
#include "isolate/program.h"

typedef struct plumb_signature_value value;
typedef struct plumb_signature_item item;

static int64_t shape[] = {2, 3}, strides[] = {1, 2}, no_shape[] = {0};
static struct plumb_signature_tensor turned = {shape,   2,  "float32", "cpu", -1,
                                               strides, 24, NULL,      NULL};
static struct plumb_signature_tensor empty = {no_shape, 1, "int64", "cpu", -1, NULL, 0, NULL, NULL};
static value list[] = {{PLUMB_SIGNATURE_TENSOR, {.tensor = &turned}},
                       {PLUMB_SIGNATURE_NULL, {0}},
                       {PLUMB_SIGNATURE_LIST, {.list = {NULL, 0}}}};
static item fields[] = {{"a\"b", {PLUMB_SIGNATURE_REAL, {.real = -HUGE_VAL}}},
                        {"mask", {PLUMB_SIGNATURE_TENSOR, {.tensor = &empty}}}};

/* A stage with a name that would end the comment, and the values that C has no literal for. */
static struct plumb_signature_stage stage_of(item *items, size_t count)
{
    struct plumb_signature_stage s = {.name = "de*/noise\n", .calls = 1};
    s.last.inputs.at = items;
    s.last.inputs.count = count;
    return s;
}

static char *written(const struct plumb_signature_stage *stage)
{
    const struct plumb_inputs_options how = {.mode = PLUMB_INPUTS_RANDOM, .seed = 5};
    struct plumb_inputs inputs;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    struct plumb_program p = {.file = "de_noise",
                              .library = "/a b/lib\"q\".so",
                              .config = "\xc3\xa9?\?/",
                              .stage = stage,
                              .seed = UINT64_MAX,
                              .first_step = 7,
                              .steps = 2};
    assert_int_equal(plumb_inputs_make(&inputs, stage, &how, &err), PLUMB_OK);
    p.inputs = p.random = &inputs;
    assert_int_equal(plumb_program_write(&out, &p, &err), PLUMB_OK);
    plumb_inputs_fini(&inputs);
    return out.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%.3000s", part, text);
}

static void equal_arguments_give_equal_text(void **state)
{
    item items[] = {{"n", {PLUMB_SIGNATURE_INT, {.integer = INT64_MIN}}},
                    {"x", {PLUMB_SIGNATURE_REAL, {.real = NAN}}},
                    {"list", {PLUMB_SIGNATURE_LIST, {.list = {list, 3}}}},
                    {"map", {PLUMB_SIGNATURE_FIELDS, {.fields = {fields, 2}}}}};
    const struct plumb_signature_stage stage = stage_of(items, 4);
    char *text = written(&stage), *again = written(&stage);
    (void)state;
    assert_string_equal(text, again);
    assert_int_equal(
        strncmp(text, "/* cc -std=c11 -O2 -Wall -Wextra -Werror profile_de_noise.c -ldl", 64), 0);
    assert_has(text, "'de_/noise_' alone");
    assert_has(text, "#define STAGE_NAME \"de*/noise\\012\"\n");
    assert_has(text, "#define STAGE_LIBRARY \"/a b/lib\\\"q\\\".so\"\n");
    assert_has(text, "#define STAGE_CONFIG \"\\303\\251\\?\\?/\"\n");
    assert_has(text, "#define STAGE_SEED UINT64_C(18446744073709551615)\n");
    assert_has(text, "INT64_MIN");
    assert_has(text, ".f64 = NAN");
    assert_has(text, ".f64 = -INFINITY");
    assert_has(text, "{\"a\\\"b\", {PLUMB_VALUE_F64");
    assert_has(text, "strides_0[] = {1, 2}");
    assert_has(text, "#define STAGE_INPUTS 4\n");
    free(again);
    free(text);
}

static void a_stage_without_inputs_has_a_program(void **state)
{
    const struct plumb_signature_stage stage = stage_of(NULL, 0);
    char *text = written(&stage);
    (void)state;
    assert_has(text, "#define STAGE_INPUTS 0\n");
    assert_has(text, "tensor_count = 0;");
    free(text);
}

/* Builds the program with the command in its first comment, where that compiler is installed. */
static void it_builds_by_its_first_line(void **state)
{
    item items[] = {{"n", {PLUMB_SIGNATURE_INT, {.integer = INT64_MIN}}},
                    {"x", {PLUMB_SIGNATURE_REAL, {.real = NAN}}},
                    {"list", {PLUMB_SIGNATURE_LIST, {.list = {list, 3}}}},
                    {"map", {PLUMB_SIGNATURE_FIELDS, {.fields = {fields, 2}}}}};
    const struct plumb_signature_stage stages[] = {stage_of(items, 4), stage_of(NULL, 0)};
    (void)state;
    if (system("cc --version >/dev/null 2>&1") != 0)
        skip();
    for (size_t i = 0; i < 2; i++) {
        char *text = written(&stages[i]);
        FILE *file = fopen("profile_de_noise.c", "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(system("$(sed -n '1s,^/\\* ,,p' profile_de_noise.c) -fsyntax-only"), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_arguments_give_equal_text),
        cmocka_unit_test(a_stage_without_inputs_has_a_program),
        cmocka_unit_test(it_builds_by_its_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
