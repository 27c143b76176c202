/* fake.h: the reference collector, as list.c sees it; what programs see is plumb/fake.h. */
#ifndef PLUMB_COLLECT_FAKE_H
#define PLUMB_COLLECT_FAKE_H

#include <stdbool.h>

#include <plumb/collector.h>

extern const plumb_collector_ops plumb_fake_collector;

/* For tests: while `hold` is set, an operation that is to hang does so. Once it is released, none
 * hangs any more. Without any call an operation hangs half a second longer than plumb waits. Any
 * thread. */
void plumb_fake_hold(bool hold);

#endif
