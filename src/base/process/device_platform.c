/* device_platform.c: see device_platform.h. No state. */
#include "base/process/device_platform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process/nvidia.h"

enum { ROCM, CUDA, NPU, XPU, CPU, PLATFORMS };

static const struct plumb_device_platform platforms[PLATFORMS] = {
    [ROCM] = {"rocm", "CUDA"}, /* PyTorch reports its devices as cuda */
    [CUDA] = {"cuda", "CUDA"}, [NPU] = {"npu", "PrivateUse1"}, /* a backend outside of PyTorch */
    [XPU] = {"xpu", "XPU"},                                    /* oneAPI; not looked for */
    [CPU] = {"cpu", "CPU"},
};

const struct plumb_device_platform *plumb_device_platform_of(const char *device)
{
    size_t n = strcspn(device, ":");
    for (size_t i = 0; i < PLATFORMS; i++)
        if (strlen(platforms[i].id) == n && strncmp(platforms[i].id, device, n) == 0)
            return &platforms[i];
    return NULL;
}

static bool has(const char *dev, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dev, name);
    return access(path, F_OK) == 0;
}

const struct plumb_device_platform *plumb_device_platform_find(const char *dev, const char *visible)
{
    int saved = errno, found = CPU;
    if (has(dev, "kfd"))
        found = ROCM;
    else if (plumb_nvidia_is_there(dev, visible))
        found = CUDA;
    else if (has(dev, "davinci_manager") || has(dev, "accel/accel0"))
        found = NPU;
    errno = saved;
    return &platforms[found];
}

bool plumb_device_is_cuda(const char *device)
{
    const struct plumb_device_platform *p = plumb_device_platform_of(device);
    return p && (p == &platforms[CUDA] || p == &platforms[ROCM]);
}
