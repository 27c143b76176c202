/* moments.c: the choice of a path. The last entry has no kernels: value_stats.c then converts every
 * value to double, as it does for the types that have no kernel. */
#include "tensor/moments.h"

#include <stdbool.h>

#include "base/atomic.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

const struct plumb_moments_kernels plumb_moments_scalar = {.name = "scalar"};

#if defined(__x86_64__)
/* clang 14 does not know the name of this feature. Asked once: where a virtual machine's host
 * answers, that takes longer than a small tensor. */
static bool has_f16c(void)
{
    static uint32_t known; /* 0: not asked yet; 1: no; 2: yes */
    unsigned a, b, c, d;
    if (PLUMB_LOAD(known) == 0)
        PLUMB_STORE(known, __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1);
    return PLUMB_LOAD(known) == 2;
}
#endif

#if defined(__x86_64__)
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const struct plumb_moments_kernels *plumb_moments_path(unsigned i)
{
    const struct plumb_moments_kernels *found[5];
    unsigned n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init(); /* the compiler's own constructor may be yet to run */
    bool dot = has_avx512() && __builtin_cpu_supports("avx512bf16");
    if (dot && __builtin_cpu_is("amd"))
        found[n++] = &plumb_moments_avx512bf16;
    if (has_avx512())
        found[n++] = &plumb_moments_avx512;
    if (dot && !__builtin_cpu_is("amd"))
        found[n++] = &plumb_moments_avx512bf16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
        found[n++] = &plumb_moments_avx2;
#elif defined(__aarch64__)
    found[n++] = &plumb_moments_neon;
#endif
    found[n++] = &plumb_moments_scalar;
    return i < n ? found[i] : NULL;
}
