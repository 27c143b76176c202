/* moments.c: the choice of a path. The last one is no kernel at all: value_stats.c converts every
 * value to double then, as it does for the types that have no kernel. */
#include "tensor/moments.h"

const struct plumb_moments_kernels plumb_moments_scalar = {.name = "scalar"};

const struct plumb_moments_kernels *plumb_moments_path(unsigned i)
{
    const struct plumb_moments_kernels *found[4];
    unsigned n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init(); /* the compiler's own constructor may be yet to run */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        found[n++] = &plumb_moments_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("f16c"))
        found[n++] = &plumb_moments_avx2;
#elif defined(__aarch64__)
    found[n++] = &plumb_moments_neon;
#endif
    found[n++] = &plumb_moments_scalar;
    return i < n ? found[i] : NULL;
}
