/* fake.h: the reference collector, as list.c sees it; what programs see is plumb/fake.h. */
#ifndef PLUMB_COLLECT_FAKE_H
#define PLUMB_COLLECT_FAKE_H

#include <plumb/abi.h>

extern const plumb_collector_ops plumb_fake_collector;

#endif
