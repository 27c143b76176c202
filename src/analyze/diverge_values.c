/* diverge_values.c: the values of pairs that both sides stored. Statistics that agree prove little
 * about them: heads that were swapped, or signs, leave every mean as it was. So a pair whose values
 * are apart is wrong, whatever its statistics say. */
#include <math.h>
#include <stdlib.h>

#include "analyze/diverge.h"
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

void plumb_diverge_weigh_values(struct plumb_diverge *d, uint32_t a,
                                struct plumb_diverge_cell *cell)
{
    const struct plumb_diverge_tensor *tensor = plumb_diverge_tensor_of(d, a);
    if (!tensor || !tensor->compared ||
        (cell->verdict != PLUMB_SAID_EQUAL && cell->verdict != PLUMB_SAID_CLOSE))
        return;
    double allowed = plumb_diverge_tolerance(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]).relative *
                     PLUMB_TOLERANCE_VALUES;
    if (!(tensor->diff.relative > allowed))
        return;
    cell->verdict = PLUMB_SAID_DIFFERENT;
    cell->field = PLUMB_DIVERGE_BY_VALUES;
    cell->drift = (float)tensor->diff.relative;
    cell->excess = allowed > 0 ? (float)(tensor->diff.relative / allowed) : INFINITY;
}
