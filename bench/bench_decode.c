/* bench_decode.c: what activation records cost a program whose tensors are small: a language model
 * that decodes token by token records 75 tensors of some KB every few milliseconds.
 *
 * The processor time of the whole process counts, that of plumb's own threads too: they run on
 * processors that the program could use, so nothing is pinned. In the loop of small records a block
 * lasts from plumb_start() to plumb_stop(), and the time of a run with one record is subtracted.
 * The model is bound by memory, which neighbours on the machine use as well, so every other token
 * of one run records its tensors. The overhead is the sum of two differences: tokens that record
 * against those that do not, and the time of other threads, until plumb_stop() has returned,
 * against that of a run in which no token records.
 *
 * The model is that of llama2.c (stories15M): RMS norm, attention with a cache of keys and values,
 * SwiGLU; float32; the same input again and again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "harness.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DIM = 288,
    HIDDEN = 768,
    LAYERS = 6,
    HEADS = 6,
    HEAD = DIM / HEADS,
    VOCAB = 32000,
    TOKENS = 200, /* of a block */
    SMALL = 256,  /* values: 1 KiB */
    SMALL_RECORDS = 20000,
    TOKEN_RECORDS = 3 + LAYERS * 12,
    ROUNDS = 25
};

/* ---- Arithmetic ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define TARGET                                                                                     \
    __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TARGET __attribute__((noinline))
#endif

typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));

/* out[rows] = w[rows][cols] * x[cols]; cols is a multiple of 32. */
TARGET
static void multiply(float *out, const float *w, const float *x, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        lanes a = {0}, b = {0};
        float sum = 0;
        for (int c = 0; c < cols; c += 32) {
            a += *(const lanes *)(const void *)(w + c) * *(const lanes *)(const void *)(x + c);
            b += *(const lanes *)(const void *)(w + c + 16) *
                 *(const lanes *)(const void *)(x + c + 16);
        }
        a += b;
        for (int i = 0; i < 16; i++)
            sum += a[i];
        out[r] = sum;
        w += cols;
    }
}

static void norm(float *out, const float *x)
{
    float sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += x[i] * x[i];
    sum = 1 / sqrtf(sum / DIM + 1e-5f);
    for (int i = 0; i < DIM; i++)
        out[i] = x[i] * sum;
}

static void rotate(float *q, float *k, int pos)
{
    for (int i = 0; i < DIM; i += 2) {
        float angle = (float)pos * powf(10000, -(float)(i % HEAD) / HEAD);
        float c = cosf(angle), s = sinf(angle);
        float q0 = q[i], k0 = k[i];
        q[i] = q0 * c - q[i + 1] * s;
        q[i + 1] = q0 * s + q[i + 1] * c;
        k[i] = k0 * c - k[i + 1] * s;
        k[i + 1] = k0 * s + k[i + 1] * c;
    }
}

/* ---- The model ------------------------------------------------------------------------------- */

static struct {
    struct {
        float q[DIM * DIM], k[DIM * DIM], v[DIM * DIM], o[DIM * DIM];
        float gate[DIM * HIDDEN], up[DIM * HIDDEN], down[DIM * HIDDEN];
        float keys[TOKENS][DIM], values[TOKENS][DIM];
    } layer[LAYERS];
    float head[DIM * VOCAB];
} * model;

static float x[DIM], xb[DIM], q[DIM], k[DIM], v[DIM], att[DIM], gate[HIDDEN], up[HIDDEN];
static float logits[VOCAB];

static bool telling = true;

static void tell(plumb_node node, const char *label, const float *data, int64_t n)
{
    if (telling)
        plumb_activation_f32(node, label, data, &n, 1);
}

static void attend(int l, int pos)
{
    float score[TOKENS];
    for (int h = 0; h < HEADS; h++) {
        float most = -1e30f, sum = 0;
        for (int t = 0; t <= pos; t++) {
            score[t] = 0;
            for (int i = h * HEAD; i < (h + 1) * HEAD; i++)
                score[t] += q[i] * model->layer[l].keys[t][i];
            score[t] *= 0.144f;
            most = score[t] > most ? score[t] : most;
        }
        for (int t = 0; t <= pos; t++)
            sum += score[t] = expf(score[t] - most);
        memset(att + h * HEAD, 0, HEAD * sizeof *att);
        for (int t = 0; t <= pos; t++)
            for (int i = h * HEAD; i < (h + 1) * HEAD; i++)
                att[i] += score[t] / sum * model->layer[l].values[t][i];
    }
}

static void attention(plumb_node node, int l, int pos)
{
    PLUMB_SPAN("attention");
    norm(xb, x);
    tell(node, "norm", xb, DIM);
    multiply(q, model->layer[l].q, xb, DIM, DIM);
    multiply(k, model->layer[l].k, xb, DIM, DIM);
    multiply(v, model->layer[l].v, xb, DIM, DIM);
    rotate(q, k, pos);
    memcpy(model->layer[l].keys[pos], k, sizeof k);
    memcpy(model->layer[l].values[pos], v, sizeof v);
    tell(node, "q", q, DIM);
    tell(node, "k", k, DIM);
    tell(node, "v", v, DIM);
    attend(l, pos);
    tell(node, "heads", att, DIM);
    multiply(xb, model->layer[l].o, att, DIM, DIM);
    tell(node, "out", xb, DIM);
    for (int i = 0; i < DIM; i++)
        x[i] += xb[i];
}

static void feed_forward(plumb_node node, int l)
{
    PLUMB_SPAN("feed_forward");
    norm(xb, x);
    tell(node, "norm", xb, DIM);
    multiply(gate, model->layer[l].gate, xb, HIDDEN, DIM);
    multiply(up, model->layer[l].up, xb, HIDDEN, DIM);
    tell(node, "gate", gate, HIDDEN);
    tell(node, "up", up, HIDDEN);
    for (int i = 0; i < HIDDEN; i++)
        gate[i] *= up[i] / (1 + expf(-gate[i]));
    tell(node, "act", gate, HIDDEN);
    multiply(xb, model->layer[l].down, gate, DIM, HIDDEN);
    tell(node, "out", xb, DIM);
    for (int i = 0; i < DIM; i++)
        x[i] += xb[i];
}

static void token(int pos)
{
    static plumb_node top, head, layer[LAYERS];
    char name[16];
    if (!top) {
        top = plumb_node_get("embed");
        head = plumb_node_get("head");
        for (int l = 0; l < LAYERS; l++) {
            snprintf(name, sizeof name, "layer.%d", l);
            layer[l] = plumb_node_get(name);
        }
    }
    PLUMB_STEP(pos);
    for (int i = 0; i < DIM; i++)
        x[i] = sinf((float)(i + pos));
    tell(top, "out", x, DIM);
    for (int l = 0; l < LAYERS; l++) {
        plumb_span span = plumb_begin_node(layer[l]);
        attention(layer[l], l, pos);
        feed_forward(layer[l], l);
        tell(layer[l], "out", x, DIM);
        plumb_end(span);
    }
    norm(xb, x);
    tell(head, "norm", xb, DIM);
    multiply(logits, model->head, xb, VOCAB, DIM);
    tell(head, "out", logits, VOCAB);
}

static void small(uint64_t n)
{
    static float data[SMALL];
    static plumb_node node;
    if (!node)
        node = plumb_node_get("small");
    for (int i = 0; i < SMALL; i++)
        data[i] = 0.37f + (float)i * 1e-3f;
    PLUMB_STEP(0);
    for (uint64_t i = 0; i < n; i++)
        tell(node, "out", data, SMALL);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static uint64_t all_threads_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double small_ns(struct bench *b, uint64_t n)
{
    uint64_t from = all_threads_ns();
    bench_record_start(b, false);
    small(n);
    bench_record_stop(b);
    return (double)(all_threads_ns() - from);
}

static void measure_small(struct bench *b, size_t rounds)
{
    double us[ROUNDS];
    struct bench_stat stat;
    for (size_t i = 0; i < rounds; i++) {
        double one = small_ns(b, 1);
        us[i] = (small_ns(b, SMALL_RECORDS) - one) / (SMALL_RECORDS - 1) * 1e-3;
    }
    stat = bench_stat_of(us, rounds);
    bench_put_stat(b, "act_small_us_per_record", &stat);
}

/* Processor time of all threads but this one. */
static uint64_t others_ns(void)
{
    return all_threads_ns() - bench_cpu_ns();
}

struct block {
    double on, off; /* median of this thread's time for a token, ns */
    double others;  /* other threads' time, a token */
};

/* A run of TOKENS; with `tells` every other token records its tensors. */
static struct block decode(struct bench *b, bool tells)
{
    double cost[2][TOKENS / 2];
    uint64_t others, tail;
    setenv("PLUMB_ACTIVATIONS", tells ? "1" : "0", 1);
    bench_record_start(b, false);
    others = others_ns();
    for (int pos = 0; pos < TOKENS; pos++) {
        uint64_t from = bench_cpu_ns();
        int odd = (pos & 1) ^ (pos >> 1 & 1); /* 0, 1, 1, 0: what grows with pos cancels */
        telling = tells && odd;
        token(pos);
        cost[odd][pos / 2] = (double)(bench_cpu_ns() - from);
    }
    others = others_ns() - others;
    tail = others_ns();
    bench_record_stop(b); /* writes the last records */
    others += others_ns() - tail;
    telling = true;
    return (struct block){bench_stat_of(cost[1], TOKENS / 2).median,
                          bench_stat_of(cost[0], TOKENS / 2).median, (double)others / TOKENS};
}

static void measure_decode(struct bench *b, size_t rounds)
{
    double pct[ROUNDS], us[ROUNDS], ms[ROUNDS];
    struct bench_stat stat;
    for (size_t i = 0; i < rounds; i++) {
        struct block with = decode(b, true), without = decode(b, false);
        double ns = with.on - with.off + 2 * (with.others - without.others);
        pct[i] = ns / with.off * 100;
        us[i] = ns / TOKEN_RECORDS * 1e-3;
        ms[i] = with.off * 1e-6;
    }
    stat = bench_stat_of(pct, rounds);
    bench_put_stat(b, "act_llm_overhead_pct", &stat);
    stat = bench_stat_of(us, rounds);
    bench_put_stat(b, "act_llm_us_per_record", &stat);
    bench_put(b, "act_llm_token_ms", bench_stat_of(ms, rounds).median);
}

int main(int argc, char **argv)
{
    static struct bench b;
    cpu_set_t cpus;
    float *p;
    sched_getaffinity(0, sizeof cpus, &cpus);
    bench_open(&b, "decode", argc, argv);
    sched_setaffinity(0, sizeof cpus, &cpus);
    model = calloc(1, sizeof *model);
    if (!model)
        return 1;
    p = (float *)(void *)model;
    for (size_t i = 0; i < sizeof *model / sizeof *p; i++)
        p[i] = ((float)(i * 2654435761u % 1000) - 500) * 1e-4f;
    token(0);
    setenv("PLUMB_ACTIVATIONS", "1", 1);
    measure_small(&b, b.quick ? 5 : ROUNDS);
    measure_decode(&b, b.quick ? 5 : ROUNDS);
    free(model);
    return bench_close(&b);
}
