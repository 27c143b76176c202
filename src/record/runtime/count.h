/* count.h: named counters. Defined in record/span/count.c. */
#ifndef PLUMB_RECORD_RUNTIME_COUNT_H
#define PLUMB_RECORD_RUNTIME_COUNT_H

#include <stdint.h>

void plumb_counter_add_impl(const char *name, int64_t n);
int64_t plumb_count_value(const char *name); /* of the thread's pipeline; 0 if never counted */

#endif
