/* Tests of value_hash.c: which values have one hash, which have none, and what a set keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tensor/dl_tensor.h"
#include "tensor/value_hash.h"

static float numbers[6] = {1, 2, 3, 4, 5, 6}, turned[6] = {1, 4, 2, 5, 3, 6};

static plumb_value tensor(struct plumb_dl_tensor *t, float *data, int64_t *strides)
{
    static int64_t shape[] = {2, 3};
    *t = (struct plumb_dl_tensor){.data = data,
                                  .device = {1, 0},
                                  .ndim = 2,
                                  .dtype = {2, 32, 1},
                                  .shape = shape,
                                  .strides = strides};
    return plumb_value_tensor((const plumb_tensor *)t);
}

/* Five int8 from 1 to 5, in an order of their own. */
static const struct plumb_dl_tensor *odd(struct plumb_dl_tensor *t, int64_t *strides)
{
    static int64_t shape[] = {5};
    static int8_t up[] = {1, 2, 3, 4, 5}, down[] = {5, 4, 3, 2, 1};
    *t = (struct plumb_dl_tensor){.data = strides ? down + 4 : up,
                                  .device = {1, 0},
                                  .ndim = 1,
                                  .dtype = {0, 8, 1},
                                  .shape = shape,
                                  .strides = strides};
    return t;
}

static uint64_t hash(plumb_value value)
{
    uint64_t out = 0;
    assert_true(plumb_value_hash(&out, &value));
    return out;
}

static bool has_none(plumb_value value)
{
    uint64_t out = 77;
    bool made = plumb_value_hash(&out, &value);
    assert_true(made || out == 77);
    return !made;
}

static void values_count_and_strides_do_not(void **state)
{
    static int64_t columns[] = {1, 2}, backwards[] = {-1};
    struct plumb_dl_tensor a, b;
    uint64_t before = hash(tensor(&a, numbers, NULL));
    (void)state;
    assert_int_equal(before, hash(tensor(&a, numbers, NULL)));
    assert_int_not_equal(before, hash(tensor(&b, turned, NULL)));
    assert_int_equal(before, hash(tensor(&b, turned, columns)));
    assert_int_equal(hash(plumb_value_tensor((const plumb_tensor *)odd(&a, NULL))),
                     hash(plumb_value_tensor((const plumb_tensor *)odd(&b, backwards))));
    numbers[5] = 7;
    assert_int_not_equal(before, hash(tensor(&a, numbers, NULL)));
    numbers[5] = 6;
    assert_int_not_equal(hash(plumb_value_i64(1)), hash(plumb_value_f64(1)));
    assert_int_not_equal(hash(plumb_value_str("a")), hash(plumb_value_str("b")));
}

static void what_cannot_be_read_has_none(void **state)
{
    struct plumb_dl_tensor t, good;
    const plumb_value fine = tensor(&good, numbers, NULL), bad = tensor(&t, NULL, NULL);
    const plumb_value list[] = {fine, bad};
    const plumb_field field[] = {{NULL, fine}};
    plumb_value loop[1] = {plumb_value_list(NULL, 0)};
    (void)state;
    assert_true(has_none(bad));
    assert_true(has_none(plumb_value_list(list, 2)));
    assert_false(has_none(plumb_value_list(list, 1)));
    assert_true(has_none(plumb_value_fields(field, 1)));
    assert_true(has_none((plumb_value){.kind = PLUMB_VALUE_STR}));
    assert_true(has_none((plumb_value){.kind = PLUMB_VALUE_TENSOR}));
    good.device.type = 2;
    assert_true(has_none(fine));
    good.device.type = 1;
    good.ndim = -1;
    assert_true(has_none(fine));
    loop[0] = plumb_value_list(loop, 1);
    assert_true(has_none(loop[0]));
    assert_true(has_none((plumb_value){.kind = 99}));
    assert_true(has_none((plumb_value){.kind = PLUMB_VALUE_LIST, .count = 1}));
}

static void the_last_value_of_a_name_counts(void **state)
{
    static struct plumb_value_hashes set;
    char name[24], length[PLUMB_VALUE_HASH_NAME + 10];
    plumb_value v = plumb_value_i64(1), w = plumb_value_i64(2), none = {.kind = 99};
    (void)state;
    memset(length, 'x', sizeof length - 1);
    length[sizeof length - 1] = '\0';
    plumb_value_hashes_put(&set, "x", &v);
    plumb_value_hashes_put(&set, NULL, &v);
    plumb_value_hashes_put(&set, "x", &w);
    plumb_value_hashes_put(&set, length, &v);
    assert_int_equal(set.count, 3);
    assert_true(plumb_value_hashes_find(&set, "x")->hash == hash(w));
    assert_non_null(plumb_value_hashes_find(&set, length));
    assert_null(plumb_value_hashes_find(&set, "xx"));
    plumb_value_hashes_put(&set, "x", &none);
    assert_false(plumb_value_hashes_find(&set, "x")->known);
    for (int i = 0; i < PLUMB_VALUE_HASHES; i++) {
        snprintf(name, sizeof name, "more %d", i);
        plumb_value_hashes_put(&set, name, &v);
    }
    assert_int_equal(set.count, PLUMB_VALUE_HASHES);
    assert_int_equal(set.lost, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_count_and_strides_do_not),
        cmocka_unit_test(what_cannot_be_read_has_none),
        cmocka_unit_test(the_last_value_of_a_name_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
