/* value_stats.c: one pass over a tensor's values.
 *
 * Runs of memory are converted to double into a block of 512, which stays in the first-level cache;
 * the block is then summed twice and merged into the totals. So each element type is one
 * conversion, each statistic one line in the passes, and neither knows of the other. Converting
 * first costs little: it is the memory that is waited for.
 *
 * The totals are long double, for its exponent: sums and squares of float64 leave the range of
 * double. Blocks that would do so themselves are summed in long double too (where it is no wider,
 * they become infinite). Any thread. */
#include "tensor/value_stats.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/float_env.h"
#include "base/sqrt.h"

enum { BLOCK = 512, LANES = 8 };

/* Figures of finite values, of a block or of all. Sums are counted from `origin`, one value near
 * them, so that they keep their digits where the mean is large and the deviation small. */
struct totals {
    uint64_t n;
    double min, max;
    double origin;
    long double rest;    /* sum of the distances from `origin` */
    long double squares; /* of the distances from the mean */
};

struct pass {
    double x[BLOCK];
    size_t filled;
    struct totals all;
    uint64_t nan, pos_inf, neg_inf;
};

/* ---- Conversions ----------------------------------------------------------------------------- */

typedef void (*load_fn)(double *to, const unsigned char *from, uint64_t n, uint64_t stride_bytes);

static inline double power_of_2(int exponent)
{
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A float of less than 32 bits, but for the values that are not finite. */
static inline double small_float(uint32_t v, int exponent_bits, int mantissa_bits)
{
    int exponent = (int)(v >> mantissa_bits & ((1u << exponent_bits) - 1));
    uint32_t mantissa = v & ((1u << mantissa_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent > 0)
        mantissa |= 1u << mantissa_bits;
    else
        exponent = 1;
    double value = mantissa * power_of_2(exponent - bias - mantissa_bits);
    return v >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

static inline double from_f16(uint16_t v)
{
    if ((v & 0x7c00) == 0x7c00)
        return v & 0x3ff ? (double)NAN : v & 0x8000 ? -(double)INFINITY : (double)INFINITY;
    return small_float(v, 5, 10);
}

static inline double from_bf16(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double from_f8_e4m3fn(uint8_t v)
{
    return (v & 0x7f) == 0x7f ? (double)NAN : small_float(v, 4, 3);
}

static inline double from_f8_e5m2(uint8_t v)
{
    return from_f16((uint16_t)(v << 8)); /* its upper half */
}

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
LOADER(load_f16, uint16_t, from_f16)
LOADER(load_bf16, uint16_t, from_bf16)
LOADER(load_f8_e4m3fn, uint8_t, from_f8_e4m3fn)
LOADER(load_f8_e5m2, uint8_t, from_f8_e5m2)
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
    load_fn load;
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

static load_fn find_loader(struct plumb_dtype type, plumb_error *err)
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

/* ---- A block --------------------------------------------------------------------------------- */

/* Sum and bounds, in lanes of their own, which the compiler can keep in vectors. */
static double sum_and_bounds(const double *x, size_t n, struct totals *out)
{
    double sum[LANES];
    double min[LANES];
    double max[LANES];
    size_t i = 0;
    for (int k = 0; k < LANES; k++) {
        sum[k] = 0;
        min[k] = max[k] = x[0];
    }
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            sum[k] += x[i + k];
            min[k] = x[i + k] < min[k] ? x[i + k] : min[k];
            max[k] = x[i + k] > max[k] ? x[i + k] : max[k];
        }
    }
    for (int k = 0; i < n; i++, k++) {
        sum[k] += x[i];
        min[k] = x[i] < min[k] ? x[i] : min[k];
        max[k] = x[i] > max[k] ? x[i] : max[k];
    }
    for (int k = 1; k < LANES; k++) {
        sum[0] += sum[k];
        min[0] = min[k] < min[0] ? min[k] : min[0];
        max[0] = max[k] > max[0] ? max[k] : max[0];
    }
    out->n = n;
    out->min = min[0];
    out->max = max[0];
    return sum[0];
}

/* Distances from `origin`, the mean but for rounding; their sum says what the rounding was. */
static void sum_squares(const double *x, size_t n, double origin, struct totals *out)
{
    double sum[LANES] = {0};
    double squares[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double d = x[i + k] - origin;
            sum[k] += d;
            squares[k] += d * d;
        }
    }
    for (int k = 0; i < n; i++, k++) {
        double d = x[i] - origin;
        sum[k] += d;
        squares[k] += d * d;
    }
    for (int k = 1; k < LANES; k++) {
        sum[0] += sum[k];
        squares[0] += squares[k];
    }
    long double shift = (long double)sum[0] * sum[0] / n;
    out->origin = origin;
    out->rest = sum[0];
    out->squares = squares[0] > shift ? squares[0] - shift : 0;
}

/* Whether sums or squares of the block leave the range of double. */
static bool is_wide(const struct totals *t)
{
    double spread = t->max - t->min;
    return t->max > 0x1p500 || t->min < -0x1p500 || (spread > 0 && spread < 0x1p-480);
}

static void sum_wide(const double *x, size_t n, struct totals *out)
{
    long double origin = x[0];
    long double rest = 0;
    long double squares = 0;
    for (size_t i = 0; i < n; i++)
        rest += x[i] - origin;
    for (size_t i = 0; i < n; i++) {
        long double d = x[i] - origin - rest / n;
        squares += d * d;
    }
    out->origin = x[0];
    out->rest = rest;
    out->squares = squares;
}

static void merge(struct totals *all, const struct totals *block)
{
    if (all->n == 0) {
        *all = *block;
        return;
    }
    long double moved = (long double)block->origin - all->origin;
    long double delta = moved + block->rest / block->n - all->rest / all->n;
    uint64_t n = all->n + block->n;
    long double weight = (long double)all->n * block->n / n;
    all->squares += block->squares + delta * delta * weight;
    all->rest += moved * block->n + block->rest;
    all->min = block->min < all->min ? block->min : all->min;
    all->max = block->max > all->max ? block->max : all->max;
    all->n = n;
}

/* Counts the values that are not finite, and takes them out of the block. */
static void take_out(struct pass *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->filled; i++) {
        double v = p->x[i];
        p->nan += v != v;
        p->pos_inf += v == (double)INFINITY;
        p->neg_inf += v == -(double)INFINITY;
        if (v - v == 0)
            p->x[kept++] = v;
    }
    p->filled = kept;
}

/* Adds the block to the totals, and empties it. */
static void flush(struct pass *p)
{
    struct totals block = {0};
    if (p->filled == 0)
        return;
    double sum = sum_and_bounds(p->x, p->filled, &block);
    if (sum - sum != 0) {
        take_out(p);
        if (p->filled == 0)
            return;
        sum = sum_and_bounds(p->x, p->filled, &block);
    }
    if (is_wide(&block))
        sum_wide(p->x, p->filled, &block);
    else
        sum_squares(p->x, p->filled, sum / (double)p->filled, &block);
    merge(&p->all, &block);
    p->filled = 0;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The root of what may lie outside double's range. */
static double root(long double v)
{
    if (v > 0x1p900L)
        return plumb_sqrt((double)(v * 0x1p-600L * 0x1p-600L)) * 0x1p600;
    if (v < 0x1p-900L)
        return plumb_sqrt((double)(v * 0x1p600L * 0x1p600L)) * 0x1p-600;
    return plumb_sqrt((double)v);
}

static void finish(struct plumb_value_stats *out, const struct pass *p, uint64_t repeat)
{
    uint64_t n = p->all.n * repeat;
    long double sum = (long double)p->all.origin * p->all.n + p->all.rest;
    *out = (struct plumb_value_stats){
        .n = (p->all.n + p->nan + p->pos_inf + p->neg_inf) * repeat,
        .nan = p->nan * repeat,
        .pos_inf = p->pos_inf * repeat,
        .neg_inf = p->neg_inf * repeat,
        .min = n > 0 ? p->all.min : (double)NAN,
        .max = n > 0 ? p->all.max : (double)NAN,
        .sum = (double)(sum * repeat),
        .mean = n > 0 ? (double)(sum / p->all.n) : (double)NAN,
        .std = n > 1 ? root(p->all.squares * repeat / (n - 1)) : (double)NAN,
    };
}

/* Not inlined: no arithmetic may leave the floating-point environment of ours. */
static __attribute__((noinline)) void compute(struct plumb_value_stats *out,
                                              const struct plumb_view *view, load_fn load)
{
    struct plumb_walk walk;
    struct pass p;
    p.filled = 0;
    p.all = (struct totals){0};
    p.nan = p.pos_inf = p.neg_inf = 0;
    plumb_walk_init(&walk, view);
    do {
        uint64_t n;
        for (uint64_t done = 0; done < walk.run_length; done += n) {
            n = BLOCK - p.filled;
            if (n > walk.run_length - done)
                n = walk.run_length - done;
            load(p.x + p.filled, walk.at + done * walk.run_stride_bytes, n, walk.run_stride_bytes);
            p.filled += n;
            if (p.filled == BLOCK)
                flush(&p);
        }
    } while (plumb_walk_next(&walk));
    flush(&p);
    finish(out, &p, walk.repeat);
}

int plumb_value_stats(struct plumb_value_stats *out, const struct plumb_view *view,
                      plumb_error *err)
{
    struct plumb_float_env saved;
    int rc = plumb_view_readable(view, err);
    load_fn load;
    if (rc < 0)
        return rc;
    if (!(load = find_loader(view->dtype, err)))
        return PLUMB_ERR_ARG;
    plumb_float_env_hold(&saved);
    compute(out, view, load);
    plumb_float_env_restore(&saved);
    return PLUMB_OK;
}
