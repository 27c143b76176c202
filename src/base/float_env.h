/* float_env.h: computing on a thread of the program without touching its floating-point
 * environment. The program may trap (-ffpe-trap, feenableexcept()), flush subnormal numbers
 * (-ffast-math), use another rounding mode, or read the exception flags. Our environment does not
 * trap, keeps subnormals, rounds to nearest, and leaves no flag set.
 *
 *     struct plumb_float_env saved;
 *     plumb_float_env_hold(&saved);
 *     compute();               not inlined: the compiler moves arithmetic across, but calls not
 *     plumb_float_env_restore(&saved);
 *
 * fegetenv() and its kin do the same, but are in libm, which libplumb does without. On processors
 * other than x86-64 and AArch64 the program's environment stays in force. A few dozen cycles. */
#ifndef PLUMB_BASE_FLOAT_ENV_H
#define PLUMB_BASE_FLOAT_ENV_H

#include <stdint.h>

#if defined(__x86_64__)

struct plumb_float_env {
    uint32_t x87[7]; /* as fnstenv stores it: the program's, if it differs from ours */
    uint16_t control, status;
    uint32_t mxcsr;
};

enum {
    PLUMB_X87_DEFAULT = 0x037f, /* all masked, to nearest, 64 bits */
    PLUMB_X87_FLAGS = 0xff,
    PLUMB_SSE_DEFAULT = 0x1f80, /* all masked, to nearest, subnormals kept */
    PLUMB_SSE_FLAGS = 0x3f
};

/* fnstenv with fldenv takes 200 cycles and a change of mxcsr 15, which is much compared with a
 * small tensor. Nearly every program has the defaults: then reading the control words is enough. */
static inline void plumb_float_env_hold(struct plumb_float_env *saved)
{
    const uint16_t x87_default = PLUMB_X87_DEFAULT;
    const uint32_t sse_default = PLUMB_SSE_DEFAULT;
    __asm__ volatile("fnstcw %0\n\tfnstsw %1\n\tstmxcsr %2"
                     : "=m"(saved->control), "=a"(saved->status), "=m"(saved->mxcsr)::"memory");
    if (saved->control != PLUMB_X87_DEFAULT)
        __asm__ volatile("fnstenv %0\n\tfnclex\n\tfldcw %1"
                         : "=m"(saved->x87)
                         : "m"(x87_default)
                         : "memory");
    if ((saved->mxcsr & ~(uint32_t)PLUMB_SSE_FLAGS) != PLUMB_SSE_DEFAULT)
        __asm__ volatile("ldmxcsr %0" ::"m"(sse_default) : "memory");
}

static inline void plumb_float_env_restore(const struct plumb_float_env *saved)
{
    uint32_t x87[7];
    uint32_t mxcsr;
    uint16_t status;
    __asm__ volatile("fnstsw %0\n\tstmxcsr %1" : "=a"(status), "=m"(mxcsr)::"memory");
    if (saved->control != PLUMB_X87_DEFAULT) {
        __asm__ volatile("fldenv %0" ::"m"(saved->x87) : "memory");
    } else if (((status ^ saved->status) & PLUMB_X87_FLAGS) != 0) {
        __asm__ volatile("fnclex" ::: "memory");
        if (saved->status & PLUMB_X87_FLAGS) {
            __asm__ volatile("fnstenv %0" : "=m"(x87)::"memory");
            x87[1] |= saved->status & PLUMB_X87_FLAGS;
            __asm__ volatile("fldenv %0" ::"m"(x87) : "memory");
        }
    }
    if (mxcsr != saved->mxcsr)
        __asm__ volatile("ldmxcsr %0" ::"m"(saved->mxcsr) : "memory");
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
