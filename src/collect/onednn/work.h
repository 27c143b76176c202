/* work.h: what is derived from an operation, without oneDNN: texts, floating-point operations,
 * bytes. No state; any thread. docs/collectors.md has the table of formulas.
 *
 * FLOPs are those of the operation as it is defined, whatever the implementation does (a Winograd
 * convolution has those of a direct one), two for a multiplication with addition. Products with
 * padding count. Bias, scales and post-ops do not, as in benchdnn and in PyTorch's flop counter. */
#ifndef PLUMB_COLLECT_ONEDNN_WORK_H
#define PLUMB_COLLECT_ONEDNN_WORK_H

#include <stddef.h>

#include "collect/onednn/op.h"

enum { PLUMB_ONEDNN_SHAPES = 400 };

/* Bytes of an element, 0: unknown. Half a byte counts as 0. */
uint64_t plumb_onednn_type_bytes(const char *type);

/* The floating-point operations; false: unknown. */
bool plumb_onednn_flops(int64_t *out, const struct plumb_onednn_op *op);

/* Bytes of all operands, each once, and of the destination once more where a post-op adds to it;
 * false: unknown. */
bool plumb_onednn_bytes(int64_t *out, const struct plumb_onednn_op *op);

/* "convolution jit:avx2" */
void plumb_onednn_name(char *out, size_t size, const struct plumb_onednn_op *op);
/* "src:1x16x56x56 wei:32x16x3x3 dst:1x32x54x54"; "...": more than fits. */
void plumb_onednn_shapes(char *out, size_t size, const struct plumb_onednn_op *op);
/* "src:f32 wei:f32 dst:f32" */
void plumb_onednn_types(char *out, size_t size, const struct plumb_onednn_op *op);
/* "forward_inference eltwise_gelu_tanh +sum" */
void plumb_onednn_details(char *out, size_t size, const struct plumb_onednn_op *op);

#endif
