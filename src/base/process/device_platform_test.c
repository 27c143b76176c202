/* Tests of device_platform.c: the map, and the order of detection in a made-up /dev. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process/device_platform.h"

static void check_map(const char *device, const char *id, const char *activity, bool cuda)
{
    const struct plumb_device_platform *p = plumb_device_platform_of(device);
    assert_non_null(p);
    assert_string_equal(p->id, id);
    assert_string_equal(p->activity, activity);
    assert_int_equal(plumb_device_is_cuda(device), cuda);
}

static void each_platform_has_its_activity(void **state)
{
    (void)state;
    check_map("cpu", "cpu", "CPU", false);
    check_map("cuda", "cuda", "CUDA", true);
    check_map("cuda:3", "cuda", "CUDA", true);
    check_map("rocm:0", "rocm", "CUDA", true);
    check_map("xpu:0", "xpu", "XPU", false);
    check_map("npu:1", "npu", "PrivateUse1", false);
    assert_null(plumb_device_platform_of("opencl:0"));
    assert_null(plumb_device_platform_of("cud"));
    assert_null(plumb_device_platform_of(""));
    assert_false(plumb_device_is_cuda("cudamalloc:0"));
    assert_false(plumb_device_is_cuda("opencl:0"));
}

static const char *found_in(const char *dev)
{
    return plumb_device_platform_find(dev, NULL)->id;
}

static void add(const char *path)
{
    assert_int_equal(mkdir(path, 0777), 0); /* a plain file would not be taken for a device */
}

static void the_first_platform_in_order_is_found(void **state)
{
    (void)state;
    add("dev");
    assert_string_equal(found_in("nowhere"), "cpu");
    assert_string_equal(found_in("dev"), "cpu");
    add("dev/davinci_manager");
    assert_string_equal(found_in("dev"), "npu");
    add("dev/nvidia0");
    assert_string_equal(found_in("dev"), "cuda");
    assert_string_equal(plumb_device_platform_find("dev", "")->id, "npu"); /* hidden */
    add("dev/kfd");
    assert_string_equal(found_in("dev"), "rocm");
    add("other");
    add("other/accel");
    add("other/accel/accel0");
    assert_string_equal(found_in("other"), "npu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_platform_has_its_activity),
        cmocka_unit_test(the_first_platform_in_order_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
