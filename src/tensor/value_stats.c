/* value_stats.c: one pass over a tensor's values.
 *
 * Memory is taken in chunks that stay in the second-level cache; all figures are computed while a
 * chunk is there. Values that do not lie in long runs are first gathered into a buffer. Sums and
 * bounds of a chunk come from a kernel (moments.h), and where a chunk is too hard for single
 * precision, or the type has no kernel, from conversion to double (value_totals.h). Values of one
 * byte are only counted, byte by byte: there are 256, and what 256 numbers add up to can be had at
 * the end. Any thread. */
#include "tensor/value_stats.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/float_env.h"
#include "base/scratch.h"
#include "base/stats/sqrt.h"
#include "tensor/content_hash.h"
#include "tensor/moments.h"
#include "tensor/row_major.h"
#include "tensor/value_load.h"
#include "tensor/value_totals.h"

/* Without this bound a tensor of one element, repeated by strides of 0, would keep the program busy
 * for ever. */
#define ROWS_MOST (UINT64_C(1) << 36)

enum { CHUNK_BYTES = 262144, GATHER_BYTES = 4096, COUNTERS = 8, PIVOTS = 3 };

/* The members after `gathered` are set only where they are needed: clearing them takes as long as
 * reading thousands of values. */
struct pass {
    uint32_t want;
    size_t bytes; /* of a value */
    plumb_load_fn *load;
    plumb_moments_fn *plain, *pivoted; /* NULL: no kernel */
    struct plumb_totals all;
    uint64_t set_hash;
    size_t gathered; /* bytes */
    struct plumb_content_hash hash;
    uint64_t bins[PLUMB_VALUE_BINS];
    /* Of values of one byte. */
    uint32_t counts[COUNTERS][256];
    uint64_t counted[256]; /* before, and how many are in counts[] */
    uint64_t recent;
    unsigned char gather[GATHER_BYTES];
    double loaded[PLUMB_TOTALS_BLOCK]; /* values of any type, a block at a time */
};
_Static_assert(sizeof(struct pass) <= PLUMB_SCRATCH_BYTES && PLUMB_TOTALS_BLOCK >= 256,
               "a pass is a scratch block: the stacks of the program's threads may be small");

/* ---- Sums and bounds ------------------------------------------------------------------------- */

static void add_slowly(struct pass *p, const unsigned char *at, uint64_t n)
{
    double *x = p->loaded;
    for (uint64_t some; n > 0; n -= some, at += some * p->bytes) {
        some = n < PLUMB_TOTALS_BLOCK ? n : PLUMB_TOTALS_BLOCK;
        p->load(x, at, some, p->bytes);
        plumb_totals_add(&p->all, x, some);
    }
}

/* Whether the squares stayed in the range of single precision, at either end. */
static bool squares_are_good(double squares, uint64_t n)
{
    return squares - squares == 0 && squares >= (double)n * 0x1p-100;
}

/* The squares round the mean of a chunk, counted from a pivot near it where they would cancel out
 * otherwise. False: too hard. */
static bool find_spread(const struct pass *p, struct plumb_totals *block, struct plumb_moments *m,
                        const unsigned char *at, uint64_t n)
{
    double pivot = 0;
    if (m->min == m->max) { /* of a constant, rounded sums would make something else */
        block->origin = m->min;
        block->rest = block->squares = 0;
        return true;
    }
    for (int tries = 0; tries < PIVOTS; tries++) {
        double shift = m->sum / (double)n * m->sum;
        if (!squares_are_good(m->squares, n))
            return false;
        if (m->squares <= 4 * (m->squares - shift)) {
            block->origin = pivot;
            block->rest = m->sum;
            block->squares = m->squares - shift;
            return true;
        }
        pivot = (float)(pivot + m->sum / (double)n);
        p->pivoted(m, at, n, (float)pivot);
    }
    return false;
}

static bool add_spread(struct pass *p, struct plumb_moments *m, const unsigned char *at, uint64_t n)
{
    struct plumb_totals block = {
        .n = n, .abs_sum = m->abs_sum, .min = m->min, .max = m->max, .zeros = m->zeros};
    if (!find_spread(p, &block, m, at, n)) /* may count again from a pivot */
        return false;
    block.sum = (long double)block.origin * n + block.rest;
    plumb_totals_merge(&p->all, &block);
    return true;
}

/* False: the chunk is too hard for single precision. Without PLUMB_VALUE_SPREAD the totals have no
 * bounds. */
static bool add_quickly(struct pass *p, const unsigned char *at, uint64_t n)
{
    struct plumb_moments m;
    p->plain(&m, at, n, 0);
    if (m.abs_sum - m.abs_sum != 0)
        return false;
    if (p->want & PLUMB_VALUE_SPREAD)
        return add_spread(p, &m, at, n);
    p->all.n += n;
    p->all.sum += m.sum;
    p->all.abs_sum += m.abs_sum;
    p->all.zeros += m.zeros;
    return true;
}

/* ---- One byte -------------------------------------------------------------------------------- */

static void fold_counts(struct pass *p)
{
    for (int k = 0; k < COUNTERS; k++)
        for (int i = 0; i < 256; i++)
            p->counted[i] += p->counts[k][i];
    memset(p->counts, 0, sizeof p->counts);
    p->recent = 0;
}

/* In turns, so that runs of one value do not wait for their own counter. */
static void count_bytes(struct pass *p, const unsigned char *at, uint64_t n)
{
    uint64_t i = 0;
    for (; i + COUNTERS <= n; i += COUNTERS)
        for (int k = 0; k < COUNTERS; k++)
            p->counts[k][at[i + (uint64_t)k]]++;
    for (; i < n; i++)
        p->counts[0][at[i]]++;
    p->recent += n;
    if (p->recent > UINT32_MAX / 2) /* a chunk is far less */
        fold_counts(p);
}

/* The bin of a finite value. */
static unsigned bin_of(double x)
{
    uint64_t bits;
    int exponent;
    memcpy(&bits, &x, sizeof bits);
    exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (bits << 1 == 0)
        return 0;
    if (exponent < -32)
        return 1;
    return exponent >= 36 ? PLUMB_VALUE_BINS - 1 : (unsigned)(exponent + 32) / 4 + 2;
}

static void add_counts(struct pass *p)
{
    struct plumb_totals block = {.origin = 0};
    long double sum = 0;
    double *x = p->loaded;
    unsigned char each[256];
    for (int i = 0; i < 256; i++) {
        each[i] = (unsigned char)i;
    }
    fold_counts(p);
    p->load(x, each, 256, 1);
    for (int i = 0; i < 256; i++) {
        uint64_t c = p->counted[i];
        if (c == 0)
            continue;
        p->all.nan += x[i] != x[i] ? c : 0;
        p->all.pos_inf += x[i] == (double)INFINITY ? c : 0;
        p->all.neg_inf += x[i] == -(double)INFINITY ? c : 0;
        if (x[i] - x[i] != 0)
            continue;
        block.min = block.n == 0 || x[i] < block.min ? x[i] : block.min;
        block.max = block.n == 0 || x[i] > block.max ? x[i] : block.max;
        block.n += c;
        block.zeros += x[i] == 0 ? c : 0;
        block.abs_sum += (long double)(x[i] < 0 ? -x[i] : x[i]) * c;
        sum += (long double)x[i] * c;
        p->bins[bin_of(x[i])] += c;
    }
    if (block.n == 0)
        return;
    block.sum = sum;
    /* A value near the mean: all distances are exact then. */
    block.origin = block.min;
    for (int i = 0; i < 256; i++)
        if (p->counted[i] > 0 && x[i] - x[i] == 0 && x[i] <= (double)(sum / block.n) &&
            x[i] > block.origin)
            block.origin = x[i];
    for (int i = 0; i < 256; i++) {
        long double d = x[i] - (long double)block.origin;
        if (p->counted[i] == 0 || x[i] - x[i] != 0)
            continue;
        block.rest += d * p->counted[i];
        block.squares += d * d * p->counted[i];
    }
    block.squares -= block.rest * block.rest / block.n;
    plumb_totals_merge(&p->all, &block);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void add_bins(struct pass *p, const unsigned char *at, uint64_t n)
{
    double *x = p->loaded;
    for (uint64_t some; n > 0; n -= some, at += some * p->bytes) {
        some = n < PLUMB_TOTALS_BLOCK ? n : PLUMB_TOTALS_BLOCK;
        p->load(x, at, some, p->bytes);
        for (uint64_t i = 0; i < some; i++)
            if (x[i] - x[i] == 0)
                p->bins[bin_of(x[i])]++;
    }
}

static void add_chunk(struct pass *p, const unsigned char *at, uint64_t n)
{
    if (p->want & PLUMB_VALUE_HASH)
        plumb_content_hash_add(&p->hash, at, n * p->bytes);
    if (p->want & PLUMB_VALUE_SET_HASH)
        p->set_hash += plumb_set_hash(at, n, p->bytes);
    if (p->bytes == 1) {
        count_bytes(p, at, n);
        return;
    }
    if (p->want & PLUMB_VALUE_HISTOGRAM)
        add_bins(p, at, n);
    if (!p->plain || !add_quickly(p, at, n))
        add_slowly(p, at, n);
}

static void add_run(struct pass *p, const unsigned char *at, uint64_t n)
{
    for (uint64_t some; n > 0; n -= some, at += some * p->bytes) {
        some = n < CHUNK_BYTES / p->bytes ? n : CHUNK_BYTES / p->bytes;
        add_chunk(p, at, some);
    }
}

static void flush(struct pass *p)
{
    if (p->gathered)
        add_chunk(p, p->gather, p->gathered / p->bytes);
    p->gathered = 0;
}

/* Values of 1, 2, 4 or 8 bytes; the copies have sizes that the compiler knows. */
static void copy_values(unsigned char *to, const unsigned char *from, uint64_t n, size_t bytes,
                        uint64_t stride_bytes)
{
#define COPY(size)                                                                                 \
    for (uint64_t i = 0; i < n; i++)                                                               \
    memcpy(to + i * (size), from + i * stride_bytes, size)
    if (stride_bytes == bytes)
        memcpy(to, from, n * bytes);
    else if (bytes == 1)
        COPY(1);
    else if (bytes == 2)
        COPY(2);
    else if (bytes == 4)
        COPY(4);
    else
        COPY(8);
#undef COPY
}

static void gather_run(struct pass *p, const unsigned char *at, uint64_t n, uint64_t stride_bytes)
{
    for (uint64_t some; n > 0; n -= some, at += some * stride_bytes) {
        some = (GATHER_BYTES - p->gathered) / p->bytes;
        some = n < some ? n : some;
        copy_values(p->gather + p->gathered, at, some, p->bytes, stride_bytes);
        p->gathered += some * p->bytes;
        if (p->gathered == GATHER_BYTES)
            flush(p);
    }
}

/* Returns how many times each value counts. */
static uint64_t in_order_of_memory(struct pass *p, const struct plumb_view *view)
{
    struct plumb_walk walk;
    plumb_walk_init(&walk, view);
    do {
        if (walk.run_stride_bytes == p->bytes && walk.run_length >= GATHER_BYTES / p->bytes)
            add_run(p, walk.at, walk.run_length);
        else
            gather_run(p, walk.at, walk.run_length, walk.run_stride_bytes);
    } while (plumb_walk_next(&walk));
    flush(p);
    return walk.repeat;
}

static void in_order_of_rows(struct pass *p, const struct plumb_view *view)
{
    struct plumb_row_major rows;
    uint64_t lanes = view->dtype.lanes;
    plumb_row_major_init(&rows, view);
    if (rows.element_bytes > GATHER_BYTES) { /* a vector longer than the buffer */
        for (uint64_t i = 0; i < view->count; i++)
            add_run(p, plumb_view_scalar(view, i * lanes), lanes);
        return;
    }
    while ((p->gathered = plumb_row_major_read(&rows, p->gather, GATHER_BYTES)) > 0)
        flush(p);
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

static void take_samples(struct plumb_value_stats *out, const struct pass *p,
                         const struct plumb_view *view)
{
    uint64_t n = view->count * view->dtype.lanes;
    out->samples = n < PLUMB_VALUE_SAMPLES ? (uint32_t)n : PLUMB_VALUE_SAMPLES;
    for (uint32_t i = 0; i < out->samples; i++) {
        uint64_t at = out->samples == 1 ? 0
                                        : (n - 1) / (out->samples - 1) * i +
                                              (n - 1) % (out->samples - 1) * i / (out->samples - 1);
        p->load(&out->sample[i], plumb_view_scalar(view, at), 1, p->bytes);
    }
}

static void finish_spread(struct plumb_value_stats *out, const struct plumb_totals *all,
                          uint64_t repeat)
{
    uint64_t n = all->n * repeat;
    long double mean = all->n > 0 ? all->sum / all->n : 0;
    long double square = all->n > 0 ? all->squares / all->n + mean * mean : 0;
    out->l2 = root(square * n);
    if (n == 0)
        return;
    out->min = all->min + 0.0;
    out->max = all->max + 0.0;
    out->rms = root(square);
    if (n > 1)
        out->std = root(all->squares * repeat / (n - 1));
}

/* In double where it fits: a quotient of long double is rounded, and the flag that says so takes
 * longer to clear (float_env.h) than a thousand values to read. */
static double mean_of(long double sum, uint64_t n)
{
    bool fits = sum < 0x1p1000L && sum > -0x1p1000L;
    return fits ? (double)sum / (double)n : (double)(sum / n);
}

static void finish(struct plumb_value_stats *out, const struct pass *p, uint64_t repeat)
{
    const struct plumb_totals *all = &p->all;
    const double none = (double)NAN;
    out->n = (all->n + all->nan + all->pos_inf + all->neg_inf) * repeat;
    out->nan = all->nan * repeat;
    out->pos_inf = all->pos_inf * repeat;
    out->neg_inf = all->neg_inf * repeat;
    out->sum = (double)(all->sum * repeat);
    out->abs_sum = (double)(all->abs_sum * repeat);
    out->mean = all->n > 0 ? mean_of(all->sum, all->n) : none;
    out->abs_mean = all->n > 0 ? mean_of(all->abs_sum, all->n) : none;
    out->min = out->max = out->rms = out->l2 = out->std = none;
    if (p->want & PLUMB_VALUE_SPREAD)
        finish_spread(out, all, repeat);
    out->zeros = p->want & PLUMB_VALUE_ZEROS ? all->zeros * repeat : 0;
    out->hash = p->want & PLUMB_VALUE_HASH ? plumb_content_hash_end(&p->hash) : 0;
    out->set_hash = p->set_hash * repeat;
    out->samples = 0;
    for (int i = 0; p->want & PLUMB_VALUE_HISTOGRAM && i < PLUMB_VALUE_BINS; i++)
        out->histogram[i] = p->bins[i] * repeat;
}

/* Not inlined: no arithmetic may leave the floating-point environment of ours. */
static __attribute__((noinline)) void compute(struct plumb_value_stats *out, struct pass *p,
                                              const struct plumb_view *view)
{
    uint64_t repeat = 1;
    if (plumb_view_is_compact(view))
        add_run(p, view->data, view->count * view->dtype.lanes);
    else if (p->want & PLUMB_VALUE_HASH)
        in_order_of_rows(p, view);
    else
        repeat = in_order_of_memory(p, view);
    if (p->bytes == 1)
        add_counts(p);
    finish(out, p, repeat);
    if (p->want & PLUMB_VALUE_SAMPLE)
        take_samples(out, p, view);
}

static void choose(struct pass *p, struct plumb_dtype type,
                   const struct plumb_moments_kernels *path)
{
    uint32_t flags = p->want & (PLUMB_VALUE_SPREAD | PLUMB_VALUE_ZEROS);
    plumb_moments_fn *const *table = NULL;
    if (type.code == PLUMB_DTYPE_FLOAT && type.bits == 32)
        table = path->f32;
    if (type.code == PLUMB_DTYPE_FLOAT && type.bits == 16)
        table = path->f16;
    if (type.code == PLUMB_DTYPE_BFLOAT && type.bits == 16)
        table = path->bf16;
    p->plain = table ? table[flags] : NULL;
    p->pivoted = table ? table[PLUMB_MOMENTS_PIVOT | PLUMB_MOMENTS_SPREAD] : NULL;
}

static void clear_what_is_needed(struct pass *p)
{
    if (p->want & PLUMB_VALUE_HASH)
        plumb_content_hash_init(&p->hash);
    if (p->want & PLUMB_VALUE_HISTOGRAM || p->bytes == 1)
        memset(p->bins, 0, sizeof p->bins);
    if (p->bytes != 1)
        return;
    memset(p->counts, 0, sizeof p->counts);
    memset(p->counted, 0, sizeof p->counted);
    p->recent = 0;
}

int plumb_value_stats_by(struct plumb_value_stats *out, const struct plumb_view *view,
                         uint32_t want, const struct plumb_moments_kernels *path, plumb_error *err)
{
    struct plumb_float_env saved;
    int rc = plumb_view_readable(view, err);
    struct pass *p = NULL;
    if (rc < 0)
        return rc;
    if (want & PLUMB_VALUE_HASH && view->count > ROWS_MOST && !plumb_view_is_compact(view))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "no hash of more than 2^36 elements that do not lie in order");
    if (!(p = plumb_scratch_take()))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for statistics of values");
    memset(p, 0, offsetof(struct pass, hash));
    if (!(p->load = plumb_load_of(view->dtype, err))) {
        rc = PLUMB_ERR_ARG;
        goto out;
    }
    p->want = want;
    p->bytes = view->dtype.bits / 8;
    clear_what_is_needed(p);
    choose(p, view->dtype, path);
    plumb_float_env_hold(&saved);
    compute(out, p, view);
    plumb_float_env_restore(&saved);
out:
    plumb_scratch_give(p);
    return rc;
}

int plumb_value_stats(struct plumb_value_stats *out, const struct plumb_view *view, uint32_t want,
                      plumb_error *err)
{
    return plumb_value_stats_by(out, view, want, plumb_moments_path(0), err);
}

void plumb_value_ieee(struct plumb_value_stats *s)
{
    const double none = (double)NAN;
    const double inf = (double)INFINITY;
    double *figures[] = {&s->sum, &s->abs_sum, &s->mean, &s->abs_mean, &s->min,
                         &s->max, &s->rms,     &s->l2,   &s->std};
    if (s->nan > 0) {
        for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
            *figures[i] = none;
        return;
    }
    if (s->pos_inf + s->neg_inf == 0)
        return;
    s->sum = s->mean = s->pos_inf == 0 ? -inf : s->neg_inf == 0 ? inf : none;
    s->abs_sum = s->abs_mean = s->rms = s->l2 = inf;
    s->min = s->neg_inf > 0 ? -inf : s->n == s->pos_inf ? inf : s->min;
    s->max = s->pos_inf > 0 ? inf : s->n == s->neg_inf ? -inf : s->max;
    s->std = none;
}
