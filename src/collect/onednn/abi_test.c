/* abi_test.c: our declarations of oneDNN's interface agree with the installed header, of 2.x or of
 * 3.x. The test is skipped if no header is installed: the collector does not need one. */
#include "collect/onednn/abi.h"

#include <stdio.h>

#if __has_include(<oneapi/dnnl/dnnl_types.h>)

#include <oneapi/dnnl/dnnl_types.h>
#include <oneapi/dnnl/dnnl_version.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_PLACE(ours, our, theirs, their)                                                       \
    _Static_assert(offsetof(ours, our) == offsetof(theirs, their), #their)

SAME(PLUMB_DNNL_DIMS, DNNL_MAX_NDIMS);
SAME(PLUMB_DNNL_RUNTIME_DIM, DNNL_RUNTIME_DIM_VAL);
SAME(PLUMB_DNNL_OK, dnnl_success);
SAME(PLUMB_DNNL_RUNTIME_ERROR, dnnl_runtime_error);
SAME(PLUMB_DNNL_QUERY_ENGINE, dnnl_query_engine);
SAME(PLUMB_DNNL_QUERY_KIND, dnnl_query_primitive_kind);
SAME(PLUMB_DNNL_QUERY_IMPL, dnnl_query_impl_info_str);
SAME(PLUMB_DNNL_QUERY_PROP, dnnl_query_prop_kind);
SAME(PLUMB_DNNL_QUERY_EXEC_ARG_MD, dnnl_query_exec_arg_md);
SAME(PLUMB_DNNL_FORWARD_TRAINING, dnnl_forward_training);
SAME(PLUMB_DNNL_FORWARD_INFERENCE, dnnl_forward_inference);
SAME(PLUMB_DNNL_BACKWARD, dnnl_backward);
SAME(PLUMB_DNNL_BACKWARD_DATA, dnnl_backward_data);
SAME(PLUMB_DNNL_BACKWARD_WEIGHTS, dnnl_backward_weights);
SAME(PLUMB_DNNL_SRC, DNNL_ARG_SRC);
SAME(PLUMB_DNNL_DST, DNNL_ARG_DST);
SAME(PLUMB_DNNL_WEIGHTS, DNNL_ARG_WEIGHTS);
SAME(PLUMB_DNNL_WEIGHTS_1, DNNL_ARG_WEIGHTS_ITER);
SAME(PLUMB_DNNL_WEIGHTS_3, DNNL_ARG_WEIGHTS_PROJECTION);
SAME(PLUMB_DNNL_BIAS, DNNL_ARG_BIAS);
SAME(PLUMB_DNNL_MEAN, DNNL_ARG_MEAN);
SAME(PLUMB_DNNL_VARIANCE, DNNL_ARG_VARIANCE);
SAME(PLUMB_DNNL_WORKSPACE, DNNL_ARG_WORKSPACE);
SAME(PLUMB_DNNL_SCRATCHPAD, DNNL_ARG_SCRATCHPAD);
SAME(PLUMB_DNNL_DIFF_SRC, DNNL_ARG_DIFF_SRC);
SAME(PLUMB_DNNL_DIFF_DST, DNNL_ARG_DIFF_DST);
SAME(PLUMB_DNNL_DIFF_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS);
SAME(PLUMB_DNNL_DIFF_BIAS, DNNL_ARG_DIFF_BIAS);
SAME(PLUMB_DNNL_MULTIPLE_SRC, DNNL_ARG_MULTIPLE_SRC);
SAME(PLUMB_DNNL_MULTIPLE_END, DNNL_ARG_MULTIPLE_DST);
SAME(PLUMB_DNNL_BLOCKED, dnnl_blocked);
SAME(PLUMB_DNNL_ENGINE_CPU, dnnl_cpu);
SAME(PLUMB_DNNL_RUNTIME_SYCL, DNNL_RUNTIME_SYCL);
SAME(sizeof(struct plumb_dnnl_exec_arg), sizeof(dnnl_exec_arg_t));
SAME_PLACE(struct plumb_dnnl_exec_arg, memory, dnnl_exec_arg_t, memory);
SAME_PLACE(struct plumb_dnnl_version, cpu_runtime, dnnl_version_t, cpu_runtime);
SAME_PLACE(struct plumb_dnnl_version, gpu_runtime, dnnl_version_t, gpu_runtime);

#if DNNL_VERSION_MAJOR == 2
SAME(PLUMB_DNNL2_QUERY_OP, dnnl_query_op_d);
SAME(PLUMB_DNNL2_MD_BYTES, sizeof(dnnl_memory_desc_t));
SAME_PLACE(struct plumb_dnnl2_md, ndims, dnnl_memory_desc_t, ndims);
SAME_PLACE(struct plumb_dnnl2_md, dims, dnnl_memory_desc_t, dims);
SAME_PLACE(struct plumb_dnnl2_md, data_type, dnnl_memory_desc_t, data_type);
SAME_PLACE(struct plumb_dnnl2_md, format_kind, dnnl_memory_desc_t, format_kind);
#define OFFSET(ours, theirs, their) SAME(ours, offsetof(theirs, their))
OFFSET(PLUMB_DNNL2_ALG, dnnl_convolution_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_deconvolution_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_eltwise_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_pooling_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_pooling_v2_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_lrn_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_resampling_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG, dnnl_rnn_desc_t, cell_kind);
OFFSET(PLUMB_DNNL2_ALG_FIRST, dnnl_binary_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG_FIRST, dnnl_reduction_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_ALG_SOFTMAX, dnnl_softmax_v2_desc_t, alg_kind);
OFFSET(PLUMB_DNNL2_KERNEL, dnnl_pooling_desc_t, kernel);
OFFSET(PLUMB_DNNL2_KERNEL, dnnl_pooling_v2_desc_t, kernel);
OFFSET(PLUMB_DNNL2_NORM_FLAGS, dnnl_batch_normalization_desc_t, flags);
OFFSET(PLUMB_DNNL2_NORM_FLAGS, dnnl_layer_normalization_desc_t, flags);
SAME(PLUMB_DNNL2_GLOBAL_STATS, dnnl_use_global_stats);
SAME(PLUMB_DNNL2_SCALE_SHIFT, dnnl_use_scaleshift);
SAME(PLUMB_DNNL2_SCALE, dnnl_use_scale);
SAME(PLUMB_DNNL2_SHIFT, dnnl_use_shift);
#elif DNNL_VERSION_MAJOR == 3
SAME(PLUMB_DNNL3_QUERY_FLAGS, dnnl_query_flags);
SAME(PLUMB_DNNL3_QUERY_ALG, dnnl_query_alg_kind);
SAME(PLUMB_DNNL3_QUERY_CELL, dnnl_query_cell_kind);
SAME(PLUMB_DNNL3_QUERY_KERNEL, dnnl_query_kernel);
SAME(PLUMB_DNNL3_QUERY_NDIMS, dnnl_query_ndims_s32);
SAME(PLUMB_DNNL3_QUERY_DIMS, dnnl_query_dims);
SAME(PLUMB_DNNL3_QUERY_DATA_TYPE, dnnl_query_data_type);
SAME(PLUMB_DNNL3_QUERY_FORMAT_KIND, dnnl_query_format_kind);
SAME(PLUMB_DNNL3_GLOBAL_STATS, dnnl_use_global_stats);
SAME(PLUMB_DNNL3_SCALE, dnnl_use_scale);
SAME(PLUMB_DNNL3_SHIFT, dnnl_use_shift);
#endif

int main(void)
{
    printf("agrees with oneDNN %d.%d\n", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
    return 0;
}

#else

int main(void)
{
    fputs("no header of oneDNN to compare with: install libdnnl-dev\n", stderr);
    return 77;
}

#endif
