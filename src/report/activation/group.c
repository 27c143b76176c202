/* group.c: records of activations, added up by layer. A layer is a (module, tensor, direction,
 * phase). Its line stands where its first record stood, so that a table reads in order of
 * execution. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "config/pattern.h"
#include "report/activation/parts.h"
#include <plumb/read/activation.h>

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing activations");
}

/* ---- Adding up ------------------------------------------------------------------------------- */

static void begin_line(struct plumb_act_line *l, uint32_t i)
{
    *l = (struct plumb_act_line){.first = i, .min = NAN, .max = NAN, .before = NAN};
}

static void add_record(struct plumb_act_line *l, const struct plumb_activations *t, size_t i)
{
    double abs_mean = plumb_activations_stat(t, i, PLUMB_ACT_ABS_MEAN);
    double std = plumb_activations_stat(t, i, PLUMB_ACT_STD);
    l->steps += l->records == 0 || (t->step && t->step[i] != t->step[l->last]);
    l->last = (uint32_t)i;
    l->records++;
    if (plumb_activations_has(t, i, PLUMB_ACT_ABS_MEAN)) {
        l->abs_mean += abs_mean;
        l->abs_means++;
    }
    /* One value has no deviation. */
    bool alone = plumb_activations_has(t, i, PLUMB_ACT_SHAPE) &&
                 plumb_activations_elements(t, t->shape ? t->shape[i] : 0) < 2;
    if (plumb_activations_has(t, i, PLUMB_ACT_STD) && !(alone && isnan(std))) {
        l->std += std;
        l->stds++;
    }
    if (plumb_activations_has(t, i, PLUMB_ACT_L2)) {
        l->l2 += plumb_activations_stat(t, i, PLUMB_ACT_L2);
        l->l2s++;
    }
    l->min = fmin(l->min, plumb_activations_stat(t, i, PLUMB_ACT_MIN));
    l->max = fmax(l->max, plumb_activations_stat(t, i, PLUMB_ACT_MAX));
    l->nan += plumb_activations_whole(t, i, PLUMB_ACT_NAN);
    l->inf += plumb_activations_whole(t, i, PLUMB_ACT_POS_INF) +
              plumb_activations_whole(t, i, PLUMB_ACT_NEG_INF);
}

double plumb_act_mean(double sum, uint64_t n)
{
    return n ? sum / (double)n : (double)NAN;
}

/* The figure by which the change of a layer from step to step is measured. */
static double size_of(const struct plumb_act_line *l)
{
    return l->abs_means ? plumb_act_mean(l->abs_mean, l->abs_means) : plumb_act_mean(l->l2, l->l2s);
}

static bool same_layer(const struct plumb_activations *t, size_t a, size_t b)
{
    return t->module[a] == t->module[b] && t->tensor[a] == t->tensor[b] &&
           (!t->io || t->io[a] == t->io[b]) && (!t->phase || t->phase[a] == t->phase[b]);
}

static bool same_step(const struct plumb_activations *t, size_t a, size_t b)
{
    return (!t->step || t->step[a] == t->step[b]) && (!t->rank || t->rank[a] == t->rank[b]);
}

/* The ranges of another recorder's histogram are not known. */
static void add_histogram(struct plumb_act_view *v, const struct plumb_act_line *l, size_t i)
{
    size_t n;
    const double *counts = plumb_activations_list(v->t, v->t->histogram, i, &n);
    for (size_t k = 0; n == PLUMB_ACT_BINS && k < n; k++)
        v->histograms[(size_t)l->place * PLUMB_ACT_BINS + k] += counts[k];
}

const double *plumb_act_histogram(const struct plumb_act_view *v, const struct plumb_act_line *l)
{
    const double *counts = v->histograms ? v->histograms + (size_t)l->place * PLUMB_ACT_BINS : NULL;
    for (int k = 0; counts && k < PLUMB_ACT_BINS; k++)
        if (counts[k] > 0)
            return counts;
    return NULL;
}

static size_t slot_of(const struct plumb_act_view *v, const uint32_t *slots, size_t mask, size_t i,
                      bool by_step)
{
    const struct plumb_activations *t = v->t;
    uint64_t h = t->module[i] * UINT64_C(0x9e3779b97f4a7c15) ^
                 t->tensor[i] * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                 (by_step && t->step ? (uint64_t)t->step[i] * UINT64_C(0xff51afd7ed558ccd) : 0);
    size_t at = (h ^ h >> 29) & mask;
    for (; slots[at]; at = (at + 1) & mask) {
        size_t known = v->lines[slots[at] - 1].first;
        if (same_layer(t, known, i) && (!by_step || same_step(t, known, i)))
            break;
    }
    return at;
}

/* The lines of layers, or of layers and steps. */
static bool make_lines(struct plumb_act_view *v, bool by_step)
{
    const struct plumb_activations *t = v->t;
    size_t slots_count = 64;
    while (slots_count < t->count * 2)
        slots_count *= 2;
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    v->lines = calloc(t->count + 1, sizeof *v->lines);
    v->line_count = 0;
    if (t->histogram)
        v->histograms = calloc((t->count + 1) * PLUMB_ACT_BINS, sizeof *v->histograms);
    if (!slots || !v->lines || (t->histogram && !v->histograms)) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (!v->taken[t->module[i]])
            continue;
        size_t at = slot_of(v, slots, slots_count - 1, i, by_step);
        if (!slots[at]) {
            begin_line(&v->lines[v->line_count], (uint32_t)i);
            v->lines[v->line_count].place = (uint32_t)v->line_count;
            slots[at] = (uint32_t)++v->line_count;
        }
        add_record(&v->lines[slots[at] - 1], t, i);
        if (v->histograms)
            add_histogram(v, &v->lines[slots[at] - 1], i);
    }
    free(slots);
    return true;
}

static int by_layer(const void *a, const void *b, void *arg)
{
    const struct plumb_act_line *x = a;
    const struct plumb_act_line *y = b;
    const uint32_t *order = arg;
    if (order[x->first] != order[y->first])
        return order[x->first] < order[y->first] ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Steps of one layer come together, each with the abs_mean of the one before. */
static bool group_by_layer(struct plumb_act_view *v)
{
    const struct plumb_activations *t = v->t;
    struct plumb_act_line *steps = v->lines;
    size_t step_count = v->line_count;
    uint32_t *order = calloc(t->count + 1, sizeof *order);
    size_t slots_count = 64;
    while (slots_count < step_count * 2)
        slots_count *= 2;
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    bool good = order && slots;
    for (size_t i = 0; good && i < step_count; i++) {
        size_t at = slot_of(v, slots, slots_count - 1, steps[i].first, false);
        if (!slots[at])
            slots[at] = (uint32_t)i + 1;
        order[steps[i].first] = slots[at];
    }
    if (good && step_count)
        qsort_r(steps, step_count, sizeof *steps, by_layer, order);
    for (size_t i = 1; good && i < step_count; i++)
        if (same_layer(t, steps[i].first, steps[i - 1].first))
            steps[i].before = size_of(&steps[i - 1]);
    free(order);
    free(slots);
    return good;
}

double plumb_act_change(const struct plumb_act_line *l)
{
    double change = 100 * (size_of(l) - l->before) / l->before;
    return isfinite(change) ? change : (double)NAN;
}

/* ---- What is shown --------------------------------------------------------------------------- */

/* Which modules are shown, and how many there are. */
static int take_modules(struct plumb_act_view *v, plumb_error *err)
{
    struct plumb_pattern wanted;
    bool any = false;
    const char *pattern = v->o->module ? v->o->module : "";
    int rc = plumb_pattern_init(&wanted, pattern, err);
    if (rc < 0)
        return rc;
    v->taken = calloc(v->t->text_count + 1, sizeof *v->taken);
    bool *met = calloc(v->t->text_count + 1, sizeof *met);
    for (size_t i = 0; v->taken && met && i < v->t->count; i++) {
        uint32_t id = v->t->module[i];
        if (met[id])
            continue;
        met[id] = true;
        v->modules++;
        v->taken[id] = plumb_pattern_matches(&wanted, plumb_activations_text(v->t, id));
        any |= v->taken[id];
    }
    if (!v->taken || !met)
        rc = no_memory(err);
    else if (!any)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no module of '%s' matches '%s'", v->t->path,
                        pattern);
    free(met);
    plumb_pattern_fini(&wanted);
    return rc;
}

/* Those of other modules go. */
static void keep_suspects(struct plumb_act_view *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->suspects.count; i++)
        if (v->taken[v->t->module[v->suspects.at[i].first]])
            v->suspects.at[kept++] = v->suspects.at[i];
    v->suspects.count = kept;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int count_steps(struct plumb_act_view *v, plumb_error *err)
{
    const struct plumb_activations *t = v->t;
    int64_t *steps = malloc((t->count + 1) * sizeof *steps);
    size_t n = 0;
    if (!steps)
        return no_memory(err);
    for (size_t i = 0; i < t->count; i++)
        if (plumb_activations_has(t, i, PLUMB_ACT_STEP) && (n == 0 || steps[n - 1] != t->step[i]))
            steps[n++] = t->step[i];
    if (n)
        qsort(steps, n, sizeof *steps, by_number);
    for (size_t i = 0; i < n; i++)
        v->seen_steps += i == 0 || steps[i] != steps[i - 1];
    free(steps);
    return PLUMB_OK;
}

int plumb_act_group(struct plumb_act_view *v, plumb_error *err)
{
    bool steps = v->o->kind == PLUMB_ACTIVATIONS_STEPS;
    int rc;
    if ((rc = take_modules(v, err)) < 0 || (rc = count_steps(v, err)) < 0 ||
        (rc = plumb_suspects_find(&v->suspects, v->t, err)) < 0)
        return rc;
    keep_suspects(v);
    return make_lines(v, steps) && (!steps || group_by_layer(v)) ? PLUMB_OK : no_memory(err);
}

void plumb_act_ungroup(struct plumb_act_view *v)
{
    plumb_suspects_fini(&v->suspects);
    free(v->lines);
    free(v->histograms);
    free(v->taken);
}
