/* evidence.c: see evidence.h. */
#include "analyze/diverge/evidence.h"

#include <math.h>

enum { DECADES = 4 };
static const float FAINT = 0.05F;  /* less is chance */
static const float SCALED = 0.95F; /* all the same but for one factor */

float plumb_evidence_closeness(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct plumb_diverge_cell cell = plumb_diverge_compare(d, a, b);
    if (cell.verdict == PLUMB_SAID_NAN || cell.verdict == PLUMB_SAID_INF)
        cell = plumb_diverge_compare_finite(d, a, b);
    if (cell.verdict == PLUMB_SAID_NOTHING || cell.verdict >= PLUMB_SAID_SHAPE)
        return 0;
    if (cell.verdict != PLUMB_SAID_DIFFERENT)
        return 1;
    if (plumb_diverge_looks_scaled(d, a, b))
        return SCALED;
    float closeness = 1 - log10f(cell.excess) / DECADES;
    return closeness > FAINT ? closeness : 0;
}

/* 0: forbidden. */
static float weight_of_shapes(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    switch (plumb_diverge_shapes(d, a, b)) {
    case PLUMB_SHAPES_SAME:
        return 1.0F;
    case PLUMB_SHAPES_PERMUTED:
        return 0.8F;
    case PLUMB_SHAPES_RESHAPED:
        return 0.5F;
    case PLUMB_SHAPES_UNKNOWN:
        return 0.3F;
    default:
        return 0;
    }
}

float plumb_evidence_of_sites(struct plumb_diverge *d, const struct plumb_diverge_site *a,
                              const struct plumb_diverge_site *b, float *shapes)
{
    const uint32_t *in_a = d->sides[PLUMB_DIVERGE_A].records + a->begin;
    const uint32_t *in_b = d->sides[PLUMB_DIVERGE_B].records + b->begin;
    uint32_t n = a->count < b->count ? a->count : b->count;
    float best = 0;
    if (a->io != b->io || a->rank != b->rank)
        return -1;
    *shapes = weight_of_shapes(d, in_a[0], in_b[0]);
    if (*shapes <= 0)
        return -1;
    for (uint32_t i = 0; i < 3 && best < 1; i++) {
        uint32_t k = i == 0 ? 0 : i == 1 ? n / 2 : n - 1;
        if (i > 0 && k == 0)
            continue;
        float closeness = plumb_evidence_closeness(d, in_a[k], in_b[k]);
        best = closeness > best ? closeness : best;
    }
    return best;
}

float plumb_evidence_share(struct plumb_diverge *d, const struct plumb_diverge_site *a,
                           const struct plumb_diverge_site *b)
{
    enum { LOOKS = 8 };
    const uint32_t *in_a = d->sides[PLUMB_DIVERGE_A].records + a->begin;
    const uint32_t *in_b = d->sides[PLUMB_DIVERGE_B].records + b->begin;
    uint32_t n = a->count < b->count ? a->count : b->count;
    uint32_t looks = n < LOOKS ? n : LOOKS;
    uint32_t agreed = 0;
    for (uint32_t i = 0; i < looks; i++) {
        uint32_t k = looks > 1 ? (uint32_t)((uint64_t)i * (n - 1) / (looks - 1)) : 0;
        agreed += plumb_evidence_closeness(d, in_a[k], in_b[k]) >= 1;
    }
    return (float)agreed / (float)looks;
}

float plumb_evidence_of_records(void *diverge, uint32_t a, uint32_t b)
{
    struct plumb_diverge *d = diverge;
    float shapes = weight_of_shapes(d, a, b);
    return shapes > 0 ? shapes + 4 * plumb_evidence_closeness(d, a, b) : 0;
}
