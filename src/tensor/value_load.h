/* value_load.h: values of every element type as double. Exact, but for integers beyond 2^53, which
 * are rounded; bool is 0 or 1. Pure. */
#ifndef PLUMB_TENSOR_VALUE_LOAD_H
#define PLUMB_TENSOR_VALUE_LOAD_H

#include <stdint.h>

#include "tensor/dtype.h"

/* `n` values, one every `stride_bytes`, at any address. */
typedef void plumb_load_fn(double *to, const unsigned char *from, uint64_t n,
                           uint64_t stride_bytes);

/* For scalars of `type`; NULL and PLUMB_ERR_ARG in `err`: it is complex, or unknown. */
plumb_load_fn *plumb_load_of(struct plumb_dtype type, plumb_error *err);

#endif
