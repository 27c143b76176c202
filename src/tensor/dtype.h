/* dtype.h: the element types and devices of DLPack, and their names.
 *
 * An element type is spelled as PyTorch spells it, without "torch.":
 *
 *     float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2
 *     int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128
 *
 * followed by "x<lanes>" when an element is a vector (float32x4), and any other type as
 * "dlpack(<code>,<bits>,<lanes>)", which stands for exactly that type.
 *
 * A device is spelled "<kind>:<index>"; the host is "cpu" alone, as PyTorch prints it. The kinds
 * are those of DLPack, which tells apart what PyTorch does not: a ROCm device is "rocm:0" (PyTorch
 * calls it "cuda:0"), a Metal one "metal:0" (PyTorch: "mps:0"), a oneAPI one "xpu:0", memory of the
 * host that a device can reach "cuda_host:0" or "rocm_host:0", memory that moves between both
 * "cuda_managed:0". Any other is "device(<type>,<index>)", as is one with a negative index.
 *
 * Everything here is pure: any thread, no allocation, no locale. */
#ifndef PLUMB_TENSOR_DTYPE_H
#define PLUMB_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/error.h>

/* The codes of DLPack 1.1. They are ours, because installed headers may lack the newer ones. */
enum {
    PLUMB_DTYPE_INT = 0,
    PLUMB_DTYPE_UINT = 1,
    PLUMB_DTYPE_FLOAT = 2,
    PLUMB_DTYPE_OPAQUE = 3,
    PLUMB_DTYPE_BFLOAT = 4,
    PLUMB_DTYPE_COMPLEX = 5,
    PLUMB_DTYPE_BOOL = 6,
    PLUMB_DTYPE_FLOAT8_E4M3FN = 10,
    PLUMB_DTYPE_FLOAT8_E5M2 = 12
};

enum {
    PLUMB_DL_CPU = 1,
    PLUMB_DL_CUDA = 2,
    PLUMB_DL_CUDA_HOST = 3,
    PLUMB_DL_OPENCL = 4,
    PLUMB_DL_VULKAN = 7,
    PLUMB_DL_METAL = 8,
    PLUMB_DL_VPI = 9,
    PLUMB_DL_ROCM = 10,
    PLUMB_DL_ROCM_HOST = 11,
    PLUMB_DL_EXT = 12,
    PLUMB_DL_CUDA_MANAGED = 13,
    PLUMB_DL_ONEAPI = 14,
    PLUMB_DL_WEBGPU = 15,
    PLUMB_DL_HEXAGON = 16,
    PLUMB_DL_MAIA = 17
};

/* As DLDataType lies in memory. */
struct plumb_dtype {
    uint8_t code;
    uint8_t bits;   /* of one lane; of both halves of a complex number */
    uint16_t lanes; /* 1: a scalar */
};

/* As DLDevice lies in memory. */
struct plumb_dl_device {
    int32_t type;
    int32_t index;
};

enum { PLUMB_DTYPE_NAME_MAX = 32, PLUMB_DL_DEVICE_NAME_MAX = 40 };

/* Writes the name, and returns `out`. Every value has one, and it parses back to that value. */
const char *plumb_dtype_name(char out[PLUMB_DTYPE_NAME_MAX], struct plumb_dtype type);
const char *plumb_dl_device_name(char out[PLUMB_DL_DEVICE_NAME_MAX], struct plumb_dl_device device);

/* The value of a name, as above. A device may be named without its index, which is then 0, and the
 * host with one ("cpu:0"). PLUMB_ERR_ARG, and `out` is untouched: no such name. */
int plumb_dtype_parse(struct plumb_dtype *out, const char *name, plumb_error *err);
int plumb_dl_device_parse(struct plumb_dl_device *out, const char *name, plumb_error *err);

/* Bits of an element: bits times lanes, at most 255 * 65535. An element that fills whole bytes lies
 * in them. Smaller ones (and all others) are packed without padding, lowest bits first, as DLPack
 * packs them: `count` elements take ceil(count * bits / 8) bytes. */
uint32_t plumb_dtype_element_bits(struct plumb_dtype type);

/* Bytes of `count` elements. False when they are more than INT64_MAX. */
bool plumb_dtype_bytes(uint64_t *out, struct plumb_dtype type, uint64_t count);

/* Whether the host may read such memory in place. Not the managed kind: reading it would move pages
 * away from the device, and change what is being measured. */
bool plumb_dl_device_is_host(struct plumb_dl_device device);

#endif
