/* perf.c: the collector `perf`: counters of stages and kernels. Where they are read, and of what:
 * record/stage/perf.h.
 *
 * It is a collector, not a setting of its own, because it is what the others are: off until
 * PLUMB_COLLECT names it, listed by `plumb doctor`, absent with a reason where the machine does not
 * have it, started and stopped with the run.
 *
 * One thread, with a descriptor table of its own, opens the events of the program's threads as they
 * ask for them, reads those that only a descriptor reads, and closes them when a thread has ended.
 * It exists only where some event can be opened at all. */
#include "collect/perf.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/process/perf.h"
#include "record/runtime/helper.h"
#include "record/runtime/mapping.h"
#include "record/stage/perf.h"

enum { LOOK_NS = 1000000000, LEAVE_NS = 1000000000 };

static struct {
    pid_t pid; /* process that it runs in; 0: not running */
    pthread_t thread;
    bool running;
    uint32_t stopping;             /* atomic */
    uint32_t ready;                /* atomic, futex: the trial is over */
    uint32_t wanted;               /* bits */
    bool by_name;                  /* some were named one by one */
    int code[PLUMB_PERF_COUNTERS]; /* errno of the trial, 0: none */
    int32_t level;                 /* kernel.perf_event_paranoid */
    uint64_t refused;              /* threads with an event that could not be opened */
    int why_refused;
} perf;

/* ---- Events ---------------------------------------------------------------------------------- */

/* Opens the events `bits` of a thread; those that fail stay closed. Returns the last errno, 0: all
 * are open. */
static int open_events(struct plumb_perf_event *event, uint32_t bits, int32_t tid, int *codes)
{
    int last = 0;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++) {
        uint32_t leader = plumb_perf_leader(i);
        const struct plumb_perf_event *group =
            leader != i && event[leader].fd >= 0 ? &event[leader] : NULL;
        int code = 0;
        event[i] = (struct plumb_perf_event){NULL, 0, -1};
        if (bits & PLUMB_PERF_BIT(i))
            code = plumb_perf_open(&event[i], i, tid, group);
        if (codes)
            codes[i] = code;
        last = code ? code : last;
    }
    return last;
}

static void close_events(struct plumb_perf_event *event)
{
    for (uint32_t i = PLUMB_PERF_COUNTERS; i-- > PLUMB_PERF_FIRST_EVENT;)
        plumb_perf_close(&event[i]);
}

/* ---- Threads of the program ------------------------------------------------------------------ */

/* Their thread waits, or will see next time that they are open. */
static void open_for(struct plumb_perf_thread *p)
{
    int code;
    if (p->opened)
        close_events(p->event);
    code = open_events(p->event, plumb_perf_plan.events, (int32_t)p->tid, NULL);
    if (code && code != ESRCH) {
        perf.refused++;
        perf.why_refused = code;
    }
    p->by_page = p->by_fd = 0;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++) {
        if (p->event[i].fd < 0)
            continue;
        if (plumb_perf_has_page(&p->event[i])) {
            syscall(SYS_close, p->event[i].fd); /* the page keeps the event */
            p->event[i].fd = -1;
            p->by_page |= PLUMB_PERF_BIT(i);
        } else {
            p->by_fd |= PLUMB_PERF_BIT(i);
        }
    }
    PLUMB_ADD(p->opened, 1);
    PLUMB_RELEASE(p->state, PLUMB_PERF_OPEN);
    plumb_futex_wake(&p->state);
}

static void close_for(struct plumb_perf_thread *p, uint32_t from)
{
    if (!__atomic_compare_exchange_n(&p->state, &from, PLUMB_PERF_BUSY, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return; /* its record has a new thread, which asks */
    if (p->opened)
        close_events(p->event);
    p->by_page = p->by_fd = 0;
    PLUMB_RELEASE(p->state, PLUMB_PERF_CLOSED);
}

static void read_for(struct plumb_perf_thread *p)
{
    uint32_t asked = PLUMB_ACQUIRE(p->asked);
    if (asked == PLUMB_LOAD(p->answered) || PLUMB_ACQUIRE(p->state) != PLUMB_PERF_OPEN)
        return;
    p->answer.known = 0;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++)
        if (p->by_fd & PLUMB_PERF_BIT(i))
            plumb_perf_read_fd(&p->answer, i, &p->event[i]);
    PLUMB_RELEASE(p->answered, asked);
    plumb_futex_wake(&p->answered);
}

static void serve(const struct plumb_thread *th, bool looks)
{
    struct plumb_perf_thread *p = PLUMB_ACQUIRE(th->perf);
    uint32_t state = p && PLUMB_ACQUIRE(p->pid) == (uint32_t)perf.pid ? PLUMB_ACQUIRE(p->state)
                                                                      : PLUMB_PERF_CLOSED;
    if (state == PLUMB_PERF_WANTED)
        open_for(p);
    else if (state == PLUMB_PERF_OPEN && looks && plumb_thread_is_gone(th))
        close_for(p, PLUMB_PERF_OPEN);
    else if (state == PLUMB_PERF_OPEN)
        read_for(p);
}

static void serve_all(bool looks)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        serve(th, looks);
}

/* A thread that is still inside the runtime may be reading a page, which then stays. */
static void close_all(void)
{
    uint64_t until = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + LEAVE_NS;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        struct plumb_perf_thread *p = PLUMB_ACQUIRE(th->perf);
        if (p && PLUMB_ACQUIRE(p->pid) == (uint32_t)perf.pid && plumb_thread_await(th, until))
            close_for(p, PLUMB_ACQUIRE(p->state));
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Finds out which events there are. Returns whether there is any. */
static bool try_all(void)
{
    struct plumb_perf_event event[PLUMB_PERF_COUNTERS];
    uint32_t wanted = perf.wanted & ~PLUMB_PERF_SOFT;
    open_events(event, wanted, 0, perf.code);
    close_events(event);
    perf.level = plumb_perf_paranoid();
    plumb_perf_plan.events = 0;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++)
        if (wanted & PLUMB_PERF_BIT(i) && !perf.code[i])
            plumb_perf_plan.events |= PLUMB_PERF_BIT(i);
    return plumb_perf_plan.events != 0;
}

static void *worker(void *unused)
{
    uint64_t next = 0;
    (void)unused;
    pthread_setname_np(pthread_self(), "plumb-counters");
    /* In the program's table each descriptor would take a number there. */
    bool any = plumb_own_table() && try_all();
    PLUMB_RELEASE(perf.ready, 1);
    plumb_futex_wake(&perf.ready);
    while (any && !PLUMB_ACQUIRE(perf.stopping)) {
        uint32_t seen = PLUMB_ACQUIRE(plumb_perf_asks);
        uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
        serve_all(now >= next);
        next = now >= next ? now + LOOK_NS : next;
        if (!PLUMB_ACQUIRE(perf.stopping))
            plumb_futex_wait(&plumb_perf_asks, seen, LOOK_NS);
    }
    if (any)
        close_all();
    plumb_own_thread_ends();
    return NULL;
}

/* Starts the thread and waits for the trial; without events it ends again. */
static int try_the_machine(plumb_error *err)
{
    int code = plumb_own_thread(&perf.thread, worker, NULL, 0);
    if (code)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "cannot start a thread: %s", strerror(code));
    while (!PLUMB_ACQUIRE(perf.ready))
        plumb_futex_wait(&perf.ready, 0, UINT64_MAX);
    perf.running = plumb_perf_plan.events != 0;
    if (!perf.running)
        pthread_join(perf.thread, NULL);
    return PLUMB_OK;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* Takes "instructions+cycles", "hardware", "software", "simulated". */
static int take_options(const char *options, plumb_error *err)
{
    const char *p = options;
    while (*p) {
        size_t n = strcspn(p, "+");
        uint32_t bits = plumb_perf_bits_of(p, n);
        if (n == strlen("simulated") && memcmp(p, "simulated", n) == 0)
            plumb_perf_plan.simulated = true;
        else if (!bits)
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "there is no counter '%.*s': name some, joined by '+', such as "
                              "instructions+cycles, or hardware, software, simulated",
                              (int)n, p);
        perf.by_name |= bits && !(bits & (bits - 1));
        perf.wanted |= bits;
        p += n + (p[n] == '+');
    }
    if (!perf.wanted)
        perf.wanted = PLUMB_PERF_ALL;
    return PLUMB_OK;
}

static uint32_t state_of(uint32_t i)
{
    if (!(perf.wanted & PLUMB_PERF_BIT(i)))
        return PLUMB_LIVE_PERF_UNASKED;
    if (i < PLUMB_PERF_FIRST_EVENT)
        return PLUMB_LIVE_PERF_THERE;
    if (plumb_perf_plan.simulated)
        return PLUMB_LIVE_PERF_SIMULATED;
    return plumb_perf_plan.events & PLUMB_PERF_BIT(i) ? PLUMB_LIVE_PERF_THERE
                                                      : PLUMB_LIVE_PERF_ABSENT;
}

static void describe(struct plumb_live_perf_source *out)
{
    out->level = perf.level;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        out->counter[i].state = state_of(i);
        out->counter[i].code = perf.code[i];
    }
    PLUMB_RELEASE(out->on, 1);
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    int rc;
    (void)self;
    (void)arg;
    memset(&perf, 0, sizeof perf);
    memset(&plumb_perf_plan, 0, sizeof plumb_perf_plan);
    perf.level = INT32_MIN;
    if ((rc = take_options(options, err)) < 0)
        return rc;
    plumb_perf_plan.soft = perf.wanted & PLUMB_PERF_SOFT;
    perf.pid = getpid();
    if (plumb_perf_plan.simulated)
        plumb_perf_plan.events = perf.wanted & ~PLUMB_PERF_SOFT;
    else if (perf.wanted & ~PLUMB_PERF_SOFT && (rc = try_the_machine(err)) < 0)
        return rc;
    if (run)
        describe(&run->h->perf);
    PLUMB_RELEASE(plumb_perf_pid, (uint32_t)perf.pid);
    return PLUMB_OK;
}

/* Says which of the counters that the user asked for are absent. */
static void report_absent(plumb_error *err)
{
    char why[160];
    for (uint32_t i = PLUMB_PERF_FIRST_HARD; i < PLUMB_PERF_COUNTERS; i++) {
        if (!(perf.wanted & PLUMB_PERF_BIT(i)) || plumb_perf_plan.simulated || !perf.code[i])
            continue;
        if (!perf.by_name && plumb_perf_plan.events & PLUMB_PERF_HARD)
            continue;
        plumb_perf_why(why, sizeof why, i, perf.code[i], perf.level);
        plumb_fail(err, PLUMB_ERR_ABSENT, "no %s: %s",
                   perf.by_name ? plumb_perf_name(i) : "hardware counters", why);
        return;
    }
}

static int stop(void *arg, plumb_error *err)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    char why[160];
    (void)arg;
    if (perf.pid != getpid())
        return PLUMB_OK; /* a forked child: the thread is the parent's */
    __atomic_store_n(&plumb_perf_pid, 0, __ATOMIC_SEQ_CST);
    plumb_barrier();
    if (perf.running) {
        PLUMB_RELEASE(perf.stopping, 1);
        __atomic_fetch_add(&plumb_perf_asks, 1, __ATOMIC_RELEASE);
        plumb_futex_wake(&plumb_perf_asks);
        pthread_join(perf.thread, NULL);
    }
    perf.pid = 0;
    report_absent(err);
    if (perf.refused) {
        if (run)
            PLUMB_STORE(run->h->perf.threads_refused, perf.refused);
        plumb_perf_why(why, sizeof why, PLUMB_PERF_CYCLES, perf.why_refused, perf.level);
        plumb_fail(err, PLUMB_ERR_STATE, "events of %llu thread%s could not be opened: %s",
                   (unsigned long long)perf.refused, perf.refused == 1 ? "" : "s", why);
    }
    return PLUMB_OK;
}

const plumb_collector_ops plumb_perf_collector = {
    .size = sizeof(plumb_collector_ops),
    .name = "perf",
    .help = "counters of stages and kernels: processor time, page faults, switches, instructions, "
            "cycles, misses",
    .on_request = 1,
    .start = start,
    .stop = stop};
