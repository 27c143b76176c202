/* TF-24: a stage that is run alone gets inputs of the recorded shape, type and strides, lists,
 * scalars and null among them, the same for the same seed; what cannot be made is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "isolate/inputs.h"
#include "signature_fixture.h"
#include "tensor/row_major.h"
#include "tensor/value_stats.h"

static const int64_t four[] = {2, 3, 4, 5, -1};

/* A stage whose only inputs are `items`. */
static struct plumb_signature_stage stage_of(struct plumb_signature_item *items, size_t n)
{
    struct plumb_signature_stage stage = {.name = "denoise"};
    stage.last.inputs = (struct plumb_signature_items){items, n};
    return stage;
}

static void make(struct plumb_inputs *out, const struct plumb_signature_stage *stage, uint64_t seed)
{
    const struct plumb_inputs_options options = {.mode = PLUMB_INPUTS_AUTO, .seed = seed};
    plumb_error err = {0, ""};
    if (plumb_inputs_make(out, stage, &options, &err) < 0)
        fail_msg("%s", err.message);
}

/* The elements of a tensor in row-major order. */
static unsigned char *elements(const struct plumb_view *view)
{
    unsigned char *bytes = calloc(1, view->bytes + 1);
    struct plumb_row_major rows;
    plumb_row_major_init(&rows, view);
    assert_non_null(bytes);
    if (view->bytes > 0)
        assert_int_equal(plumb_row_major_read(&rows, bytes, view->bytes), view->bytes);
    return bytes;
}

/* Through the face that a stage has: the DLTensor of the value. */
static struct plumb_view view_of(const plumb_value *value)
{
    struct plumb_view view;
    plumb_error err = {0, ""};
    assert_int_equal(value->kind, PLUMB_VALUE_TENSOR);
    assert_int_equal(plumb_view_init(&view, value->as.tensor, &err), PLUMB_OK);
    assert_int_equal(plumb_view_readable(&view, &err), PLUMB_OK);
    return view;
}

static void every_element_type_has_inputs(void **state)
{
    static const char *const types[] = {
        "float64", "float32", "float16", "bfloat16",  "float8_e4m3fn", "float8_e5m2",
        "int8",    "int16",   "int32",   "int64",     "uint8",         "uint16",
        "uint32",  "uint64",  "bool",    "complex64", "complex128"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct plumb_signature s;
        struct plumb_inputs once, twice;
        char name[PLUMB_DTYPE_NAME_MAX];
        plumb_signature_init(&s);
        struct plumb_signature_item item = {"x", fixture_tensor_of(&s, four, types[i], "cpu", -1)};
        struct plumb_signature_stage stage = stage_of(&item, 1);
        make(&once, &stage, 1);
        make(&twice, &stage, 1);
        struct plumb_view a = view_of(&once.at[0].value), b = view_of(&twice.at[0].value);
        assert_string_equal(once.at[0].name, "x");
        assert_string_equal(plumb_dtype_name(name, a.dtype), types[i]);
        assert_int_equal(a.ndim, 4);
        assert_int_equal(a.shape[3], 5);
        assert_int_equal((uintptr_t)a.data % 64, 0);
        assert_int_equal(once.bytes, a.bytes);
        assert_memory_equal(a.data, b.data, a.bytes);
        plumb_inputs_fini(&twice);
        make(&twice, &stage, 2);
        b = view_of(&twice.at[0].value);
        assert_memory_not_equal(a.data, b.data, a.bytes);
        plumb_inputs_fini(&twice);
        plumb_inputs_fini(&once);
        plumb_signature_fini(&s);
    }
}

/* Files of other tools may have bounds that no integer has: 0 and 3 are outside of these. */
static void integers_never_leave_the_recorded_range(void **state)
{
    static const char *const types[] = {"int8", "int32", "int64", "uint8", "uint32", "uint64"};
    static const int64_t many[] = {1000, -1};
    struct plumb_signature_stats stats = {1000, 0, 0, 0, 0.4, 2.6, 1.5, 0.7};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct plumb_signature s;
        struct plumb_inputs inputs;
        uint64_t seen[4] = {0};
        plumb_signature_init(&s);
        struct plumb_signature_item item = {"x", fixture_tensor_of(&s, many, types[i], "cpu", -1)};
        struct plumb_signature_stage stage = stage_of(&item, 1);
        item.value.is.tensor->stats = &stats;
        make(&inputs, &stage, 1);
        struct plumb_view view = view_of(&inputs.at[0].value);
        for (size_t at = 0; at < 1000; at++) {
            uint64_t value = 0; /* of so small a number, whatever its sign */
            memcpy(&value, (const char *)view.data + at * (view.bytes / 1000), view.bytes / 1000);
            assert_in_range(value, 1, 2);
            seen[value]++;
        }
        assert_true(seen[1] > 0 && seen[2] > 0);
        plumb_inputs_fini(&inputs);
        plumb_signature_fini(&s);
    }
}

static void names_and_stages_have_values_of_their_own(void **state)
{
    struct plumb_signature s;
    struct plumb_inputs one, other;
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_item items[] = {
        {"a", fixture_tensor_of(&s, four, "float32", "cpu", -1)},
        {"b", fixture_tensor_of(&s, four, "float32", "cpu", -1)}};
    struct plumb_signature_stage stage = stage_of(items, 2);
    make(&one, &stage, 1);
    struct plumb_view a = view_of(&one.at[0].value), b = view_of(&one.at[1].value);
    assert_memory_not_equal(a.data, b.data, a.bytes);
    stage.name = "vae_decode";
    make(&other, &stage, 1);
    struct plumb_view c = view_of(&other.at[0].value);
    assert_memory_not_equal(a.data, c.data, a.bytes);
    plumb_inputs_fini(&other);
    plumb_inputs_fini(&one);
    plumb_signature_fini(&s);
}

/* The bytes of a seed are part of what is promised: a result of last year can be made again. */
static void the_values_of_a_seed_are_fixed(void **state)
{
    static const uint32_t floats[] = {0x3f87a280, 0xc0139940, 0x3fdec000, 0x3f397600};
    struct plumb_signature s;
    struct plumb_inputs inputs;
    uint32_t bits[4];
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_item item = {"latents",
                                        fixture_tensor_of(&s, four, "float32", "cpu", -1)};
    struct plumb_signature_stage stage = stage_of(&item, 1);
    make(&inputs, &stage, 1);
    memcpy(bits, view_of(&inputs.at[0].value).data, sizeof bits);
    for (int i = 0; i < 4; i++)
        assert_int_equal(bits[i], floats[i]);
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

static void strides_lie_as_recorded_in_a_larger_allocation(void **state)
{
    /* Transposed; with gaps; reversed; each row twice; without gaps but in another order. */
    static const int64_t strides[][2] = {{1, 6}, {10, 2}, {-5, -1}, {0, 1}, {5, 1}};
    static const int64_t shape[] = {6, 5, -1};
    struct plumb_signature s;
    struct plumb_inputs plain;
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_item item = {"x", fixture_tensor_of(&s, shape, "int32", "cpu", -1)};
    struct plumb_signature_stage stage = stage_of(&item, 1);
    make(&plain, &stage, 9);
    struct plumb_view compact = view_of(&plain.at[0].value);
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        struct plumb_inputs inputs;
        int64_t these[2] = {strides[i][0], strides[i][1]};
        item.value.is.tensor->strides = these;
        make(&inputs, &stage, 9);
        struct plumb_view view = view_of(&inputs.at[0].value);
        assert_int_equal(view.strides[0], these[0]);
        assert_int_equal(view.strides[1], these[1]);
        unsigned char *bytes = elements(&view);
        if (i == 3) /* the last row is what stays */
            assert_memory_equal(bytes, compact.data + 25 * 4, 20);
        else
            assert_memory_equal(bytes, compact.data, 120);
        assert_int_equal(inputs.tensors->memory_bytes, i == 1 ? 59 * 4 : i == 3 ? 20 : 120);
        free(bytes);
        plumb_inputs_fini(&inputs);
    }
    plumb_inputs_fini(&plain);
    plumb_signature_fini(&s);
}

static void lists_scalars_strings_and_null_are_those_recorded(void **state)
{
    static const int64_t none[] = {3, 0, -1}, scalar[] = {-1};
    struct plumb_signature s;
    struct plumb_inputs inputs;
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_value list[] = {fixture_tensor_of(&s, four, "float16", "cpu", -1),
                                           fixture_int(-7)};
    struct plumb_signature_item fields[] = {
        {"mask", fixture_tensor_of(&s, four, "bool", "cpu", -1)}, {"name", fixture_words("left")}};
    struct plumb_signature_item items[] = {
        {"scale", fixture_real(5.5)},
        {"steps", fixture_int(INT64_MIN)},
        {"prompt", fixture_words("a red car")},
        {"nothing", {.kind = PLUMB_SIGNATURE_NULL}},
        {"flag", {.kind = PLUMB_SIGNATURE_BOOL, .is.boolean = true}},
        {"frames", {.kind = PLUMB_SIGNATURE_LIST, .is.list = {list, 2}}},
        {"cond", {.kind = PLUMB_SIGNATURE_FIELDS, .is.fields = {fields, 2}}},
        {"empty", fixture_tensor_of(&s, none, "float32", "cpu", 0)},
        {"one", fixture_tensor_of(&s, scalar, "float32", "cpu", 4)},
        {"nan", fixture_real((double)NAN)}};
    struct plumb_signature_stage stage = stage_of(items, 10);
    make(&inputs, &stage, 1);
    assert_int_equal(inputs.count, 10);
    assert_true(inputs.at[0].value.as.f64 == 5.5);
    assert_int_equal(inputs.at[1].value.as.i64, INT64_MIN);
    assert_string_equal(inputs.at[2].value.as.str, "a red car");
    assert_int_equal(inputs.at[3].value.kind, PLUMB_VALUE_NULL);
    assert_int_equal(inputs.at[4].value.kind, PLUMB_VALUE_BOOL);
    assert_int_equal(inputs.at[4].value.as.i64, 1);
    assert_int_equal(inputs.at[5].value.count, 2);
    assert_int_equal(view_of(&inputs.at[5].value.as.list[0]).bytes, 240);
    assert_int_equal(inputs.at[5].value.as.list[1].as.i64, -7);
    assert_string_equal(inputs.at[6].value.as.fields[0].name, "mask");
    assert_int_equal(view_of(&inputs.at[6].value.as.fields[0].value).bytes, 120);
    assert_string_equal(inputs.at[6].value.as.fields[1].value.as.str, "left");
    assert_int_equal(view_of(&inputs.at[7].value).count, 0);
    assert_int_equal(view_of(&inputs.at[8].value).count, 1);
    assert_true(isnan(inputs.at[9].value.as.f64));
    assert_int_equal(inputs.tensor_count, 4);
    assert_int_equal(inputs.captured_count, 0);
    assert_string_equal(inputs.tensors->path, "frames[0]");
    assert_string_equal(inputs.tensors->next->path, "cond.mask");
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

static void recorded_statistics_are_followed(void **state)
{
    static const int64_t shape[] = {100, 100, -1};
    const struct plumb_signature_stats seen = {
        .n = 10000, .min = 3, .max = 31, .mean = 17, .std = 8};
    struct plumb_signature_stats stats = seen;
    struct plumb_value_stats made;
    struct plumb_signature s;
    struct plumb_inputs inputs;
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_item item = {"ids", fixture_tensor_of(&s, shape, "int64", "cpu", -1)};
    item.value.is.tensor->stats = &stats;
    struct plumb_signature_stage stage = stage_of(&item, 1);
    make(&inputs, &stage, 1);
    struct plumb_view view = view_of(&inputs.at[0].value);
    assert_int_equal(plumb_value_stats(&made, &view, PLUMB_VALUE_SPREAD, NULL), PLUMB_OK);
    assert_true(made.min >= 3 && made.max <= 31);
    assert_true(fabs(made.mean - 17) < 0.5 && fabs(made.std - 8) < 0.4);
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

static void refused(struct plumb_signature_value value, enum plumb_inputs_mode mode, int code,
                    const char *why)
{
    struct plumb_signature_item item = {"cond.text", value};
    struct plumb_signature_stage stage = stage_of(&item, 1);
    const struct plumb_inputs_options options = {.mode = mode, .dir = "."};
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    assert_int_equal(plumb_inputs_make(&inputs, &stage, &options, &err), code);
    if (!strstr(err.message, why) || !strstr(err.message, "'denoise'") ||
        (mode == PLUMB_INPUTS_AUTO && !strstr(err.message, "'cond.text")) ||
        strchr(err.message, '\n'))
        fail_msg("%s", err.message);
}

static void what_cannot_be_made_is_refused_by_name(void **state)
{
    static const char *const types[] = {"float32x4", "dlpack(3,64,1)", "dlpack(2,4,1)", "float31",
                                        ""};
    static const int64_t huge[] = {INT64_MAX, -1}, large[] = {INT64_C(1) << 60, -1};
    struct plumb_signature s;
    (void)state;
    plumb_signature_init(&s);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        refused(fixture_tensor_of(&s, four, types[i], "cpu", -1), PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG,
                types[i]);
    refused(fixture_tensor_of(&s, four, "float32", "cuda:1", -1), PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG,
            "memory of cuda:1");
    refused(fixture_tensor_of(&s, four, "float32", "moon", -1), PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG,
            "'moon' is not a device");
    refused(fixture_tensor_of(&s, huge, "float32", "cpu", -1), PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG,
            "too large");
    refused(fixture_tensor_of(&s, large, "float32", "cpu", -1), PLUMB_INPUTS_AUTO, PLUMB_ERR_MEMORY,
            "no memory");
    refused(fixture_words("<error: the tensor is NULL>"), PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG,
            "the tensor is NULL");
    struct plumb_signature_value list[] = {fixture_int(1),
                                           fixture_tensor_of(&s, four, "int7", "cpu", -1)};
    refused((struct plumb_signature_value){.kind = PLUMB_SIGNATURE_LIST, .is.list = {list, 2}},
            PLUMB_INPUTS_AUTO, PLUMB_ERR_ARG, "'cond.text[1]'");
    refused(fixture_int(1), PLUMB_INPUTS_CAPTURED, PLUMB_ERR_NOT_FOUND, "PLUMB_CAPTURE=denoise");
    plumb_signature_fini(&s);
}

static void a_tensor_of_a_device_can_be_made_on_the_host(void **state)
{
    struct plumb_signature s;
    struct plumb_inputs inputs;
    const struct plumb_inputs_options options = {.devices_on_host = true};
    (void)state;
    plumb_signature_init(&s);
    struct plumb_signature_item item = {"x", fixture_tensor_of(&s, four, "float32", "cuda:1", -1)};
    struct plumb_signature_stage stage = stage_of(&item, 1);
    assert_int_equal(plumb_inputs_make(&inputs, &stage, &options, NULL), PLUMB_OK);
    assert_int_equal(view_of(&inputs.at[0].value).device.type, PLUMB_DL_CPU);
    plumb_inputs_fini(&inputs);
    plumb_signature_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_type_has_inputs),
        cmocka_unit_test(integers_never_leave_the_recorded_range),
        cmocka_unit_test(names_and_stages_have_values_of_their_own),
        cmocka_unit_test(the_values_of_a_seed_are_fixed),
        cmocka_unit_test(strides_lie_as_recorded_in_a_larger_allocation),
        cmocka_unit_test(lists_scalars_strings_and_null_are_those_recorded),
        cmocka_unit_test(recorded_statistics_are_followed),
        cmocka_unit_test(what_cannot_be_made_is_refused_by_name),
        cmocka_unit_test(a_tensor_of_a_device_can_be_made_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
