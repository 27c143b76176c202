/* tell.h: whom the interposer tells of blocks. Any thread, any place from which malloc() may be
 * called; errno stays. */
#ifndef PLUMB_INJECT_TELL_H
#define PLUMB_INJECT_TELL_H

#include <stdint.h>

#include "base/atomic.h"

typedef void (*plumb_tell_fn)(uint32_t event, uint64_t bytes);

/* NULL: nobody, and nobody will. In the beginning bytes are counted for the runtime to come. */
extern plumb_tell_fn plumb_tell_to;

static inline plumb_tell_fn plumb_teller(void)
{
    return PLUMB_ACQUIRE(plumb_tell_to);
}

#endif
