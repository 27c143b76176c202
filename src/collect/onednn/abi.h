/* abi.h: the part of oneDNN's C interface that the collector uses, in our own words, so that it is
 * built without oneDNN's headers and serves both interfaces: that of 2.x (checked with 2.6.3) and
 * that of 3.x (checked with 3.2). abi_test.c compares it with the header that is installed.
 *
 * Handles and memory descriptors are opaque here, but for the beginning of a descriptor of 2.x,
 * which that interface has no query for. Names of kinds, of algorithms and of data types are asked
 * of the library, because their numbers differ between versions. */
#ifndef PLUMB_COLLECT_ONEDNN_ABI_H
#define PLUMB_COLLECT_ONEDNN_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { PLUMB_DNNL_DIMS = 12 };
#define PLUMB_DNNL_RUNTIME_DIM INT64_MIN /* a dimension that is known with the call alone */

enum plumb_dnnl_status { PLUMB_DNNL_OK = 0, PLUMB_DNNL_RUNTIME_ERROR = 5 };

enum plumb_dnnl_query { /* dnnl_query_t */
                        PLUMB_DNNL_QUERY_ENGINE = 1,
                        PLUMB_DNNL_QUERY_KIND = 2,
                        PLUMB_DNNL_QUERY_IMPL = 8,
                        PLUMB_DNNL_QUERY_PROP = 11,
                        PLUMB_DNNL_QUERY_EXEC_ARG_MD = 255,
                        /* 2.x */
                        PLUMB_DNNL2_QUERY_OP = 65,
                        /* 3.x */
                        PLUMB_DNNL3_QUERY_FLAGS = 19,
                        PLUMB_DNNL3_QUERY_ALG = 20,
                        PLUMB_DNNL3_QUERY_CELL = 28,
                        PLUMB_DNNL3_QUERY_KERNEL = 31,
                        PLUMB_DNNL3_QUERY_NDIMS = 256,
                        PLUMB_DNNL3_QUERY_DIMS = 257,
                        PLUMB_DNNL3_QUERY_DATA_TYPE = 258,
                        PLUMB_DNNL3_QUERY_FORMAT_KIND = 262
};

enum plumb_dnnl_prop { /* dnnl_prop_kind_t, of both interfaces */
                       PLUMB_DNNL_FORWARD_TRAINING = 64,
                       PLUMB_DNNL_FORWARD_INFERENCE = 96,
                       PLUMB_DNNL_BACKWARD = 128,
                       PLUMB_DNNL_BACKWARD_DATA = 160,
                       PLUMB_DNNL_BACKWARD_WEIGHTS = 192
};

enum plumb_dnnl_arg { /* DNNL_ARG_*, of both interfaces */
                      PLUMB_DNNL_SRC = 1,
                      PLUMB_DNNL_DST = 17,
                      PLUMB_DNNL_WEIGHTS = 33,
                      PLUMB_DNNL_WEIGHTS_1 = 34,
                      PLUMB_DNNL_WEIGHTS_3 = 36,
                      PLUMB_DNNL_BIAS = 41,
                      PLUMB_DNNL_MEAN = 49,
                      PLUMB_DNNL_VARIANCE = 50,
                      PLUMB_DNNL_SCALE = 51,
                      PLUMB_DNNL_SHIFT = 52,
                      PLUMB_DNNL_WORKSPACE = 64,
                      PLUMB_DNNL_SCRATCHPAD = 80,
                      PLUMB_DNNL_DIFF_SRC = 129,
                      PLUMB_DNNL_DIFF_DST = 145,
                      PLUMB_DNNL_DIFF_WEIGHTS = 161,
                      PLUMB_DNNL_DIFF_BIAS = 169,
                      PLUMB_DNNL_DIFF_SCALE = 255,
                      PLUMB_DNNL_DIFF_SHIFT = 256,
                      PLUMB_DNNL_MULTIPLE_SRC = 1024,
                      PLUMB_DNNL_MULTIPLE_END = 2048
};

enum { PLUMB_DNNL_BLOCKED = 2 };    /* dnnl_format_kind_t */
enum { PLUMB_DNNL_ENGINE_CPU = 1 }; /* dnnl_engine_kind_t */
enum { PLUMB_DNNL_RUNTIME_SYCL = 512 };

struct plumb_dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

struct plumb_dnnl_exec_arg { /* dnnl_exec_arg_t */
    int arg;
    void *memory;
};

struct plumb_dnnl_call { /* what dnnl_primitive_execute() is called with */
    const void *primitive;
    void *stream;
    int nargs;
    const struct plumb_dnnl_exec_arg *args;
};

struct plumb_dnnl2_md { /* how dnnl_memory_desc_t begins */
    int ndims;
    int64_t dims[PLUMB_DNNL_DIMS];
    int data_type;
    int64_t padded_dims[PLUMB_DNNL_DIMS], padded_offsets[PLUMB_DNNL_DIMS], offset0;
    int format_kind;
};
enum { /* bytes from the beginning of a descriptor of an operation of 2.x */
       PLUMB_DNNL2_MD_BYTES = 696,
       PLUMB_DNNL2_ALG = 8,            /* where a prop_kind comes before it */
       PLUMB_DNNL2_ALG_FIRST = 4,      /* binary, reduction */
       PLUMB_DNNL2_ALG_SOFTMAX = 1404, /* softmax_v2 */
       PLUMB_DNNL2_KERNEL = 2896,      /* pooling, pooling_v2 */
       PLUMB_DNNL2_NORM_FLAGS = 3492   /* batch and layer normalization */
};

enum { /* dnnl_normalization_flags_t */
       PLUMB_DNNL2_GLOBAL_STATS = 1,
       PLUMB_DNNL2_SCALE_SHIFT = 2,
       PLUMB_DNNL2_SCALE = 8,
       PLUMB_DNNL2_SHIFT = 16,
       PLUMB_DNNL3_GLOBAL_STATS = 1,
       PLUMB_DNNL3_SCALE = 2,
       PLUMB_DNNL3_SHIFT = 4
};

#endif
