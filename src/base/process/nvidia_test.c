/* Tests of nvidia.c: which files below /dev are a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/nvidia.h"

/* A folder with one entry of that name, which is a device (/dev/null is one). */
static bool with(const char *name, const char *visible)
{
    static int folders;
    char dev[32], path[64];
    snprintf(dev, sizeof dev, "dev%d", folders++);
    snprintf(path, sizeof path, "%s/%s", dev, name);
    assert_int_equal(mkdir(dev, 0700), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    return plumb_nvidia_is_there(dev, visible);
}

static void the_device_of_a_gpu_is_seen(void **state)
{
    (void)state;
    assert_true(with("nvidia0", NULL));
    assert_true(with("nvidia12", NULL));
    assert_true(with("nvhost-gpu", NULL));
    assert_true(with("nvgpu", NULL));
    assert_true(with("dxg", NULL));
}

static void a_driver_without_a_gpu_is_none(void **state)
{
    FILE *f;
    (void)state;
    assert_false(with("nvidiactl", NULL));
    assert_false(with("nvidia-uvm", NULL));
    assert_false(with("nvidia", NULL));
    assert_false(with("null", NULL));
    assert_false(plumb_nvidia_is_there("no such folder", NULL));
    assert_int_equal(mkdir("files", 0700), 0);
    f = fopen("files/nvidia0", "w");
    assert_non_null(f);
    fclose(f);
    assert_false(plumb_nvidia_is_there("files", NULL));
}

static void hidden_devices_are_not_there(void **state)
{
    (void)state;
    assert_false(with("nvidia0", ""));
    assert_false(with("nvidia0", "-1"));
    assert_true(with("nvidia0", "0"));
    assert_true(with("nvidia0", "GPU-8932f937"));
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_files_of_the_driver_name_its_version_and_gpus(void **state)
{
    char version[32], names[3][PLUMB_NVIDIA_NAME];
    (void)state;
    plumb_nvidia_driver(version, sizeof version, "no such folder");
    assert_string_equal(version, "");
    assert_int_equal(plumb_nvidia_names(names, 3, "no such folder"), 0);
    assert_int_equal(mkdir("nv", 0700), 0);
    assert_int_equal(mkdir("nv/gpus", 0700), 0);
    assert_int_equal(mkdir("nv/gpus/0000:c1:00.0", 0700), 0);
    assert_int_equal(mkdir("nv/gpus/0000:1b:00.0", 0700), 0);
    put("nv/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
        "GCC version:  gcc version 12.2.0\n");
    put("nv/gpus/0000:c1:00.0/information", "Model: \t\t NVIDIA A40\nIRQ:   \t\t 1\n");
    put("nv/gpus/0000:1b:00.0/information", "IRQ: 2\nModel: \t\t NVIDIA H200\n");
    plumb_nvidia_driver(version, sizeof version, "nv");
    assert_string_equal(version, "570.86.15");
    assert_int_equal(plumb_nvidia_names(names, 3, "nv"), 2);
    assert_string_equal(names[0], "NVIDIA H200");
    assert_string_equal(names[1], "NVIDIA A40");
    assert_int_equal(plumb_nvidia_names(names, 1, "nv"), 1);
}

static void a_device_of_a_process_is_the_gpu_that_it_is_given(void **state)
{
    static const struct {
        uint32_t index;
        const char *visible, *uuid;
    } cases[] = {
        {0, NULL, "GPU-bb"},
        {1, NULL, "GPU-aa"},
        {2, NULL, ""},
        {0, "1", "GPU-aa"},
        {1, "1,0", "GPU-bb"},
        {2, "1,0", ""},
        {0, "GPU-a", "GPU-aa"},
        {1, "0,GPU-b", "GPU-bb"},
        {0, "GPU-c", ""},
        {0, "MIG-1/2", "MIG-1/2"},
        {0, "", ""},
        {0, "-1", ""},
    };
    char uuid[PLUMB_NVIDIA_UUID];
    (void)state;
    mkdir("nv", 0700);
    mkdir("nv/gpus", 0700);
    mkdir("nv/gpus/0000:c1:00.0", 0700);
    mkdir("nv/gpus/0000:1b:00.0", 0700);
    put("nv/gpus/0000:c1:00.0/information", "Model: \t\t NVIDIA A40\nGPU UUID: \t GPU-aa\n");
    put("nv/gpus/0000:1b:00.0/information", "GPU UUID: \t GPU-bb\nModel: \t\t NVIDIA H200\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plumb_nvidia_uuid(uuid, cases[i].index, cases[i].visible, "nv");
        assert_string_equal(uuid, cases[i].uuid);
    }
    plumb_nvidia_uuid(uuid, 0, NULL, "no such folder");
    assert_string_equal(uuid, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_of_a_gpu_is_seen),
        cmocka_unit_test(a_driver_without_a_gpu_is_none),
        cmocka_unit_test(hidden_devices_are_not_there),
        cmocka_unit_test(the_files_of_the_driver_name_its_version_and_gpus),
        cmocka_unit_test(a_device_of_a_process_is_the_gpu_that_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
