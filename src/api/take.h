/* take.h: the options and views of callers, who may know fewer or more fields of them than we do:
 * each begins with its size, as its _default() set it. */
#ifndef PLUMB_API_TAKE_H
#define PLUMB_API_TAKE_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include <plumb/error.h>

/* Copies what the caller knows of a struct over `out`, the defaults, of `bytes` bytes. `in` NULL:
 * they stay. PLUMB_ERR_ARG: its size was never set. */
static inline int plumb_take(void *out, size_t bytes, const void *in, plumb_error *err)
{
    size_t size;
    if (!in)
        return PLUMB_OK;
    memcpy(&size, in, sizeof size);
    if (size < sizeof size)
        return plumb_fail(err, PLUMB_ERR_ARG, "options without a size: start from the _default()");
    memcpy(out, in, size < bytes ? size : bytes);
    return PLUMB_OK;
}

#endif
