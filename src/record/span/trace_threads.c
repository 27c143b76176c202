/* trace_threads.c: see trace_threads.h. A thread is held while its queue changes hands. */
#include "record/span/trace_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/trace_drops.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/span/fold.h"
#include "record/span/ring.h"
#include "record/span/thread_lock.h"
#include "record/trace/ring.h"
#include "record/trace/trace.h"

enum { HOLD_NS = 200000000, /* for one thread */ PAUSE_NS = 20000, ROOM_PAUSE_NS = 1000000 };

static uint64_t hold_deadline_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC) + HOLD_NS;
}

/* Holds the thread, unless that takes too long. The helper does urgent jobs in the meantime: the
 * holder may be waiting for one. */
static bool hold(struct plumb_thread *th, uint64_t deadline_ns)
{
    while (!plumb_hold_try(th)) {
        if (plumb_clock_gettime_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return false;
        plumb_helper_pause(PAUSE_NS);
    }
    return true;
}

/* The name of another thread. */
static void read_name(char name[PLUMB_TRACE_NAME], uint32_t tid)
{
    char path[64];
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, name, PLUMB_TRACE_NAME - 1);
    if (fd >= 0)
        close(fd);
    n = n > 0 && name[n - 1] == '\n' ? n - 1 : n;
    name[n > 0 ? n : 0] = '\0';
}

/* The thread is held. Nothing to do if it has begun, or ended, in the meantime. */
static void take_in(struct plumb_in in, const char name[PLUMB_TRACE_NAME])
{
    struct plumb_thread *th = in.th;
    struct plumb_live_queue *q;
    if (!plumb_belongs(th, in.run) || !plumb_is_attached(th) || th->queue || !th->live->queue_off)
        return;
    plumb_fold_through(in, PLUMB_ACQUIRE(th->number) - 1);
    q = PLUMB_AT(in.run, struct plumb_live_queue, th->live->queue_off);
    plumb_trace_queue_begin(q, in.run->h->trace.window, plumb_ticks_from(plumb_rt.clock));
    memcpy(q->name, name, sizeof q->name);
    PLUMB_RELEASE(q->on, 1);
    PLUMB_STORE(th->queue, q);
    plumb_ring_batches(in);
}

bool plumb_trace_thread_on(struct plumb_in in, int64_t *highest)
{
    struct plumb_thread *th = in.th;
    char name[PLUMB_TRACE_NAME] = "";
    bool ready;
    plumb_lock();
    ready = plumb_belongs(th, in.run) && plumb_is_attached(th) && plumb_trace_prepare(in);
    plumb_unlock();
    if (!ready)
        return true;
    read_name(name, PLUMB_LOAD(th->tid));
    if (!hold(th, hold_deadline_ns()))
        return false;
    take_in(in, name);
    if (th->live->context.step > *highest)
        *highest = th->live->context.step;
    plumb_hold_release(th);
    plumb_lock();
    plumb_thread_gate(th);
    plumb_unlock();
    return true;
}

static struct plumb_live_view view_of(const struct plumb_run *run)
{
    return plumb_live_view_of(run->base, run->mapped);
}

/* The thread is held. Returns false if its last blocks do not fit into the queue yet. */
static bool take_out(struct plumb_in in, bool patient)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_view view = view_of(in.run);
    struct plumb_live_queue *q = th->queue;
    if (!plumb_belongs(th, in.run) || !q || !plumb_trace_takes_part(&view, q))
        return true;
    if (PLUMB_ACQUIRE(in.run->h->trace.ended)) {
        plumb_trace_settle_queue(&view, th->live, q);
    } else if (!plumb_trace_queue_end(in)) {
        if (patient && q->slots)
            return false;
        plumb_trace_settle_unfolded(&view, th->live, q);
    }
    PLUMB_RELEASE(q->on, 0);
    PLUMB_STORE(th->queue, NULL);
    plumb_ring_batches(in);
    return true;
}

bool plumb_trace_thread_off(struct plumb_in in, uint64_t deadline_ns)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_queue *q = PLUMB_LOAD(th->queue);
    bool done = false;
    if (!q || !plumb_belongs(th, in.run))
        return true;
    while (!done) {
        if (!hold(th, deadline_ns)) {
            PLUMB_RELEASE(q->on, 0);
            return false;
        }
        done = take_out(in, plumb_clock_gettime_ns(CLOCK_MONOTONIC) < deadline_ns);
        plumb_hold_release(th);
        if (!done) {
            plumb_trace_writer_wake();
            plumb_helper_pause(ROOM_PAUSE_NS);
        }
    }
    plumb_lock();
    plumb_thread_gate(th);
    plumb_unlock();
    return true;
}

void plumb_trace_threads_settle(struct plumb_run *run)
{
    struct plumb_live_view view = view_of(run);
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        if (!plumb_belongs(th, run) || !PLUMB_ACQUIRE(th->live->queue_off) ||
            !hold(th, hold_deadline_ns()))
            continue;
        if (plumb_belongs(th, run))
            plumb_trace_settle_queue(&view, th->live,
                                     PLUMB_AT(run, struct plumb_live_queue, th->live->queue_off));
        plumb_hold_release(th);
    }
}
