/* lookup.h: how an object that the linker did not connect with libplumb finds it. client.h includes
 * it; programs include plumb.h.
 *
 * The runtime leaves a page named PLUMB_RENDEZVOUS among the mappings of its process, and this
 * finds it in /proc/self/maps. The first trace point of an object may lie in a signal handler, in
 * malloc() or in a thread that is being cancelled, and this code remains in objects that are never
 * rebuilt. So it uses direct system calls only: stdio allocates and takes locks, and open(2) and
 * read(2) of libc are cancellation points, or may be interposed by a library that has trace points
 * itself.
 *
 * Async-signal-safe, any thread, reentrant, no state. 0.8 KiB of stack. Some 20 us, a few ms where
 * there are thousands of mappings. */
#ifndef PLUMB_DETAIL_LOOKUP_H
#define PLUMB_DETAIL_LOOKUP_H

#include <plumb/detail/abi.h>
#include <sys/syscall.h>

#ifdef __cplusplus
extern "C" {
#endif

/* syscall(2) under another name: strict C99 does not declare it, and C++ declares it differently.
 */
extern long plumb_syscall_(long number, ...) __asm__("syscall");

/* Reads a hexadecimal number; returns what follows it. */
static inline const char *plumb_lookup_hex_(const char *at, uint64_t *out)
{
    for (*out = 0;; at++) {
        if (*at >= '0' && *at <= '9')
            *out = *out << 4 | (uint64_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            *out = *out << 4 | (uint64_t)(*at - 'a' + 10);
        else
            return at;
    }
}

/* Returns the table if `line` describes the page, as in this example, and NULL otherwise.
 *
 * 7f5e1c3a2000-7f5e1c3a3000 r--p 00000000 00:01 2049       /memfd:plumb-runtime-1 (deleted)
 *
 * Nothing is read from a mapping of any other form: it may be a file of the same name, unreadable,
 * or a device. The runtime removes the write permission last, when the page is complete. */
static inline const struct plumb_api *plumb_lookup_line_(const char *line)
{
    const struct plumb_api *api;
    const uint64_t *page;
    uint64_t begin, end;
    const char *at = plumb_lookup_hex_(line, &begin);
    if (*at != '-')
        return NULL;
    at = plumb_lookup_hex_(at + 1, &end);
    if (at[0] != ' ' || at[1] != 'r' || at[2] != '-' || !at[3] || at[4] != 'p' || at[5] != ' ')
        return NULL;
    for (at += 6; *at && *at != '/' && *at != '['; at++)
        continue;
    if (__builtin_strcmp(at, "/memfd:" PLUMB_RENDEZVOUS " (deleted)") != 0 &&
        __builtin_strcmp(at, "[anon:" PLUMB_RENDEZVOUS "]") != 0)
        return NULL;
    page = (const uint64_t *)(uintptr_t)begin;
    if (__atomic_load_n(&page[0], __ATOMIC_ACQUIRE) != PLUMB_RENDEZVOUS_MAGIC)
        return NULL;
    api = (const struct plumb_api *)(uintptr_t)page[1];
    return api && api->version == 1 ? api : NULL;
}

/* Returns the function table of the runtime in this process, or NULL: there is none, or /proc
 * cannot be read. May change errno. */
static inline const struct plumb_api *plumb_lookup_(void)
{
    char buffer[512] = {0}; /* set: MemorySanitizer does not know that the kernel does it */
    char line[160];         /* longer than the page's; of others the beginning is enough */
    const struct plumb_api *api = NULL;
    const long read_only = 02000000; /* O_RDONLY | O_CLOEXEC, which strict C99 does not show */
    size_t length = 0;
    long n, i;
    long fd = plumb_syscall_(SYS_openat, -1L, "/proc/self/maps", read_only, 0L);
    while (fd >= 0 && !api && (n = plumb_syscall_(SYS_read, fd, buffer, sizeof buffer)) > 0) {
        for (i = 0; i < n && !api; i++) {
            if (buffer[i] != '\n') {
                if (length < sizeof line - 1)
                    line[length++] = buffer[i];
                continue;
            }
            line[length] = '\0';
            length = 0;
            api = plumb_lookup_line_(line);
        }
    }
    if (fd >= 0)
        plumb_syscall_(SYS_close, fd);
    return api;
}

#ifdef __cplusplus
}
#endif

#endif
