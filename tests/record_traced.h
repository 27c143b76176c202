/* record_traced.h: what tests of traced runs in their own process share: options with the trace on,
 * and the end of a run whose trace is read. Include it after cmocka.h. */
#ifndef TESTS_RECORD_TRACED_H
#define TESTS_RECORD_TRACED_H

#include "record.h"
#include "record_trace.h"

static inline plumb_options traced_options(void)
{
    plumb_options o = plumb_options_default();
    o.trace = PLUMB_ON;
    return o;
}

/* Ends the run and reads its trace; the caller ends `t` with trace_fini(). */
static inline void traced_finish(struct trace_read *t)
{
    char dir[1024];
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    trace_read_run(t, dir);
}

#endif
