/* diverge_model.h: a language model that computes real values forward and backward, and recordings
 * of it as two engines make them: names of their own or shared ones, operations that one side alone
 * records, code between modules that neither does, qkv whole or in parts, layers left out, phases,
 * gradients, inputs, a part of the run; and a fault at a place that is known.
 *
 * Every record has the place of its tensor in the order of execution (`truth`), which is the same
 * for all recorders, so a comparison of two of them knows what belongs together. */
#ifndef TESTS_DIVERGE_MODEL_H
#define TESTS_DIVERGE_MODEL_H

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "read/activation/table.h"

enum { MODEL_WIDTH = 24, MODEL_LAYERS = 6, MODEL_QKV = 3 * MODEL_WIDTH };

/* The tensors of a layer in the order of execution; the recorders choose among them. */
enum model_op {
    M_IN, /* what goes into the layer */
    M_NORM1,
    M_Q,
    M_K,
    M_V,
    M_QKV, /* the three of them in one */
    M_ROPE_Q,
    M_ROPE_K,
    M_SCORES, /* never recorded: code between modules */
    M_MIX,
    M_WO,
    M_ATTENTION, /* the module around the attention has the output of wo */
    M_ADD1,      /* in most models code between modules */
    M_NORM2,
    M_W1,
    M_W3,
    M_ACT,
    M_W2,
    M_MLP, /* the module round it */
    M_LAYER,
    M_OPS
};

enum model_engine { ENGINE_TORCH, ENGINE_C, ENGINE_GRAPH, ENGINES };

enum model_fault {
    MODEL_SOUND,
    MODEL_SCALE,
    MODEL_OFFSET,
    MODEL_NAN,
    MODEL_ZERO,
    MODEL_SWAP,
    MODEL_TINY, /* far below any tolerance: of one engine alone */
    MODEL_FAULTS
};

struct model {
    enum model_engine engine;
    uint64_t weights, input, rounding; /* seeds; rounding 0: none of its own */
    int layers, steps;
    bool phases, gradients, inputs, hashes, whole_qkv, no_types, shared_names, flat;
    uint32_t left_out; /* bit i: layer i is not recorded */
    enum model_fault fault;
    bool backward;   /* the fault strikes a gradient */
    int fault_layer; /* -1: the embedding; `layers`: the end */
    enum model_op fault_op;
    int fault_step;
    bool lasting; /* in all steps from fault_step on */
    double fault_size;
    /* As a user who follows `next:` records again. */
    const char *filter; /* extended regular expression; NULL: all */
    int only_step;      /* -1: all */
};

struct model_run {
    struct plumb_activations table;
    int64_t *truth;  /* of each record: the place in the order of execution, inputs as outputs */
    int64_t *values; /* of each record: how many it has */
    size_t count;
    const struct model *m;
    regex_t regex;
    int64_t at;     /* place of the operation that runs */
    int64_t struck; /* place of the first that the fault spoiled; 0: none yet */
    int step, layer;
    uint64_t seq;
};

static inline double model_unit(uint64_t *state)
{
    return (double)random_next(state) / (double)(UINT64_C(1) << 31);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *const model_names[ENGINES][M_OPS] = {
    [ENGINE_TORCH] = {[M_IN] = "layers.%d",
                      [M_NORM1] = "layers.%d.attention_norm",
                      [M_Q] = "layers.%d.attention.wq",
                      [M_K] = "layers.%d.attention.wk",
                      [M_V] = "layers.%d.attention.wv",
                      [M_QKV] = "layers.%d.attention.qkv",
                      [M_WO] = "layers.%d.attention.wo",
                      [M_ATTENTION] = "layers.%d.attention",
                      [M_NORM2] = "layers.%d.ffn_norm",
                      [M_W1] = "layers.%d.feed_forward.w1",
                      [M_W3] = "layers.%d.feed_forward.w3",
                      [M_W2] = "layers.%d.feed_forward.w2",
                      [M_MLP] = "layers.%d.feed_forward",
                      [M_LAYER] = "layers.%d"},
    [ENGINE_C] = {[M_IN] = "token.layer.%d",
                  [M_NORM1] = "token.layer.%d.qkv.norm",
                  [M_Q] = "token.layer.%d.qkv.q",
                  [M_K] = "token.layer.%d.qkv.k",
                  [M_V] = "token.layer.%d.qkv.v",
                  [M_QKV] = "token.layer.%d.qkv",
                  [M_ROPE_Q] = "token.layer.%d.rope.q",
                  [M_ROPE_K] = "token.layer.%d.rope.k",
                  [M_MIX] = "token.layer.%d.attention",
                  [M_WO] = "token.layer.%d.wo",
                  [M_NORM2] = "token.layer.%d.ffn.norm",
                  [M_MLP] = "token.layer.%d.ffn",
                  [M_LAYER] = "token.layer.%d"},
    [ENGINE_GRAPH] = {[M_IN] = "blk.%d",
                      [M_NORM1] = "blk.%d.attn_norm",
                      [M_Q] = "blk.%d.Qcur",
                      [M_K] = "blk.%d.Kcur",
                      [M_V] = "blk.%d.Vcur",
                      [M_QKV] = "blk.%d.wqkv",
                      [M_MIX] = "blk.%d.kqv",
                      [M_WO] = "blk.%d.kqv_out",
                      [M_ADD1] = "blk.%d.ffn_inp",
                      [M_NORM2] = "blk.%d.ffn_norm",
                      [M_ACT] = "blk.%d.ffn_gate_par",
                      [M_W2] = "blk.%d.ffn_out",
                      [M_LAYER] = "blk.%d.l_out"},
};

static const char *const model_ends[ENGINES][3] = {
    [ENGINE_TORCH] = {"tok_embeddings", "norm", "output"},
    [ENGINE_C] = {"token.embed", "token.classifier.norm", "token.classifier"},
    [ENGINE_GRAPH] = {"inp_embd", "result_norm", "result_output"},
};

/* Whether the recorder has the tensor; its name in `out`. */
static inline bool model_name(const struct model *m, int layer, enum model_op op, char out[64])
{
    const char *form = model_names[m->engine][op];
    if (!form || (m->whole_qkv ? op >= M_Q && op <= M_V : op == M_QKV) ||
        (m->left_out >> layer & 1) || (op == M_IN && !m->inputs) ||
        (m->flat && (op == M_ATTENTION || op == M_MLP)))
        return false;
    if (m->shared_names && op == M_NORM1)
        form = "layers.%d.norm1";
    if (m->shared_names && op == M_LAYER)
        form = "layers.%d";
    snprintf(out, 64, form, layer);
    return true;
}

/* ---- Recording ------------------------------------------------------------------------------- */

static inline uint64_t model_hash(const float *x, int n, bool any)
{
    uint64_t sum = 0x9e37;
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint64_t h = (bits + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
        sum = any ? sum + (h ^ h >> 29) : (sum ^ h ^ h >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
    }
    return sum;
}

static inline void model_record(struct model_run *run, const char *module, const char *tensor,
                                enum plumb_activation_io io, const float *x, int n)
{
    const struct model *m = run->m;
    struct plumb_activations *t = &run->table;
    double sum = 0, magnitude = 0, square = 0;
    uint64_t nan = 0;
    int64_t shape[] = {1, n};
    if ((m->filter && regexec(&run->regex, module, 0, NULL, 0) != 0) ||
        (m->only_step >= 0 && run->step != m->only_step))
        return;
    struct plumb_activation r = plumb_activation_of(t, module, tensor, run->step);
    for (int i = 0; i < n; i++) {
        nan += isnan(x[i]);
        sum += isnan(x[i]) ? 0 : (double)x[i];
        magnitude += isnan(x[i]) ? 0 : fabs((double)x[i]);
        square += isnan(x[i]) ? 0 : (double)x[i] * (double)x[i];
    }
    double good = (double)(n - (int)nan);
    plumb_activation_set(&r, PLUMB_ACT_ABS_MEAN, magnitude / good);
    plumb_activation_set(&r, PLUMB_ACT_SUM, sum);
    if (m->engine != ENGINE_TORCH) {
        plumb_activation_set(&r, PLUMB_ACT_RMS, sqrt(square / good));
        r.phase = m->phases ? plumb_activations_str_id(t, run->step < 2 ? "prefill" : "decode") : 0;
    }
    plumb_activation_set_whole(&r, PLUMB_ACT_NAN, nan);
    if (m->hashes) {
        plumb_activation_set_whole(&r, PLUMB_ACT_HASH, model_hash(x, n, false));
        plumb_activation_set_whole(&r, PLUMB_ACT_HASH_ANY, model_hash(x, n, true));
    }
    if (!m->no_types) {
        r.has |= 1u << PLUMB_ACT_SHAPE;
        r.shape = m->engine == ENGINE_C ? plumb_activations_shape_id(t, shape + 1, 1)
                                        : plumb_activations_shape_id(t, shape, 2);
        r.dtype = plumb_activations_str_id(t, "float32");
    }
    r.io = (uint8_t)io;
    r.seq = run->seq++;
    r.has |= 1u << PLUMB_ACT_SEQ;
    plumb_activations_add(t, &r);
    run->truth = realloc(run->truth, (run->count + 1) * sizeof *run->truth);
    run->values = realloc(run->values, (run->count + 1) * sizeof *run->values);
    run->values[run->count] = n;
    run->truth[run->count++] = run->at;
}

/* ---- Computing ------------------------------------------------------------------------------- */

static inline bool model_strikes(const struct model_run *run, int layer, enum model_op op,
                                 bool backward)
{
    const struct model *m = run->m;
    return m->fault != MODEL_SOUND && m->backward == backward && m->fault_layer == layer &&
           m->fault_op == op &&
           (m->lasting ? run->step >= m->fault_step : run->step == m->fault_step);
}

static inline void model_spoil(const struct model *m, float *y)
{
    double magnitude = 0;
    for (int i = 0; i < MODEL_WIDTH; i++)
        magnitude += fabs((double)y[i]) / MODEL_WIDTH;
    for (int i = 0; i < MODEL_WIDTH; i++) {
        if (m->fault == MODEL_SCALE)
            y[i] *= (float)(1 + m->fault_size);
        else if (m->fault == MODEL_OFFSET)
            y[i] += (float)(magnitude * m->fault_size);
        else if (m->fault == MODEL_ZERO)
            y[i] = 0;
        else if (m->fault == MODEL_TINY)
            y[i] *= 1 + 4e-6F;
    }
    if (m->fault == MODEL_NAN)
        y[3] = NAN;
    for (int i = 0; m->fault == MODEL_SWAP && i < MODEL_WIDTH / 2; i++) {
        float first = y[i];
        y[i] = y[i + MODEL_WIDTH / 2];
        y[i + MODEL_WIDTH / 2] = first;
    }
}

/* One operation: y from x, and from `z` where it takes two. */
static inline void model_compute(struct model_run *run, float *y, const float *x, const float *z,
                                 int layer, enum model_op op, bool backward)
{
    const struct model *m = run->m;
    uint64_t state =
        m->weights * 1000003 + (uint64_t)(layer + 2) * 131 + (uint64_t)op + (backward ? 7777 : 0);
    uint64_t noise = m->rounding * 7919 + (uint64_t)(layer + 2) * 37 + (uint64_t)op +
                     (uint64_t)run->step * 1009 + (backward ? 555 : 0);
    (void)random_next(&state);
    double gain = 0.7 + 0.7 * model_unit(&state);
    double shift = 0.4 * model_unit(&state) - 0.2;
    int stride = 1 + 2 * (int)(random_next(&state) % 11);
    double square = 0;
    for (int i = 0; i < MODEL_WIDTH; i++)
        square += (double)x[i] * (double)x[i] / MODEL_WIDTH;
    for (int i = 0; i < MODEL_WIDTH; i++) {
        double in = (double)x[i];
        double mixed = (0.5 + 0.01 * ((i * 37 + stride) % 101)) * in +
                       0.4 * (double)x[(i * stride + 7) % MODEL_WIDTH];
        double value;
        if (op == M_ADD1 || op == M_LAYER)
            value = 0.75 * in + 0.5 * (double)z[i];
        else if (op == M_ROPE_Q || op == M_ROPE_K) /* the first position turns nothing */
            value = in * cos(0.3 * run->step) +
                    (double)x[i ^ 1] * sin(0.3 * run->step) * (i & 1 ? 1 : -1);
        else if (op == M_MIX)
            value = 1.5 * tanh(0.7 * mixed + 0.8 * (double)z[i]);
        else if (op == M_ACT)
            value = in / (1 + exp(-1.7 * in)) * (double)z[i];
        else if (op == M_SCORES)
            value = 0.8 * in + 0.6 * (double)z[(i * 5 + 1) % MODEL_WIDTH];
        else /* keeps its size, and most of what is wrong with it */
            value = gain * mixed / sqrt(0.4 + 0.6 * square) + shift;
        if (m->rounding)
            value *= 1 + 6e-8 * (2 * model_unit(&noise) - 1);
        y[i] = (float)value;
    }
    if (model_strikes(run, layer, op, backward)) {
        model_spoil(m, y);
        run->struck = run->struck ? run->struck : run->at;
    }
}

static inline void model_do(struct model_run *run, float at[][MODEL_WIDTH], enum model_op op,
                            const float *x, const float *z)
{
    char name[64];
    int64_t place = run->at;
    model_compute(run, at[op], x, z, run->layer, op, false);
    if (model_name(run->m, run->layer, op, name)) {
        run->at = place - 1; /* what goes in was there before */
        if (run->m->inputs && op != M_ADD1 && op != M_LAYER)
            model_record(run, name, "in", PLUMB_ACT_IN, x, MODEL_WIDTH);
        /* At the first position a rotation gives out what it took: q or k. */
        run->at = (op == M_ROPE_Q || op == M_ROPE_K) && run->step == 0 ? place - 8 : place;
        model_record(run, name, "out", PLUMB_ACT_OUT, at[op], MODEL_WIDTH);
    }
    run->at = place + 2;
}

/* The module gives out what its last part does. */
static inline void model_pass(struct model_run *run, float at[][MODEL_WIDTH], enum model_op op,
                              const float *x)
{
    char name[64];
    int64_t place = run->at;
    memcpy(at[op], x, MODEL_WIDTH * sizeof *x);
    run->at = op == M_IN ? place : place - 2; /* the same tensor has one place */
    if (model_name(run->m, run->layer, op, name))
        model_record(run, name, op == M_IN ? "in" : "out",
                     op == M_IN ? PLUMB_ACT_IN : PLUMB_ACT_OUT, x, MODEL_WIDTH);
    run->at += 2;
}

static inline void model_layer(struct model_run *run, float *x)
{
    float at[M_OPS][MODEL_WIDTH];
    float whole[MODEL_QKV];
    char name[64];
    model_pass(run, at, M_IN, x);
    model_do(run, at, M_NORM1, x, NULL);
    for (int op = M_Q; op <= M_V; op++)
        model_do(run, at, (enum model_op)op, at[M_NORM1], NULL);
    for (int op = M_Q; op <= M_V; op++)
        memcpy(whole + (op - M_Q) * MODEL_WIDTH, at[op], MODEL_WIDTH * sizeof *whole);
    if (model_name(run->m, run->layer, M_QKV, name))
        model_record(run, name, "out", PLUMB_ACT_OUT, whole, MODEL_QKV);
    run->at += 2;
    model_do(run, at, M_ROPE_Q, at[M_Q], NULL);
    model_do(run, at, M_ROPE_K, at[M_K], NULL);
    model_do(run, at, M_SCORES, at[M_ROPE_Q], at[M_ROPE_K]);
    model_do(run, at, M_MIX, at[M_SCORES], at[M_V]);
    model_do(run, at, M_WO, at[M_MIX], NULL);
    model_pass(run, at, M_ATTENTION, at[M_WO]);
    model_do(run, at, M_ADD1, x, at[M_WO]);
    model_do(run, at, M_NORM2, at[M_ADD1], NULL);
    model_do(run, at, M_W1, at[M_NORM2], NULL);
    model_do(run, at, M_W3, at[M_NORM2], NULL);
    model_do(run, at, M_ACT, at[M_W1], at[M_W3]);
    model_do(run, at, M_W2, at[M_ACT], NULL);
    model_pass(run, at, M_MLP, at[M_W2]);
    model_do(run, at, M_LAYER, at[M_ADD1], at[M_W2]);
    memcpy(x, at[M_LAYER], sizeof at[M_LAYER]);
}

static inline void model_end(struct model_run *run, float *x, int which)
{
    float y[MODEL_WIDTH];
    int layer = which == 0 ? -1 : run->m->layers + which - 1;
    model_compute(run, y, x, NULL, layer, M_NORM1, false);
    run->at--;
    if (run->m->inputs)
        model_record(run, model_ends[run->m->engine][which], "in", PLUMB_ACT_IN, x, MODEL_WIDTH);
    run->at++;
    model_record(run, model_ends[run->m->engine][which], "out", PLUMB_ACT_OUT, y, MODEL_WIDTH);
    run->at += 2;
    memcpy(x, y, sizeof y);
}

/* Gradients of the same modules, from the end to the beginning. */
static inline void model_backward(struct model_run *run, const float *x)
{
    static const enum model_op order[] = {M_MLP, M_NORM2, M_WO, M_QKV, M_NORM1};
    float g[MODEL_WIDTH];
    float y[MODEL_WIDTH];
    char name[64];
    char module[80];
    memcpy(g, x, sizeof g);
    for (run->layer = run->m->layers; run->layer-- > 0;)
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            model_compute(run, y, g, NULL, run->layer, order[i], true);
            bool has = order[i] == M_QKV ? !(run->m->left_out >> run->layer & 1)
                                         : model_name(run->m, run->layer, order[i], name);
            if (order[i] == M_QKV)
                snprintf(name, sizeof name, "layers.%d.qkv_grad", run->layer);
            if (has) {
                snprintf(module, sizeof module, "backward.%s", name);
                model_record(run, module, "grad", PLUMB_ACT_GRAD, y, MODEL_WIDTH);
            }
            run->at += 2;
            memcpy(g, y, sizeof g);
        }
}

/* Runs the model; ended with model_fini(). */
static inline void model_run(struct model_run *run, const struct model *m)
{
    memset(run, 0, sizeof *run);
    plumb_activations_init(&run->table);
    run->table.format =
        m->engine == ENGINE_TORCH ? PLUMB_ACT_FORMAT_FASTVIDEO : PLUMB_ACT_FORMAT_PLUMB;
    run->m = m;
    if (m->filter && regcomp(&run->regex, m->filter, REG_EXTENDED | REG_NOSUB) != 0)
        abort();
    for (run->step = 0; run->step < m->steps; run->step++) {
        uint64_t seed = m->input * 77 + (uint64_t)run->step * 13 + 1;
        float x[MODEL_WIDTH];
        (void)random_next(&seed);
        for (int i = 0; i < MODEL_WIDTH; i++)
            x[i] = (float)(4 * model_unit(&seed) - 2);
        run->at = (int64_t)run->step * 10000 + 2;
        model_end(run, x, 0);
        for (run->layer = 0; run->layer < m->layers; run->layer++)
            model_layer(run, x);
        model_end(run, x, 1);
        model_end(run, x, 2);
        if (m->gradients)
            model_backward(run, x);
    }
}

static inline void model_fini(struct model_run *run)
{
    if (run->m->filter)
        regfree(&run->regex);
    plumb_activations_fini(&run->table);
    free(run->truth);
    free(run->values);
}

/* ---- Random pairs ---------------------------------------------------------------------------- */

static inline bool model_chance(uint64_t *seed, unsigned one_in)
{
    return random_next(seed) % one_in == 0;
}

/* Two recordings of one engine: what must not matter is how much was recorded. */
static inline void model_same_engine(uint64_t *seed, struct model *a, struct model *b)
{
    *a = (struct model){.engine = (enum model_engine)(random_next(seed) % ENGINES),
                        .weights = random_next(seed) % 1000,
                        .input = random_next(seed) % 1000,
                        .layers = 3 + (int)(random_next(seed) % (MODEL_LAYERS - 2)),
                        .steps = 1 + (int)(random_next(seed) % 4),
                        .only_step = -1};
    a->phases = model_chance(seed, 2);
    a->gradients = model_chance(seed, 3);
    a->inputs = model_chance(seed, 3);
    a->hashes = a->engine != ENGINE_TORCH && model_chance(seed, 3);
    a->whole_qkv = model_chance(seed, 3);
    a->no_types = a->engine == ENGINE_TORCH && model_chance(seed, 3);
    a->flat = model_chance(seed, 3);
    *b = *a;
    if (model_chance(seed, 4))
        b->left_out = 1u << random_next(seed) % (uint64_t)a->layers;
    if (model_chance(seed, 4))
        b->steps = 1 + (int)(random_next(seed) % (uint64_t)a->steps);
}

static inline void model_two_engines(uint64_t *seed, struct model *a, struct model *b)
{
    model_same_engine(seed, a, b);
    b->engine = (enum model_engine)((a->engine + 1 + random_next(seed) % (ENGINES - 1)) % ENGINES);
    b->rounding = 1 + random_next(seed) % 1000;
    b->whole_qkv = model_chance(seed, 3);
    b->phases = model_chance(seed, 2);
    b->inputs = model_chance(seed, 3);
    b->flat = model_chance(seed, 2);
    b->shared_names = a->shared_names = model_chance(seed, 4);
    a->no_types = b->no_types = false;
    a->hashes = b->hashes = false;
}

static inline void model_plant(uint64_t *seed, struct model *m, bool same_engine)
{
    static const enum model_op grads[] = {M_MLP, M_NORM2, M_WO, M_QKV, M_NORM1};
    m->fault =
        (enum model_fault)(1 + random_next(seed) % (same_engine ? MODEL_FAULTS - 1 : MODEL_SWAP));
    m->fault_size = 2e-3 * pow(10, 2.5 * model_unit(seed));
    m->fault_step = (int)(random_next(seed) % (uint64_t)m->steps);
    m->lasting = model_chance(seed, 2);
    m->backward = m->gradients && model_chance(seed, 2);
    m->fault_layer = (int)(random_next(seed) % (uint64_t)(m->layers + 2)) - 1;
    m->fault_op = M_NORM1;
    if (m->fault_layer >= 0 && m->fault_layer < m->layers)
        do
            m->fault_op = (enum model_op)(1 + random_next(seed) % (M_OPS - 1));
        while (m->fault_op == M_QKV || m->fault_op == M_ATTENTION || m->fault_op == M_MLP);
    /* At the first position these are the tensors before them. */
    if ((m->fault_op == M_ROPE_Q || m->fault_op == M_ROPE_K) && m->fault_step == 0)
        m->fault_op = M_MIX;
    if (m->backward) {
        m->fault_layer = (int)(random_next(seed) % (uint64_t)m->layers);
        m->fault_op = grads[random_next(seed) % 5];
    }
}

#endif
