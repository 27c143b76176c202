/* real.c: see real.h. dlsym() allocates in some versions of libc (for its error text, or at its
 * first call). So the look-up has a guard: allocations that are made during it come from a static
 * buffer, the boot buffer. */
#include "inject/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#include "base/atomic.h"

enum { UNKNOWN = 0, LOOKING = 1, KNOWN = 2, BOOT_BYTES = 32768 };

static struct plumb_real real;
static uint32_t state;
static _Alignas(16) unsigned char boot[BOOT_BYTES];
static size_t boot_used;

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ISO C knows no way from an object pointer to a function pointer but this. */
#define FIND(member, name) (*(void **)(void *)&real.member = next(name))

static const void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Another object's function must not be asked about these blocks. */
static size_t unknown_size(void *p)
{
    (void)p;
    return 0;
}

static uint32_t foreign(const void *function, const void *object, uint32_t bit)
{
    return object_of(function) == object ? 0 : bit;
}

static void look_up(void)
{
    const void *of = object_of(FIND(malloc, "malloc"));
    real.whole = of && object_of(FIND(calloc, "calloc")) == of;
    real.whole &= object_of(FIND(realloc, "realloc")) == of;
    real.whole &= object_of(FIND(free, "free")) == of;
    real.whole &= object_of(FIND(usable, "malloc_usable_size")) == of;
    if (!real.whole)
        real.usable = unknown_size;
    real.foreign |= foreign(FIND(posix_memalign, "posix_memalign"), of, PLUMB_REAL_POSIX_MEMALIGN);
    real.foreign |= foreign(FIND(aligned_alloc, "aligned_alloc"), of, PLUMB_REAL_ALIGNED_ALLOC);
    real.foreign |= foreign(FIND(memalign, "memalign"), of, PLUMB_REAL_MEMALIGN);
    real.foreign |= foreign(FIND(valloc, "valloc"), of, PLUMB_REAL_VALLOC);
    real.foreign |= foreign(FIND(pvalloc, "pvalloc"), of, PLUMB_REAL_PVALLOC);
}

const struct plumb_real *plumb_real(void)
{
    uint32_t unknown = UNKNOWN;
    int saved;
    if (PLUMB_LIKELY(PLUMB_ACQUIRE(state) == KNOWN))
        return &real;
    if (!__atomic_compare_exchange_n(&state, &unknown, LOOKING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE))
        return unknown == KNOWN ? &real : NULL;
    saved = errno;
    look_up();
    errno = saved;
    PLUMB_RELEASE(state, KNOWN);
    return &real;
}

void *plumb_boot_alloc(size_t bytes)
{
    size_t at;
    bytes = (bytes + 15) & ~(size_t)15;
    at = bytes && bytes <= BOOT_BYTES ? __atomic_fetch_add(&boot_used, bytes, __ATOMIC_RELAXED)
                                      : BOOT_BYTES;
    if (at > BOOT_BYTES - bytes || !bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return boot + at;
}

size_t plumb_boot_bytes_left(const void *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)boot;
    return at < BOOT_BYTES ? BOOT_BYTES - at : 0;
}
