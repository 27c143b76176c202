/* tolerance.c: see tolerance.h, which derives the figures. */
#include "analyze/diverge/tolerance.h"

#include <stddef.h>
#include <string.h>

#include "base/text/ascii.h"

struct type {
    const char *name;
    double rounding, relative;
};

static const struct type types[] = {
    {"float64", 0x1p-53, 1e-6}, {"float32", 0x1p-24, 1e-4},      {"float16", 0x1p-11, 1e-3},
    {"bfloat16", 0x1p-9, 5e-3}, {"float8_e4m3fn", 0x1p-4, 5e-2}, {"float8_e5m2", 0x1p-3, 1e-1},
};
enum { TYPES = sizeof types / sizeof *types };

static const struct {
    const char *other, *name;
} spellings[] = {
    {"double", "float64"},
    {"f64", "float64"},
    {"float", "float32"},
    {"f32", "float32"},
    {"tf32", "float32"},
    {"half", "float16"},
    {"f16", "float16"},
    {"fp16", "float16"},
    {"fp32", "float32"},
    {"fp64", "float64"},
    {"bf16", "bfloat16"},
    {"f8_e4m3", "float8_e4m3fn"},
    {"f8_e4m3fn", "float8_e4m3fn"},
    {"float8_e4m3", "float8_e4m3fn"},
    {"f8_e5m2", "float8_e5m2"},
};
enum { SPELLINGS = sizeof spellings / sizeof *spellings };

static bool is_whole(const char *name)
{
    static const char *const begins[] = {"int", "uint", "bool", "i8",  "i16",  "i32",  "i64",
                                         "u8",  "u16",  "u32",  "u64", "long", "short"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t n = strlen(begins[i]);
        if (strlen(name) >= n && plumb_ascii_equal_n(name, begins[i], n))
            return true;
    }
    return false;
}

static const struct type *type_of(const char *name)
{
    for (size_t i = 0; i < SPELLINGS; i++)
        if (plumb_ascii_equal(spellings[i].other, name))
            name = spellings[i].name;
    for (size_t i = 0; i < TYPES; i++)
        if (plumb_ascii_equal(types[i].name, name))
            return &types[i];
    return NULL;
}

double plumb_rounding_of(const char *dtype)
{
    static const char torch[] = "torch.";
    if (strncmp(dtype, torch, sizeof torch - 1) == 0)
        dtype += sizeof torch - 1;
    const struct type *type = type_of(dtype);
    return type ? type->rounding : is_whole(dtype) ? 0 : -1;
}

static double relative_of(double rounding)
{
    for (size_t i = 0; i < TYPES; i++)
        if (rounding <= types[i].rounding)
            return types[i].relative;
    return types[TYPES - 1].relative;
}

struct plumb_tolerance plumb_tolerance_of(double rounding_a, double rounding_b, double relative,
                                          double absolute)
{
    double u = rounding_a > rounding_b ? rounding_a : rounding_b;
    struct plumb_tolerance t = {.known = u >= 0, .rounding = u >= 0 ? u : 0x1p-9};
    bool two_types = rounding_a > 0 && rounding_b > 0 && rounding_a != rounding_b;
    t.relative = relative >= 0 ? relative : u == 0 ? 0 : relative_of(t.rounding);
    if (relative < 0 && two_types)
        t.relative *= PLUMB_TOLERANCE_TWO_TYPES;
    t.absolute = absolute >= 0 ? absolute : 1e-4 * t.relative;
    return t;
}
