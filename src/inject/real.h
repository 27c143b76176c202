/* real.h: the real allocator, in front of which the interposer stands. It is looked up once, at the
 * first allocation of the process, which comes from the loader, before any constructor. Any
 * thread. */
#ifndef PLUMB_INJECT_REAL_H
#define PLUMB_INJECT_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_real {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t n, size_t bytes);
    void *(*realloc)(void *old, size_t bytes);
    void (*free)(void *p);
    size_t (*usable)(void *p); /* malloc_usable_size(); 0 for any block unless `whole` */
    /* An allocator may lack these: then they are libc's, and so are their blocks. */
    int (*posix_memalign)(void **out, size_t alignment, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    void *(*valloc)(size_t bytes);
    void *(*pvalloc)(size_t bytes);
    bool whole;       /* the first five exist and are of one object, so sizes can be asked for */
    uint32_t foreign; /* enum plumb_real_function: those of another object than malloc */
};
enum plumb_real_function {
    PLUMB_REAL_POSIX_MEMALIGN = 1,
    PLUMB_REAL_ALIGNED_ALLOC = 2,
    PLUMB_REAL_MEMALIGN = 4,
    PLUMB_REAL_VALLOC = 8,
    PLUMB_REAL_PVALLOC = 16
};

/* Returns NULL while the look-up itself allocates: such a request is served by
 * plumb_boot_alloc(). */
const struct plumb_real *plumb_real(void);

/* Allocates from the boot buffer, a few KiB that are never freed: zeroed, 16-aligned. Returns NULL
 * with ENOMEM when it is used up. */
void *plumb_boot_alloc(size_t bytes);
/* Returns the bytes from `p` to the end of the boot buffer, 0 if `p` is not in it. */
size_t plumb_boot_bytes_left(const void *p);

#endif
