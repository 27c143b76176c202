/* beside_torch_kernel.c: the kernel of statistics as a library that Python loads: beside_torch.py
 * lets it read the memory of torch's own tensors. No public header has the kernel, so it is
 * compiled in, as in bench_activation.c. */
#include <stddef.h>
#include <stdint.h>

#include "tensor/value_stats.h"

/* Computes the statistics of `count` values, float32 or (`bf16`) bfloat16, `times` times: often
 * enough that the call from Python is negligible. `out` gets abs_mean and sum, with `spread` also
 * max and std. */
__attribute__((visibility("default"))) void
plumb_bench_stats(void *data, int64_t count, int bf16, int spread, uint64_t times, double out[4]);

void plumb_bench_stats(void *data, int64_t count, int bf16, int spread, uint64_t times,
                       double out[4])
{
    struct plumb_value_stats stats = {0};
    int64_t shape[1] = {count};
    uint8_t bits = bf16 ? 16 : 32;
    struct plumb_view view = {.data = data,
                              .device = {PLUMB_DL_CPU, 0},
                              .dtype = {bf16 ? PLUMB_DTYPE_BFLOAT : PLUMB_DTYPE_FLOAT, bits, 1},
                              .ndim = 1,
                              .shape = shape,
                              .count = (uint64_t)count,
                              .bytes = (uint64_t)count * bits / 8};
    for (uint64_t i = 0; i < times; i++)
        plumb_value_stats(&stats, &view, spread ? PLUMB_VALUE_SPREAD : 0, NULL);
    out[0] = stats.abs_mean;
    out[1] = stats.sum;
    out[2] = stats.max;
    out[3] = stats.std;
}
