/* anchors.c: see anchors.h. */
#include "collect/opencl/anchors.h"

static uint64_t width(const struct plumb_ocl_interval *i)
{
    return i->latest - i->earliest;
}

static bool take(struct plumb_ocl_anchors *a, const struct plumb_ocl_interval *i,
                 struct plumb_ocl_interval *out)
{
    *out = *i;
    a->last = *out;
    a->any = true;
    a->has_best = false;
    return true;
}

/* Whether the rate between both is known well enough. */
static bool are_apart(const struct plumb_ocl_interval *early, const struct plumb_ocl_interval *late)
{
    uint64_t apart = late->earliest > early->latest ? late->earliest - early->latest : 0;
    uint64_t error = width(early) / 2 + width(late) / 2;
    return error <= apart / (1000000 / PLUMB_OCL_ANCHOR_PPM);
}

bool plumb_ocl_anchors_offer(struct plumb_ocl_anchors *a, const struct plumb_ocl_interval *i,
                             struct plumb_ocl_interval *out)
{
    if (i->source == 0 || i->latest < i->earliest)
        return false;
    if (!a->any)
        return take(a, i, out);
    /* Commands complete in any order; anchors go forward. */
    if (i->source <= a->last.source)
        return false;
    if (width(i) <= width(&a->last) / 8)
        return take(a, i, out);
    if (are_apart(&a->last, i) && (!a->has_best || width(i) <= width(&a->best))) {
        a->best = *i;
        a->has_best = true;
    }
    return a->has_best && i->source - a->last.source >= PLUMB_OCL_ANCHOR_NS &&
           take(a, &a->best, out);
}

bool plumb_ocl_anchors_flush(struct plumb_ocl_anchors *a, struct plumb_ocl_interval *out)
{
    return a->has_best && take(a, &a->best, out);
}
