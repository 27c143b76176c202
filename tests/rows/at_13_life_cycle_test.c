/* AT-13: recording of activations begins with a run and ends with it: then the file is closed,
 * calls go nowhere, and hooks of the program's own stay. Beginning it twice is safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include <dlpack/dlpack.h>

#include "descriptors.h"
#include "record.h"

static uint64_t sunk;
static int hooked;

static void sink(const char *line, size_t bytes, void *arg)
{
    (void)line, (void)bytes, (void)arg;
    sunk++;
}

static void before(plumb_node node, void *arg)
{
    (void)node, (void)arg;
    hooked++;
}

static void layer(void)
{
    float x[2] = {1, -2};
    int64_t two = 2;
    DLTensor t = {.data = x,
                  .device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
                  .shape = &two};
    PLUMB_SPAN("layer");
    plumb_activation(plumb_node_get("layer"), "out", &t);
}

static int lines_of(const char *path)
{
    FILE *f = fopen(path, "r");
    int lines = 0;
    for (int c; f && (c = fgetc(f)) != EOF;)
        lines += c == '\n';
    if (f)
        fclose(f);
    return f ? lines : -1;
}

static plumb_options options(void)
{
    plumb_options o = plumb_options_default();
    o.activations = PLUMB_ON;
    o.activations_append = PLUMB_ON;
    o.activations_output = "life.jsonl";
    return o;
}

static void nothing_is_attached_before_a_run(void **state)
{
    (void)state;
    assert_int_equal(plumb_activation_sink(sink, NULL, NULL), PLUMB_OK);
    layer();
    assert_int_equal(lines_of("life.jsonl"), -1);
    assert_int_equal(sunk, 0);
}

static void attaching_twice_is_safe(void **state)
{
    plumb_options o = options();
    plumb_error err = {0, ""};
    (void)state;
    record_start_with(o);
    layer();
    assert_true(descriptor_of_process("life.jsonl"));
    assert_false(descriptor_of_program("life.jsonl"));
    assert_int_equal(plumb_start(NULL, &err), PLUMB_OK);
    assert_int_equal(plumb_start(&o, &err), PLUMB_ERR_STATE);
    layer();
    record_stop();
    assert_int_equal(lines_of("life.jsonl"), 2);
    assert_int_equal(sunk, 2);
}

static void detaching_closes_the_file_and_leaves_the_rest_as_it_was(void **state)
{
    plumb_hook hook = plumb_hook_default();
    (void)state;
    hook.name = "own";
    hook.before = before;
    assert_int_equal(plumb_hook_add(plumb_node_get("layer"), &hook, NULL), PLUMB_OK);
    assert_false(descriptor_of_process("life.jsonl"));
    layer();
    assert_int_equal(lines_of("life.jsonl"), 2);
    assert_int_equal(sunk, 2);
    record_start_with(options());
    layer();
    record_stop();
    assert_false(descriptor_of_process("life.jsonl"));
    assert_int_equal(plumb_stop(NULL), PLUMB_OK);
    assert_int_equal(lines_of("life.jsonl"), 3);
    assert_int_equal(sunk, 3);
    /* A run without activations: the hook of the program's own is called all the same. */
    hooked = 0;
    record_start();
    layer();
    record_stop();
    assert_int_equal(hooked, 1);
    assert_int_equal(lines_of("life.jsonl"), 3);
    assert_int_equal(plumb_activation_sink(NULL, NULL, NULL), PLUMB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_attached_before_a_run, record_close),
        cmocka_unit_test_teardown(attaching_twice_is_safe, record_close),
        cmocka_unit_test_teardown(detaching_closes_the_file_and_leaves_the_rest_as_it_was,
                                  record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
