/* span_pairs.c: see span_pairs.h. */
#include "record/span/span_pairs.h"

#include "base/stats/sketch.h"

void plumb_leaves_scalar(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs)
{
    out->total = out->max = out->last = 0;
    out->min = UINT64_MAX;
    out->squares = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t begin = plumb_record_ticks(words[2 * i]),
                 end = plumb_record_ticks(words[2 * i + 1]), d = end > begin ? end - begin : 0;
        out->total += d;
        out->squares += (plumb_u128)d * d;
        out->min = d < out->min ? d : out->min;
        out->max = d > out->max ? d : out->max;
        out->last = d;
        out->index[i] = plumb_sketch_index(d);
    }
}

plumb_leaves_fn *plumb_leaves_pick(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init(); /* the compiler's own constructor may not have run yet */
    if (__builtin_cpu_supports("avx2"))
        return plumb_leaves_avx2;
#endif
    return plumb_leaves_scalar;
}
