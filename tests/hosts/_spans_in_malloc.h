/* _spans_in_malloc.h: an allocator with spans in its functions, which everything below it calls. */
#ifndef TESTS_HOSTS_SPANS_IN_MALLOC_H
#define TESTS_HOSTS_SPANS_IN_MALLOC_H

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *block);

static uint64_t mallocs;

void *malloc(size_t bytes)
{
    PLUMB_SPAN("malloc");
    __atomic_fetch_add(&mallocs, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}

void free(void *block)
{
    PLUMB_SPAN("free");
    __libc_free(block);
}

static inline int allocate(void)
{
    void *volatile block;
    for (int i = 0; i < 1000; i++) {
        block = malloc(16);
        HOST_NEEDS(block != NULL);
        free(block);
    }
    puts("allocated");
    return 0;
}

#endif
