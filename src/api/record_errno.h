/* record_errno.h: see record_errno.c. */
#ifndef PLUMB_API_RECORD_ERRNO_H
#define PLUMB_API_RECORD_ERRNO_H

#include <plumb/plumb.h>

#include <plumb/collector.h>

/* Replaces the slow functions of a filled table by wrappers that keep errno. Call it once, before
 * any client sees the table. */
void plumb_api_keep_errno(struct plumb_api *table);

#endif
