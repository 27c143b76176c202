/* least.h: spans in the simplest way that there is, which is not plumb: calls through a table, one
 * node, static memory. They do not check whether the program records, which thread calls, whether a
 * signal came between, or whether the process is killed, and no other thread can take a summary.
 * These figures are the floor that a processor sets. */
#ifndef BENCH_LEAST_H
#define BENCH_LEAST_H

#include "harness.h"

/* Two calls, each of which reads a clock and writes a record of 8 bytes. */
void bench_bare_spans(void *unused, uint64_t n);
/* The same with nesting, self time, count, total, min, max, last, exact squares and a log bucket.
 */
void bench_least_spans(void *unused, uint64_t n);
/* One call a node, with one clock read. */
void bench_least_laps(void *unused, uint64_t n);

/* The two halves of such a span, for work of the caller between them. */
void bench_least_begin(void);
void bench_least_end(void);

#endif
