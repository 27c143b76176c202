/* Tests of dtype.c: every type and device has one name, and every name one meaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tensor/dtype.h"

static const struct {
    const char *name;
    struct plumb_dtype type;
} known_types[] = {
    {"float64", {2, 64, 1}},
    {"float32", {2, 32, 1}},
    {"float16", {2, 16, 1}},
    {"bfloat16", {4, 16, 1}},
    {"float8_e4m3fn", {10, 8, 1}},
    {"float8_e5m2", {12, 8, 1}},
    {"int8", {0, 8, 1}},
    {"int16", {0, 16, 1}},
    {"int32", {0, 32, 1}},
    {"int64", {0, 64, 1}},
    {"uint8", {1, 8, 1}},
    {"uint16", {1, 16, 1}},
    {"uint32", {1, 32, 1}},
    {"uint64", {1, 64, 1}},
    {"bool", {6, 8, 1}},
    {"complex64", {5, 64, 1}},
    {"complex128", {5, 128, 1}},
    {"float32x4", {2, 32, 4}},
    {"uint8x65535", {1, 8, 65535}},
    {"dlpack(7,12,1)", {7, 12, 1}},
    {"dlpack(2,32,0)", {2, 32, 0}},
    {"dlpack(2,0,1)", {2, 0, 1}},
    {"dlpack(0,4,2)", {0, 4, 2}},
    {"dlpack(6,1,1)", {6, 1, 1}},
    {"dlpack(255,255,65535)", {255, 255, 65535}},
};

static void types_are_spelled_as_pytorch_spells_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_types / sizeof known_types[0]; i++) {
        char name[PLUMB_DTYPE_NAME_MAX];
        assert_string_equal(plumb_dtype_name(name, known_types[i].type), known_types[i].name);
    }
}

static void every_type_parses_back(void **state)
{
    static const uint16_t lanes[] = {0, 1, 2, 3, 4, 16, 255, 256, 65535};
    (void)state;
    for (int code = 0; code < 256; code++) {
        for (int bits = 0; bits < 256; bits++) {
            for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
                struct plumb_dtype type = {(uint8_t)code, (uint8_t)bits, lanes[i]};
                struct plumb_dtype back;
                char name[PLUMB_DTYPE_NAME_MAX];
                plumb_dtype_name(name, type);
                assert_int_equal(plumb_dtype_parse(&back, name, NULL), PLUMB_OK);
                assert_memory_equal(&back, &type, sizeof type);
            }
        }
    }
}

static void what_is_no_type_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "float",
        "float32 ",
        "Float32",
        "torch.float32",
        "float32x",
        "float32x0",
        "float32x1",
        "float32x04",
        "float32x-4",
        "float32x65536",
        "float32x4x4",
        "float32x99999999999999999999",
        "dlpack(1,2)",
        "dlpack(1,2,3",
        "dlpack(1,2,3) ",
        "dlpack(01,2,3)",
        "dlpack(-1,2,3)",
        "dlpack(256,2,3)",
        "dlpack(1,256,3)",
        "dlpack(1,2,65536)",
        "dlpack(1, 2,3)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct plumb_dtype type = {77, 77, 77};
        plumb_error err = {0, ""};
        assert_int_equal(plumb_dtype_parse(&type, wrong[i], &err), PLUMB_ERR_ARG);
        assert_int_equal(type.code, 77);
        assert_non_null(strstr(err.message, "is not an element type: it is one like float32"));
    }
}

static const struct {
    const char *name;
    struct plumb_dl_device device;
} known_devices[] = {
    {"cpu", {1, 0}},
    {"cpu:1", {1, 1}},
    {"cuda:0", {2, 0}},
    {"cuda:7", {2, 7}},
    {"cuda_host:0", {3, 0}},
    {"opencl:0", {4, 0}},
    {"vulkan:0", {7, 0}},
    {"metal:0", {8, 0}},
    {"vpi:0", {9, 0}},
    {"rocm:0", {10, 0}},
    {"rocm_host:2", {11, 2}},
    {"ext_dev:0", {12, 0}},
    {"cuda_managed:0", {13, 0}},
    {"xpu:0", {14, 0}},
    {"webgpu:0", {15, 0}},
    {"hexagon:0", {16, 0}},
    {"maia:0", {17, 0}},
    {"cuda:2147483647", {2, INT32_MAX}},
    {"device(0,0)", {0, 0}},
    {"device(99,3)", {99, 3}},
    {"device(2,-1)", {2, -1}},
    {"device(-2147483648,-2147483648)", {INT32_MIN, INT32_MIN}},
};

static void devices_are_told_apart_as_dlpack_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_devices / sizeof known_devices[0]; i++) {
        struct plumb_dl_device back = {77, 77};
        char name[PLUMB_DL_DEVICE_NAME_MAX];
        plumb_dl_device_name(name, known_devices[i].device);
        assert_string_equal(name, known_devices[i].name);
        assert_int_equal(plumb_dl_device_parse(&back, name, NULL), PLUMB_OK);
        assert_memory_equal(&back, &known_devices[i].device, sizeof back);
    }
}

static void a_device_may_be_named_without_its_index(void **state)
{
    struct plumb_dl_device device;
    (void)state;
    assert_int_equal(plumb_dl_device_parse(&device, "cuda", NULL), PLUMB_OK);
    assert_true(device.type == PLUMB_DL_CUDA && device.index == 0);
    assert_int_equal(plumb_dl_device_parse(&device, "cpu:0", NULL), PLUMB_OK);
    assert_true(device.type == PLUMB_DL_CPU && device.index == 0);
}

static void what_is_no_device_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "cp",
                                        "cpu0",
                                        "cpu:",
                                        "cuda:-1",
                                        "cuda:01",
                                        "cuda:0 ",
                                        "cuda:0x1",
                                        "CUDA:0",
                                        "cuda:2147483648",
                                        "device(1)",
                                        "device(1,2",
                                        "device(1,2)x",
                                        "device(9999999999,1)",
                                        "device(-0,1)",
                                        "npu:0"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct plumb_dl_device device = {77, 77};
        plumb_error err = {0, ""};
        assert_int_equal(plumb_dl_device_parse(&device, wrong[i], &err), PLUMB_ERR_ARG);
        assert_int_equal(device.type, 77);
        assert_non_null(strstr(err.message, "is not a device: it is one like cpu, cuda:0"));
    }
}

static uint64_t bytes_of(uint8_t code, uint8_t bits, uint16_t lanes, uint64_t count)
{
    uint64_t bytes = UINT64_MAX;
    assert_true(plumb_dtype_bytes(&bytes, (struct plumb_dtype){code, bits, lanes}, count));
    return bytes;
}

static void small_elements_are_packed(void **state)
{
    uint64_t bytes = 5;
    (void)state;
    assert_int_equal(bytes_of(2, 32, 1, 3), 12);
    assert_int_equal(bytes_of(2, 32, 4, 3), 48);
    assert_int_equal(bytes_of(5, 128, 1, 3), 48);
    assert_int_equal(bytes_of(17, 4, 1, 0), 0);
    assert_int_equal(bytes_of(17, 4, 1, 1), 1);
    assert_int_equal(bytes_of(17, 4, 1, 2), 1);
    assert_int_equal(bytes_of(17, 4, 1, 3), 2);
    assert_int_equal(bytes_of(16, 6, 1, 4), 3);
    assert_int_equal(bytes_of(16, 6, 1, 5), 4);
    assert_int_equal(bytes_of(6, 1, 1, 9), 2);
    assert_int_equal(bytes_of(7, 12, 1, 3), 5);
    assert_int_equal(bytes_of(2, 32, 0, 1000), 0);
    assert_int_equal(bytes_of(1, 8, 1, INT64_MAX), INT64_MAX);
    assert_int_equal(bytes_of(17, 4, 1, UINT64_MAX - 1), INT64_MAX);
    assert_false(plumb_dtype_bytes(&bytes, (struct plumb_dtype){17, 4, 1}, UINT64_MAX));
    assert_false(plumb_dtype_bytes(&bytes, (struct plumb_dtype){1, 8, 1}, UINT64_MAX));
    assert_false(plumb_dtype_bytes(&bytes, (struct plumb_dtype){2, 255, 65535}, UINT64_C(1) << 62));
    assert_int_equal(bytes, 5);
}

static void the_host_reads_its_own_and_pinned_memory_only(void **state)
{
    (void)state;
    for (int32_t type = -1; type < 30; type++) {
        bool expected = type == 1 || type == 3 || type == 11;
        assert_int_equal(plumb_dl_device_is_host((struct plumb_dl_device){type, 0}), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_spelled_as_pytorch_spells_them),
        cmocka_unit_test(every_type_parses_back),
        cmocka_unit_test(what_is_no_type_is_refused),
        cmocka_unit_test(devices_are_told_apart_as_dlpack_does),
        cmocka_unit_test(a_device_may_be_named_without_its_index),
        cmocka_unit_test(what_is_no_device_is_refused),
        cmocka_unit_test(small_elements_are_packed),
        cmocka_unit_test(the_host_reads_its_own_and_pinned_memory_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
