/* view.h: reading a tensor that a program describes with a DLTensor.
 *
 * The descriptor is given as `const void *` and read by the layout that DLPack froze, so that
 * libplumb is built without any header of it. Nothing is owned or written: a view borrows the shape
 * and the strides, and lives as long as they do. Any thread. */
#ifndef PLUMB_TENSOR_VIEW_H
#define PLUMB_TENSOR_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

enum { PLUMB_VIEW_MAX_DIMS = 64 }; /* as PyTorch and NumPy 2 have it */

struct plumb_view {
    const unsigned char *data; /* of the first element; NULL: there is nothing to read */
    struct plumb_dl_device device;
    struct plumb_dtype dtype;
    int32_t ndim;
    const int64_t *shape;   /* [ndim] */
    const int64_t *strides; /* [ndim], in elements; NULL: compact, row-major */
    uint64_t count;         /* elements: the product of the shape, 1 without dimensions */
    uint64_t bytes; /* of the elements, packed (dtype.h); what lies between is not counted */
};

/* Describes the DLTensor at `tensor`. A descriptor with 0 dimensions, with no elements, without
 * data or on any device is fine. PLUMB_ERR_ARG, and `out` is untouched: no descriptor; fewer than 0
 * or more than 64 dimensions; no shape; a negative one; elements of 0 bits; more than INT64_MAX
 * bytes of elements; an address or a distance that does not fit into the address space. */
int plumb_view_init(struct plumb_view *out, const void *tensor, plumb_error *err);

/* Whether the elements lie row-major without gaps, whatever the strides of dimensions of size 1. */
bool plumb_view_is_compact(const struct plumb_view *view);

/* Sets the bytes that the elements span, from the lowest to the highest address, and how many of
 * them lie below the first element (with negative strides). False: there are no elements, they do
 * not fill whole bytes, or they span more than INT64_MAX. */
bool plumb_view_span(const struct plumb_view *view, uint64_t *below, uint64_t *bytes);

/* PLUMB_OK when the host can read the elements in place: it has an address, memory that is the
 * host's, and elements of whole bytes, or has no elements. Else PLUMB_ERR_ARG and why not. */
int plumb_view_readable(const struct plumb_view *view, plumb_error *err);

/* A walk over the memory of a view for what does not depend on the order of elements: statistics,
 * searches. Dimensions are turned to rising addresses, sorted by stride and joined where one
 * continues another, so a transposed or reversed tensor is one run. Dimensions of stride 0 are left
 * out: each scalar stands for `repeat` ones. The lanes of vector elements are scalars of their own.
 * Over all runs: runs * run_length * repeat = count * lanes. */
struct plumb_walk {
    const unsigned char *at;   /* the first scalar of the current run */
    uint64_t run_length;       /* scalars of a run; 0: there are none, and no run */
    uint64_t run_stride_bytes; /* from one scalar of a run to the next */
    uint64_t repeat;           /* at least 1 */
    int outer;                 /* dimensions of the loop over runs; the last one turns fastest */
    int64_t size[PLUMB_VIEW_MAX_DIMS + 1];
    int64_t stride_bytes[PLUMB_VIEW_MAX_DIMS + 1];
    int64_t index[PLUMB_VIEW_MAX_DIMS + 1];
};

/* Stands at the first run. `view` must be readable. */
void plumb_walk_init(struct plumb_walk *walk, const struct plumb_view *view);
/* On to the next run; after the last one false, and it stands at the first again. */
bool plumb_walk_next(struct plumb_walk *walk);

#endif
