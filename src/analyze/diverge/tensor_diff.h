/* tensor_diff.h: two stored tensors compared value by value. */
#ifndef PLUMB_ANALYZE_DIVERGE_TENSOR_DIFF_H
#define PLUMB_ANALYZE_DIVERGE_TENSOR_DIFF_H

#include <stdint.h>

#include "analyze/diverge/tolerance.h"
#include "read/activation/table.h"
#include <plumb/error.h>

enum { PLUMB_TENSOR_DIMS = 64 };

struct plumb_tensor_diff {
    uint64_t count;
    uint64_t unequal;         /* values that differ at all; two NaN are equal */
    uint64_t beyond;          /* beyond tolerance; a NaN on one side always is */
    uint64_t odd;             /* a NaN or an infinity that the other side does not have there */
    double max, mean, median; /* of the absolute differences between numbers */
    double relative;          /* mean difference over the mean magnitude of A */
    double cosine;            /* of the angle between both; NaN where one is zero */
    bool sampled;             /* `median` is that of evenly spaced values: there are too many */
    int ndim;
    int64_t first[PLUMB_TENSOR_DIMS]; /* index of the first beyond tolerance, or of the first
                                       * unequal; of B's value `first_b` where A has `first_a` */
    double first_a, first_b;
};

/* Compares the values that `a` of `ta` and `b` of `tb` refer to, in the order of their shape.
 * Reads the files in pieces: 64 MiB of memory at most. PLUMB_ERR_ARG: the shapes or their order
 * differ, or the type cannot be read; PLUMB_ERR_IO: a file is gone or has become shorter;
 * PLUMB_ERR_MEMORY. */
int plumb_tensor_diff(struct plumb_tensor_diff *out, const struct plumb_activations *ta,
                      const struct plumb_activation_ref *a, const struct plumb_activations *tb,
                      const struct plumb_activation_ref *b, struct plumb_tolerance tolerance,
                      plumb_error *err);

#endif
