/* atomic.h: the few atomic operations the event path and its readers need, on plain integers, so
 * that the same structures can lie in memory, in a mapping and in a file.
 *
 * Writers of thread-owned data use no locked instruction for a record: they store relaxed, in
 * program order (plumb_order()). Once for a block of records they do (record/span/thread_lock.h).
 * The end of a run, which must know of each record whether it is done, makes the other side of the
 * barrier itself, with membarrier(2). */
#ifndef PLUMB_BASE_ATOMIC_H
#define PLUMB_BASE_ATOMIC_H

#include <stdint.h>

#define PLUMB_LOAD(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#define PLUMB_STORE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)
#define PLUMB_ACQUIRE(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define PLUMB_RELEASE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
/* Not before the stores in program order before it. */
#define PLUMB_LOAD_ORDERED(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define PLUMB_ADD(p, v) __atomic_fetch_add(&(p), (v), __ATOMIC_RELAXED)

/* x = x + v by the only writer of x. */
#define PLUMB_BUMP(p, v) PLUMB_STORE((p), PLUMB_LOAD(p) + (v))

#define PLUMB_LIKELY(x) __builtin_expect(!!(x), 1)
#define PLUMB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PLUMB_ALWAYS_INLINE inline __attribute__((always_inline))
#define PLUMB_COLD __attribute__((cold, noinline))

/* A function that reads what another thread may be changing: the caller finds out afterwards and
 * drops what was read, which is what a race detector cannot know. */
#define PLUMB_RACY __attribute__((no_sanitize("thread")))

/* Stores before stay before stores after, loads likewise, as seen by another processor. x86 keeps
 * both orders by itself, so the compiler is all that must be told; elsewhere a real fence. */
static PLUMB_ALWAYS_INLINE void plumb_order(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* Between two looks at a word that another processor is about to change. */
static PLUMB_ALWAYS_INLINE void plumb_spin(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* `x`, of which the compiler knows nothing more: it then takes the instructions that are written
 * down instead of others that it thinks are equal. */
static PLUMB_ALWAYS_INLINE uint64_t plumb_opaque(uint64_t x)
{
    __asm__("" : "+r"(x));
    return x;
}

/* Zeroes `n` words that another thread may be reading. Word-sized stores in either form; the loop
 * only exists because a race detector cannot know that. */
static inline void plumb_zero_words(uint64_t *words, unsigned n)
{
#if defined(__SANITIZE_THREAD__)
    for (unsigned i = 0; i < n; i++)
        PLUMB_STORE(words[i], 0);
#else
    __builtin_memset(words, 0, n * sizeof *words);
#endif
}

#endif
