/* safetensors.c: see safetensors.h. */
#include "tensor/safetensors.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t code, bits;
} types[] = {
    {"F64", PLUMB_DTYPE_FLOAT, 64},
    {"F32", PLUMB_DTYPE_FLOAT, 32},
    {"F16", PLUMB_DTYPE_FLOAT, 16},
    {"BF16", PLUMB_DTYPE_BFLOAT, 16},
    {"F8_E4M3", PLUMB_DTYPE_FLOAT8_E4M3FN, 8},
    {"F8_E5M2", PLUMB_DTYPE_FLOAT8_E5M2, 8},
    {"I64", PLUMB_DTYPE_INT, 64},
    {"I32", PLUMB_DTYPE_INT, 32},
    {"I16", PLUMB_DTYPE_INT, 16},
    {"I8", PLUMB_DTYPE_INT, 8},
    {"U64", PLUMB_DTYPE_UINT, 64},
    {"U32", PLUMB_DTYPE_UINT, 32},
    {"U16", PLUMB_DTYPE_UINT, 16},
    {"U8", PLUMB_DTYPE_UINT, 8},
    {"BOOL", PLUMB_DTYPE_BOOL, 8},
};
enum { TYPES = sizeof types / sizeof types[0] };

const char *plumb_safetensors_name(struct plumb_dtype type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].code == type.code && types[i].bits == type.bits && type.lanes == 1)
            return types[i].name;
    return NULL;
}

bool plumb_safetensors_type(struct plumb_dtype *out, const char *name, size_t size)
{
    for (int i = 0; i < TYPES; i++) {
        if (strlen(types[i].name) != size || memcmp(types[i].name, name, size) != 0)
            continue;
        *out = (struct plumb_dtype){types[i].code, types[i].bits, 1};
        return true;
    }
    return false;
}
