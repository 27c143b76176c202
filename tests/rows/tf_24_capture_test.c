/* labels: notsan
 * TF-24: PLUMB_CAPTURE keeps the inputs of one call of a stage, or of one step, exactly, and the
 * stage can be run alone with them; what cannot be kept is named, and the program goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record_signatures.h"

#include "isolate/inputs.h"
#include "tensor/row_major.h"

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
    unsetenv("PLUMB_CAPTURE_BYTES");
    return record_close(state);
}

/* The text of timing.json, in which the notes are, ends after `finish`. */
static char *report;

static void finish(void)
{
    char path[1100];
    FILE *f;
    record_stop();
    snprintf(path, sizeof path, "%s/timing.json", dir);
    f = fopen(path, "rb");
    assert_non_null(f);
    free(report);
    report = calloc(1, 1 << 20);
    assert_non_null(report);
    assert_true(fread(report, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
}

static void noted(const char *line)
{
    if (!strstr(report, line))
        fail_msg("'%s' is not in:\n%.3000s", line, report);
}

static int make(struct plumb_inputs *out, const char *stage, enum plumb_inputs_mode mode,
                plumb_error *err)
{
    struct plumb_signature s;
    const struct plumb_inputs_options options = {.mode = mode, .dir = dir, .seed = 1};
    int rc;
    record_signatures(&s, dir);
    rc = plumb_inputs_make(out, signature_stage(&s, stage), &options, err);
    plumb_signature_fini(&s);
    return rc;
}

static void captured(struct plumb_inputs *out, const char *stage)
{
    plumb_error err = {0, ""};
    if (make(out, stage, PLUMB_INPUTS_CAPTURED, &err) < 0)
        fail_msg("%s", err.message);
}

static bool is_file(const char *name)
{
    char path[1200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

static const plumb_value *input(const struct plumb_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->at[i].name, name) == 0)
            return &inputs->at[i].value;
    fail_msg("no input '%s'", name);
    return NULL;
}

static void same_tensor(const plumb_value *value, const DLTensor *wanted)
{
    struct plumb_view a, b;
    struct plumb_row_major ra, rb;
    unsigned char x[4096], y[4096];
    size_t n;
    assert_int_equal(value->kind, PLUMB_VALUE_TENSOR);
    assert_int_equal(plumb_view_init(&a, value->as.tensor, NULL), PLUMB_OK);
    assert_int_equal(plumb_view_init(&b, wanted, NULL), PLUMB_OK);
    assert_memory_equal(&a.dtype, &b.dtype, sizeof a.dtype);
    assert_int_equal(a.ndim, b.ndim);
    for (int i = 0; i < a.ndim; i++)
        assert_int_equal(a.shape[i], b.shape[i]);
    assert_int_equal(plumb_view_is_compact(&a), plumb_view_is_compact(&b));
    for (int i = 0; i < a.ndim && !plumb_view_is_compact(&b); i++)
        assert_int_equal(a.strides[i], b.strides[i]);
    if (b.bytes == 0)
        return;
    assert_true(b.bytes <= sizeof x);
    plumb_row_major_init(&ra, &a);
    plumb_row_major_init(&rb, &b);
    n = plumb_row_major_read(&ra, x, sizeof x);
    assert_int_equal(n, b.bytes);
    assert_int_equal(plumb_row_major_read(&rb, y, sizeof y), n);
    assert_memory_equal(x, y, n);
}

/* ---- Exactness ------------------------------------------------------------------------------- */

static const char *const types[] = {
    "float64", "float32", "float16", "bfloat16",  "float8_e4m3fn", "float8_e5m2",
    "int8",    "int16",   "int32",   "int64",     "uint8",         "uint16",
    "uint32",  "uint64",  "bool",    "complex64", "complex128"};
enum { TYPES = sizeof types / sizeof types[0] };

static void every_element_type_comes_back_bit_by_bit(void **state)
{
    unsigned char data[24 * 16];
    struct fixture_tensor t[TYPES];
    struct plumb_inputs inputs;
    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 37 + 11); /* NaN with payloads, bools that are neither */
    start("kinds");
    {
        PLUMB_STAGE(stage, "kinds");
        for (int i = 0; i < TYPES; i++)
            plumb_stage_input(stage, types[i],
                              fixture_tensor(&t[i], data, types[i], DIMS(2, 3, 4)));
    }
    finish();
    captured(&inputs, "kinds");
    assert_int_equal(inputs.count, TYPES);
    assert_int_equal(inputs.captured_count, TYPES);
    assert_int_equal(inputs.step, -1);
    for (int i = 0; i < TYPES; i++)
        same_tensor(input(&inputs, types[i]), &t[i].dl);
    plumb_inputs_fini(&inputs);
}

static void shapes_and_strides_come_back(void **state)
{
    float data[200];
    struct fixture_tensor t[8];
    struct plumb_inputs inputs;
    (void)state;
    for (int i = 0; i < 200; i++)
        data[i] = (float)i + 0.5f;
    fixture_strided(&t[0], data, "float32", DIMS(4, 6), STRIDES(1, 4));
    fixture_strided(&t[1], data, "float32", DIMS(4, 6), STRIDES(20, 3));
    fixture_strided(&t[2], data + 199, "float32", DIMS(5, 7), STRIDES(-9, -1));
    fixture_strided(&t[3], data, "float32", DIMS(3, 8), STRIDES(0, 1));
    fixture_tensor(&t[4], data, "float32", DIMS(3, 0, 2));
    fixture_tensor(&t[5], data, "float32", NO_DIMS);
    fixture_tensor(&t[6], data, "float32", DIMS(7));
    t[6].dl.byte_offset = 40;
    fixture_tensor(&t[7], NULL, "float32", DIMS(0));
    start("shapes");
    {
        PLUMB_STAGE(stage, "shapes");
        for (int i = 0; i < 8; i++) {
            char name[] = {(char)('a' + i), 0};
            plumb_stage_input(stage, name, &t[i].dl);
        }
    }
    finish();
    captured(&inputs, "shapes");
    for (int i = 0; i < 8; i++) {
        char name[] = {(char)('a' + i), 0};
        same_tensor(input(&inputs, name), &t[i].dl);
    }
    plumb_inputs_fini(&inputs);
}

static const char *const strings[] = {
    "",    "a red car",    "\xff\x80 not UTF-8", "\\x41 \\ \"quoted\" \n\t\x01", "\u00e9\u4e2d",
    "NaN", "<error: mine>"};
enum { STRINGS = sizeof strings / sizeof strings[0] };

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static void scalars_strings_and_lists_come_back(void **state)
{
    const double reals[] = {5.5, -0.0, 0.1, INFINITY, double_of(0x7ff8dead0000beef), 5e-324};
    float data[6] = {1, 2, 3, 4, 5, 6};
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    char name[20];
    (void)state;
    fixture_tensor(&t, data, "float32", DIMS(2, 3));
    start("values");
    {
        const plumb_value inner[] = {plumb_value_tensor(&t.dl), plumb_value_null()};
        const plumb_value list[] = {plumb_value_i64(3), plumb_value_list(inner, 2),
                                    plumb_value_list(NULL, 0)};
        const plumb_field parts[] = {{"mask", plumb_value_tensor(&t.dl)},
                                     {"a\\b", plumb_value_f64(1)}};
        const plumb_value mapped[] = {plumb_value_fields(parts, 2)};
        PLUMB_STAGE(stage, "values");
        for (int i = 0; i < 6; i++) {
            snprintf(name, sizeof name, "real%d", i);
            plumb_stage_input_value(stage, name, plumb_value_f64(reals[i]));
        }
        for (int i = 0; i < STRINGS; i++)
            plumb_stage_input_value(stage, strings[i], plumb_value_str(strings[i]));
        plumb_stage_input_value(stage, "low", plumb_value_i64(INT64_MIN));
        plumb_stage_input_value(stage, "true", plumb_value_bool(1));
        plumb_stage_input(stage, "null", NULL);
        plumb_stage_input_value(stage, "list", plumb_value_list(list, 3));
        plumb_stage_input_value(stage, "mapped", plumb_value_list(mapped, 1));
        plumb_stage_input_value(stage, "cond", plumb_value_fields(parts, 2));
        plumb_stage_input(stage, "list[1][0]", &t.dl); /* as a part of the list is called */
        plumb_stage_input(stage, "__metadata__", &t.dl);
        plumb_stage_metadata(stage, "not", plumb_value_i64(1));
        plumb_stage_output(stage, "nor", &t.dl);
    }
    finish();
    captured(&inputs, "values");
    assert_int_equal(inputs.count, 6 + STRINGS + 9);
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "real%d", i);
        assert_memory_equal(&input(&inputs, name)->as.f64, &reals[i], sizeof reals[i]);
    }
    for (int i = 0; i < STRINGS; i++) {
        assert_int_equal(input(&inputs, strings[i])->kind, PLUMB_VALUE_STR);
        assert_string_equal(input(&inputs, strings[i])->as.str, strings[i]);
    }
    assert_int_equal(input(&inputs, "low")->as.i64, INT64_MIN);
    assert_int_equal(input(&inputs, "true")->kind, PLUMB_VALUE_BOOL);
    assert_int_equal(input(&inputs, "null")->kind, PLUMB_VALUE_NULL);
    const plumb_value *list = input(&inputs, "list");
    assert_int_equal(list->count, 3);
    assert_int_equal(list->as.list[0].as.i64, 3);
    same_tensor(&list->as.list[1].as.list[0], &t.dl);
    assert_int_equal(list->as.list[1].as.list[1].kind, PLUMB_VALUE_NULL);
    assert_int_equal(list->as.list[2].kind, PLUMB_VALUE_LIST);
    assert_int_equal(list->as.list[2].count, 0);
    const plumb_field *field = input(&inputs, "mapped")->as.list[0].as.fields;
    assert_string_equal(field[1].name, "a\\b");
    same_tensor(&field[0].value, &t.dl);
    same_tensor(input(&inputs, "cond.mask"), &t.dl);
    assert_true(input(&inputs, "cond.a\\b")->as.f64 == 1);
    same_tensor(input(&inputs, "list[1][0]"), &t.dl);
    same_tensor(input(&inputs, "__metadata__"), &t.dl);
    plumb_inputs_fini(&inputs);
}

static void what_changes_after_the_call_is_kept_as_it_was(void **state)
{
    float data[3] = {1, 2, 3}, before[3] = {1, 2, 3};
    struct fixture_tensor t, old;
    struct plumb_inputs inputs;
    (void)state;
    fixture_tensor(&t, data, "float32", DIMS(3));
    fixture_tensor(&old, before, "float32", DIMS(3));
    start("denoise");
    for (int call = 0; call < 3; call++) {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
        data[call] = 77;
    }
    finish();
    captured(&inputs, "denoise");
    same_tensor(input(&inputs, "x"), &old.dl);
    plumb_inputs_fini(&inputs);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* A call of `steps` steps; `x` is 100 + its value before, then 0, 1, ... in the loop. */
static void loop_stage(int steps, bool named)
{
    int64_t x = 100, t;
    struct fixture_tensor tx, tt;
    fixture_tensor(&tx, &x, "int64", DIMS(1));
    fixture_tensor(&tt, &t, "int64", DIMS(1));
    PLUMB_STAGE(stage, "loop");
    plumb_stage_input(stage, "x", &tx.dl);
    plumb_stage_input_value(stage, "scale", plumb_value_f64(5));
    for (PLUMB_STEPS (step, steps)) {
        x = step;
        t = 1000 + step;
        if (named) {
            plumb_stage_input(stage, "x", &tx.dl);
            plumb_stage_input(stage, "t", &tt.dl);
        }
    }
    x = -1;
    plumb_stage_input_value(stage, "late", plumb_value_i64(1));
}

static int64_t number(const struct plumb_inputs *inputs, const char *name)
{
    const DLTensor *t = input(inputs, name)->as.tensor;
    return *(const int64_t *)t->data;
}

static void a_step_has_what_the_loop_names_and_the_rest_of_the_call(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("loop:7");
    loop_stage(5, true); /* too short: the next call is taken */
    loop_stage(9, true);
    loop_stage(9, true);
    finish();
    noted("captured inputs of loop at step 7: loop.inputs.safetensors, 2 tensors of 16 bytes");
    captured(&inputs, "loop");
    assert_int_equal(inputs.step, 7);
    assert_int_equal(number(&inputs, "x"), 7);
    assert_int_equal(number(&inputs, "t"), 1007);
    assert_true(input(&inputs, "scale")->as.f64 == 5);
    assert_int_equal(inputs.count, 3); /* not what is named after the step */
    plumb_inputs_fini(&inputs);
}

static void a_whole_call_has_its_own_inputs_and_the_first_of_the_loop(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("loop");
    loop_stage(3, true);
    finish();
    captured(&inputs, "loop");
    assert_int_equal(inputs.step, -1);
    assert_int_equal(number(&inputs, "x"), 100);
    assert_int_equal(number(&inputs, "t"), 1000);
    assert_int_equal(input(&inputs, "late")->as.i64, 1);
    plumb_inputs_fini(&inputs);
}

static void a_stage_inside_a_step_is_that_of_the_step(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("forward:2");
    for (PLUMB_STEPS (step, 4)) {
        PLUMB_STAGE(stage, "forward");
        plumb_stage_input_value(stage, "batch", plumb_value_i64(step));
    }
    finish();
    captured(&inputs, "forward");
    assert_int_equal(input(&inputs, "batch")->as.i64, 2);
    assert_int_equal(inputs.step, -1); /* the whole call, which has no step 2 of its own */
    assert_int_equal(inputs.call_step, 2);
    plumb_inputs_fini(&inputs);
}

/* Both loops pass step 2: the call has its own inputs all the same. */
static void a_loop_inside_a_captured_call_leaves_its_inputs_alone(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("loop:2");
    for (PLUMB_STEPS (step, 4)) {
        if (step < 2)
            continue;
        loop_stage(3, true);
    }
    finish();
    captured(&inputs, "loop");
    assert_int_equal(inputs.call_step, 2);
    assert_int_equal(number(&inputs, "x"), 100);
    assert_int_equal(number(&inputs, "t"), 1000);
    assert_int_equal(input(&inputs, "late")->as.i64, 1);
    plumb_inputs_fini(&inputs);
}

/* A run of stage `denoise`; outcome 1 fails, 2 is abandoned. */
static void scalar_call(int64_t steps, int outcome)
{
    PLUMB_STAGE(stage, "denoise");
    plumb_stage_input_value(stage, "steps", plumb_value_i64(steps));
    if (outcome == 1)
        plumb_span_fail(stage, "no memory");
    if (outcome == 2)
        plumb_span_abandon(stage);
}

/* ---- Nothing captured, and why --------------------------------------------------------------- */

static void a_step_that_never_has_inputs_is_refused(void **state)
{
    (void)state;
    start("loop:7");
    loop_stage(9, false);
    finish();
    noted("names no input inside its steps");
    assert_false(is_file("loop.inputs.safetensors"));
    start("loop:7");
    loop_stage(5, true);
    finish();
    noted("named an input in step 7, the last with inputs was 4");
    assert_false(is_file("loop.inputs.safetensors"));
}

static void a_name_that_no_stage_has_is_said_with_the_nearest(void **state)
{
    (void)state;
    start("lop");
    loop_stage(2, true);
    finish();
    noted("no stage that ran is called 'lop': did you mean 'loop'?");
    start("a_span");
    {
        PLUMB_SPAN("a_span");
    }
    finish();
    noted("'a_span' is a span, not a stage");
    start("silent");
    {
        PLUMB_STAGE(stage, "silent");
        plumb_stage_output_value(stage, "x", plumb_value_i64(1));
    }
    finish();
    noted("no run of the stage named an input");
    start("open");
    plumb_span open = plumb_begin_with(plumb_node_get("open"), PLUMB_POINT_STAGE);
    plumb_stage_input_value(open, "x", plumb_value_i64(1));
    finish();
    noted("the call did not end before the run did");
    plumb_end(open);
    assert_false(is_file("open.inputs.safetensors"));
}

static void an_abandoned_call_is_as_if_it_had_not_been(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    start("denoise");
    scalar_call(1, 2);
    scalar_call(2, 1);
    scalar_call(3, 0);
    finish();
    captured(&inputs, "denoise"); /* of the one that failed */
    assert_int_equal(input(&inputs, "steps")->as.i64, 2);
    plumb_inputs_fini(&inputs);
}

static void without_the_setting_nothing_is_kept(void **state)
{
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    (void)state;
    unsetenv("PLUMB_CAPTURE");
    record_start();
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    loop_stage(3, true);
    finish();
    assert_false(is_file("loop.inputs.safetensors"));
    assert_int_equal(make(&inputs, "loop", PLUMB_INPUTS_CAPTURED, &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(make(&inputs, "loop", PLUMB_INPUTS_AUTO, &err), PLUMB_OK);
    assert_int_equal(inputs.captured_count, 0);
    plumb_inputs_fini(&inputs);
}

/* ---- What cannot be kept --------------------------------------------------------------------- */

static void parts_that_cannot_be_kept_are_named_and_the_rest_is(void **state)
{
    static float data[64];
    struct fixture_tensor good, device, null, vector, wrong, large;
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    (void)state;
    fixture_tensor(&good, data, "float32", DIMS(2, 3));
    fixture_tensor(&device, data, "float32", DIMS(4));
    device.dl.device = (DLDevice){kDLCUDA, 1};
    fixture_tensor(&null, NULL, "float32", DIMS(4));
    fixture_tensor(&vector, data, "float32x4", DIMS(4));
    fixture_tensor(&wrong, data, "float32", DIMS(4));
    wrong.dl.ndim = -1;
    fixture_tensor(&large, data, "float32", DIMS(60));
    setenv("PLUMB_CAPTURE_BYTES", "100", 1);
    start("denoise");
    {
        const plumb_value list[] = {plumb_value_tensor(&null.dl), plumb_value_tensor(&good.dl)};
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "device", &device.dl);
        plumb_stage_input_value(stage, "list", plumb_value_list(list, 2));
        plumb_stage_input(stage, "vector", &vector.dl);
        plumb_stage_input(stage, "wrong", &wrong.dl);
        plumb_stage_input(stage, "large", &large.dl);
        plumb_stage_input(stage, "good", &good.dl);
    }
    finish();
    noted("2 tensors of 48 bytes");
    noted("not captured of denoise: input 'device': the tensor lies in memory of cuda:1");
    noted("not captured of denoise: input 'list[0]': the tensor has no data");
    noted("input 'vector': a .safetensors file has no elements of float32x4");
    noted("input 'wrong': the tensor has -1 dimensions");
    noted("input 'large': its 240 bytes are more than is left of PLUMB_CAPTURE_BYTES");
    assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_CAPTURED, &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "input 'device' of stage 'denoise': it was not captured: the "
                                     "tensor lies in memory of cuda:1");
}

static void auto_makes_up_what_was_left_out(void **state)
{
    static float data[60];
    struct fixture_tensor good, large;
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    (void)state;
    data[5] = 7;
    fixture_tensor(&good, data, "float32", DIMS(2, 3));
    fixture_tensor(&large, data, "float32", DIMS(60));
    setenv("PLUMB_CAPTURE_BYTES", "100", 1);
    start("denoise");
    {
        const plumb_value list[] = {plumb_value_i64(1), plumb_value_tensor(&large.dl)};
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, "list", plumb_value_list(list, 2));
        plumb_stage_input(stage, "good", &good.dl);
    }
    finish();
    if (make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(inputs.tensor_count, 2);
    assert_int_equal(inputs.captured_count, 1);
    assert_string_equal(inputs.tensors->path, "list[1]");
    assert_false(inputs.tensors->captured);
    assert_int_equal(inputs.tensors->view.shape[0], 60);
    same_tensor(input(&inputs, "good"), &good.dl);
    plumb_inputs_fini(&inputs);
}

static int copy_from_device(void *to, const void *from, uint64_t bytes, int32_t device, void *arg)
{
    (void)device;
    (void)arg;
    /* A program that names inputs in here is left out, not recorded twice. */
    PLUMB_STAGE(stage, "denoise");
    plumb_stage_input_value(stage, "inner", plumb_value_i64(1));
    memcpy(to, from, bytes);
    return 0;
}

static void a_device_that_the_program_can_copy_from_is_captured(void **state)
{
    float data[6] = {6, 5, 4, 3, 2, 1};
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    struct plumb_signature s;
    const struct plumb_inputs_options options = {
        .mode = PLUMB_INPUTS_CAPTURED, .dir = dir, .devices_on_host = true};
    plumb_error err = {0, ""};
    (void)state;
    fixture_strided(&t, data, "float32", DIMS(2, 3), STRIDES(1, 2));
    t.dl.device = (DLDevice){kDLVPI, 3};
    assert_int_equal(plumb_activation_copy(kDLVPI, copy_from_device, NULL, &err), PLUMB_OK);
    start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    finish();
    record_signatures(&s, dir);
    assert_int_equal(plumb_inputs_make(&inputs, signature_stage(&s, "denoise"), &options, &err),
                     PLUMB_OK);
    assert_int_equal(inputs.count, 1);
    t.dl.device = (DLDevice){kDLCPU, 0};
    same_tensor(&inputs.at[0].value, &t.dl);
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

/* ---- Disks, threads, processes --------------------------------------------------------------- */

static void a_file_that_cannot_be_written_leaves_nothing(void **state)
{
    enum { FLOATS = 1 << 21 };
    float *data = calloc(FLOATS, sizeof *data);
    const struct rlimit most = {4 << 20, RLIM_INFINITY};
    struct rlimit before;
    struct fixture_tensor t;
    char path[1200];
    (void)state;
    assert_non_null(data);
    fixture_tensor(&t, data, "float32", DIMS(FLOATS));
    start("denoise");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){most.rlim_cur, before.rlim_max}), 0);
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    finish();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    noted("captured inputs of denoise: cannot write '");
    noted("File too large");
    assert_false(is_file("denoise.inputs.safetensors"));
    assert_null(strstr(report, "\"captured\""));
    /* Something else has the name. */
    start("denoise");
    snprintf(path, sizeof path, "%s/denoise.inputs.safetensors", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    scalar_call(1, 0);
    finish();
    noted("Is a directory");
    assert_int_equal(rmdir(path), 0);
    free(data);
}

enum { THREADS = 8, CALLS = 200 };

static void *call_often(void *arg)
{
    int64_t values[50];
    int64_t me = (int64_t)(uintptr_t)arg;
    struct fixture_tensor t;
    fixture_tensor(&t, values, "int64", DIMS(50));
    for (int64_t call = 0; call < CALLS; call++) {
        for (int i = 0; i < 50; i++)
            values[i] = me * CALLS + call;
        PLUMB_STAGE(stage, "busy");
        plumb_stage_input(stage, "a", &t.dl);
        for (PLUMB_STEPS (step, 6)) {
            plumb_stage_input(stage, "b", &t.dl);
            plumb_stage_input_value(stage, "call", plumb_value_i64(me * CALLS + call));
        }
    }
    return NULL;
}

static void of_many_threads_one_call_is_kept_whole(void **state)
{
    pthread_t thread[THREADS];
    struct plumb_inputs inputs;
    (void)state;
    start("busy:5");
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    finish();
    captured(&inputs, "busy");
    assert_int_equal(inputs.count, 3);
    int64_t call = input(&inputs, "call")->as.i64;
    for (int part = 0; part < 2; part++) {
        const DLTensor *t = input(&inputs, part ? "b" : "a")->as.tensor;
        for (int i = 0; i < 50; i++)
            assert_int_equal(((const int64_t *)t->data)[i], call);
    }
    plumb_inputs_fini(&inputs);
}

static void *dies_in_the_stage(void *unused)
{
    (void)unused;
    plumb_span stage = plumb_begin_with(plumb_node_get("denoise"), PLUMB_POINT_STAGE);
    plumb_stage_input_value(stage, "who", plumb_value_i64(1));
    return NULL;
}

static void a_thread_that_ends_in_the_stage_gives_it_back(void **state)
{
    pthread_t thread;
    struct plumb_inputs inputs;
    (void)state;
    start("denoise");
    assert_int_equal(pthread_create(&thread, NULL, dies_in_the_stage, NULL), 0);
    pthread_join(thread, NULL);
    scalar_call(5, 0);
    finish();
    captured(&inputs, "denoise");
    assert_int_equal(input(&inputs, "steps")->as.i64, 5);
    plumb_inputs_fini(&inputs);
}

/* The child is forked in the middle of the call that the parent captures. */
static void a_forked_child_has_a_capture_of_its_own(void **state)
{
    struct plumb_inputs inputs;
    int status, tube[2];
    pid_t pid;
    (void)state;
    assert_int_equal(pipe(tube), 0);
    start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, "steps", plumb_value_i64(1));
        pid = fork();
        if (pid == 0) {
            plumb_span_abandon(stage);
            scalar_call(99, 0);
            char own[1024] = "";
            plumb_run_dir(own, sizeof own, NULL);
            plumb_stop(NULL);
            _exit(write(tube[1], own, sizeof own) == sizeof own ? 0 : 1);
        }
        plumb_stage_input_value(stage, "after", plumb_value_i64(2));
    }
    char child[1024];
    assert_int_equal(read(tube[0], child, sizeof child), sizeof child);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    finish();
    captured(&inputs, "denoise");
    assert_int_equal(input(&inputs, "steps")->as.i64, 1);
    assert_int_equal(input(&inputs, "after")->as.i64, 2);
    plumb_inputs_fini(&inputs);
    assert_string_not_equal(child, dir);
    snprintf(dir, sizeof dir, "%s", child);
    captured(&inputs, "denoise");
    assert_int_equal(input(&inputs, "steps")->as.i64, 99);
    plumb_inputs_fini(&inputs);
}

/* ---- Damaged files --------------------------------------------------------------------------- */

static void cut(const char *path, long bytes)
{
    assert_int_equal(truncate(path, bytes), 0);
}

static void a_file_that_is_not_a_capture_is_refused(void **state)
{
    float data[6] = {1, 2, 3, 4, 5, 6};
    struct fixture_tensor t;
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    char path[1200], other[1200];
    struct stat st;
    (void)state;
    fixture_tensor(&t, data, "float32", DIMS(6));
    start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    finish();
    snprintf(path, sizeof path, "%s/denoise.inputs.safetensors", dir);
    assert_int_equal(stat(path, &st), 0);
    for (long size = (long)st.st_size - 1; size >= 0; size -= 5) {
        cut(path, size);
        assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_ERR_FORMAT);
        assert_null(strchr(err.message, '\n'));
    }
    unlink(path);
    assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_CAPTURED, &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_OK);
    plumb_inputs_fini(&inputs);
    snprintf(other, sizeof other, "%s/timing.json", dir);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_ERR_FORMAT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_ERR_FORMAT);
    unlink(path);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, NULL, close_run)
    const struct CMUnitTest tests[] = {
        CASE(every_element_type_comes_back_bit_by_bit),
        CASE(shapes_and_strides_come_back),
        CASE(scalars_strings_and_lists_come_back),
        CASE(what_changes_after_the_call_is_kept_as_it_was),
        CASE(a_step_has_what_the_loop_names_and_the_rest_of_the_call),
        CASE(a_whole_call_has_its_own_inputs_and_the_first_of_the_loop),
        CASE(a_stage_inside_a_step_is_that_of_the_step),
        CASE(a_loop_inside_a_captured_call_leaves_its_inputs_alone),
        CASE(a_step_that_never_has_inputs_is_refused),
        CASE(a_name_that_no_stage_has_is_said_with_the_nearest),
        CASE(an_abandoned_call_is_as_if_it_had_not_been),
        CASE(without_the_setting_nothing_is_kept),
        CASE(parts_that_cannot_be_kept_are_named_and_the_rest_is),
        CASE(auto_makes_up_what_was_left_out),
        CASE(a_device_that_the_program_can_copy_from_is_captured),
        CASE(a_file_that_cannot_be_written_leaves_nothing),
        CASE(of_many_threads_one_call_is_kept_whole),
        CASE(a_thread_that_ends_in_the_stage_gives_it_back),
        CASE(a_forked_child_has_a_capture_of_its_own),
        CASE(a_file_that_is_not_a_capture_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(report);
    return failed;
}
