/* perf.h: the collector of counters, as list.c sees it. */
#ifndef PLUMB_COLLECT_PERF_H
#define PLUMB_COLLECT_PERF_H

#include <plumb/collector.h>

extern const plumb_collector_ops plumb_perf_collector;

#endif
