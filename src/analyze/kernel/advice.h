/* advice.h: five symptoms of slow pipelines, recognised in the kernels of a trace, each with its
 * cause and its cure. A rule is a comparison of figures of the trace with thresholds, which its
 * text states; the evidence has the figures that it found. Any thread; no state. */
#ifndef PLUMB_ANALYZE_KERNEL_ADVICE_H
#define PLUMB_ANALYZE_KERNEL_ADVICE_H

#include "analyze/kernel/kernels.h"
#include "base/buf.h"

enum plumb_advice_id {
    PLUMB_ADVICE_FUSE = 0,
    PLUMB_ADVICE_FLOAT64 = 1,
    PLUMB_ADVICE_REPLAY = 2,
    PLUMB_ADVICE_BATCH = 3,
    PLUMB_ADVICE_THRESHOLD = 4,
    PLUMB_ADVICES = 5,
};

struct plumb_advice_text {
    const char *id; /* of scripts; never changes */
    const char *symptom, *rule, *cause, *cure;
};
const struct plumb_advice_text *plumb_advice_text(enum plumb_advice_id id);

/* The figures that were found of each symptom; "": its rule does not hold. */
struct plumb_advices {
    struct plumb_buf evidence[PLUMB_ADVICES];
};
/* PLUMB_ERR_MEMORY. Cost: O(n) in the slices. */
int plumb_advices_init(struct plumb_advices *out, const struct plumb_kernels *k, plumb_error *err);
void plumb_advices_fini(struct plumb_advices *a);
static inline const char *plumb_advices_evidence(const struct plumb_advices *a,
                                                 enum plumb_advice_id id)
{
    return a->evidence[id].len ? a->evidence[id].data : NULL;
}

#endif
