/* float_env.h: computing in the thread of a program whose floating-point environment is none of our
 * business. It may trap (-ffpe-trap, feenableexcept()), flush subnormal numbers (-ffast-math),
 * round elsewhere, or look at the flags of what was computed; ours does not trap, keeps subnormals,
 * rounds to nearest, and leaves no flag.
 *
 *     struct plumb_float_env saved;
 *     plumb_float_env_hold(&saved);
 *     compute();               not inlined: the compiler moves arithmetic across, but calls not
 *     plumb_float_env_restore(&saved);
 *
 * fegetenv() and its kin do the same, but lie in libm, which libplumb does without. Other
 * processors than x86-64 and AArch64 keep the program's environment. A few dozen cycles. */
#ifndef PLUMB_BASE_FLOAT_ENV_H
#define PLUMB_BASE_FLOAT_ENV_H

#include <stdint.h>

#if defined(__x86_64__)

struct plumb_float_env {
    uint32_t x87[7]; /* as fnstenv stores it */
    uint32_t mxcsr;
};

static inline void plumb_float_env_hold(struct plumb_float_env *saved)
{
    const uint16_t x87_default = 0x037f; /* all masked, to nearest, 64 bits */
    const uint32_t sse_default = 0x1f80; /* all masked, to nearest, subnormals kept */
    __asm__ volatile("fnstenv %0\n\tstmxcsr %1" : "=m"(saved->x87), "=m"(saved->mxcsr)::"memory");
    __asm__ volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" ::"m"(x87_default), "m"(sse_default)
                     : "memory");
}

static inline void plumb_float_env_restore(const struct plumb_float_env *saved)
{
    __asm__ volatile("fldenv %0\n\tldmxcsr %1" ::"m"(saved->x87), "m"(saved->mxcsr) : "memory");
}

#elif defined(__aarch64__)

struct plumb_float_env {
    uint64_t control, flags;
};

static inline void plumb_float_env_hold(struct plumb_float_env *saved)
{
    uint64_t standard = 0;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                     : "=r"(saved->control), "=r"(saved->flags)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(standard) : "memory");
}

static inline void plumb_float_env_restore(const struct plumb_float_env *saved)
{
    __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" ::"r"(saved->control), "r"(saved->flags)
                     : "memory");
}

#else

struct plumb_float_env {
    char unused;
};

static inline void plumb_float_env_hold(struct plumb_float_env *saved)
{
    saved->unused = 0;
}

static inline void plumb_float_env_restore(const struct plumb_float_env *saved)
{
    (void)saved;
}

#endif
#endif
