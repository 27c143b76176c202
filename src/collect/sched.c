/* sched.c: the collector `sched`: the intervals in which recording threads were not running. Each
 * thread has a software event of perf_event_open() that counts nothing and writes a record at each
 * context switch. A process needs no privilege for events of its own threads, unless
 * kernel.perf_event_paranoid is above 2 or a filter of system calls (a container's) refuses them.
 * The meaning of the records for spans: record/collect/sched.h.
 *
 * One thread looks for new threads of the program, which wake it as they are attached, and passes
 * intervals to the trace, if one is written. It opens the events and reads /proc, because it has a
 * descriptor table of its own; start() runs with the program's table. */
#include "collect/sched.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/map.h"
#include "base/pages.h"
#include "base/process/perf.h"
#include "record/collect/collector.h"
#include "record/collect/sched.h"
#include "record/runtime/helper.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/span/thread_lock.h"

enum { LANES = 64, DATA_PAGES = 8, HOLD_TRIES = 1000, PERIOD_NS = 50000000 };

static struct {
    pid_t pid; /* process that it runs in; 0: not running */
    plumb_collector *self;
    pthread_t thread;
    bool running;
    uint32_t stopping; /* atomic */
    uint32_t ready;    /* atomic, futex: `code` and `level` have the kernel's answer */
    int code, level;   /* errno of the trial, 0: none; plumb_perf_paranoid() */
    bool opened;       /* in the trial */
    plumb_name preempted, blocked;
    struct {
        uint32_t tid;
        plumb_lane lane;
    } lane[LANES]; /* further threads have no track */
    uint32_t lanes;
    uint64_t lost;            /* intervals missing from the trace */
    struct plumb_map refused; /* thread ids, each once, however often tried */
    int why_refused;
} sched;

/* ---- The kernel's side ----------------------------------------------------------------------- */

static int open_event(pid_t tid)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_DUMMY;
    a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    a.sample_id_all = 1;
    a.context_switch = 1;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC_RAW;
    return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Returns the offset of CLOCK_MONOTONIC in the time namespace of the process; 0 without one, or on
 * a kernel without them. */
static int64_t monotonic_offset(void)
{
    long long s, ns, offset = 0;
    char clock[32];
    FILE *f = fopen("/proc/self/timens_offsets", "re");
    while (f && fscanf(f, "%31s %lld %lld", clock, &s, &ns) == 3)
        if (strcmp(clock, "monotonic") == 0)
            offset = s * 1000000000 + ns;
    if (f)
        fclose(f);
    return offset;
}

/* The mapped page keeps the event alive, so no descriptor stays open. `opened`: the event was
 * opened, and mapping its page failed. */
static struct plumb_sched_watch *watch_of(uint32_t tid, int *code, bool *opened)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE) * (1 + DATA_PAGES);
    struct plumb_sched_watch *w = plumb_pages_map(sizeof *w);
    void *page = MAP_FAILED;
    int fd = w ? open_event((pid_t)tid) : -1;
    *code = w ? errno : ENOMEM;
    *opened = fd >= 0;
    if (fd >= 0) {
        page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *code = errno;
        close(fd);
    }
    if (page == MAP_FAILED) {
        if (w)
            plumb_pages_unmap(w, sizeof *w);
        return NULL;
    }
    w->pid = plumb_rt.pid;
    w->tid = tid;
    w->page = page;
    w->page_bytes = bytes;
    return w;
}

static void end_watch(struct plumb_sched_watch *w)
{
    munmap(w->page, w->page_bytes);
    plumb_pages_unmap(w, sizeof *w);
}

/* ---- Threads of the program ------------------------------------------------------------------ */

static bool records(const struct plumb_thread *th, const struct plumb_run *run)
{
    return PLUMB_ACQUIRE(th->generation) == run->generation && PLUMB_LOAD(th->tid);
}

static bool hold(struct plumb_thread *th)
{
    for (int i = 0; i < HOLD_TRIES; i++) {
        if (plumb_hold_try(th))
            return true;
        plumb_helper_pause(100000);
    }
    return false;
}

/* The calling thread is inside the run, which therefore stays open. */
static void look_at(struct plumb_thread *th, struct plumb_run *run, bool last)
{
    struct plumb_sched_watch *before = NULL, *made = NULL;
    uint32_t tid = PLUMB_LOAD(th->tid);
    int code = 0;
    bool opened;
    bool wanted = !last && records(th, run) && !plumb_thread_is_gone(th);
    if (wanted && !(th->sched && th->sched->tid == tid)) {
        made = watch_of(tid, &code, &opened);
        if (!made && code != ESRCH) {
            sched.why_refused = code;
            plumb_map_put(&sched.refused, tid, 1);
        }
    }
    if (!hold(th)) { /* perhaps its thread was cancelled in a fold: then this stays so */
        if (made)
            end_watch(made);
        return;
    }
    if (th->sched && th->sched->pid == plumb_rt.pid && records(th, run))
        plumb_sched_settle((struct plumb_in){th, run}, th->sched);
    if (made || last) {
        before = th->sched;
        th->sched = made;
    }
    plumb_hold_release(th);
    if (before && before->pid == plumb_rt.pid)
        end_watch(before);
}

static void look_at_all(bool last)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th && run; th = th->next)
        look_at(th, run, last);
}

/* ---- The trace ------------------------------------------------------------------------------- */

static plumb_lane lane_of(uint32_t tid)
{
    plumb_lane_options o = {.size = sizeof o, .kind = PLUMB_LANE_OF_HOST};
    char name[48];
    for (uint32_t i = 0; i < sched.lanes; i++)
        if (sched.lane[i].tid == tid)
            return sched.lane[i].lane;
    if (sched.lanes == LANES)
        return (plumb_lane){0};
    snprintf(name, sizeof name, "not running: thread %u", tid);
    o.name = name;
    sched.lane[sched.lanes].tid = tid;
    if (plumb_lane_open_impl(&sched.lane[sched.lanes].lane, sched.self, &o, NULL) < 0)
        sched.lane[sched.lanes].lane = (plumb_lane){0};
    return sched.lane[sched.lanes++].lane;
}

static void show(void)
{
    const plumb_clock host = {0};
    struct plumb_sched_event e;
    while (plumb_sched_next(&e, &sched.lost)) {
        plumb_lane lane = lane_of(e.tid);
        plumb_event event;
        memset(&event, 0, sizeof event);
        event.size = sizeof event;
        event.kind = PLUMB_EVENT_SPAN;
        event.name = e.preempted ? sched.preempted : sched.blocked;
        event.begin = e.out;
        event.end = e.in;
        if (lane.id)
            plumb_emit_impl(lane, host, &event);
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Finds out whether the kernel lets a process watch its own threads. */
static void try_one(void)
{
    struct plumb_sched_watch *trial =
        watch_of((uint32_t)syscall(SYS_gettid), &sched.code, &sched.opened);
    sched.level = plumb_perf_paranoid();
    PLUMB_STORE(plumb_sched_behind_ns, monotonic_offset());
    if (trial) {
        sched.code = 0;
        end_watch(trial);
    }
    PLUMB_RELEASE(sched.ready, 1);
    syscall(SYS_futex, &sched.ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *watcher(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "plumb-switch");
    plumb_own_table(); /* without it, each of its descriptors would briefly take a number in the
                        * program's table */
    try_one();
    while (!sched.code && !PLUMB_ACQUIRE(sched.stopping)) {
        const struct timespec period = {0, PERIOD_NS};
        uint32_t met = PLUMB_ACQUIRE(plumb_sched_met);
        look_at_all(false);
        show();
        if (!PLUMB_ACQUIRE(sched.stopping))
            syscall(SYS_futex, &plumb_sched_met, FUTEX_WAIT_PRIVATE, met, &period, NULL, 0);
    }
    plumb_own_thread_ends();
    return NULL;
}

#define MEMORY_USED_UP                                                                             \
    " (the memory that the kernel locks for this is used up: raise ulimit -l or "                  \
    "kernel.perf_event_mlock_kb)"

static int refuse(plumb_error *err)
{
    if (sched.code == EACCES && sched.level > 2)
        return plumb_fail(err, PLUMB_ERR_ABSENT,
                          "the kernel does not report context switches: kernel.perf_event_paranoid "
                          "is %d, 2 or less is needed",
                          sched.level);
    if (sched.opened)
        return plumb_fail(err, PLUMB_ERR_ABSENT, "%s" MEMORY_USED_UP, strerror(sched.code));
    if (sched.code == EACCES || sched.code == EPERM || sched.code == ENOSYS)
        return plumb_fail(err, PLUMB_ERR_ABSENT,
                          "perf_event_open() is refused (%s): a container's filter of system calls "
                          "does so unless it is told not to",
                          strerror(sched.code));
    return plumb_fail(err, PLUMB_ERR_ABSENT, "perf_event_open() fails: %s", strerror(sched.code));
}

/* Starts the thread, and waits until it knows whether the kernel allows events. */
static int make_watcher(plumb_error *err)
{
    int code = plumb_own_thread(&sched.thread, watcher, NULL, 0);
    if (code)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "cannot start a thread: %s", strerror(code));
    while (!PLUMB_ACQUIRE(sched.ready))
        syscall(SYS_futex, &sched.ready, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    if (!sched.code) {
        sched.running = true;
        return PLUMB_OK;
    }
    pthread_join(sched.thread, NULL);
    return refuse(err);
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    double ppm;
    int rc;
    (void)arg;
    (void)options;
    memset(&sched, 0, sizeof sched);
    if (plumb_rt.clock == PLUMB_CLOCK_VIRTUAL)
        return plumb_fail(err, PLUMB_ERR_ABSENT, "the clock is virtual, the switches are not");
    plumb_host_rate(&ppm);
    sched.self = self;
    sched.preempted = plumb_name_get_impl("preempted");
    sched.blocked = plumb_name_get_impl("blocked");
    sched.pid = getpid();
    plumb_sched_begin();
    rc = make_watcher(err);
    if (rc < 0)
        PLUMB_RELEASE(plumb_sched_on, 0);
    return rc;
}

static int log_refused(plumb_error *err)
{
    uint32_t threads = sched.refused.count;
    plumb_map_fini(&sched.refused);
    if (threads == 0)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_STATE, "%u thread%s could not be watched: %s%s", threads,
                      threads == 1 ? "" : "s", strerror(sched.why_refused),
                      sched.why_refused == EPERM || sched.why_refused == EAGAIN ? MEMORY_USED_UP
                                                                                : "");
}

static int stop(void *arg, plumb_error *err)
{
    (void)arg;
    PLUMB_RELEASE(plumb_sched_on, 0);
    if (sched.pid != getpid())
        return PLUMB_OK; /* a forked child: the threads are the parent's */
    PLUMB_RELEASE(sched.stopping, 1);
    __atomic_fetch_add(&plumb_sched_met, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &plumb_sched_met, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (sched.running)
        pthread_join(sched.thread, NULL);
    look_at_all(true);
    show();
    sched.pid = 0;
    return log_refused(err);
}

const plumb_collector_ops plumb_sched_collector = {
    .size = sizeof(plumb_collector_ops),
    .name = "sched",
    .help = "context switches: when threads were preempted, or waited, and in which nodes",
    .on_request = 1,
    .start = start,
    .stop = stop};
