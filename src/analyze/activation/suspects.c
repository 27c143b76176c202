/* suspects.c: looks at every record once. Missing data is not suspect: a tensor whose recorder
 * wrote neither counts nor bounds is not reported. */
#include "analyze/activation/suspects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- One record ------------------------------------------------------------------------------ */

double plumb_suspect_type_max(const char *dtype)
{
    static const struct {
        const char *name;
        double max;
    } types[] = {
        {"float16", 65504},          {"bfloat16", 0x1.fep127},
        {"float32", 0x1.fffffep127}, {"float64", 0x1.fffffffffffffp1023},
        {"float8_e4m3fn", 448},      {"float8_e5m2", 57344},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].max;
    return 0;
}

static uint64_t count_of(const struct plumb_activations *t, size_t i,
                         enum plumb_activation_field field)
{
    return plumb_activations_whole(t, i, field);
}

/* Other recorders have no counts: there one NaN makes every figure NaN. */
static bool any_stat(const struct plumb_activations *t, size_t i, bool nan)
{
    for (int f = 0; f < PLUMB_ACT_REALS; f++) {
        if (!plumb_activations_has(t, i, (enum plumb_activation_field)f))
            continue;
        double v = t->stat[f][i];
        /* A deviation of one value is NaN by itself, and an empty tensor has neither bounds. */
        if (nan ? isnan(v) && f != PLUMB_ACT_STD && f != PLUMB_ACT_MEAN : isinf(v))
            return true;
    }
    return false;
}

static bool bounds(const struct plumb_activations *t, size_t i, double *low, double *high)
{
    *low = plumb_activations_stat(t, i, PLUMB_ACT_MIN);
    *high = plumb_activations_stat(t, i, PLUMB_ACT_MAX);
    return isfinite(*low) && isfinite(*high);
}

static bool has_elements(const struct plumb_activations *t, size_t i, uint64_t least)
{
    return plumb_activations_has(t, i, PLUMB_ACT_SHAPE) &&
           plumb_activations_elements(t, t->shape[i]) >= least;
}

static bool is_zero(const struct plumb_activations *t, size_t i)
{
    double low;
    double high;
    bool empty = plumb_activations_has(t, i, PLUMB_ACT_SHAPE) && !has_elements(t, i, 1);
    if (empty || count_of(t, i, PLUMB_ACT_NAN) || count_of(t, i, PLUMB_ACT_POS_INF) ||
        count_of(t, i, PLUMB_ACT_NEG_INF))
        return false;
    return (bounds(t, i, &low, &high) && low == 0 && high == 0) ||
           plumb_activations_stat(t, i, PLUMB_ACT_ABS_MEAN) == 0 ||
           plumb_activations_stat(t, i, PLUMB_ACT_L2) == 0;
}

/* Whether the record is suspect in this way, and how much. */
static bool is_suspect(const struct plumb_activations *t, size_t i, enum plumb_suspect_kind kind,
                       double *worst)
{
    double low;
    double high;
    *worst = 0;
    switch (kind) {
    case PLUMB_SUSPECT_NAN:
        *worst = (double)count_of(t, i, PLUMB_ACT_NAN);
        if (*worst > 0 || plumb_activations_has(t, i, PLUMB_ACT_NAN))
            return *worst > 0;
        *worst = NAN;
        return any_stat(t, i, true);
    case PLUMB_SUSPECT_INF:
        *worst = (double)(count_of(t, i, PLUMB_ACT_POS_INF) + count_of(t, i, PLUMB_ACT_NEG_INF));
        if (*worst > 0 || plumb_activations_has(t, i, PLUMB_ACT_POS_INF))
            return *worst > 0;
        *worst = NAN;
        return any_stat(t, i, false);
    case PLUMB_SUSPECT_NEAR_MAX:
        if (!t->dtype || !bounds(t, i, &low, &high))
            return false;
        double most = plumb_suspect_type_max(plumb_activations_text(t, t->dtype[i]));
        *worst = most > 0 ? fmax(fabs(low), fabs(high)) / most : 0;
        return *worst >= PLUMB_SUSPECT_SHARE;
    case PLUMB_SUSPECT_ZERO:
        return is_zero(t, i);
    case PLUMB_SUSPECT_CONSTANT:
        *worst = bounds(t, i, &low, &high) ? low : NAN;
        return low == high && low != 0 && has_elements(t, i, 2) &&
               count_of(t, i, PLUMB_ACT_NAN) == 0;
    default:
        return false;
    }
}

/* ---- All of them ----------------------------------------------------------------------------- */

struct tensors {
    const struct plumb_activations *t;
    uint32_t *slots; /* by hash: entries of `first`, from 1 */
    size_t slot_count;
    uint32_t *first; /* record */
    uint32_t *of;
    uint32_t (*suspect)[PLUMB_SUSPECT_KINDS]; /* in the list, from 1 */
    size_t count;
};

static int io_of(const struct plumb_activations *t, size_t i)
{
    return t->io ? t->io[i] : 0;
}

/* The entry of the tensor of record `i`; a new one at its first sight. */
static size_t tensor_of(struct tensors *all, size_t i)
{
    const struct plumb_activations *t = all->t;
    uint64_t h = (t->module[i] * UINT64_C(0x9e3779b97f4a7c15)) ^
                 (t->tensor[i] * UINT64_C(0xc2b2ae3d27d4eb4f)) ^ (uint64_t)io_of(t, i) << 20;
    size_t at = (h ^ h >> 32) & (all->slot_count - 1);
    for (; all->slots[at]; at = (at + 1) & (all->slot_count - 1)) {
        size_t known = all->first[all->slots[at] - 1];
        if (t->module[known] == t->module[i] && t->tensor[known] == t->tensor[i] &&
            io_of(t, known) == io_of(t, i))
            return all->slots[at] - 1;
    }
    all->first[all->count] = (uint32_t)i;
    all->slots[at] = (uint32_t)++all->count;
    return all->count - 1;
}

/* Outputs come first: a bias of zeros, or an input of ones, is often meant. */
static int by_weight(const void *a, const void *b, void *arg)
{
    const struct plumb_suspect *x = a;
    const struct plumb_suspect *y = b;
    const struct plumb_activations *t = arg;
    if (x->kind != y->kind)
        return (x->kind > y->kind) - (x->kind < y->kind);
    int out = (io_of(t, x->first) != PLUMB_ACT_OUT) - (io_of(t, y->first) != PLUMB_ACT_OUT);
    return out ? out : (x->first > y->first) - (x->first < y->first);
}

/* One more record of a suspect, or a new one. False: no memory. */
static bool note(struct plumb_suspects *out, size_t *cap, uint32_t *index, size_t i,
                 enum plumb_suspect_kind kind, double worst)
{
    if (!*index) {
        if (out->count == *cap) {
            size_t more = *cap ? *cap * 2 : 64;
            struct plumb_suspect *moved = realloc(out->at, more * sizeof *moved);
            if (!moved)
                return false;
            out->at = moved;
            *cap = more;
        }
        out->at[out->count] = (struct plumb_suspect){kind, (uint32_t)i, 0, 0, worst};
        *index = (uint32_t)++out->count;
    }
    struct plumb_suspect *s = &out->at[*index - 1];
    s->records++;
    if (worst > s->worst)
        s->worst = worst;
    return true;
}

static bool look(struct plumb_suspects *out, struct tensors *all)
{
    size_t cap = 0;
    for (size_t i = 0; i < all->t->count; i++) {
        size_t tensor = tensor_of(all, i);
        bool odd = false;
        all->of[tensor]++;
        for (int kind = 0; kind < PLUMB_SUSPECT_KINDS; kind++) {
            double worst;
            if (!is_suspect(all->t, i, (enum plumb_suspect_kind)kind, &worst))
                continue;
            odd = true;
            if (!note(out, &cap, &all->suspect[tensor][kind], i, (enum plumb_suspect_kind)kind,
                      worst))
                return false;
        }
        out->records += odd;
    }
    for (size_t i = 0; i < out->count; i++)
        out->at[i].of = all->of[tensor_of(all, out->at[i].first)];
    if (out->count)
        qsort_r(out->at, out->count, sizeof *out->at, by_weight, (void *)(uintptr_t)all->t);
    return true;
}

int plumb_suspects_find(struct plumb_suspects *out, const struct plumb_activations *t,
                        plumb_error *err)
{
    struct tensors all = {.t = t, .slot_count = 64};
    int rc = PLUMB_OK;
    *out = (struct plumb_suspects){.at = NULL};
    while (all.slot_count < t->count * 2)
        all.slot_count *= 2;
    all.slots = calloc(all.slot_count, sizeof *all.slots);
    all.first = calloc(t->count + 1, sizeof *all.first);
    all.of = calloc(t->count + 1, sizeof *all.of);
    all.suspect = calloc(t->count + 1, sizeof *all.suspect);
    if (!all.slots || !all.first || !all.of || !all.suspect || !look(out, &all)) {
        plumb_suspects_fini(out);
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while looking at '%s'", t->path);
    }
    free(all.slots);
    free(all.first);
    free(all.of);
    free(all.suspect);
    return rc;
}

void plumb_suspects_fini(struct plumb_suspects *s)
{
    free(s->at);
    *s = (struct plumb_suspects){.at = NULL};
}

const char *plumb_suspect_name(enum plumb_suspect_kind kind)
{
    static const char *const names[] = {"NaN", "infinite", "near maximum", "all zero", "constant"};
    return names[kind];
}
