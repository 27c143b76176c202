/* malloc.c: the allocation functions that libplumb-malloc.so puts in front of libc's. Each calls
 * the real one and reports its result.
 *
 * Results, alignment and errno are the real function's. Sizes are those that malloc_usable_size()
 * gives, on both sides, so that what is allocated and what is freed adds up. A release is reported
 * before it happens, an allocation after it. No other thread can be given the block in between, so
 * no sum is ever higher than the memory really held. A realloc() that succeeds is a release and an
 * allocation.
 *
 * Compiled with -fno-builtin: otherwise the compiler would turn malloc() and memset() into
 * calloc(). */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "inject/real.h"
#include "inject/report.h"
#include <plumb/memory.h>

#define FACE __attribute__((visibility("default")))

/* Not 0 inside the real function: an allocator may use its own public functions (calloc() that
 * calls malloc()), and those calls are not allocations of the program. */
static __thread uint32_t inside __attribute__((tls_model("initial-exec")));

static PLUMB_ALWAYS_INLINE void *allocated(const struct plumb_real *r, void *p)
{
    plumb_report_fn report = plumb_reporter();
    inside--;
    if (PLUMB_LIKELY(p && report && !inside))
        report(PLUMB_MEM_ALLOC, r->usable(p));
    return p;
}

/* Reports a block, unless its function belongs to another object: the sizes of this allocator do
 * not hold for such a block. */
static void *allocated_by(const struct plumb_real *r, enum plumb_real_function function, void *p)
{
    if (!(r->foreign & (uint32_t)function))
        return allocated(r, p);
    inside--;
    return p;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

FACE void *malloc(size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    if (PLUMB_UNLIKELY(!r))
        return plumb_boot_alloc(bytes);
    inside++;
    return allocated(r, r->malloc(bytes));
}

FACE void *calloc(size_t n, size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    size_t all;
    if (PLUMB_UNLIKELY(!r))
        return __builtin_mul_overflow(n, bytes, &all) ? none() : plumb_boot_alloc(all);
    inside++;
    return allocated(r, r->calloc(n, bytes));
}

FACE void free(void *p)
{
    const struct plumb_real *r = plumb_real();
    plumb_report_fn report = plumb_reporter();
    if (PLUMB_UNLIKELY(!p || !r || plumb_boot_bytes_left(p)))
        return;
    if (PLUMB_LIKELY(report && !inside))
        report(PLUMB_MEM_FREE, r->usable(p));
    inside++;
    r->free(p);
    inside--;
}

/* Moves a block out of the boot buffer, which keeps no sizes: copies as much as the block can
 * have. */
static void *leave_boot(void *old, size_t bytes)
{
    size_t room = plumb_boot_bytes_left(old);
    void *p = malloc(bytes);
    if (p)
        memcpy(p, old, bytes < room ? bytes : room);
    return p;
}

static void *reallocated(void *old, size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    plumb_report_fn report = plumb_reporter();
    uint64_t before;
    void *p;
    if (PLUMB_UNLIKELY(!old))
        return malloc(bytes);
    if (PLUMB_UNLIKELY(!r || plumb_boot_bytes_left(old)))
        return plumb_boot_bytes_left(old) ? leave_boot(old, bytes) : none();
    before = report ? r->usable(old) : 0;
    inside++;
    p = r->realloc(old, bytes);
    /* NULL is a failure, which leaves the block as it was; for 0 bytes it is a release. */
    if (report && inside == 1 && (p || !bytes))
        report(PLUMB_MEM_FREE, before);
    return allocated(r, p);
}

FACE void *realloc(void *old, size_t bytes)
{
    return reallocated(old, bytes);
}

/* Not passed on: libc's would call the realloc() above. */
FACE void *reallocarray(void *old, size_t n, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(n, bytes, &all) ? none() : reallocated(old, all);
}

FACE int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    int code;
    if (!r || !r->posix_memalign)
        return ENOMEM;
    inside++;
    code = r->posix_memalign(out, alignment, bytes);
    allocated_by(r, PLUMB_REAL_POSIX_MEMALIGN, code == 0 ? *out : NULL);
    return code;
}

FACE void *aligned_alloc(size_t alignment, size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    if (!r || !r->aligned_alloc)
        return none();
    inside++;
    return allocated_by(r, PLUMB_REAL_ALIGNED_ALLOC, r->aligned_alloc(alignment, bytes));
}

FACE void *memalign(size_t alignment, size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    if (!r || !r->memalign)
        return none();
    inside++;
    return allocated_by(r, PLUMB_REAL_MEMALIGN, r->memalign(alignment, bytes));
}

FACE void *valloc(size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    if (!r || !r->valloc)
        return none();
    inside++;
    return allocated_by(r, PLUMB_REAL_VALLOC, r->valloc(bytes));
}

FACE void *pvalloc(size_t bytes)
{
    const struct plumb_real *r = plumb_real();
    if (!r || !r->pvalloc)
        return none();
    inside++;
    return allocated_by(r, PLUMB_REAL_PVALLOC, r->pvalloc(bytes));
}
