/* tensor_fixture.h: descriptors of tensors for tests, made with the header of DLPack that is
 * installed, so that each test is one of the layout too. */
#ifndef TESTS_TENSOR_FIXTURE_H
#define TESTS_TENSOR_FIXTURE_H

#include <stdint.h>
#include <string.h>

#include <dlpack/dlpack.h>

#include "tensor/dtype.h"

enum { FIXTURE_DIMS = 64 };

struct fixture_tensor {
    DLTensor dl;
    int64_t shape[FIXTURE_DIMS];
    int64_t strides[FIXTURE_DIMS];
};

/* A compact tensor on the host; `shape` ends with -1. */
static inline DLTensor *fixture_tensor(struct fixture_tensor *t, void *data, const char *dtype,
                                       const int64_t *shape)
{
    struct plumb_dtype type = {0, 0, 0};
    memset(t, 0, sizeof *t);
    plumb_dtype_parse(&type, dtype, NULL);
    t->dl.data = data;
    t->dl.device.device_type = kDLCPU;
    t->dl.dtype = (DLDataType){type.code, type.bits, type.lanes};
    while (shape[t->dl.ndim] >= 0) {
        t->shape[t->dl.ndim] = shape[t->dl.ndim];
        t->dl.ndim++;
    }
    t->dl.shape = t->shape;
    return &t->dl;
}

/* The same with strides, one for each dimension. */
static inline DLTensor *fixture_strided(struct fixture_tensor *t, void *data, const char *dtype,
                                        const int64_t *shape, const int64_t *strides)
{
    fixture_tensor(t, data, dtype, shape);
    memcpy(t->strides, strides, (size_t)t->dl.ndim * sizeof *strides);
    t->dl.strides = t->strides;
    return &t->dl;
}

/* DIMS(2, 3): the list that the functions above take. */
#define DIMS(...) ((const int64_t[]){__VA_ARGS__, -1})
#define NO_DIMS ((const int64_t[]){-1})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

#endif
