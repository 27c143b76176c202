/* parts.h: parts of a tensor as one record. For joins.c. */
#ifndef PLUMB_ANALYZE_DIVERGE_PARTS_H
#define PLUMB_ANALYZE_DIVERGE_PARTS_H

#include "analyze/diverge/diverge.h"

/* Sites: the parts of one side, the whole of the other. */
struct plumb_parts {
    uint32_t whole;
    uint32_t parts[PLUMB_DIVERGE_PARTS];
    uint32_t count;
    int dimension; /* in which the parts follow each other; -1: not a single one */
    bool stacked;  /* which the parts do not have */
};

/* Whether their records come in the same steps and calls. */
bool plumb_parts_in_step(const struct plumb_diverge *d, int side, const struct plumb_parts *p);
/* Finds `dimension` and `stacked`. */
void plumb_parts_shape(const struct plumb_diverge *d, int side, struct plumb_parts *p);
/* Whether the first, a middle and the last record of the whole have the statistics of the parts
 * together. At least two figures that are not zero must agree; without a dimension four, or the
 * hash. */
bool plumb_parts_agree(const struct plumb_diverge *d, int side, const struct plumb_parts *p);
/* Makes d->made[side], and the names of d->joins of that side. PLUMB_ERR_MEMORY. */
int plumb_parts_make(struct plumb_diverge *d, int side, plumb_error *err);

#endif
