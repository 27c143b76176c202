/* Tests of output_hash.c: what counts in the hash of outputs, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "isolate/output_hash.h"
#include "tensor/dl_tensor.h"

static uint64_t hash_of(const char *name, plumb_value value)
{
    struct plumb_output_hash h;
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_add(&h, name, &value, NULL), PLUMB_OK);
    assert_int_equal(h.outputs, 1);
    return plumb_output_hash_end(&h);
}

static struct plumb_dl_tensor tensor(void *data, uint8_t code, uint8_t bits, int32_t ndim,
                                     int64_t *shape, int64_t *strides)
{
    struct plumb_dl_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.type = 1;
    t.ndim = ndim;
    t.dtype.code = code;
    t.dtype.bits = bits;
    t.dtype.lanes = 1;
    t.shape = shape;
    t.strides = strides;
    return t;
}

static uint64_t hash_tensor_of(const struct plumb_dl_tensor *t)
{
    return hash_of("x", plumb_value_tensor(t));
}

static void no_output_has_no_hash(void **state)
{
    struct plumb_output_hash h;
    (void)state;
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_end(&h), 0);
    assert_int_not_equal(hash_of("x", plumb_value_null()), 0);
}

static void a_tensor_counts_by_type_shape_and_bytes(void **state)
{
    float data[6] = {1, 2, 3, 4, 5, 6}, copy[7] = {0, 1, 2, 3, 4, 5, 6};
    int64_t rows[] = {2, 3}, columns[] = {3, 2};
    struct plumb_dl_tensor t = tensor(data, 2, 32, 2, rows, NULL), u = t;
    uint64_t h = hash_tensor_of(&t);
    (void)state;
    u.data = copy;
    u.byte_offset = 4;
    assert_int_equal(hash_tensor_of(&u), h);
    assert_int_not_equal(hash_of("y", plumb_value_tensor(&t)), h);
    u.shape = columns;
    assert_int_not_equal(hash_tensor_of(&u), h);
    u.shape = rows;
    u.dtype.code = 0;
    assert_int_not_equal(hash_tensor_of(&u), h);
    data[5] = 7;
    assert_int_not_equal(hash_tensor_of(&t), h);
}

/* Of a view every element counts, in row-major order, and nothing between them. */
static void a_view_counts_by_its_elements_alone(void **state)
{
    int16_t data[8] = {1, -1, 2, -1, 3, -1, 4, -1};
    int64_t shape[] = {2, 2}, turned[] = {2, 4}, straight[] = {4, 2};
    struct plumb_dl_tensor t = tensor(data, 0, 16, 2, shape, straight);
    uint64_t h = hash_tensor_of(&t);
    (void)state;
    data[1] = 9;
    assert_int_equal(hash_tensor_of(&t), h);
    t.strides = turned;
    assert_int_not_equal(hash_tensor_of(&t), h);
    t.strides = straight;
    data[6] = 9;
    assert_int_not_equal(hash_tensor_of(&t), h);
}

static void an_order_of_outputs_and_of_elements_counts(void **state)
{
    const plumb_value a[] = {plumb_value_i64(1), plumb_value_i64(2)};
    const plumb_value b[] = {plumb_value_i64(2), plumb_value_i64(1)};
    const plumb_field f[] = {{"k", plumb_value_i64(1)}}, g[] = {{"l", plumb_value_i64(1)}};
    struct plumb_output_hash one, two;
    plumb_value v = plumb_value_f64(1), w = plumb_value_f64(2);
    (void)state;
    assert_int_not_equal(hash_of("x", plumb_value_list(a, 2)),
                         hash_of("x", plumb_value_list(b, 2)));
    assert_int_not_equal(hash_of("x", plumb_value_fields(f, 1)),
                         hash_of("x", plumb_value_fields(g, 1)));
    assert_int_not_equal(hash_of("x", plumb_value_i64(1)), hash_of("x", plumb_value_bool(1)));
    assert_int_not_equal(hash_of("x", plumb_value_str("a")), hash_of("x", plumb_value_str("b")));
    plumb_output_hash_init(&one);
    plumb_output_hash_init(&two);
    assert_int_equal(plumb_output_hash_add(&one, "x", &v, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_hash_add(&one, "x", &w, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_hash_add(&two, "x", &w, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_hash_add(&two, "x", &v, NULL), PLUMB_OK);
    assert_int_not_equal(plumb_output_hash_end(&one), plumb_output_hash_end(&two));
}

static void memory_that_the_host_cannot_read_counts_by_its_shape(void **state)
{
    int64_t shape[] = {4}, longer[] = {5}, empty[] = {0};
    struct plumb_dl_tensor t = tensor((void *)(uintptr_t)64, 2, 32, 1, shape, NULL);
    struct plumb_output_hash h;
    plumb_value v = plumb_value_tensor(&t);
    uint64_t first;
    (void)state;
    t.device.type = 2;
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_add(&h, "x", &v, NULL), PLUMB_OK);
    assert_int_equal(h.unread, 1);
    first = plumb_output_hash_end(&h);
    t.shape = longer;
    assert_int_not_equal(hash_of("x", v), first);
    t.shape = empty;
    t.device.type = 1;
    t.data = NULL;
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_add(&h, "x", &v, NULL), PLUMB_OK);
    assert_int_equal(h.unread, 0);
}

static void what_is_no_value_is_refused_by_the_name_of_the_output(void **state)
{
    int64_t shape[] = {-1};
    struct plumb_dl_tensor t = tensor(NULL, 2, 32, 1, shape, NULL);
    struct plumb_output_hash h;
    plumb_error err = {0, ""};
    plumb_value v = plumb_value_tensor(&t), list = plumb_value_list(&v, 1);
    plumb_field field = {NULL, plumb_value_null()};
    (void)state;
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_add(&h, "y", &list, &err), PLUMB_ERR_ARG);
    assert_memory_equal(err.message, "output 'y': ", 12);
    v = plumb_value_fields(&field, 1);
    assert_int_equal(plumb_output_hash_add(&h, "y", &v, &err), PLUMB_ERR_ARG);
    v.kind = PLUMB_VALUE_STR;
    v.as.str = NULL;
    assert_int_equal(plumb_output_hash_add(&h, "y", &v, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_output_hash_add(&h, "y", NULL, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_output_hash_add(&h, NULL, &v, &err), PLUMB_ERR_ARG);
}

static void a_value_nested_without_end_is_refused(void **state)
{
    struct plumb_output_hash h;
    plumb_value deep[34], itself;
    plumb_field field = {"part", plumb_value_null()};
    plumb_error err = {0, ""};
    (void)state;
    deep[0] = plumb_value_i64(1);
    for (int i = 1; i < 34; i++)
        deep[i] = plumb_value_list(&deep[i - 1], 1);
    plumb_output_hash_init(&h);
    assert_int_equal(plumb_output_hash_add(&h, "x", &deep[32], &err), PLUMB_OK);
    assert_int_equal(plumb_output_hash_add(&h, "x", &deep[33], &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message,
                        "output 'x': more than 32 lists and mappings within each other");
    itself = plumb_value_list(&itself, 1);
    assert_int_equal(plumb_output_hash_add(&h, "x", &itself, &err), PLUMB_ERR_ARG);
    itself = plumb_value_fields(&field, 1);
    field.value = itself;
    assert_int_equal(plumb_output_hash_add(&h, "x", &itself, &err), PLUMB_ERR_ARG);
    assert_int_equal(h.outputs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_output_has_no_hash),
        cmocka_unit_test(a_value_nested_without_end_is_refused),
        cmocka_unit_test(what_is_no_value_is_refused_by_the_name_of_the_output),
        cmocka_unit_test(a_tensor_counts_by_type_shape_and_bytes),
        cmocka_unit_test(a_view_counts_by_its_elements_alone),
        cmocka_unit_test(an_order_of_outputs_and_of_elements_counts),
        cmocka_unit_test(memory_that_the_host_cannot_read_counts_by_its_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
