/* nvidia.h: whether a GPU of NVIDIA's is there for this process, from the device files alone: no
 * driver and no library is loaded, so asking costs a folder and changes nothing. */
#ifndef PLUMB_BASE_NVIDIA_H
#define PLUMB_BASE_NVIDIA_H

#include <stdbool.h>

/* Looks into `dev` ("/dev") for devices of the driver (nvidia0, ...), of Tegra (nvhost-gpu, nvgpu)
 * and of WSL (dxg). `visible`: the value of CUDA_VISIBLE_DEVICES, NULL where it is not set; an
 * empty one, or one that begins with -1, hides all of them. Keeps errno. */
bool plumb_nvidia_is_there(const char *dev, const char *visible);

#endif
