/* value_load.c: one conversion for each element type. */
#include "tensor/value_load.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "tensor/small_float.h"

static inline double from_bool(uint8_t v)
{
    return v != 0;
}

static inline double as_is(double v)
{
    return v;
}

/* Tensors may lie at odd addresses, hence memcpy. Two loops, because only the first one, whose step
 * the compiler knows, is made of vector instructions. */
#define LOADER(name, type, convert)                                                                \
    static void name(double *to, const unsigned char *from, uint64_t n, uint64_t stride_bytes)     \
    {                                                                                              \
        type v;                                                                                    \
        for (uint64_t i = 0; stride_bytes == sizeof v && i < n; i++) {                             \
            memcpy(&v, from + i * sizeof v, sizeof v);                                             \
            to[i] = convert(v);                                                                    \
        }                                                                                          \
        for (uint64_t i = 0; stride_bytes != sizeof v && i < n; i++) {                             \
            memcpy(&v, from + i * stride_bytes, sizeof v);                                         \
            to[i] = convert(v);                                                                    \
        }                                                                                          \
    }

LOADER(load_f64, double, as_is)
LOADER(load_f32, float, (double))
LOADER(load_f16, uint16_t, plumb_from_f16)
LOADER(load_bf16, uint16_t, plumb_from_bf16)
LOADER(load_f8_e4m3fn, uint8_t, plumb_from_f8_e4m3fn)
LOADER(load_f8_e5m2, uint8_t, plumb_from_f8_e5m2)
LOADER(load_i8, int8_t, (double))
LOADER(load_i16, int16_t, (double))
LOADER(load_i32, int32_t, (double))
LOADER(load_i64, int64_t, (double))
LOADER(load_u8, uint8_t, (double))
LOADER(load_u16, uint16_t, (double))
LOADER(load_u32, uint32_t, (double))
LOADER(load_u64, uint64_t, (double))
LOADER(load_bool, uint8_t, from_bool)

static const struct {
    uint8_t code, bits;
    plumb_load_fn *load;
} loaders[] = {
    {PLUMB_DTYPE_FLOAT, 64, load_f64},
    {PLUMB_DTYPE_FLOAT, 32, load_f32},
    {PLUMB_DTYPE_FLOAT, 16, load_f16},
    {PLUMB_DTYPE_BFLOAT, 16, load_bf16},
    {PLUMB_DTYPE_FLOAT8_E4M3FN, 8, load_f8_e4m3fn},
    {PLUMB_DTYPE_FLOAT8_E5M2, 8, load_f8_e5m2},
    {PLUMB_DTYPE_INT, 8, load_i8},
    {PLUMB_DTYPE_INT, 16, load_i16},
    {PLUMB_DTYPE_INT, 32, load_i32},
    {PLUMB_DTYPE_INT, 64, load_i64},
    {PLUMB_DTYPE_UINT, 8, load_u8},
    {PLUMB_DTYPE_UINT, 16, load_u16},
    {PLUMB_DTYPE_UINT, 32, load_u32},
    {PLUMB_DTYPE_UINT, 64, load_u64},
    {PLUMB_DTYPE_BOOL, 8, load_bool},
};

plumb_load_fn *plumb_load_of(struct plumb_dtype type, plumb_error *err)
{
    char name[PLUMB_DTYPE_NAME_MAX];
    for (size_t i = 0; i < sizeof loaders / sizeof loaders[0]; i++)
        if (loaders[i].code == type.code && loaders[i].bits == type.bits)
            return loaders[i].load;
    plumb_fail(err, PLUMB_ERR_ARG, "no statistics of %s: %s", plumb_dtype_name(name, type),
               type.code == PLUMB_DTYPE_COMPLEX ? "complex numbers have no order"
                                                : "the element type is unknown");
    return NULL;
}
