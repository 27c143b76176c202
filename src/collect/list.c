/* list.c: see list.h. */
#include "collect/list.h"

#include "collect/fake.h"
#include "collect/perf.h"
#include "collect/sched.h"

const plumb_collector_ops *const plumb_collector_list[] = {
    &plumb_fake_collector, &plumb_sched_collector, &plumb_perf_collector, NULL};
