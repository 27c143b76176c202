/* dtype.c: names of element types and devices. Owns both tables; whatever is in neither has a
 * spelling made of its numbers, so that a tensor of next year's type can be recorded today. Pure.
 */
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const struct {
    const char *name;
    uint8_t code, bits;
} dtypes[] = {
    {"float64", PLUMB_DTYPE_FLOAT, 64},
    {"float32", PLUMB_DTYPE_FLOAT, 32},
    {"float16", PLUMB_DTYPE_FLOAT, 16},
    {"bfloat16", PLUMB_DTYPE_BFLOAT, 16},
    {"float8_e4m3fn", PLUMB_DTYPE_FLOAT8_E4M3FN, 8},
    {"float8_e5m2", PLUMB_DTYPE_FLOAT8_E5M2, 8},
    {"int8", PLUMB_DTYPE_INT, 8},
    {"int16", PLUMB_DTYPE_INT, 16},
    {"int32", PLUMB_DTYPE_INT, 32},
    {"int64", PLUMB_DTYPE_INT, 64},
    {"uint8", PLUMB_DTYPE_UINT, 8},
    {"uint16", PLUMB_DTYPE_UINT, 16},
    {"uint32", PLUMB_DTYPE_UINT, 32},
    {"uint64", PLUMB_DTYPE_UINT, 64},
    {"bool", PLUMB_DTYPE_BOOL, 8},
    {"complex64", PLUMB_DTYPE_COMPLEX, 64},
    {"complex128", PLUMB_DTYPE_COMPLEX, 128},
};

static const struct {
    const char *name;
    int32_t type;
} devices[] = {
    {"cpu", PLUMB_DL_CPU},
    {"cuda", PLUMB_DL_CUDA},
    {"cuda_host", PLUMB_DL_CUDA_HOST},
    {"opencl", PLUMB_DL_OPENCL},
    {"vulkan", PLUMB_DL_VULKAN},
    {"metal", PLUMB_DL_METAL},
    {"vpi", PLUMB_DL_VPI},
    {"rocm", PLUMB_DL_ROCM},
    {"rocm_host", PLUMB_DL_ROCM_HOST},
    {"ext_dev", PLUMB_DL_EXT},
    {"cuda_managed", PLUMB_DL_CUDA_MANAGED},
    {"xpu", PLUMB_DL_ONEAPI},
    {"webgpu", PLUMB_DL_WEBGPU},
    {"hexagon", PLUMB_DL_HEXAGON},
    {"maia", PLUMB_DL_MAIA},
};

enum { DTYPES = sizeof dtypes / sizeof dtypes[0], DEVICES = sizeof devices / sizeof devices[0] };

/* ---- Reading --------------------------------------------------------------------------------- */

/* A decimal number as printf writes it, from `min` to `max`: no sign but '-', no leading zeros. */
static bool take_number(const char **text, int64_t min, int64_t max, int64_t *out)
{
    const char *p = *text;
    bool negative = *p == '-';
    int64_t value = 0;
    p += negative;
    if (*p < '0' || *p > '9' || (*p == '0' && (negative || (p[1] >= '0' && p[1] <= '9'))))
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (value > UINT32_MAX)
            return false;
        value = 10 * value + (*p - '0');
    }
    value = negative ? -value : value;
    if (value < min || value > max)
        return false;
    *text = p;
    *out = value;
    return true;
}

static bool take_word(const char **text, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0)
        return false;
    *text += n;
    return true;
}

static bool parse_numbered_dtype(struct plumb_dtype *out, const char *p)
{
    int64_t code;
    int64_t bits;
    int64_t lanes;
    if (!take_word(&p, "dlpack(") || !take_number(&p, 0, UINT8_MAX, &code) || !take_word(&p, ",") ||
        !take_number(&p, 0, UINT8_MAX, &bits) || !take_word(&p, ",") ||
        !take_number(&p, 0, UINT16_MAX, &lanes) || strcmp(p, ")") != 0)
        return false;
    *out = (struct plumb_dtype){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
    return true;
}

int plumb_dtype_parse(struct plumb_dtype *out, const char *name, plumb_error *err)
{
    for (int i = 0; i < DTYPES; i++) {
        const char *p = name;
        int64_t lanes = 1;
        if (!take_word(&p, dtypes[i].name))
            continue;
        if (*p && !(take_word(&p, "x") && take_number(&p, 2, UINT16_MAX, &lanes) && !*p))
            continue;
        *out = (struct plumb_dtype){dtypes[i].code, dtypes[i].bits, (uint16_t)lanes};
        return PLUMB_OK;
    }
    if (parse_numbered_dtype(out, name))
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_ARG,
                      "'%s' is not an element type: it is one like float32, float32x4, or "
                      "dlpack(code,bits,lanes)",
                      name);
}

static bool parse_numbered_device(struct plumb_dl_device *out, const char *p)
{
    int64_t type;
    int64_t index;
    if (!take_word(&p, "device(") || !take_number(&p, INT32_MIN, INT32_MAX, &type) ||
        !take_word(&p, ",") || !take_number(&p, INT32_MIN, INT32_MAX, &index) ||
        strcmp(p, ")") != 0)
        return false;
    *out = (struct plumb_dl_device){(int32_t)type, (int32_t)index};
    return true;
}

int plumb_dl_device_parse(struct plumb_dl_device *out, const char *name, plumb_error *err)
{
    for (int i = 0; i < DEVICES; i++) {
        const char *p = name;
        int64_t index = 0;
        if (!take_word(&p, devices[i].name))
            continue;
        if (*p && !(take_word(&p, ":") && take_number(&p, 0, INT32_MAX, &index) && !*p))
            continue;
        *out = (struct plumb_dl_device){devices[i].type, (int32_t)index};
        return PLUMB_OK;
    }
    if (parse_numbered_device(out, name))
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_ARG,
                      "'%s' is not a device: it is one like cpu, cuda:0, or device(type,index)",
                      name);
}

/* ---- Writing --------------------------------------------------------------------------------- */

const char *plumb_dtype_name(char out[PLUMB_DTYPE_NAME_MAX], struct plumb_dtype type)
{
    for (int i = 0; i < DTYPES && type.lanes > 0; i++) {
        if (dtypes[i].code != type.code || dtypes[i].bits != type.bits)
            continue;
        if (type.lanes == 1)
            snprintf(out, PLUMB_DTYPE_NAME_MAX, "%s", dtypes[i].name);
        else
            snprintf(out, PLUMB_DTYPE_NAME_MAX, "%sx%d", dtypes[i].name, type.lanes);
        return out;
    }
    snprintf(out, PLUMB_DTYPE_NAME_MAX, "dlpack(%d,%d,%d)", type.code, type.bits, type.lanes);
    return out;
}

const char *plumb_dl_device_name(char out[PLUMB_DL_DEVICE_NAME_MAX], struct plumb_dl_device device)
{
    for (int i = 0; i < DEVICES && device.index >= 0; i++) {
        if (devices[i].type != device.type)
            continue;
        if (device.type == PLUMB_DL_CPU && device.index == 0)
            snprintf(out, PLUMB_DL_DEVICE_NAME_MAX, "%s", devices[i].name);
        else
            snprintf(out, PLUMB_DL_DEVICE_NAME_MAX, "%s:%d", devices[i].name, (int)device.index);
        return out;
    }
    snprintf(out, PLUMB_DL_DEVICE_NAME_MAX, "device(%d,%d)", (int)device.type, (int)device.index);
    return out;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

uint32_t plumb_dtype_element_bits(struct plumb_dtype type)
{
    return (uint32_t)type.bits * type.lanes;
}

bool plumb_dtype_bytes(uint64_t *out, struct plumb_dtype type, uint64_t count)
{
    uint32_t bits = plumb_dtype_element_bits(type);
    uint64_t eights = count / 8; /* eight elements take `bits` whole bytes */
    uint64_t rest = count % 8;
    if (bits > 0 && eights > (uint64_t)INT64_MAX / bits)
        return false;
    uint64_t bytes = eights * bits + (rest * bits + 7) / 8;
    if (bytes > INT64_MAX)
        return false;
    *out = bytes;
    return true;
}

bool plumb_dl_device_is_host(struct plumb_dl_device device)
{
    return device.type == PLUMB_DL_CPU || device.type == PLUMB_DL_CUDA_HOST ||
           device.type == PLUMB_DL_ROCM_HOST;
}
