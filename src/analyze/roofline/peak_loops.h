/* peak_loops.h: the loops whose speed is a peak, one table for each instruction set. A loop of
 * arithmetic has as many independent chains as hide the latency of its instruction, works on
 * registers alone, and leaves its result in `sink` so that no compiler drops it. */
#ifndef PLUMB_ANALYZE_ROOFLINE_PEAK_LOOPS_H
#define PLUMB_ANALYZE_ROOFLINE_PEAK_LOOPS_H

#include "analyze/roofline/peaks.h"

enum { PLUMB_PEAK_SINK = 1024 }; /* bytes, aligned to 64 */

struct plumb_peak_loop {
    const char *name; /* NULL ends a table */
    enum plumb_peak_type type;
    double operations; /* in a round */
    void (*run)(uint64_t rounds, void *sink);
    bool (*has)(void); /* whether the processor has the instruction; NULL: with the table */
};
struct plumb_peak_table {
    bool (*has)(void); /* NULL: always */
    const struct plumb_peak_loop *loops;
    /* Read `n` doubles; add s * c to b. `n` is a multiple of 64, the arrays are aligned to 64. */
    void (*sum)(const double *from, size_t n, void *sink);
    void (*triad)(double *a, const double *b, const double *c, size_t n);
};

extern const struct plumb_peak_table plumb_peak_plain, plumb_peak_avx2, plumb_peak_avx512,
    plumb_peak_amx, plumb_peak_neon;

/* Table `i` that this processor can run, the widest first; NULL beyond the last. */
const struct plumb_peak_table *plumb_peak_table(unsigned i);

/* A loop of a chain of `op` on each of twelve accumulators that begin as `start`. */
#define PLUMB_PEAK_CHAINS 12
#define PLUMB_PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

#endif
