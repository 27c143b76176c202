/* mfu.h: model FLOPs utilisation of a diffusion transformer: the operations that a training step
 * needs according to its shapes, over those that its devices could do in the time of the step. */
#ifndef PLUMB_ANALYZE_ROOFLINE_MFU_H
#define PLUMB_ANALYZE_ROOFLINE_MFU_H

#include "analyze/roofline/peaks.h"
#include "read/trace/table.h"

struct plumb_mfu {
    /* As FastVideo logs them. */
    double dit_seq_len, context_len, hidden_dim, num_layers, ffn_dim;
    double batch, grad_accum, world_size; /* 1 unless given */
    double step_s;                        /* time of a step; 0: not given */
    double peak_flops;                    /* of one device, operations a second; 0: not given */
    char step[64];                        /* node whose median run is the step; "": none */
    enum plumb_peak_type type;            /* of this machine's peak; PLUMB_PEAK_TYPES: none */
    uint64_t runs;                        /* of the node */
    bool whole;                /* of the kernels of a run: neither shapes nor a step are given */
    enum plumb_peak_span span; /* of measured peaks: all cores unless given */
};

/* Reads "hidden_dim=1536,num_layers=30,...": the names of the members above, and
 *   step=NODE         a node of the run; instead of step_s
 *   peak_tflops=989   of a device; or device=h100 (989), device=a100 (312), or
 *   dtype=bf16        the measured peak of this machine, all cores; with cores=one of one
 *   run               first: of the kernels of a run; without a peak, each type has its own
 * PLUMB_ERR_ARG: an unknown name, a number that is not positive, or a shape, the step or the peak
 * missing. */
int plumb_mfu_parse(struct plumb_mfu *out, const char *text, plumb_error *err);
/* Sets `step_s` to the median run of the node `step`. PLUMB_ERR_NOT_FOUND: it has no runs. */
int plumb_mfu_take_step(struct plumb_mfu *mfu, const struct plumb_table *t, plumb_error *err);
/* Operations of the forward pass of a layer for one sample:
 * 8 h^2 s + 4 h^2 (s + c) + 4 h f s + 4 s^2 h + 4 s c h. */
double plumb_mfu_layer_flops(const struct plumb_mfu *mfu);
/* Of a step: layers x batch x 4 x accumulation. The 4 is for forward, backward (twice the forward)
 * and the recomputation of activations. */
double plumb_mfu_step_flops(const struct plumb_mfu *mfu);
/* Per cent of the peak of all devices. */
double plumb_mfu_percent(const struct plumb_mfu *mfu);

#endif
