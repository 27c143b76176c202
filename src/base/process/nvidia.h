/* nvidia.h: what a process can see of NVIDIA's GPUs from the files of the driver alone: no driver
 * and no library is loaded, so asking costs a few files and changes nothing. */
#ifndef PLUMB_BASE_PROCESS_NVIDIA_H
#define PLUMB_BASE_PROCESS_NVIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUMB_NVIDIA_PROC "/proc/driver/nvidia"

enum { PLUMB_NVIDIA_NAME = 64, PLUMB_NVIDIA_UUID = 64 };

/* Looks into `dev` ("/dev") for devices of the driver (nvidia0, ...), of Tegra (nvhost-gpu, nvgpu)
 * and of WSL (dxg). `visible`: the value of CUDA_VISIBLE_DEVICES, NULL where it is not set; an
 * empty one, or one that begins with -1, hides all of them. Keeps errno. */
bool plumb_nvidia_is_there(const char *dev, const char *visible);
/* Sets `out` to the version of the driver of `proc` ("/proc/driver/nvidia"), as "550.54.14", or to
 * "" without a driver. Keeps errno. */
void plumb_nvidia_driver(char *out, size_t size, const char *proc);
/* Sets `out` to the names of the first `most` GPUs that the driver of `proc` has, in the order of
 * their places on the bus. Returns how many. Keeps errno. */
uint32_t plumb_nvidia_names(char (*out)[PLUMB_NVIDIA_NAME], uint32_t most, const char *proc);
/* Sets `out` to the UUID of the GPU that is CUDA's device `index` of a process, as "GPU-7c5d...":
 * entry `index` of `visible` (the value of CUDA_VISIBLE_DEVICES; NULL: not set, then GPU `index` of
 * the driver of `proc`), where an entry is a number or the beginning of a UUID. Numbers are places
 * on the bus, which are CUDA's for GPUs of one kind and with CUDA_DEVICE_ORDER=PCI_BUS_ID. "": no
 * such GPU. Keeps errno. */
void plumb_nvidia_uuid(char out[PLUMB_NVIDIA_UUID], uint32_t index, const char *visible,
                       const char *proc);

#endif
