/* AT-7: plumb_activation_f32() and its likes leave the records that a DLTensor of the same memory
 * leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char lines[16][1024];
static int count;

static void keep(const char *text, size_t size, void *arg)
{
    (void)arg;
    if (count < 16)
        snprintf(lines[count++], sizeof lines[0], "%.*s", (int)size, text);
}

static void has(int i, const char *label, const char *text)
{
    char tensor[64];
    snprintf(tensor, sizeof tensor, "\"tensor\":\"%s\"", label);
    if (!strstr(lines[i], tensor) || !strstr(lines[i], text))
        fail_msg("'%s' lacks '%s' or '%s'", lines[i], tensor, text);
}

static void arrays_of_each_type_are_recorded(void **state)
{
    static const double f64[6] = {1, -2, 3, 4, 5, 6};
    static const float f32[6] = {1, -2, 3, 4, 5, 6};
    static const uint16_t f16[2] = {0x3c00, 0xc000}, bf16[2] = {0x3f80, 0xc000}; /* 1, -2 */
    static const int8_t i8[2] = {1, -2};
    static const uint8_t u8[2] = {1, 254};
    static const int32_t i32[2] = {1, -2};
    static const int64_t i64[2] = {1, -2};
    static const int64_t six[2] = {2, 3}, two[1] = {2};
    plumb_node node = plumb_node_get("layer");
    (void)state;
    setenv("PLUMB_ACTIVATIONS", "1", 1);
    record_start();
    assert_int_equal(plumb_activation_sink(keep, NULL, NULL), PLUMB_OK);
    plumb_activation_f64(node, "f64", f64, six, 2);
    plumb_activation_f32(node, NULL, f32, six, 2);
    plumb_activation_f16(node, "f16", f16, two, 1);
    plumb_activation_bf16(node, "bf16", bf16, two, 1);
    plumb_activation_i8(node, "i8", i8, two, 1);
    plumb_activation_u8(node, "u8", u8, two, 1);
    plumb_activation_i32(node, "i32", i32, two, 1);
    plumb_activation_i64(node, "i64", i64, two, 1);
    plumb_activation_f32(node, "scalar", f32, NULL, 0);
    plumb_activation_f32(node, "none", NULL, two, 1);
    plumb_activation_f32(node, "wrong", f32, six, -1);
    plumb_activation_f32(node, "shapeless", f32, NULL, 2);
    record_stop();
    plumb_activation_sink(NULL, NULL, NULL);
    assert_int_equal(count, 12);
    has(0, "f64", "\"sum\":17,");
    has(0, "f64", "\"dtype\":\"float64\",\"shape\":[2,3]");
    has(1, "out", "\"sum\":17,");
    has(1, "out", "\"dtype\":\"float32\",\"shape\":[2,3]");
    has(2, "f16", "\"abs_mean\":1.5,\"sum\":-1,");
    has(2, "f16", "\"dtype\":\"float16\"");
    has(3, "bf16", "\"abs_mean\":1.5,\"sum\":-1,");
    has(3, "bf16", "\"dtype\":\"bfloat16\"");
    has(4, "i8", "\"sum\":-1,");
    has(4, "i8", "\"dtype\":\"int8\"");
    has(5, "u8", "\"sum\":255,");
    has(5, "u8", "\"dtype\":\"uint8\"");
    has(6, "i32", "\"dtype\":\"int32\"");
    has(7, "i64", "\"dtype\":\"int64\"");
    has(8, "scalar", "\"sum\":1,");
    has(8, "scalar", "\"shape\":[]");
    has(9, "none", "<error: ");
    has(10, "wrong", "\"sum\":\"<error: the tensor has -1 dimensions");
    has(11, "shapeless", "<error: the tensor has 2 dimensions and no shape>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_each_type_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
