/* The small neural-network runtime below the models: tensors in an arena, and one oneDNN engine.
 *
 * Everything is on the CPU. Activations are kept in the precision that nn_init() is given; biases
 * and whatever is computed on the side are float32. All functions are for one thread; oneDNN itself
 * spreads each primitive over its OpenMP threads.
 *
 * Errors stick. A model is a long chain of operations, and a check after each would hide the
 * mathematics. So the first failure is kept with its reason, every later operation does nothing,
 * and the end of a stage asks nn_failed() once. Code that touches `data` itself asks first. */
#ifndef TEXT_TO_VIDEO_NN_H
#define TEXT_TO_VIDEO_NN_H

#include "element.h"

#include <dlpack/dlpack.h>
#include <dnnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if DNNL_VERSION_MAJOR != 2
#error "this example is written for the C API of oneDNN 2.x (Debian 12: libdnnl-dev)"
#endif

/* A view: it never owns `data`. Strides count elements. The arrays are as long as oneDNN reads. */
struct tensor {
    int ndims;
    dnnl_dims_t dims;
    dnnl_dims_t strides;
    void *data;
    enum element type;
};

struct nn_chunk;

struct fault;

enum { NN_NAME_BYTES = 64, NN_MAX_DEPTH = 8 };

/* A tensor of a model by its name, "dit.3.mlp.up.weight". */
struct nn_parameter {
    char name[NN_NAME_BYTES];
    struct tensor tensor;
};

struct nn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    enum element activations, weights; /* what they are kept in */
    bool rounds; /* oneDNN does not compute in `activations`: float32 does, and is rounded to it */
    struct nn_chunk *chunks;  /* the arena: a list that only grows */
    struct nn_chunk *current; /* allocations come from here */
    void **tensors;           /* that are in use, in the order they were made: plumb follows each */
    size_t tensor_count, tensor_room;
    struct nn_parameter *parameters; /* in the order they were named */
    size_t parameter_count, parameter_room;
    const char *modules[NN_MAX_DEPTH]; /* that are entered (module.h) */
    int depth;
    int step;            /* of the sampler; -1 outside of its steps */
    struct fault *fault; /* NULL: none is planted (fault.h) */
    uint64_t flops;      /* of all matrix products and convolutions so far */
    char error[192];     /* empty while all is well */
};

/* Where the arena stood; see nn_mark(). */
struct nn_mark {
    struct nn_chunk *chunk;
    size_t used_bytes;
    size_t tensors;
};

/* `nn` is the caller's memory. ELEMENT_BF16: activations and weights are bfloat16, and oneDNN
 * computes in it where the processor can. ELEMENT_F16: activations are rounded to float16, and the
 * weights are float32. On failure the reason is in nn->error; nn_fini() is right either way. */
int nn_init(struct nn *nn, enum element precision);
void nn_fini(struct nn *nn);

bool nn_failed(const struct nn *nn);

/* Keeps the first reason only; those that follow are its consequences. */
void nn_fail(struct nn *nn, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails with `what` in the reason unless all elements of the row-major `t` are finite. */
void nn_check_finite(struct nn *nn, const struct tensor *t, const char *what);

/* A row-major tensor from the arena, not cleared: of activations, or of the type that is named.
 * When memory is short, nn fails and `data` is NULL. */
struct tensor nn_tensor(struct nn *nn, int ndims, const int64_t *dims);
struct tensor nn_tensor_of(struct nn *nn, enum element type, int ndims, const int64_t *dims);
struct tensor nn_matrix(struct nn *nn, int64_t rows, int64_t columns);

/* Keeps `model`.`part` as the name of a tensor that is never given back. */
void nn_name(struct nn *nn, const char *model, const char *part, const struct tensor *t);

/* Tensors made after nn_mark() are given back together by nn_release(): the scratch memory of a
 * forward pass. Marks nest. */
struct nn_mark nn_mark(const struct nn *nn);
void nn_release(struct nn *nn, struct nn_mark mark);

int64_t tensor_count(const struct tensor *t);

/* Element `i` of a row-major tensor. */
static inline float tensor_get(const struct tensor *t, int64_t i)
{
    return element_get(t->type, t->data, i);
}
static inline void tensor_put(const struct tensor *t, int64_t i, float value)
{
    element_put(t->type, t->data, i, value);
}

/* Elements [first, first + n) of a one-row matrix, as a vector. */
struct tensor tensor_part(const struct tensor *row, int64_t first, int64_t n);

/* Columns [first, first + heads * width) of a matrix, as [heads][rows][width]: how attention looks
 * at packed queries, keys or values, without a copy. */
struct tensor tensor_heads(const struct tensor *matrix, int64_t first, int64_t heads,
                           int64_t width);

/* Describes a tensor as other libraries do, so that plumb can record it. Borrows `t` for the shape
 * and the strides. */
DLTensor tensor_dlpack(struct tensor *t);

/* The same data with the last two axes exchanged. */
struct tensor tensor_transposed(const struct tensor *t);

#endif
