/* roofline.c: the position of a kernel under the two roofs, and its verdict. */
#include "analyze/roofline/roofline.h"

#include <math.h>
#include <string.h>

static const char *const verdict_names[] = {
    [PLUMB_ROOF_UNKNOWN] = "unknown",
    [PLUMB_ROOF_MEMORY] = "memory_bound",
    [PLUMB_ROOF_COMPUTE] = "compute_bound",
    [PLUMB_ROOF_LATENCY] = "latency_bound",
};

const char *plumb_roof_verdict_name(enum plumb_roof_verdict verdict)
{
    return verdict_names[verdict];
}

enum plumb_peak_type plumb_first_type(const char *dtypes)
{
    while (*dtypes) {
        size_t n = strcspn(dtypes, ",;:_ []()");
        enum plumb_peak_type type = plumb_peak_type_of(dtypes, n);
        if (type != PLUMB_PEAK_TYPES)
            return type;
        dtypes += n + (dtypes[n] != 0);
    }
    return PLUMB_PEAK_TYPES;
}

static double known(double value)
{
    return value >= 0 ? value : (double)NAN;
}

static double peak_of(const struct plumb_peak *p)
{
    return p->rate > 0 ? p->rate : (double)NAN;
}

static void unknown(struct plumb_roof *r, enum plumb_roof_why why)
{
    r->verdict = PLUMB_ROOF_UNKNOWN;
    r->why = why;
}

static void judge_memory(struct plumb_roof *r, enum plumb_roof_verdict below,
                         enum plumb_roof_why why)
{
    if (r->memory_share > PLUMB_ROOF_BEYOND && r->compute_share >= PLUMB_ROOF_SHARE)
        r->verdict = PLUMB_ROOF_COMPUTE;
    else if (r->memory_share > PLUMB_ROOF_BEYOND)
        unknown(r, PLUMB_ROOF_CACHED);
    else if (r->memory_share >= PLUMB_ROOF_SHARE)
        r->verdict = PLUMB_ROOF_MEMORY;
    else
        r->verdict = below, r->why = why;
}

static void judge(struct plumb_roof *r, const struct plumb_roof_point *p)
{
    if (p->total_ns == 0)
        unknown(r, PLUMB_ROOF_NO_TIME);
    else if (r->compute_share >= PLUMB_ROOF_SHARE && !(r->intensity < r->ridge))
        r->verdict = PLUMB_ROOF_COMPUTE;
    else if (isnan(r->bytes_rate))
        unknown(r, p->flops < 0                  ? PLUMB_ROOF_NO_FLOPS
                   : p->type == PLUMB_PEAK_TYPES ? PLUMB_ROOF_NO_TYPE
                   : isnan(r->peak_flops)        ? PLUMB_ROOF_NO_PEAK
                                                 : PLUMB_ROOF_NO_BYTES);
    else if (isnan(r->memory_share))
        unknown(r, PLUMB_ROOF_NO_PEAK);
    else if (isnan(r->compute_share))
        judge_memory(r, PLUMB_ROOF_UNKNOWN,
                     p->flops < 0                  ? PLUMB_ROOF_NO_FLOPS
                     : p->type == PLUMB_PEAK_TYPES ? PLUMB_ROOF_NO_TYPE
                                                   : PLUMB_ROOF_NO_PEAK);
    else if (r->intensity < r->ridge)
        judge_memory(r, PLUMB_ROOF_LATENCY, PLUMB_ROOF_NONE);
    else
        r->verdict = PLUMB_ROOF_LATENCY;
}

struct plumb_roof plumb_roof_of(const struct plumb_roof_point *point,
                                const struct plumb_peaks *peaks, enum plumb_peak_span span)
{
    struct plumb_roof r = {.verdict = PLUMB_ROOF_UNKNOWN};
    double seconds = (double)point->total_ns * 1e-9;
    r.peak_bytes = peak_of(&peaks->bandwidth[span]);
    r.peak_flops =
        point->type < PLUMB_PEAK_TYPES ? peak_of(&peaks->compute[point->type][span]) : (double)NAN;
    r.flops_rate = point->total_ns ? known(point->flops) / seconds : (double)NAN;
    r.bytes_rate = point->total_ns ? known(point->bytes) / seconds : (double)NAN;
    r.intensity = point->bytes > 0 ? known(point->flops) / point->bytes : (double)NAN;
    r.ridge = r.peak_flops / r.peak_bytes;
    r.compute_share = r.flops_rate / r.peak_flops;
    r.memory_share = r.bytes_rate / r.peak_bytes;
    r.roof_flops = r.intensity < r.ridge ? r.intensity * r.peak_bytes : r.peak_flops;
    if (isnan(r.intensity))
        r.roof_flops = (double)NAN;
    judge(&r, point);
    return r;
}
