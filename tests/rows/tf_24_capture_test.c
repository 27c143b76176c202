/* TF-24: PLUMB_CAPTURE keeps the inputs of one call of a stage, or of one step, exactly, and the
 * stage can be run alone with them; what cannot be kept is named, and the program goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <sys/resource.h>

#include "record_capture.h"

#include "tensor/row_major.h"

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
    capture_start("kinds");
    {
        PLUMB_STAGE(stage, "kinds");
        for (int i = 0; i < TYPES; i++)
            plumb_stage_input(stage, types[i],
                              fixture_tensor(&t[i], data, types[i], DIMS(2, 3, 4)));
    }
    capture_finish();
    capture_read(&inputs, "kinds");
    assert_int_equal(inputs.count, TYPES);
    assert_int_equal(inputs.captured_count, TYPES);
    assert_int_equal(inputs.step, -1);
    for (int i = 0; i < TYPES; i++)
        same_tensor(capture_input(&inputs, types[i]), &t[i].dl);
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
    capture_start("shapes");
    {
        PLUMB_STAGE(stage, "shapes");
        for (int i = 0; i < 8; i++) {
            char name[] = {(char)('a' + i), 0};
            plumb_stage_input(stage, name, &t[i].dl);
        }
    }
    capture_finish();
    capture_read(&inputs, "shapes");
    for (int i = 0; i < 8; i++) {
        char name[] = {(char)('a' + i), 0};
        same_tensor(capture_input(&inputs, name), &t[i].dl);
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
    capture_start("values");
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
    capture_finish();
    capture_read(&inputs, "values");
    assert_int_equal(inputs.count, 6 + STRINGS + 9);
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "real%d", i);
        assert_memory_equal(&capture_input(&inputs, name)->as.f64, &reals[i], sizeof reals[i]);
    }
    for (int i = 0; i < STRINGS; i++) {
        assert_int_equal(capture_input(&inputs, strings[i])->kind, PLUMB_VALUE_STR);
        assert_string_equal(capture_input(&inputs, strings[i])->as.str, strings[i]);
    }
    assert_int_equal(capture_input(&inputs, "low")->as.i64, INT64_MIN);
    assert_int_equal(capture_input(&inputs, "true")->kind, PLUMB_VALUE_BOOL);
    assert_int_equal(capture_input(&inputs, "null")->kind, PLUMB_VALUE_NULL);
    const plumb_value *list = capture_input(&inputs, "list");
    assert_int_equal(list->count, 3);
    assert_int_equal(list->as.list[0].as.i64, 3);
    same_tensor(&list->as.list[1].as.list[0], &t.dl);
    assert_int_equal(list->as.list[1].as.list[1].kind, PLUMB_VALUE_NULL);
    assert_int_equal(list->as.list[2].kind, PLUMB_VALUE_LIST);
    assert_int_equal(list->as.list[2].count, 0);
    const plumb_field *field = capture_input(&inputs, "mapped")->as.list[0].as.fields;
    assert_string_equal(field[1].name, "a\\b");
    same_tensor(&field[0].value, &t.dl);
    same_tensor(capture_input(&inputs, "cond.mask"), &t.dl);
    assert_true(capture_input(&inputs, "cond.a\\b")->as.f64 == 1);
    same_tensor(capture_input(&inputs, "list[1][0]"), &t.dl);
    same_tensor(capture_input(&inputs, "__metadata__"), &t.dl);
    plumb_inputs_fini(&inputs);
}

static void one_call_of(const char *stage)
{
    plumb_span span = plumb_begin_with(plumb_node_get(stage), PLUMB_POINT_STAGE);
    plumb_stage_input_value(span, "name", plumb_value_str(stage));
    plumb_end(span);
}

/* Their files would have one name if what is not allowed in one were merely replaced. */
static void stages_with_similar_names_have_files_of_their_own(void **state)
{
    static const char *const names[] = {"a/b", "a_b", "a\nb"};
    struct plumb_inputs inputs;
    (void)state;
    for (int i = 0; i < 3; i++) {
        capture_start(names[i]);
        for (int k = 0; k < 3; k++)
            one_call_of(names[k]);
        capture_finish();
        assert_int_equal(capture_has("a_b.inputs.safetensors"), i == 1);
        capture_read(&inputs, names[i]);
        assert_string_equal(capture_input(&inputs, "name")->as.str, names[i]);
        plumb_inputs_fini(&inputs);
    }
}

static void what_changes_after_the_call_is_kept_as_it_was(void **state)
{
    float data[3] = {1, 2, 3}, before[3] = {1, 2, 3};
    struct fixture_tensor t, old;
    struct plumb_inputs inputs;
    (void)state;
    fixture_tensor(&t, data, "float32", DIMS(3));
    fixture_tensor(&old, before, "float32", DIMS(3));
    capture_start("denoise");
    for (int call = 0; call < 3; call++) {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
        data[call] = 77;
    }
    capture_finish();
    capture_read(&inputs, "denoise");
    same_tensor(capture_input(&inputs, "x"), &old.dl);
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
    const DLTensor *t = capture_input(inputs, name)->as.tensor;
    return *(const int64_t *)t->data;
}

static void a_step_has_what_the_loop_names_and_the_rest_of_the_call(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    capture_start("loop:7");
    loop_stage(5, true); /* too short: the next call is taken */
    loop_stage(9, true);
    loop_stage(9, true);
    capture_finish();
    capture_noted(
        "captured inputs of loop at step 7: loop.inputs.safetensors, 2 tensors of 16 bytes");
    capture_read(&inputs, "loop");
    assert_int_equal(inputs.step, 7);
    assert_int_equal(number(&inputs, "x"), 7);
    assert_int_equal(number(&inputs, "t"), 1007);
    assert_true(capture_input(&inputs, "scale")->as.f64 == 5);
    assert_int_equal(inputs.count, 3); /* not what is named after the step */
    plumb_inputs_fini(&inputs);
}

static void a_whole_call_has_its_own_inputs_and_the_first_of_the_loop(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    capture_start("loop");
    loop_stage(3, true);
    capture_finish();
    capture_read(&inputs, "loop");
    assert_int_equal(inputs.step, -1);
    assert_int_equal(number(&inputs, "x"), 100);
    assert_int_equal(number(&inputs, "t"), 1000);
    assert_int_equal(capture_input(&inputs, "late")->as.i64, 1);
    plumb_inputs_fini(&inputs);
}

static void a_stage_inside_a_step_is_that_of_the_step(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    capture_start("forward:2");
    for (PLUMB_STEPS (step, 4)) {
        PLUMB_STAGE(stage, "forward");
        plumb_stage_input_value(stage, "batch", plumb_value_i64(step));
    }
    capture_finish();
    capture_read(&inputs, "forward");
    assert_int_equal(capture_input(&inputs, "batch")->as.i64, 2);
    assert_int_equal(inputs.step, -1); /* the whole call, which has no step 2 of its own */
    assert_int_equal(inputs.call_step, 2);
    plumb_inputs_fini(&inputs);
}

/* Both loops pass step 2: the call has its own inputs all the same. */
static void a_loop_inside_a_captured_call_leaves_its_inputs_alone(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    capture_start("loop:2");
    for (PLUMB_STEPS (step, 4)) {
        if (step < 2)
            continue;
        loop_stage(3, true);
    }
    capture_finish();
    capture_read(&inputs, "loop");
    assert_int_equal(inputs.call_step, 2);
    assert_int_equal(number(&inputs, "x"), 100);
    assert_int_equal(number(&inputs, "t"), 1000);
    assert_int_equal(capture_input(&inputs, "late")->as.i64, 1);
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
    capture_start("loop:7");
    loop_stage(9, false);
    capture_finish();
    capture_noted("names no input inside its steps");
    assert_false(capture_has("loop.inputs.safetensors"));
    capture_start("loop:7");
    loop_stage(5, true);
    capture_finish();
    capture_noted("named an input in step 7, the last with inputs was 4");
    assert_false(capture_has("loop.inputs.safetensors"));
}

static void a_name_that_no_stage_has_is_said_with_the_nearest(void **state)
{
    (void)state;
    capture_start("lop");
    loop_stage(2, true);
    capture_finish();
    capture_noted("no stage that ran is called 'lop': did you mean 'loop'?");
    capture_start("a_span");
    {
        PLUMB_SPAN("a_span");
    }
    capture_finish();
    capture_noted("'a_span' is a span, not a stage");
    capture_start("silent");
    {
        PLUMB_STAGE(stage, "silent");
        plumb_stage_output_value(stage, "x", plumb_value_i64(1));
    }
    capture_finish();
    capture_noted("no run of the stage named an input");
    capture_start("open");
    plumb_span open = plumb_begin_with(plumb_node_get("open"), PLUMB_POINT_STAGE);
    plumb_stage_input_value(open, "x", plumb_value_i64(1));
    capture_finish();
    capture_noted("the call did not end before the run did");
    plumb_end(open);
    assert_false(capture_has("open.inputs.safetensors"));
}

static void an_abandoned_call_is_as_if_it_had_not_been(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    capture_start("denoise");
    scalar_call(1, 2);
    scalar_call(2, 1);
    scalar_call(3, 0);
    capture_finish();
    capture_read(&inputs, "denoise"); /* of the one that failed */
    assert_int_equal(capture_input(&inputs, "steps")->as.i64, 2);
    plumb_inputs_fini(&inputs);
}

static void without_the_setting_nothing_is_kept(void **state)
{
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    (void)state;
    unsetenv("PLUMB_CAPTURE");
    record_start();
    assert_int_equal(plumb_run_dir(capture_dir, sizeof capture_dir, NULL), PLUMB_OK);
    loop_stage(3, true);
    capture_finish();
    assert_false(capture_has("loop.inputs.safetensors"));
    assert_int_equal(capture_make(&inputs, "loop", PLUMB_INPUTS_CAPTURED, &err),
                     PLUMB_ERR_NOT_FOUND);
    assert_int_equal(capture_make(&inputs, "loop", PLUMB_INPUTS_AUTO, &err), PLUMB_OK);
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
    capture_start("denoise");
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
    capture_finish();
    capture_noted("2 tensors of 48 bytes");
    capture_noted("not captured of denoise: input 'device': the tensor lies in memory of cuda:1");
    capture_noted("not captured of denoise: input 'list[0]': the tensor has no data");
    capture_noted("input 'vector': a .safetensors file has no elements of float32x4");
    capture_noted("input 'wrong': the tensor has -1 dimensions");
    capture_noted("input 'large': its 240 bytes are more than is left of PLUMB_CAPTURE_BYTES");
    assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_CAPTURED, &err),
                     PLUMB_ERR_NOT_FOUND);
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
    capture_start("denoise");
    {
        const plumb_value list[] = {plumb_value_i64(1), plumb_value_tensor(&large.dl)};
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, "list", plumb_value_list(list, 2));
        plumb_stage_input(stage, "good", &good.dl);
    }
    capture_finish();
    if (capture_make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(inputs.tensor_count, 2);
    assert_int_equal(inputs.captured_count, 1);
    assert_string_equal(inputs.tensors->path, "list[1]");
    assert_false(inputs.tensors->captured);
    assert_int_equal(inputs.tensors->view.shape[0], 60);
    same_tensor(capture_input(&inputs, "good"), &good.dl);
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
        .mode = PLUMB_INPUTS_CAPTURED, .dir = capture_dir, .devices_on_host = true};
    plumb_error err = {0, ""};
    (void)state;
    fixture_strided(&t, data, "float32", DIMS(2, 3), STRIDES(1, 2));
    t.dl.device = (DLDevice){kDLVPI, 3};
    assert_int_equal(plumb_activation_copy(kDLVPI, copy_from_device, NULL, &err), PLUMB_OK);
    capture_start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    capture_finish();
    record_signatures(&s, capture_dir);
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
    capture_start("denoise");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){most.rlim_cur, before.rlim_max}), 0);
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    capture_finish();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    capture_noted("captured inputs of denoise: cannot write '");
    capture_noted("File too large");
    assert_false(capture_has("denoise.inputs.safetensors"));
    assert_null(strstr(capture_report, "\"captured\""));
    /* Something else has the name. */
    capture_start("denoise");
    snprintf(path, sizeof path, "%s/denoise.inputs.safetensors", capture_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    scalar_call(1, 0);
    capture_finish();
    capture_noted("Is a directory");
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
    capture_start("busy:5");
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    capture_finish();
    capture_read(&inputs, "busy");
    assert_int_equal(inputs.count, 3);
    int64_t call = capture_input(&inputs, "call")->as.i64;
    for (int part = 0; part < 2; part++) {
        const DLTensor *t = capture_input(&inputs, part ? "b" : "a")->as.tensor;
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
    capture_start("denoise");
    assert_int_equal(pthread_create(&thread, NULL, dies_in_the_stage, NULL), 0);
    pthread_join(thread, NULL);
    scalar_call(5, 0);
    capture_finish();
    capture_read(&inputs, "denoise");
    assert_int_equal(capture_input(&inputs, "steps")->as.i64, 5);
    plumb_inputs_fini(&inputs);
}

/* The thread of the stage writes the file itself, before its end returns. */
static void without_a_helper_the_file_is_there_when_the_stage_ends(void **state)
{
    struct plumb_inputs inputs;
    (void)state;
    setenv("PLUMB_HELPER", "off", 1);
    capture_start("loop:3");
    loop_stage(5, true);
    assert_true(capture_has("loop.inputs.safetensors"));
    capture_finish();
    unsetenv("PLUMB_HELPER");
    capture_noted("captured inputs of loop at step 3: loop.inputs.safetensors, 2 tensors");
    capture_read(&inputs, "loop");
    assert_int_equal(number(&inputs, "x"), 3);
    assert_int_equal(number(&inputs, "t"), 1003);
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
    capture_start("denoise");
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    capture_finish();
    snprintf(path, sizeof path, "%s/denoise.inputs.safetensors", capture_dir);
    assert_int_equal(stat(path, &st), 0);
    for (long size = (long)st.st_size - 1; size >= 0; size -= 5) {
        cut(path, size);
        assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err),
                         PLUMB_ERR_FORMAT);
        assert_null(strchr(err.message, '\n'));
    }
    unlink(path);
    assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_CAPTURED, &err),
                     PLUMB_ERR_NOT_FOUND);
    assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_OK);
    plumb_inputs_fini(&inputs);
    snprintf(other, sizeof other, "%s/timing.json", capture_dir);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_ERR_FORMAT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(capture_make(&inputs, "denoise", PLUMB_INPUTS_AUTO, &err), PLUMB_ERR_FORMAT);
    unlink(path);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, NULL, capture_close)
    const struct CMUnitTest tests[] = {
        CASE(every_element_type_comes_back_bit_by_bit),
        CASE(shapes_and_strides_come_back),
        CASE(scalars_strings_and_lists_come_back),
        CASE(stages_with_similar_names_have_files_of_their_own),
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
        CASE(without_a_helper_the_file_is_there_when_the_stage_ends),
        CASE(a_file_that_is_not_a_capture_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(capture_report);
    return failed;
}
