/* Libraries of malloc.sh, one a macro:
 *   LOCKED    allocates under a lock that its handlers for fork take
 *   LATE      opened while the program runs; allocates in its constructor too
 *   OTHER     an allocator that comes as a library, with sizes that can be asked for;
 *             aligned_alloc(), valloc() and pvalloc() are left to libc
 *   MUTE      the same without
 *   INSIDE    part of a program: an allocator of its own */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(LOCKED)
void lib_allocate(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void let_go(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void register_handlers(void)
{
    pthread_atfork(take, let_go, let_go);
}

void lib_allocate(void)
{
    void *p[4];
    take();
    for (int i = 0; i < 4; i++)
        p[i] = malloc(20000); /* passed on every few calls */
    for (int i = 0; i < 4; i++)
        free(p[i]);
    let_go();
}
#endif

#if defined(LATE)
void late_work(void);
static void *volatile at_load;

__attribute__((constructor)) static void loaded(void)
{
    at_load = malloc(100);
}

__attribute__((destructor)) static void unloaded(void)
{
    free(at_load);
}

void late_work(void)
{
    void *volatile p = malloc(300);
    free(p);
}
#endif

#if defined(OTHER) || defined(MUTE) || defined(INSIDE)
/* Never gives back; a block is preceded by its size. */
void *malloc(size_t bytes);
void *calloc(size_t n, size_t bytes);
void *realloc(void *old, size_t bytes);
void free(void *p);

static _Alignas(16) unsigned char room[64 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    size_t need = ((bytes + 15) & ~(size_t)15) + 16;
    size_t at = bytes > sizeof room ? 0 : __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);
    if (bytes > sizeof room || at + need > sizeof room) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(void *)(room + at) = need - 16;
    return room + at + 16;
}

static size_t size_of(void *p)
{
    return ((size_t *)p)[-2];
}

void *calloc(size_t n, size_t bytes)
{
    size_t all;
    return malloc(__builtin_mul_overflow(n, bytes, &all) ? (size_t)-1 : all);
}

void *realloc(void *old, size_t bytes)
{
    void *p = old && !bytes ? NULL : malloc(bytes);
    if (p && old)
        memcpy(p, old, size_of(old) < bytes ? size_of(old) : bytes);
    return p;
}

void free(void *p)
{
    (void)p;
}
#endif

#if defined(OTHER)
size_t malloc_usable_size(void *p);
void *memalign(size_t alignment, size_t bytes);

size_t malloc_usable_size(void *p)
{
    return p ? size_of(p) : 0;
}

void *memalign(size_t alignment, size_t bytes)
{
    unsigned char *p = malloc(bytes + alignment + 16), *q;
    q = p + (alignment - (size_t)p % alignment) % alignment;
    ((size_t *)(void *)q)[-2] = bytes;
    return q;
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) || alignment & (alignment - 1))
        return EINVAL;
    *out = memalign(alignment, bytes);
    return 0;
}
#endif
