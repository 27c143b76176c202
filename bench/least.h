/* least.h: not plumb: calls through a table, one node, static memory. Nothing looks whether the
 * program records at all, which thread calls, whether a signal came between, or whether the process
 * is killed; nobody can take a summary meanwhile. These figures tell how near to the floor a
 * processor lets the simplest way come. */
#ifndef BENCH_LEAST_H
#define BENCH_LEAST_H

#include "harness.h"

/* Two calls, each a clock read and a record of 8 bytes; nothing else. */
void bench_bare_spans(void *unused, uint64_t n);
/* The same with nesting, self time, count, total, min, max, last, exact squares and a log bucket.
 */
void bench_least_spans(void *unused, uint64_t n);
/* One call a node, with one clock read. */
void bench_least_laps(void *unused, uint64_t n);

/* The two halves of such a span, around something else. */
void bench_least_begin(void);
void bench_least_end(void);

#endif
