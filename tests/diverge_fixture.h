/* diverge_fixture.h: a small model that computes real values, and runs of it as two engines would
 * record them: other names, operations fused, split or in another order, other layouts and types,
 * and a fault where the test wants one.
 *
 * A step runs `embed` and then blocks of norm1 q k v attn proj add1 norm2 fc1 act fc2 add2. 26
 * blocks recorded whole are 313 records, and 247 as fixture_engine_b() fuses them. */
#ifndef TESTS_DIVERGE_FIXTURE_H
#define TESTS_DIVERGE_FIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "read/activation/table.h"

enum {
    FIXTURE_ROWS = 8,
    FIXTURE_COLUMNS = 12,
    FIXTURE_VALUES = FIXTURE_ROWS * FIXTURE_COLUMNS,
    FIXTURE_BLOCKS = 26
};

enum fixture_op {
    OP_NORM1,
    OP_Q,
    OP_K,
    OP_V,
    OP_ATTN,
    OP_PROJ,
    OP_ADD1,
    OP_NORM2,
    OP_FC1,
    OP_ACT,
    OP_FC2,
    OP_ADD2,
    OP_COUNT
};

enum fixture_fault {
    FAULT_NONE,
    FAULT_SCALE,   /* the values times 1 + size */
    FAULT_OFFSET,  /* size times the mean magnitude added */
    FAULT_NAN,     /* one value */
    FAULT_INF,     /* one value */
    FAULT_MISSING, /* zeros, as a forgotten residual gives */
    FAULT_SHUFFLE  /* the values in another order: swapped heads */
};

struct fixture {
    uint64_t weights_seed, input_seed, order_seed;
    int blocks, steps;
    bool renamed, fused, reordered, transposed, bf16;
    bool inputs, hashes, no_dtype, no_shape;
    bool pretrained_noise; /* every operation rounds a little otherwise, as another library does */
    enum fixture_fault fault;
    int fault_block, fault_step;
    enum fixture_op fault_op;
    double fault_size;
};

/* The operation of each record: block * OP_COUNT + op, or -1 for embed. An input has the same
 * number plus 100000. */
struct fixture_run {
    struct plumb_activations table;
    int *truth;
    size_t truth_count;
};

static const char *const fixture_names_a[OP_COUNT] = {"norm1",   "attn.q",    "attn.k",  "attn.v",
                                                      "attn",    "attn.proj", "add1",    "norm2",
                                                      "mlp.fc1", "mlp.act",   "mlp.fc2", "mlp"};
static const char *const fixture_names_b[OP_COUNT] = {
    "attn_norm", "wq",       "wk",   "wv",   "sdpa",   "wo",
    "resid_mid", "ffn_norm", "w_up", "gelu", "w_down", "resid_out"};

static inline double fixture_unit(uint64_t *state)
{
    return (double)random_next(state) / (double)(UINT64_C(1) << 31);
}

static inline float fixture_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isfinite(value))
        bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000u;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static inline struct fixture fixture_default(void)
{
    return (struct fixture){
        .weights_seed = 7, .input_seed = 3, .blocks = FIXTURE_BLOCKS, .steps = 1};
}

/* Another engine: 247 records of a step where A has 313. */
static inline struct fixture fixture_engine_b(struct fixture f)
{
    f.renamed = f.fused = f.reordered = true;
    return f;
}

/* Whether the run records an operation: the fused ones vanish in the next. */
static inline bool fixture_records(const struct fixture *f, int block, enum fixture_op op)
{
    if (!f->fused)
        return true;
    if (op == OP_ADD1)
        return block < 12;
    return op != OP_ACT && op != OP_ATTN;
}

static inline void fixture_name(char out[64], const struct fixture *f, int block,
                                enum fixture_op op)
{
    if (block < 0)
        snprintf(out, 64, "%s", f->renamed ? "token_embd" : "embed");
    else
        snprintf(out, 64, f->renamed ? "blk.%d.%s" : "layers.%d.%s", block,
                 f->renamed ? fixture_names_b[op] : fixture_names_a[op]);
}

static inline uint64_t fixture_hash(const float *x, bool any)
{
    uint64_t sum = 0x9e37;
    for (int i = 0; i < FIXTURE_VALUES; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint64_t h = (bits + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
        sum = any ? sum + (h ^ h >> 29) : (sum ^ h ^ h >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
    }
    return sum;
}

static inline void fixture_record(struct fixture_run *run, const struct fixture *f, int truth,
                                  const char *module, const char *tensor, int step, const float *x)
{
    struct plumb_activations *t = &run->table;
    struct plumb_activation r = plumb_activation_of(t, module, tensor, step);
    double sum = 0, magnitude = 0, square = 0, low = INFINITY, high = -INFINITY;
    uint64_t nan = 0, infinite = 0, n = 0;
    static const int64_t shape[] = {1, FIXTURE_ROWS, FIXTURE_COLUMNS};
    static const int64_t turned[] = {FIXTURE_COLUMNS, FIXTURE_ROWS, 1};
    for (int i = 0; i < FIXTURE_VALUES; i++) {
        nan += isnan(x[i]);
        infinite += isinf(x[i]) != 0;
        if (!isfinite(x[i]))
            continue;
        n++;
        sum += (double)x[i];
        magnitude += fabs((double)x[i]);
        square += (double)x[i] * (double)x[i];
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    plumb_activation_set(&r, PLUMB_ACT_ABS_MEAN, magnitude / (double)n);
    plumb_activation_set(&r, PLUMB_ACT_SUM, sum);
    plumb_activation_set(&r, PLUMB_ACT_MIN, low);
    plumb_activation_set(&r, PLUMB_ACT_MAX, high);
    plumb_activation_set(&r, PLUMB_ACT_RMS, sqrt(square / (double)n));
    plumb_activation_set_whole(&r, PLUMB_ACT_NAN, nan);
    plumb_activation_set_whole(&r, PLUMB_ACT_POS_INF, infinite);
    if (f->hashes) {
        plumb_activation_set_whole(&r, PLUMB_ACT_HASH, fixture_hash(x, false));
        plumb_activation_set_whole(&r, PLUMB_ACT_HASH_ANY, fixture_hash(x, true));
    }
    if (!f->no_shape) {
        r.has |= 1u << PLUMB_ACT_SHAPE;
        r.shape = plumb_activations_shape_id(t, f->transposed ? turned : shape, 3);
    }
    if (!f->no_dtype)
        r.dtype = plumb_activations_str_id(t, f->bf16 ? "bfloat16" : "float32");
    r.io = strncmp(tensor, "in", 2) == 0 ? PLUMB_ACT_IN : PLUMB_ACT_OUT;
    plumb_activations_add(t, &r);
    run->truth = realloc(run->truth, (run->truth_count + 1) * sizeof *run->truth);
    run->truth[run->truth_count++] = truth;
}

static inline void fixture_break(const struct fixture *f, float *y)
{
    double magnitude = 0;
    for (int i = 0; i < FIXTURE_VALUES; i++)
        magnitude += fabs((double)y[i]) / FIXTURE_VALUES;
    for (int i = 0; i < FIXTURE_VALUES; i++) {
        if (f->fault == FAULT_SCALE)
            y[i] *= (float)(1 + f->fault_size);
        else if (f->fault == FAULT_OFFSET)
            y[i] += (float)(magnitude * f->fault_size);
        else if (f->fault == FAULT_MISSING)
            y[i] = 0;
    }
    if (f->fault == FAULT_NAN)
        y[5] = NAN;
    if (f->fault == FAULT_INF)
        y[5] = INFINITY;
    for (int i = 0; f->fault == FAULT_SHUFFLE && i < FIXTURE_VALUES / 2; i++) {
        float first = y[i];
        y[i] = y[i + FIXTURE_VALUES / 2];
        y[i + FIXTURE_VALUES / 2] = first;
    }
}

/* y = an operation of its own on x, and on `other` where it takes two. */
static inline void fixture_compute(const struct fixture *f, float *y, const float *x,
                                   const float *other, int block, enum fixture_op op, int step)
{
    uint64_t state = f->weights_seed * 1000003 + (uint64_t)(block + 1) * 131 + (uint64_t)op;
    uint64_t noise = f->order_seed * 7919 + (uint64_t)(block + 2) * 37 + (uint64_t)op + 1;
    (void)random_next(&state);
    double gain = 0.6 + 0.8 * fixture_unit(&state);
    double shift = 0.4 * fixture_unit(&state) - 0.2;
    int stride = 1 + 2 * (int)(random_next(&state) % 20);
    for (int i = 0; i < FIXTURE_VALUES; i++) {
        double weight = 0.5 + 0.01 * ((i * 37 + stride) % 101);
        double in = (double)x[i];
        double mixed = weight * in + 0.3 * (double)x[(i * stride + 7) % FIXTURE_VALUES];
        double value = op == OP_ADD1 || op == OP_ADD2 ? in * 0.7 + 0.5 * (double)other[i]
                       : op == OP_ATTN                ? (in + (double)other[i]) * 0.5 + shift
                       : op == OP_ACT                 ? in / (1 + exp(-1.7 * in))
                                                      : 1.5 * tanh(gain * mixed + shift);
        if (f->pretrained_noise)
            value *= 1 + 1.2e-7 * (2 * fixture_unit(&noise) - 1);
        y[i] = f->bf16 ? fixture_bf16((float)value) : (float)value;
    }
    if (f->fault != FAULT_NONE && block == f->fault_block && op == f->fault_op &&
        step == f->fault_step)
        fixture_break(f, y);
}

struct fixture_state {
    struct fixture_run *run;
    const struct fixture *f;
    int step, block;
    float at[OP_COUNT][FIXTURE_VALUES];
    float x[FIXTURE_VALUES];
};

static inline void fixture_do(struct fixture_state *s, enum fixture_op op, const float *x,
                              const float *other)
{
    char name[64];
    fixture_compute(s->f, s->at[op], x, other, s->block, op, s->step);
    if (!fixture_records(s->f, s->block, op))
        return;
    int truth = s->block * OP_COUNT + (int)op;
    fixture_name(name, s->f, s->block, op);
    if (s->f->inputs) {
        fixture_record(s->run, s->f, truth + 100000, name, "in[0]", s->step, x);
        if (other)
            fixture_record(s->run, s->f, truth + 100000, name, "in[1]", s->step, other);
    }
    fixture_record(s->run, s->f, truth, name, "out", s->step, s->at[op]);
}

static inline void fixture_block(struct fixture_state *s)
{
    static const enum fixture_op orders[2][3] = {{OP_Q, OP_K, OP_V}, {OP_V, OP_Q, OP_K}};
    fixture_do(s, OP_NORM1, s->x, NULL);
    for (int i = 0; i < 3; i++)
        fixture_do(s, orders[s->f->reordered][i], s->at[OP_NORM1], NULL);
    float qk[FIXTURE_VALUES];
    for (int i = 0; i < FIXTURE_VALUES; i++)
        qk[i] = s->at[OP_Q][i] * 0.8F + s->at[OP_K][i] * 0.6F;
    fixture_do(s, OP_ATTN, qk, s->at[OP_V]);
    fixture_do(s, OP_PROJ, s->at[OP_ATTN], NULL);
    fixture_do(s, OP_ADD1, s->x, s->at[OP_PROJ]);
    fixture_do(s, OP_NORM2, s->at[OP_ADD1], NULL);
    fixture_do(s, OP_FC1, s->at[OP_NORM2], NULL);
    fixture_do(s, OP_ACT, s->at[OP_FC1], NULL);
    fixture_do(s, OP_FC2, s->at[OP_ACT], NULL);
    fixture_do(s, OP_ADD2, s->at[OP_ADD1], s->at[OP_FC2]);
    memcpy(s->x, s->at[OP_ADD2], sizeof s->x);
}

/* Runs the model; ended with fixture_end(). */
static inline void fixture_run(struct fixture_run *run, const struct fixture *f)
{
    struct fixture_state s = {.run = run, .f = f};
    uint64_t seed = f->input_seed * 77 + 1;
    char name[64];
    memset(run, 0, sizeof *run);
    plumb_activations_init(&run->table);
    (void)random_next(&seed);
    for (int i = 0; i < FIXTURE_VALUES; i++)
        s.x[i] = (float)(4 * fixture_unit(&seed) - 2);
    for (int i = 0; i < FIXTURE_VALUES && f->bf16; i++)
        s.x[i] = fixture_bf16(s.x[i]);
    for (s.step = 0; s.step < f->steps; s.step++) {
        fixture_name(name, f, -1, OP_NORM1);
        fixture_record(run, f, -1, name, "out", s.step, s.x);
        for (s.block = 0; s.block < f->blocks; s.block++)
            fixture_block(&s);
    }
}

/* Two runs of one model that differ in what must not matter. */
static inline void fixture_random(uint64_t *seed, struct fixture *a, struct fixture *b)
{
    *a = fixture_default();
    a->weights_seed = random_next(seed) % 1000;
    a->input_seed = random_next(seed) % 1000;
    a->blocks = 2 + (int)(random_next(seed) % 5);
    a->steps = 1 + (int)(random_next(seed) % 3);
    a->hashes = random_next(seed) % 2;
    a->inputs = random_next(seed) % 3 == 0;
    *b = *a;
    b->renamed = random_next(seed) % 2;
    b->fused = random_next(seed) % 2;
    b->reordered = random_next(seed) % 2;
    b->transposed = random_next(seed) % 4 == 0;
    b->pretrained_noise = random_next(seed) % 2;
    b->order_seed = random_next(seed);
}

static inline void fixture_random_fault(uint64_t *seed, struct fixture *b)
{
    static const enum fixture_fault faults[] = {FAULT_SCALE, FAULT_OFFSET, FAULT_NAN, FAULT_INF,
                                                FAULT_MISSING};
    b->fault = faults[random_next(seed) % 5];
    b->fault_block = (int)(random_next(seed) % (uint64_t)b->blocks);
    b->fault_op = (enum fixture_op)(random_next(seed) % OP_COUNT);
    b->fault_step = (int)(random_next(seed) % (uint64_t)b->steps);
    /* Which of two operations a fused one is, other layers teach, if they come before it. */
    if (b->renamed && b->fused && b->fault_step == 0 && b->fault_block == 0)
        b->fault_block = 1;
    b->fault_size = 1e-3 * pow(10, 3 * fixture_unit(seed));
}

/* The first recorded operation that the fault shows in: itself, or where it is fused the one it
 * vanished in. */
static inline int fixture_expected(const struct fixture *f)
{
    int op = (int)f->fault_op;
    while (!fixture_records(f, f->fault_block, (enum fixture_op)op))
        op++;
    return f->fault_block * OP_COUNT + op;
}

static inline void fixture_end(struct fixture_run *run)
{
    plumb_activations_fini(&run->table);
    free(run->truth);
}

#endif
