/* sched.h: the collector of context switches, as list.c sees it. */
#ifndef PLUMB_COLLECT_SCHED_H
#define PLUMB_COLLECT_SCHED_H

#include <plumb/collector.h>

extern const plumb_collector_ops plumb_sched_collector;

#endif
