/* op.h: what is known of one primitive, as plain values: what ask.c fills and work.c reads. Unused
 * bytes are 0, so that equal operations are equal bytes. */
#ifndef PLUMB_COLLECT_ONEDNN_OP_H
#define PLUMB_COLLECT_ONEDNN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/onednn/abi.h"

enum { PLUMB_ONEDNN_TENSORS = 12, PLUMB_ONEDNN_TEXT = 64 };

struct plumb_onednn_tensor {
    int32_t arg; /* enum plumb_dnnl_arg */
    int32_t ndims;
    int64_t dims[PLUMB_DNNL_DIMS];
    char type[16];         /* of an element, "f32" */
    uint64_t stored_bytes; /* of an opaque layout, whose elements do not say how large it is; 0 */
};

enum plumb_onednn_flags {
    PLUMB_ONEDNN_RUNTIME_DIMS = 1, /* the next call may have other shapes */
    PLUMB_ONEDNN_ASYNC = 2,        /* the call returns before the work is done */
    PLUMB_ONEDNN_GLOBAL_STATS = 4, /* a normalization that is given mean and variance */
    PLUMB_ONEDNN_SCALE = 8,
    PLUMB_ONEDNN_SHIFT = 16,
    PLUMB_ONEDNN_SUM = 32,     /* a post-op adds to what the destination holds */
    PLUMB_ONEDNN_FUSED = 64,   /* a post-op is a convolution of its own */
    PLUMB_ONEDNN_UNKNOWN = 128 /* a version whose interface is not known: no shapes */
};

struct plumb_onednn_op {
    char kind[32];                /* "convolution", without the "_v2" of some */
    char impl[PLUMB_ONEDNN_TEXT]; /* "jit:avx2" */
    char alg[40];                 /* "eltwise_gelu_tanh"; "": it has none */
    char prop_text[24];           /* "forward_inference"; "": it has none */
    char post[PLUMB_ONEDNN_TEXT]; /* "+sum+eltwise" */
    int32_t prop;                 /* enum plumb_dnnl_prop, 0: none */
    uint32_t flags;               /* enum plumb_onednn_flags */
    int64_t window;               /* elements of the window of a pooling; 0: unknown */
    uint32_t tensors;     /* in `tensor`, sorted: sources, weights, destinations, gradients */
    uint32_t sources;     /* of a concat or a sum */
    uint64_t other_bytes; /* of further operands, which have no place in `tensor` */
    struct plumb_onednn_tensor tensor[PLUMB_ONEDNN_TENSORS];
};

#endif
