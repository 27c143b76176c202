/* pages.h: private memory straight from the kernel, zeroed, for a library that lives in other
 * people's processes: it must work inside their allocators, and give nothing away to their leaks
 * checkers. NULL when the kernel refuses. */
#ifndef PLUMB_BASE_PAGES_H
#define PLUMB_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

void *plumb_pages_map(size_t bytes);
/* As map, but the pages read as zero in a forked child, however it was forked; *wiped says whether
 * the kernel can do that. */
void *plumb_pages_map_private(size_t bytes, bool *wiped);
/* Whether a child that is forked from now on is to read whole pages as zero. False: the kernel
 * cannot do that. */
bool plumb_pages_wipe(void *p, size_t bytes, bool wipe);
void plumb_pages_unmap(void *p, size_t bytes);

#endif
