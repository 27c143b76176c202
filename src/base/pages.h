/* pages.h: private memory straight from the kernel, zeroed, for a library that lives in other
 * people's processes: it must work inside their allocators, and must not appear in their leak
 * checkers. NULL when the kernel refuses. */
#ifndef PLUMB_BASE_PAGES_H
#define PLUMB_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

void *plumb_pages_map(size_t bytes);
/* The same, but the pages read as zero in a forked child, however it was forked. *wiped: whether
 * the kernel can do that. */
void *plumb_pages_map_private(size_t bytes, bool *wiped);
/* Sets whether a child that is forked from now on reads these pages as zero. Returns false if the
 * kernel cannot do that. */
bool plumb_pages_wipe(void *p, size_t bytes, bool wipe);
void plumb_pages_unmap(void *p, size_t bytes);

#endif
