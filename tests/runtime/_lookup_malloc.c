/* lookup.sh: an allocator, to be preloaded, with a trace point in each of its functions. */
#include <stddef.h>

#include <plumb/plumb.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void __libc_free(void *p);

void *malloc(size_t bytes)
{
    PLUMB_SPAN("malloc");
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    PLUMB_SPAN("calloc");
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    PLUMB_SPAN("realloc");
    return __libc_realloc(p, bytes);
}

void free(void *p)
{
    PLUMB_SPAN("free");
    __libc_free(p);
}
