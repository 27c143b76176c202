/* values.c: the values of pairs that both sides stored. Statistics that agree prove little
 * about them: heads that were swapped, or signs, leave every mean as it was. So a pair whose values
 * are apart is wrong, whatever its statistics say. */
#include <math.h>
#include <stdlib.h>

#include "analyze/diverge/diverge.h"
#include "base/error.h"

static const struct plumb_activation_ref *ref_of(const struct plumb_activations *t, uint32_t record)
{
    uint32_t ref = t->ref && record != PLUMB_DIVERGE_NONE ? t->ref[record] : 0;
    return ref > 0 && ref < t->ref_count ? &t->refs[ref] : NULL;
}

static struct plumb_diverge_tensor *add(struct plumb_diverge *d)
{
    if (d->tensor_count == d->tensor_cap) {
        size_t cap = d->tensor_cap ? d->tensor_cap * 2 : 64;
        struct plumb_diverge_tensor *moved = realloc(d->tensors, cap * sizeof *moved);
        if (!moved)
            return NULL;
        d->tensors = moved;
        d->tensor_cap = cap;
    }
    return &d->tensors[d->tensor_count++];
}

int plumb_diverge_read_values(struct plumb_diverge *d, plumb_error *err)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    for (uint32_t i = 0; a->t->ref && tb->ref && i < a->t->count; i++) {
        const struct plumb_activation_ref *in_a = ref_of(a->t, i);
        const struct plumb_activation_ref *in_b = ref_of(tb, a->partner[i]);
        if (!in_a || !in_b)
            continue;
        struct plumb_diverge_tensor *tensor = add(d);
        if (!tensor)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for full tensors");
        *tensor = (struct plumb_diverge_tensor){.a = i};
        tensor->compared =
            plumb_tensor_diff(&tensor->diff, a->t, in_a, tb, in_b,
                              plumb_diverge_tolerance(d, i, a->partner[i]), &tensor->why) == 0;
    }
    return PLUMB_OK;
}

const struct plumb_diverge_tensor *plumb_diverge_tensor_of(const struct plumb_diverge *d,
                                                           uint32_t a)
{
    size_t low = 0;
    size_t high = d->tensor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->tensors[middle].a < a)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->tensor_count && d->tensors[low].a == a ? &d->tensors[low] : NULL;
}

/* Wrong by `relative`, where `allowed` is right. */
static void blame(struct plumb_diverge_cell *cell, uint8_t field, double relative, double allowed)
{
    cell->verdict = PLUMB_SAID_DIFFERENT;
    cell->field = field;
    cell->drift = (float)relative;
    cell->excess = allowed > 0 ? (float)(relative / allowed) : INFINITY;
}

/* Infinite where a NaN or an infinity is not on both sides. Else the mean difference of samples
 * over the mean magnitude of the tensors, or of the samples where that is larger; 0: nothing can be
 * said. */
static double apart(const struct plumb_diverge *d, uint32_t a, uint32_t b, double *difference)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    size_t na;
    size_t nb;
    const double *x = plumb_activations_list(ta, ta->sample, a, &na);
    const double *y = plumb_activations_list(tb, tb->sample, b, &nb);
    double sum = 0;
    double magnitude = 0;
    size_t n = 0;
    for (size_t i = 0; na == nb && i < na; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i])))
                continue;
            *difference = INFINITY;
            return INFINITY;
        }
        sum += fabs(x[i] - y[i]);
        magnitude += fabs(x[i]);
        n++;
    }
    if (n < 2)
        return 0;
    double mean = plumb_activations_stat(ta, a, PLUMB_ACT_ABS_MEAN);
    magnitude = fmax(magnitude / (double)n, isfinite(mean) ? mean : 0);
    *difference = sum / (double)n;
    return magnitude > 0 ? *difference / magnitude : 0;
}

static bool same_list(const struct plumb_activations *ta, const uint32_t *of_a, uint32_t a,
                      const struct plumb_activations *tb, const uint32_t *of_b, uint32_t b)
{
    size_t na;
    size_t nb;
    const double *x = plumb_activations_list(ta, of_a, a, &na);
    const double *y = plumb_activations_list(tb, of_b, b, &nb);
    for (size_t i = 0; na == nb && i < na; i++)
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

static bool same_lists(const struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    return same_list(ta, ta->sample, a, tb, tb->sample, b) &&
           same_list(ta, ta->histogram, a, tb, tb->histogram, b);
}

void plumb_diverge_weigh_values(struct plumb_diverge *d, uint32_t a,
                                struct plumb_diverge_cell *cell)
{
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[a];
    const struct plumb_diverge_tensor *tensor = plumb_diverge_tensor_of(d, a);
    bool stored = tensor && tensor->compared;
    cell->exact = cell->exact && !(stored && tensor->diff.unequal > 0) && same_lists(d, a, b);
    bool odd = stored && tensor->diff.odd > 0 && cell->verdict == PLUMB_SAID_SHUFFLED;
    if ((!stored && !d->sides[PLUMB_DIVERGE_A].t->sample) ||
        (cell->verdict != PLUMB_SAID_EQUAL && cell->verdict != PLUMB_SAID_CLOSE && !odd))
        return;
    struct plumb_tolerance t = plumb_diverge_tolerance(d, a, b);
    double allowed = t.relative * PLUMB_TOLERANCE_VALUES;
    double difference = stored ? tensor->diff.mean : 0;
    double relative = stored ? tensor->diff.relative : apart(d, a, b, &difference);
    if (stored && tensor->diff.odd > 0)
        relative = difference = INFINITY;
    if (relative > allowed && difference > t.absolute)
        blame(cell, stored ? PLUMB_DIVERGE_BY_VALUES : PLUMB_DIVERGE_BY_SAMPLE, relative, allowed);
}

/* ---- Magnitudes ------------------------------------------------------------------------------ */

static double total_of(const double *counts, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += counts[i];
    return total;
}

double plumb_diverge_moved(const struct plumb_diverge *d, uint32_t a, uint32_t b, int *from,
                           int *to)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    size_t na;
    size_t nb;
    const double *x = plumb_activations_list(ta, ta->histogram, a, &na);
    const double *y = plumb_activations_list(tb, tb->histogram, b, &nb);
    double nx = total_of(x, na);
    double ny = total_of(y, nb);
    double moved = 0;
    double most[2] = {0, 0};
    if (na != nb || !(nx > 0) || !(ny > 0))
        return (double)NAN;
    for (size_t i = 0; i < na; i++) {
        double gain = y[i] / ny - x[i] / nx;
        moved += fabs(gain) / 2;
        if (from && -gain > most[0]) {
            most[0] = -gain;
            *from = (int)i;
        }
        if (to && gain > most[1]) {
            most[1] = gain;
            *to = (int)i;
        }
    }
    return moved;
}
