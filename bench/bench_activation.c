/* bench_activation.c: how fast the values of a tensor are read for their statistics, against what
 * one core can read at all: 256 MiB, which no cache of its own holds, and 64 KiB, which L2 does.
 *
 * The read limit is the best of 1, 4 and 8 streams that only OR what they load; the limit in L2 is
 * a loop that only adds. N(0, 1) data. Cells take turns in one process (harness.h), so that
 * ratios stand although the machine does other work.
 *
 * The kernels are inside the library, where no public header has them; they are compiled into this
 * program, as the library compiles them. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/moments.h"
#include "tensor/value_stats.h"

enum { SMALL = 64 << 10, SPREAD = PLUMB_VALUE_SPREAD };
#define BIG ((size_t)256 << 20)

typedef uint32_t lanes16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float floats16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float floats16_of_bf16 __attribute__((vector_size(64)));

static unsigned char *big_f32, *big_far, *big_bf16, *big_f16;
static volatile uint32_t sink;
static volatile float float_sink;

/* ---- Limits ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define TARGET                                                                                     \
    __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TARGET __attribute__((noinline))
#endif

/* `streams` places of the memory at once. */
static inline __attribute__((always_inline)) void read_streams(const unsigned char *at,
                                                               size_t bytes, size_t streams)
{
    lanes16 any[8] = {{0}};
    size_t part = bytes / streams;
    for (size_t i = 0; i < part; i += 512 / streams)
        for (size_t k = 0; k < 8; k++)
            any[k] |=
                *(const lanes16 *)(const void *)(at + k % streams * part + i + k / streams * 64);
    for (size_t k = 1; k < 8; k++)
        any[0] |= any[k];
    sink = any[0][0] | any[0][15];
}

TARGET
static void read_1(const unsigned char *at, size_t bytes)
{
    read_streams(at, bytes, 1);
}

TARGET
static void read_4(const unsigned char *at, size_t bytes)
{
    read_streams(at, bytes, 4);
}

TARGET
static void read_8(const unsigned char *at, size_t bytes)
{
    read_streams(at, bytes, 8);
}

TARGET
static void sum_f32(const unsigned char *at, size_t bytes)
{
    floats16 sum[8] = {{0}};
    for (size_t i = 0; i < bytes; i += 512)
        for (size_t k = 0; k < 8; k++)
            sum[k] += *(const floats16 *)(const void *)(at + i + 64 * k);
    for (size_t k = 1; k < 8; k++)
        sum[0] += sum[k];
    float_sink = sum[0][0] + sum[0][15];
}

/* Widened by shifting and masking; the least that adding bfloat16 takes. */
TARGET
static void sum_bf16(const unsigned char *at, size_t bytes)
{
    floats16_of_bf16 sum[8] = {{0}};
    for (size_t i = 0; i < bytes; i += 256) {
        for (size_t k = 0; k < 4; k++) {
            lanes16 two = *(const lanes16 *)(const void *)(at + i + 64 * k);
            sum[2 * k] += (floats16_of_bf16)(two << 16);
            sum[2 * k + 1] += (floats16_of_bf16)(two & 0xffff0000u);
        }
    }
    for (size_t k = 1; k < 8; k++)
        sum[0] += sum[k];
    float_sink = sum[0][0] + sum[0][15];
}

/* ---- Cells ----------------------------------------------------------------------------------- */

struct job {
    void (*read)(const unsigned char *at, size_t bytes); /* NULL: statistics */
    unsigned char **data;
    size_t bytes;
    struct plumb_dtype type;
    uint32_t want;
};

static const struct plumb_dtype f32 = {PLUMB_DTYPE_FLOAT, 32, 1};
static const struct plumb_dtype f16 = {PLUMB_DTYPE_FLOAT, 16, 1};
static const struct plumb_dtype bf16 = {PLUMB_DTYPE_BFLOAT, 16, 1};

static void run_job(void *arg, uint64_t n)
{
    const struct job *j = arg;
    struct plumb_value_stats stats;
    int64_t shape[1];
    struct plumb_view view = {
        .data = *j->data, .device = {PLUMB_DL_CPU, 0}, .dtype = j->type, .ndim = 1, .shape = shape};
    for (uint64_t i = 0; i < n; i++) {
        if (j->read) {
            j->read(*j->data, j->bytes);
            continue;
        }
        view.count = j->bytes / (j->type.bits / 8);
        view.bytes = j->bytes;
        shape[0] = (int64_t)view.count;
        plumb_value_stats(&stats, &view, j->want, NULL);
        float_sink = (float)stats.sum;
    }
}

struct row {
    const char *key;
    struct job job;
};

static void measure(struct bench *b, struct row *rows, size_t count, size_t limits, uint64_t n,
                    size_t rounds)
{
    struct bench_cell cells[16] = {{0}};
    double best = 0;
    for (size_t i = 0; i < count; i++)
        cells[i] = (struct bench_cell){.name = rows[i].key, .run = run_job, .arg = &rows[i].job};
    bench_interleave(b, cells, count, n, rounds);
    bench_print_cells(cells, count);
    for (size_t i = 0; i < limits; i++)
        best = best == 0 || cells[i].ns.median < best ? cells[i].ns.median : best;
    for (size_t i = limits; i < count; i++)
        bench_put(b, rows[i].key, best / cells[i].ns.median);
    bench_put(b, limits == 3 ? "act_read_gb_s" : "act_l2_sum_gb_s",
              (double)rows[0].job.bytes / best);
}

/* ---- Data ------------------------------------------------------------------------------------ */

static double next_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

/* A float as float16, near enough: towards zero, without subnormals. */
static uint16_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xff) - 112;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    return exponent <= 0 ? sign : (uint16_t)(sign | exponent << 10 | (bits >> 13 & 0x3ff));
}

static unsigned char *map(void)
{
    void *p = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    return p;
}

/* A MiB of numbers, again and again at other places. */
static void fill(void)
{
    enum { SOME = 1 << 18 };
    static float x[SOME];
    uint64_t state = 1;
    for (int i = 0; i < SOME; i++)
        x[i] = (float)next_normal(&state);
    big_f32 = map(), big_far = map(), big_bf16 = map(), big_f16 = map();
    for (size_t i = 0; i < BIG / 2; i++) {
        float v = x[(i * 2654435761u >> 7) % SOME], far = 1e4f + v;
        uint32_t bits;
        uint16_t half = half_of(v);
        memcpy(&bits, &v, sizeof bits);
        memcpy(big_bf16 + 2 * i, (char *)&bits + 2, 2);
        memcpy(big_f16 + 2 * i, &half, 2);
        if (i < BIG / 4) {
            memcpy(big_f32 + 4 * i, &v, 4);
            memcpy(big_far + 4 * i, &far, 4);
        }
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    bench_open(&b, "activation", argc, argv);
    struct row dram[] = {
        {"1 stream", {read_1, &big_f32, BIG, f32, 0}},
        {"4 streams", {read_4, &big_f32, BIG, f32, 0}},
        {"8 streams", {read_8, &big_f32, BIG, f32, 0}},
        {"act_f32_dram_x_read", {NULL, &big_f32, BIG, f32, 0}},
        {"act_bf16_dram_x_read", {NULL, &big_bf16, BIG, bf16, 0}},
        {"act_f16_dram_x_read", {NULL, &big_f16, BIG, f16, 0}},
        {"act_f32_spread_x_read", {NULL, &big_f32, BIG, f32, SPREAD}},
        {"act_pivot_x_read", {NULL, &big_far, BIG, f32, SPREAD}},
        {"act_f32_zeros_x_read", {NULL, &big_f32, BIG, f32, PLUMB_VALUE_ZEROS}},
        {"act_f32_hash_x_read", {NULL, &big_f32, BIG, f32, PLUMB_VALUE_HASH}},
        {"act_f32_hash_any_x_read", {NULL, &big_f32, BIG, f32, PLUMB_VALUE_SET_HASH}},
        {"act_f32_histogram_x_read", {NULL, &big_f32, BIG, f32, PLUMB_VALUE_HISTOGRAM}},
        {"act_f32_sample_x_read", {NULL, &big_f32, BIG, f32, PLUMB_VALUE_SAMPLE}},
    };
    struct row near_f32[] = {{"sum of float32", {sum_f32, &big_f32, SMALL, f32, 0}},
                             {"act_f32_64k_x_sum", {NULL, &big_f32, SMALL, f32, 0}},
                             {"act_f32_spread_64k_x_sum", {NULL, &big_f32, SMALL, f32, SPREAD}}};
    struct row near_bf16[] = {{"sum of bfloat16", {sum_bf16, &big_bf16, SMALL, bf16, 0}},
                              {"act_bf16_64k_x_sum", {NULL, &big_bf16, SMALL, bf16, 0}}};
    fill();
    bench_put_text(&b, "act_path", plumb_moments_path(0)->name);
    measure(&b, dram, sizeof dram / sizeof dram[0], 3, 1, b.quick ? 3 : 9);
    measure(&b, near_f32, 3, 1, 50, b.quick ? 20 : 200);
    measure(&b, near_bf16, 2, 1, 50, b.quick ? 20 : 200);
    return bench_close(&b);
}
