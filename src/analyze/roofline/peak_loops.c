/* peak_loops.c: the choice of tables, and the loops in plain C, for processors whose instruction
 * sets have no table. */
#include "analyze/roofline/peak_loops.h"

#include <string.h>

static void plain_f64(uint64_t rounds, void *sink)
{
    double v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (; rounds; rounds--)
        for (int i = 0; i < 8; i++)
            v[i] = v[i] * 0.5 + 1.0;
    memcpy(sink, v, sizeof v);
}

static void plain_f32(uint64_t rounds, void *sink)
{
    float v[16] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
    for (; rounds; rounds--)
        for (int i = 0; i < 16; i++)
            v[i] = v[i] * 0.5f + 1.0f;
    memcpy(sink, v, sizeof v);
}

static void plain_sum(const double *from, size_t n, void *sink)
{
    double v[8] = {0};
    for (size_t i = 0; i < n; i += 8)
        for (size_t k = 0; k < 8; k++)
            v[k] += from[i + k];
    memcpy(sink, v, sizeof v);
}

static void plain_triad(double *a, const double *b, const double *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 0.5 * c[i];
}

static const struct plumb_peak_loop plain_loops[] = {
    {"plain C", PLUMB_PEAK_F64, 2 * 8, plain_f64, NULL},
    {"plain C", PLUMB_PEAK_F32, 2 * 16, plain_f32, NULL},
    {NULL, PLUMB_PEAK_TYPES, 0, NULL, NULL},
};
const struct plumb_peak_table plumb_peak_plain = {NULL, plain_loops, plain_sum, plain_triad};

const struct plumb_peak_table *plumb_peak_table(unsigned i)
{
    static const struct plumb_peak_table *const tables[] = {
#if defined(__x86_64__)
        &plumb_peak_avx512,
        &plumb_peak_avx2,
        &plumb_peak_amx,
#elif defined(__aarch64__)
        &plumb_peak_neon,
#endif
        &plumb_peak_plain,
    };
    unsigned found = 0;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if ((!tables[k]->has || tables[k]->has()) && found++ == i)
            return tables[k];
    return NULL;
}
