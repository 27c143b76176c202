/* bare.h: what this library has instead of libc: system calls and a few functions on strings.
 *
 * libplumb-count.so links nothing. A library of LD_AUDIT lives in a namespace of its own, and would
 * bring a second libc into the process: another allocator, with a cache in every thread of the
 * program that nothing frees, and functions that read a locale which threads of the other libc do
 * not have. The code below runs in calls of the program, which may be anywhere. Compiled with
 * -mgeneral-regs-only: it touches no vector register, in which the program's arguments lie. */
#ifndef PLUMB_INJECT_COUNT_BARE_H
#define PLUMB_INJECT_COUNT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define PLUMB_BARE_HIDDEN __attribute__((visibility("hidden")))

static inline long plumb_bare_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Returns NULL if there is no memory. Zeroed; what is not touched costs addresses only. */
static inline void *plumb_bare_map(size_t bytes)
{
    enum { READ_WRITE = 3, PRIVATE_ANONYMOUS_NORESERVE = 0x4022 };
    long at =
        plumb_bare_call(SYS_mmap, 0, (long)bytes, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* Returns a limit of the process (RLIMIT_...); UINT64_MAX: none. */
static inline uint64_t plumb_bare_limit(int which)
{
    struct {
        uint64_t soft, hard;
    } limit = {0, 0};
    return plumb_bare_call(SYS_prlimit64, 0, which, 0, (long)&limit, 0, 0) == 0 ? limit.soft : 0;
}

/* Returns how many bytes may be reserved so that the program keeps most of its limits of addresses
 * and of data, in which reserved memory counts whether it is used or not. */
static inline uint64_t plumb_bare_budget(void)
{
    enum { DATA = 2, ADDRESSES = 9, PART = 8 };
    uint64_t data = plumb_bare_limit(DATA), addresses = plumb_bare_limit(ADDRESSES);
    return (data < addresses ? data : addresses) / PART;
}

static inline size_t plumb_bare_length(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

static inline bool plumb_bare_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Returns whether `s` begins with the `n` bytes at `head`. */
static inline bool plumb_bare_begins(const char *s, const char *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != head[i])
            return false;
    return true;
}

/* Returns the part of a path after its last slash. */
static inline const char *plumb_bare_base(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

#endif
