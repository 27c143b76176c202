/* scratch.c: see scratch.h. Mutable state on purpose: the free blocks. A block that was in use at a
 * fork is lost to the child; one whose thread was cancelled is lost to its process. */
#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/pages.h"

enum { WAITING = 8 };
static void *waiting[WAITING]; /* atomic */

void *plumb_scratch_take(void)
{
    for (int i = 0; i < WAITING; i++) {
        void *p = __atomic_load_n(&waiting[i], __ATOMIC_RELAXED)
                      ? __atomic_exchange_n(&waiting[i], NULL, __ATOMIC_ACQUIRE)
                      : NULL;
        if (p)
            return p;
    }
    return plumb_pages_map(PLUMB_SCRATCH_BYTES);
}

void plumb_scratch_give(void *scratch)
{
    for (int i = 0; i < WAITING && scratch; i++) {
        void *none = NULL;
        if (__atomic_compare_exchange_n(&waiting[i], &none, scratch, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    if (scratch)
        plumb_pages_unmap(scratch, PLUMB_SCRATCH_BYTES);
}
