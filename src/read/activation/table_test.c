/* The table of activation records: it returns what was added, each text stored once, calls
 * numbered, records in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "read/activation/table.h"

static void every_field_comes_back(void **state)
{
    struct plumb_activations t;
    struct plumb_activation got;
    (void)state;
    plumb_activations_init(&t);
    struct plumb_activation r = plumb_activation_of(&t, "block.3.attn", "out[1]", 7);
    for (int f = 0; f < PLUMB_ACT_REALS; f++)
        plumb_activation_set(&r, (enum plumb_activation_field)f, f + 0.5);
    for (int f = PLUMB_ACT_REALS; f < PLUMB_ACT_STATISTICS; f++)
        plumb_activation_set_whole(&r, (enum plumb_activation_field)f, UINT64_MAX - (unsigned)f);
    r.parent = plumb_activations_str_id(&t, "block.3");
    r.dtype = plumb_activations_str_id(&t, "bfloat16");
    r.shape = plumb_activations_shape_id(&t, (int64_t[]){2, 3}, 2);
    r.ref = plumb_activations_ref_add(
        &t, &(struct plumb_activation_ref){.shape = r.shape, .offset = 64, .bytes = 12});
    r.io = PLUMB_ACT_GRAD;
    r.rank = -3;
    r.seq = UINT64_MAX;
    r.line = 12;
    plumb_activations_add(&t, &r);
    plumb_activations_get(&t, 0, &got);
    assert_false(t.failed);
    assert_memory_equal(&got, &r, sizeof r);
    assert_string_equal(plumb_activations_text(&t, got.module), "block.3.attn");
    assert_int_equal(t.refs[got.ref].offset, 64);
    assert_true(plumb_activations_elements(&t, got.shape) == 6);
    plumb_activations_fini(&t);
}

static void a_column_that_comes_late_is_zero_before(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", i % 100);
        struct plumb_activation r = plumb_activation_of(&t, name, "out", i / 100);
        if (i >= 900)
            plumb_activation_set(&r, PLUMB_ACT_STD, i);
        plumb_activations_add(&t, &r);
    }
    assert_int_equal(t.count, 1000);
    assert_int_equal(t.text_count, 102);
    assert_null(t.stat[PLUMB_ACT_SUM]);
    assert_true(isnan(plumb_activations_stat(&t, 899, PLUMB_ACT_STD)));
    assert_true(t.stat[PLUMB_ACT_STD][899] == 0);
    assert_true(plumb_activations_stat(&t, 950, PLUMB_ACT_STD) == 950);
    assert_string_equal(plumb_activations_text(&t, t.module[350]), "layer.50");
    plumb_activations_fini(&t);
}

static void a_field_that_is_zero_everywhere_can_be_read(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    struct plumb_activation r = plumb_activation_of(&t, "m", "out", 0);
    r.has = UINT32_MAX;
    plumb_activations_add(&t, &r);
    for (int f = 0; f < PLUMB_ACT_REALS; f++)
        assert_true(plumb_activations_stat(&t, 0, (enum plumb_activation_field)f) == 0);
    for (int f = PLUMB_ACT_REALS; f < PLUMB_ACT_STATISTICS; f++)
        assert_true(plumb_activations_whole(&t, 0, (enum plumb_activation_field)f) == 0);
    assert_true(t.step[0] == 0 && t.call[0] == 0 && t.rank[0] == 0 && t.seq[0] == 0);
    assert_true(t.shape[0] == 0 && t.io[0] == 0);
    plumb_activations_fini(&t);
}

static void a_full_record_takes_at_most_200_bytes(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    struct plumb_activation r = plumb_activation_of(&t, "m", "out", 1);
    for (int f = 0; f < PLUMB_ACT_REALS; f++)
        plumb_activation_set(&r, (enum plumb_activation_field)f, 1);
    for (int f = PLUMB_ACT_REALS; f < PLUMB_ACT_STATISTICS; f++)
        plumb_activation_set_whole(&r, (enum plumb_activation_field)f, 1);
    r.parent = r.phase = r.dtype = r.shape = r.file = r.line = r.error = r.ref = r.call = 1;
    r.rank = r.io = 1;
    r.seq = 1;
    for (int i = 0; i < 10000; i++)
        plumb_activations_add(&t, &r);
    assert_true(plumb_activations_bytes(&t) <= 200 * t.count);
    plumb_activations_fini(&t);
}

static void equal_texts_and_shapes_have_one_number(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    uint32_t a = plumb_activations_text_id(&t, "abcdefghij", 9);
    assert_int_equal(plumb_activations_str_id(&t, "abcdefghi"), a);
    assert_int_not_equal(plumb_activations_str_id(&t, "abcdefghij"), a);
    assert_int_equal(plumb_activations_text_id(&t, "abcdefghi\0j", 11), a);
    assert_int_equal(plumb_activations_str_id(&t, ""), 0);
    uint32_t s = plumb_activations_shape_id(&t, (int64_t[]){2, 0}, 2);
    assert_int_equal(plumb_activations_shape_id(&t, (int64_t[]){2, 0, 0}, 2), s);
    assert_int_not_equal(plumb_activations_shape_id(&t, (int64_t[]){2, 0, 0}, 3), s);
    assert_int_equal(plumb_activations_shape_id(&t, NULL, 0), 0);
    assert_true(plumb_activations_elements(&t, s) == 0);
    assert_true(plumb_activations_elements(&t, 0) == 1);
    uint32_t huge = plumb_activations_shape_id(&t, (int64_t[]){INT64_MAX, 3}, 2);
    assert_true(plumb_activations_elements(&t, huge) == UINT64_MAX);
    plumb_activations_fini(&t);
}

static void add_seq(struct plumb_activations *t, const char *module, uint64_t seq)
{
    struct plumb_activation r = plumb_activation_of(t, module, "out", 0);
    r.seq = seq;
    r.has |= 1u << PLUMB_ACT_SEQ;
    plumb_activations_add(t, &r);
}

static void records_are_sorted_by_their_number(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    add_seq(&t, "b", 2);
    add_seq(&t, "a", 0);
    add_seq(&t, "c", 2);
    plumb_activations_sort(&t);
    assert_string_equal(plumb_activations_text(&t, t.module[0]), "a");
    assert_string_equal(plumb_activations_text(&t, t.module[1]), "b");
    assert_string_equal(plumb_activations_text(&t, t.module[2]), "c");
    plumb_activations_fini(&t);
}

static void two_runs_in_one_file_are_not_mixed(void **state)
{
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    add_seq(&t, "a", 0);
    add_seq(&t, "b", 1);
    add_seq(&t, "a", 0);
    add_seq(&t, "b", 1);
    plumb_activations_sort(&t);
    assert_true(t.seq[1] == 1 && t.seq[2] == 0);
    plumb_activations_fini(&t);
}

static void calls_are_numbered_where_the_recorder_did_not(void **state)
{
    static const uint32_t expected[] = {0, 0, 1, 0, 5, 6};
    struct plumb_activations t;
    (void)state;
    plumb_activations_init(&t);
    const char *modules[] = {"a", "b", "a", "a", "a", "a"};
    int64_t steps[] = {0, 0, 0, 1, 0, 0};
    for (int i = 0; i < 6; i++) {
        struct plumb_activation r = plumb_activation_of(&t, modules[i], "out", steps[i]);
        if (i == 4) {
            r.call = 5;
            r.has |= 1u << PLUMB_ACT_CALL;
        }
        plumb_activations_add(&t, &r);
    }
    plumb_activations_number_calls(&t);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(t.call[i], expected[i]);
        assert_true(plumb_activations_has(&t, i, PLUMB_ACT_CALL));
    }
    plumb_activations_fini(&t);
}

static void every_statistic_has_a_name_that_leads_back(void **state)
{
    (void)state;
    for (int f = 0; f < PLUMB_ACT_STATISTICS; f++) {
        const char *name = plumb_activation_field_name((enum plumb_activation_field)f);
        size_t n = 0;
        assert_non_null(name);
        while (name[n])
            n++;
        assert_int_equal(plumb_activation_field_of(name, n), f);
    }
    assert_int_equal(plumb_activation_field_of("Norm", 4), PLUMB_ACT_L2);
    assert_int_equal(plumb_activation_field_of("no", 2), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(a_column_that_comes_late_is_zero_before),
        cmocka_unit_test(a_field_that_is_zero_everywhere_can_be_read),
        cmocka_unit_test(a_full_record_takes_at_most_200_bytes),
        cmocka_unit_test(equal_texts_and_shapes_have_one_number),
        cmocka_unit_test(records_are_sorted_by_their_number),
        cmocka_unit_test(two_runs_in_one_file_are_not_mixed),
        cmocka_unit_test(calls_are_numbered_where_the_recorder_did_not),
        cmocka_unit_test(every_statistic_has_a_name_that_leads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
