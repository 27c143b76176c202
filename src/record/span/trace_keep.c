/* trace_keep.c: plumb_trace_keep_now() of record/trace/switch.h: a request to the trace's writer,
 * and the wait for its file. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/trace/switch.h"
#include "record/trace/trace.h"

#define MS UINT64_C(1000000)
#define KEEP_NS (10000 * MS) /* for a piece of the ring */

/* Reads how much the ring has kept, and the directory that the next piece goes to. Returns false if
 * no run keeps a ring. life_lock is not held during the wait: a fork of the program takes it. */
static bool look(uint32_t *kept, uint64_t *refused, char dir[1024])
{
    const struct plumb_run *run;
    bool is;
    plumb_life_lock();
    run = plumb_rt.run;
    is = run && run->h->trace.mode == PLUMB_LIVE_TRACE_RING;
    if (is) {
        *kept = PLUMB_ACQUIRE(run->h->trace.kept);
        *refused = PLUMB_LOAD(run->h->trace.kept_refused);
        snprintf(dir, 1024, "%s", run->dir);
    }
    plumb_life_unlock();
    return is;
}

int plumb_trace_keep_now(const char *why, char *path, size_t size, plumb_error *err)
{
    uint64_t deadline_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + KEEP_NS;
    uint64_t refused_before = 0, refused = 0;
    uint32_t before = 0, kept = 0;
    char dir[1024] = "";
    int rc = plumb_may_lock_all("keeping the ring", err);
    if (rc < 0)
        return rc;
    if (!look(&before, &refused_before, dir))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "no trace in ring mode is on (PLUMB_TRACE_MODE=ring)");
    if (plumb_trace_keep_impl(why, err) < 0)
        return PLUMB_ERR_STATE;
    while (look(&kept, &refused, dir) && kept == before) {
        if (refused != refused_before)
            return plumb_fail(err, PLUMB_ERR_IO,
                              "the newest records could not be kept in '%s': PLUMB_TRACE_MAX is "
                              "reached, or the disk is full",
                              dir);
        if (plumb_clock_gettime_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return plumb_fail(err, PLUMB_ERR_STATE, "the trace's writer does not answer");
        plumb_helper_pause(MS);
    }
    if (kept == before)
        return plumb_fail(err, PLUMB_ERR_STATE, "the run has ended");
    if (snprintf(path, size, "%s/kept-%u.pftrace", dir, before + 1) >= (int)size)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path of the trace does not fit into %zu bytes",
                          size);
    return PLUMB_OK;
}
