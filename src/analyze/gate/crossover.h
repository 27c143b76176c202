/* crossover.h: the size from which on one of two variants is faster. No state; any thread. */
#ifndef PLUMB_ANALYZE_GATE_CROSSOVER_H
#define PLUMB_ANALYZE_GATE_CROSSOVER_H

#include "analyze/gate/judge.h"

struct plumb_gate_size { /* of a sweep: samples that were measured in turn */
    uint64_t size;
    const double *a, *b; /* [count] */
    size_t count;
    double resolution; /* of each, relative */
};

struct plumb_gate_crossing {
    uint64_t threshold; /* least size at which, and at all larger ones, B has the smaller median; 0:
                           there is none */
    double estimate;    /* where the ratio of medians becomes 1, between two sizes; NaN */
    uint64_t from, to;  /* the threshold lies between them, from the noise: `from` follows the last
                           size at which A is faster for certain; at `to` and above B is. 0: B is
                           not, at the largest size */
};

/* `points` [n] rise in size. PLUMB_ERR_MEMORY. */
int plumb_gate_find_crossover(struct plumb_gate_crossing *out, const struct plumb_gate_size *points,
                              size_t n, plumb_error *err);

#endif
