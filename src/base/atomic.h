/* atomic.h: the few atomic operations the event path and its readers need, on plain integers, so
 * that the same structures can lie in memory, in a mapping and in a file.
 *
 * Writers of thread-owned data use no locked instruction for a record: they store relaxed, in
 * program order (plumb_order()). They use one per block of records (record/span/thread_lock.h). The
 * end of a run must know of each record whether it is complete; it issues the other side of the
 * barrier itself, with membarrier(2). */
#ifndef PLUMB_BASE_ATOMIC_H
#define PLUMB_BASE_ATOMIC_H

#include <stdint.h>

#define PLUMB_LOAD(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#define PLUMB_STORE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)
#define PLUMB_ACQUIRE(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define PLUMB_RELEASE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
/* A load that is not reordered before earlier stores of its thread. */
#define PLUMB_LOAD_ORDERED(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define PLUMB_ADD(p, v) __atomic_fetch_add(&(p), (v), __ATOMIC_RELAXED)

/* x = x + v by the only writer of x. */
#define PLUMB_BUMP(p, v) PLUMB_STORE((p), PLUMB_LOAD(p) + (v))

#define PLUMB_LIKELY(x) __builtin_expect(!!(x), 1)
#define PLUMB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PLUMB_ALWAYS_INLINE inline __attribute__((always_inline))
#define PLUMB_COLD __attribute__((cold, noinline))

/* Marks a function that reads data which another thread may be changing. The caller detects that
 * afterwards and discards the data, which a race detector cannot know. */
#define PLUMB_RACY __attribute__((no_sanitize("thread")))

/* Keeps earlier stores before later stores, and earlier loads before later loads, as seen by
 * another processor. x86 keeps both orders by itself, so a compiler barrier is enough there;
 * elsewhere it is a real fence. */
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

/* Returns `x`, about which the compiler then knows nothing: it keeps the instructions as written
 * instead of replacing them by ones that it considers equal. */
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
