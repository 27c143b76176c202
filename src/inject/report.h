/* report.h: the function to which the interposer reports blocks. Any thread, any place from which
 * malloc() may be called; errno is kept. */
#ifndef PLUMB_INJECT_REPORT_H
#define PLUMB_INJECT_REPORT_H

#include <stdint.h>

#include "base/atomic.h"

typedef void (*plumb_report_fn)(uint32_t event, uint64_t bytes);

/* NULL: blocks are not reported, and never will be. Until a runtime is found, it is a function that
 * counts bytes for that runtime. */
extern plumb_report_fn plumb_report_to;

static inline plumb_report_fn plumb_reporter(void)
{
    return PLUMB_ACQUIRE(plumb_report_to);
}

#endif
