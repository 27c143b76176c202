/* Tests of signature_pack.c: packed values come out again, and any other bytes do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "model/signature_pack.h"
#include "signature_fixture.h"

static struct plumb_pack pack; /* 64 KiB: too much for a stack */

static void put_value(const struct plumb_signature_value *v)
{
    if (v->kind != PLUMB_SIGNATURE_LIST) {
        plumb_pack_value(&pack, v);
        return;
    }
    plumb_pack_list(&pack, (uint32_t)v->is.list.count);
    for (size_t i = 0; i < v->is.list.count; i++)
        put_value(&v->is.list.at[i]);
}

static void put_item(enum plumb_pack_part part, const char *name,
                     const struct plumb_signature_value *v)
{
    plumb_pack_begin(&pack, part, name);
    put_value(v);
    plumb_pack_end(&pack);
}

static void put_int(enum plumb_pack_part part, const char *name, int64_t i)
{
    struct plumb_signature_value v = fixture_int(i);
    put_item(part, name, &v);
}

static void put_call(const struct plumb_signature_call *call)
{
    plumb_pack_reset(&pack);
    for (size_t i = 0; i < call->inputs.count; i++)
        put_item(PLUMB_PACK_INPUT, call->inputs.at[i].name, &call->inputs.at[i].value);
    for (size_t i = 0; i < call->outputs.count; i++)
        put_item(PLUMB_PACK_OUTPUT, call->outputs.at[i].name, &call->outputs.at[i].value);
    for (size_t i = 0; i < call->metadata.count; i++)
        put_item(PLUMB_PACK_METADATA, call->metadata.at[i].name, &call->metadata.at[i].value);
}

static char *file_of(struct plumb_signature *s)
{
    struct plumb_buf out = {0};
    assert_int_equal(plumb_signature_write(s, &out, NULL), PLUMB_OK);
    return out.data;
}

static void what_is_packed_comes_out_again(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    char *before = file_of(&s);
    for (size_t i = 0; i < s.stage_count; i++) {
        struct plumb_signature_call again = {.request_id = s.stages[i].last.request_id,
                                             .dropped = s.stages[i].last.dropped};
        put_call(&s.stages[i].last);
        assert_int_equal(pack.dropped, 0);
        assert_true(plumb_pack_read(&again, &s.arena, pack.bytes, pack.used));
        s.stages[i].last = again;
    }
    char *after = file_of(&s);
    assert_string_equal(before, after);
    free(before);
    free(after);
    plumb_signature_fini(&s);
}

static uint64_t form(void)
{
    return plumb_pack_form(pack.bytes, pack.used);
}

static void the_form_is_of_kinds_and_shapes_not_of_values(void **state)
{
    struct plumb_signature s;
    (void)state;
    fixture_signature(&s);
    struct plumb_signature_call *call = &s.stages[0].distinct[0];
    put_call(call);
    uint64_t one = form();
    assert_int_not_equal(one, 0);
    call->inputs.at[1].value.is.tensor->stats->max = 77;
    call->inputs.at[8].value.is.text = "OtherConfig";
    call->inputs.at[6].value.is.list.at[1].is.integer = 8;
    call->metadata.at[0].value = fixture_words("many");
    call->metadata.count--;
    put_call(call);
    assert_true(form() == one);
    call->inputs.at[6].value.is.list.at[1] = fixture_real(8);
    put_call(call);
    assert_true(form() != one);
    call->inputs.at[6].value.is.list.at[1] = fixture_int(8);
    call->inputs.at[0].value.is.tensor->shape[2]++;
    put_call(call);
    assert_true(form() != one);
    call->inputs.at[0].value.is.tensor->shape[2]--;
    call->inputs.at[1].value.is.tensor->strides = NULL;
    put_call(call);
    assert_true(form() != one);
    plumb_pack_reset(&pack);
    assert_int_not_equal(form(), 0);
    plumb_signature_fini(&s);
}

static void the_same_name_again_overwrites(void **state)
{
    struct plumb_arena arena = {0};
    struct plumb_signature_call call = {0};
    (void)state;
    plumb_pack_reset(&pack);
    put_int(PLUMB_PACK_INPUT, "a", 1);
    put_int(PLUMB_PACK_INPUT, "b", 2);
    put_int(PLUMB_PACK_OUTPUT, "a", 3);
    put_int(PLUMB_PACK_INPUT, "a", 4);
    put_int(PLUMB_PACK_INPUT, "a", 5);
    assert_true(plumb_pack_read(&call, &arena, pack.bytes, pack.used));
    assert_int_equal(call.inputs.count, 2);
    assert_string_equal(call.inputs.at[0].name, "b");
    assert_int_equal(call.inputs.at[1].value.is.integer, 5);
    assert_int_equal(call.outputs.at[0].value.is.integer, 3);
    plumb_arena_fini(&arena);
}

static void what_does_not_fit_is_left_out_and_counted(void **state)
{
    struct plumb_arena arena = {0};
    struct plumb_signature_call call = {0};
    char text[PLUMB_PACK_TEXT + 100];
    char name[400];
    (void)state;
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct plumb_signature_value v = fixture_words(text);
    plumb_pack_reset(&pack);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "text %d", i);
        put_item(PLUMB_PACK_INPUT, name, &v);
    }
    assert_int_equal(pack.dropped, 4);
    put_int(PLUMB_PACK_OUTPUT, "small", 1);
    assert_int_equal(pack.dropped, 4);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    put_int(PLUMB_PACK_METADATA, name, 1);
    assert_true(plumb_pack_read(&call, &arena, pack.bytes, pack.used));
    assert_int_equal(call.inputs.count, 16);
    assert_int_equal(strlen(call.inputs.at[0].value.is.text), PLUMB_PACK_TEXT);
    assert_int_equal(call.outputs.count, 1);
    assert_int_equal(strlen(call.metadata.at[0].name), PLUMB_PACK_NAME);
    plumb_arena_fini(&arena);
}

static void damaged_bytes_are_read_or_refused_but_never_believed_beyond_their_end(void **state)
{
    struct plumb_signature s;
    uint32_t random = 12345;
    int refused = 0;
    (void)state;
    fixture_signature(&s);
    put_call(&s.stages[0].last);
    for (int i = 0; i < 20000; i++) {
        struct plumb_arena arena = {0};
        struct plumb_signature_call call = {0};
        size_t size = pack.used;
        random = random * 1103515245u + 12345u;
        if (i % 4 == 0)
            size = random % (pack.used + 1);
        /* In memory of exactly its size, so that a byte too many is seen. */
        unsigned char *bytes = malloc(size ? size : 1);
        assert_non_null(bytes);
        memcpy(bytes, pack.bytes, size);
        if (size > 0 && i % 4)
            bytes[(random >> 8) % size] = (unsigned char)(random >> 24);
        plumb_pack_form(bytes, size);
        if (plumb_pack_read(&call, &arena, bytes, size))
            assert_true(size == 0 || call.inputs.count + call.outputs.count > 0);
        else
            refused += call.inputs.count == 0 && call.inputs.at == NULL;
        plumb_arena_fini(&arena);
        free(bytes);
    }
    assert_true(refused > 5000);
    plumb_signature_fini(&s);
}

static void one_name_twice_is_refused(void **state)
{
    struct plumb_arena arena = {0};
    struct plumb_signature_call call = {0};
    unsigned char bytes[64];
    (void)state;
    plumb_pack_reset(&pack);
    put_int(PLUMB_PACK_INPUT, "a", 1);
    memcpy(bytes, pack.bytes, pack.used);
    memcpy(bytes + pack.used, pack.bytes, pack.used);
    assert_false(plumb_pack_read(&call, &arena, bytes, 2 * (size_t)pack.used));
    plumb_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_out_again),
        cmocka_unit_test(the_form_is_of_kinds_and_shapes_not_of_values),
        cmocka_unit_test(the_same_name_again_overwrites),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_counted),
        cmocka_unit_test(damaged_bytes_are_read_or_refused_but_never_believed_beyond_their_end),
        cmocka_unit_test(one_name_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
