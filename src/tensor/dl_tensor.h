/* dl_tensor.h: how a DLTensor lies in memory: the same in every DLPack since 0.2, and frozen by its
 * ABI. Ours, so that plumb is built without a header of DLPack; a test compares the two. */
#ifndef PLUMB_TENSOR_DL_TENSOR_H
#define PLUMB_TENSOR_DL_TENSOR_H

#include <stdint.h>

#include "tensor/dtype.h"

struct plumb_dl_tensor {
    void *data;
    struct plumb_dl_device device;
    int32_t ndim;
    struct plumb_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

#endif
