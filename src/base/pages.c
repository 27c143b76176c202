/* pages.c: see pages.h. Any thread. */
#include "base/pages.h"

#include <sys/mman.h>

void *plumb_pages_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *plumb_pages_map_private(size_t bytes, bool *wiped)
{
    void *p = plumb_pages_map(bytes);
    *wiped = p && plumb_pages_wipe(p, bytes, true);
    return p;
}

bool plumb_pages_wipe(void *p, size_t bytes, bool wipe)
{
    return madvise(p, bytes, wipe ? MADV_WIPEONFORK : MADV_KEEPONFORK) == 0;
}

void plumb_pages_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}
