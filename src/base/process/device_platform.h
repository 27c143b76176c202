/* device_platform.h: which platform of compute devices a machine has, and what that is called: the
 * activity of a trace that its work belongs to, and the prefix of its devices' names. Asking looks
 * for files of drivers alone, as nvidia.h does. */
#ifndef PLUMB_BASE_PROCESS_DEVICE_PLATFORM_H
#define PLUMB_BASE_PROCESS_DEVICE_PLATFORM_H

#include <stdbool.h>

struct plumb_device_platform {
    const char *id;       /* "rocm", "cuda", "npu", "xpu", "cpu" */
    const char *activity; /* as PyTorch's profiler calls it: "CUDA", "PrivateUse1", "XPU", "CPU" */
};

/* Returns the platform of that name, or of a device of it ("rocm:0"); NULL: it is not known. */
const struct plumb_device_platform *plumb_device_platform_of(const char *device);
/* Returns the first that is there, in this order: ROCm, CUDA, NPU; otherwise the processor.
 * `dev`: "/dev". `visible`: as in nvidia.h. Keeps errno. */
const struct plumb_device_platform *plumb_device_platform_find(const char *dev,
                                                               const char *visible);
/* Whether the device's work counts as that of CUDA: PyTorch calls devices of ROCm so as well. */
bool plumb_device_is_cuda(const char *device);

#endif
