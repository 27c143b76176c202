/* fake.c: the reference collector: a simulated device (plumb/fake.h).
 *
 * Nothing computes: queued work gets its begin and end on the device's clock at once. The reporters
 * wait until that clock has reached the end and then report the work to plumb. Each reports
 * independently, so events of a lane arrive out of order and at the same time, as they do from a
 * driver. It fails in every way that a collector can, because the tests of the runtime need one
 * that does.
 *
 * There is one such device in a process, hence the file-scope state. `lock` guards all of it except
 * the fields that are set before the reporters start. It is never held while plumb is called. */
#include "collect/fake.h"
#include "base/futex.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/u128.h"
#include "record/collect/collector.h"

#include <plumb/fake.h>

enum { QUEUES = 16, THREADS = 16, PENDING = 1024, LATE_EVENTS = 100 };
enum fail {
    FAIL_NOT,
    FAIL_START,
    FAIL_HANG_START,
    FAIL_HANG_STOP,
    FAIL_HANG_CLOCK,
    FAIL_TIMES,
    FAIL_LATE
};

struct work {
    uint64_t begin, end; /* device ticks */
    plumb_origin origin;
    plumb_name name;
};
struct queue {
    plumb_lane lane;
    uint64_t put, reported; /* queued and reported so far; number n is at n % PENDING */
    uint64_t free_at;       /* device ticks */
    struct work work[PENDING];
};

/* NOT_SET: what is to hang does so for a little longer than plumb waits. */
enum held { NOT_SET, HELD, RELEASED };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t made_in; /* the process that `lock` was initialized in */
    pid_t pid;     /* process that it runs in; 0: not running; atomic */
    bool stopping;
    bool virtual_time;
    uint32_t threads, queues, born;
    bool events;
    enum fail fail;
    int64_t drift_ppb;
    uint64_t zero_ns;  /* host time at which it was switched on */
    uint64_t ahead;    /* device ticks then */
    uint64_t reported; /* events reported; every second one can be spoiled */
    uint32_t held;     /* enum held; atomic */
    plumb_clock clock;
    pthread_t thread[THREADS];
    struct queue queue[QUEUES];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Time ------------------------------------------------------------------------------------ */

static uint64_t host_ns(void)
{
    return fake.virtual_time ? PLUMB_LOAD(plumb_clock_virtual_ns)
                             : plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

/* `ns` of true time in device ticks, and back. */
static uint64_t scaled(uint64_t ns)
{
    return (uint64_t)((plumb_u128)ns * (uint64_t)(1000000000 + fake.drift_ppb) / 1000000000u);
}
static uint64_t unscaled(uint64_t ticks)
{
    uint64_t rate = (uint64_t)(1000000000 + fake.drift_ppb);
    return (uint64_t)(((plumb_u128)ticks * 1000000000u + rate - 1) / rate);
}

/* Under the lock. */
static uint64_t device_now(void)
{
    return fake.ahead + scaled(host_ns() - fake.zero_ns);
}

static int clock_now(uint64_t *out, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake.lock);
    *out = device_now();
    pthread_mutex_unlock(&fake.lock);
    return PLUMB_OK;
}

void plumb_fake_hold(bool hold)
{
    PLUMB_RELEASE(fake.held, hold ? HELD : RELEASED);
}

static void hang(void)
{
    if (PLUMB_ACQUIRE(fake.held) == NOT_SET)
        plumb_nap((PLUMB_COLLECTOR_WAIT_MS + 500) * UINT64_C(1000000));
    while (PLUMB_ACQUIRE(fake.held) == HELD)
        plumb_nap(1000000);
}

static int clock_hangs(uint64_t *out, void *arg)
{
    int rc = clock_now(out, arg);
    if (PLUMB_LOAD(fake.born))
        hang();
    return rc;
}

/* Waits until the device's clock shows `ticks`, or for a wake-up. Called with the lock, which is
 * released during the wait. */
static void wait_until(uint64_t ticks)
{
    uint64_t now = device_now(), ns = ticks > now ? unscaled(ticks - now) : 0;
    struct timespec t;
    if (fake.virtual_time || ticks == UINT64_MAX) {
        pthread_cond_wait(&fake.changed, &fake.lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    pthread_cond_timedwait(&fake.changed, &fake.lock, &t);
}

/* ---- Reporters ------------------------------------------------------------------------------- */

/* Takes a finished piece of work, under the lock. Returns false if there is none, with the time of
 * the next one in `next`. */
static bool take_done(struct work *out, plumb_lane *lane, uint64_t *next)
{
    uint64_t now = device_now();
    *next = UINT64_MAX;
    for (uint32_t i = 0; i < fake.queues; i++) {
        struct queue *q = &fake.queue[i];
        const struct work *w = &q->work[q->reported % PENDING];
        if (q->reported == q->put)
            continue;
        if (w->end <= now) {
            *out = *w;
            *lane = q->lane;
            q->reported++;
            return true;
        }
        *next = w->end < *next ? w->end : *next;
    }
    return false;
}

static void report(plumb_lane lane, plumb_clock clock, const struct work *w, uint64_t number,
                   enum fail fail)
{
    plumb_event_arg arg = {.key = plumb_name_get_impl("number"), .type = 1};
    plumb_event e = {.size = sizeof e,
                     .kind = PLUMB_EVENT_SPAN,
                     .name = w->name,
                     .begin = w->begin,
                     .end = w->end,
                     .origin = &w->origin,
                     .args = &arg,
                     .arg_count = 1};
    arg.value.i64 = (int64_t)number;
    if (fail == FAIL_TIMES && number % 2 == 0) {
        e.begin = number % 4 == 0 ? w->end : w->begin + (UINT64_C(1) << 62);
        e.end = number % 4 == 0 ? w->begin : e.begin + 1;
    }
    plumb_emit_impl(lane, clock, &e);
}

static void go_on_after_stop(plumb_lane lane, plumb_clock clock)
{
    plumb_event e = {.size = sizeof e, .kind = PLUMB_EVENT_INSTANT};
    /* Outside the run, whenever the machine was started. */
    e.begin = UINT64_MAX / 2;
    for (int i = 0; i < LATE_EVENTS; i++) {
        plumb_nap(1000000);
        plumb_emit_impl(lane, clock, &e);
    }
}

static void *reporter(void *arg)
{
    uint32_t mine = (uint32_t)(uintptr_t)arg;
    plumb_lane lane = {0};
    struct work w;
    uint64_t next;
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        if (take_done(&w, &lane, &next)) {
            uint64_t number = ++fake.reported;
            plumb_clock clock = fake.clock;
            enum fail fail = fake.fail;
            bool events = fake.events, exact = fake.virtual_time;
            pthread_mutex_unlock(&fake.lock);
            /* The rate is then known exactly, not only within the drift that a clock may have. */
            if (exact)
                plumb_clock_anchor_impl(clock);
            if (events)
                report(lane, clock, &w, number, fail);
            pthread_mutex_lock(&fake.lock);
        } else if (fake.stopping) {
            break;
        } else {
            wait_until(next);
        }
    }
    lane = fake.queue[0].lane;
    plumb_clock clock = fake.clock;
    bool late = fake.fail == FAIL_LATE && mine == 0;
    pthread_mutex_unlock(&fake.lock);
    if (late)
        go_on_after_stop(lane, clock);
    return NULL;
}

/* ---- Options --------------------------------------------------------------------------------- */

static const char *const fail_names[] = {"",           "start", "hang-start", "hang-stop",
                                         "hang-clock", "times", "late"};

static int take_number(const char *value, double low, double high, double *out)
{
    char *end;
    double v = strtod(value, &end);
    if (end == value || *end || !(v >= low && v <= high))
        return PLUMB_ERR_ARG;
    *out = v;
    return PLUMB_OK;
}

static int take_fail(const char *value)
{
    for (int i = FAIL_START; i <= FAIL_LATE; i++) {
        if (strcmp(value, fail_names[i]) == 0) {
            fake.fail = (enum fail)i;
            return PLUMB_OK;
        }
    }
    return PLUMB_ERR_ARG;
}

static int take_option(const char *name, const char *value)
{
    double v = 0;
    int rc = PLUMB_ERR_ARG;
    if (strcmp(name, "fail") == 0)
        return take_fail(value);
    if (strcmp(name, "threads") == 0 && (rc = take_number(value, 1, THREADS, &v)) == PLUMB_OK)
        fake.threads = (uint32_t)v;
    else if (strcmp(name, "queues") == 0 && (rc = take_number(value, 1, QUEUES, &v)) == PLUMB_OK)
        fake.queues = (uint32_t)v;
    else if (strcmp(name, "drift") == 0 && (rc = take_number(value, -1e5, 1e5, &v)) == PLUMB_OK)
        fake.drift_ppb = (int64_t)(v * 1000);
    else if (strcmp(name, "offset") == 0 && (rc = take_number(value, -1e6, 1e6, &v)) == PLUMB_OK)
        fake.ahead = (uint64_t)((int64_t)fake.zero_ns + (int64_t)(v * 1e9));
    else if (strcmp(name, "events") == 0 && (rc = take_number(value, 0, 1, &v)) == PLUMB_OK)
        fake.events = v > 0;
    return rc;
}

/* "name=value:name=value" */
static int take_options(const char *options, plumb_error *err)
{
    char text[PLUMB_COLLECTOR_OPTIONS];
    char *rest = text, *word;
    snprintf(text, sizeof text, "%s", options);
    while ((word = strsep(&rest, ":")) != NULL) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (*word && (!value || take_option(word, value) < 0))
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "PLUMB_COLLECT: fake knows no option '%s' with '%s'; threads=4, "
                              "queues=1, drift=50, offset=12, events=1, fail=WHAT are some",
                              word, value ? value : "");
    }
    return PLUMB_OK;
}

/* ---- Session --------------------------------------------------------------------------------- */

/* Once a process: a forked child has no thread that could release a lock held at the fork. */
static void init_lock(void)
{
    const pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attr;
    if (fake.made_in == getpid())
        return;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    fake.lock = free_lock;
    pthread_cond_init(&fake.changed, &attr);
    pthread_condattr_destroy(&attr);
    fake.made_in = getpid();
}

static void switch_on(void)
{
    init_lock();
    pthread_mutex_lock(&fake.lock);
    fake.stopping = false;
    fake.virtual_time = plumb_rt.clock == PLUMB_CLOCK_VIRTUAL;
    fake.threads = 4;
    fake.queues = 1;
    fake.born = 0;
    fake.events = true;
    fake.fail = FAIL_NOT;
    fake.drift_ppb = 50000;
    fake.zero_ns = host_ns();
    fake.ahead = fake.zero_ns + UINT64_C(12000000000);
    fake.reported = 0;
    for (uint32_t i = 0; i < QUEUES; i++)
        fake.queue[i].put = fake.queue[i].reported = fake.queue[i].free_at = 0;
    pthread_mutex_unlock(&fake.lock);
}

static int open_lanes(plumb_collector *self, plumb_error *err)
{
    plumb_clock_options clock = {.size = sizeof clock,
                                 .name = "fake",
                                 .hz = 1e9,
                                 .now = fake.fail == FAIL_HANG_CLOCK ? clock_hangs : clock_now};
    int rc = plumb_clock_open_impl(&fake.clock, self, &clock, err);
    for (uint32_t i = 0; rc == PLUMB_OK && i < fake.queues; i++) {
        char name[32];
        plumb_lane_options lane = {.size = sizeof lane,
                                   .name = name,
                                   .device = "fake:0",
                                   .kind = PLUMB_LANE_OF_WORK,
                                   .flags = fake.events ? 0 : PLUMB_LANE_LAUNCH_ONLY};
        snprintf(name, sizeof name, "fake queue %u", i);
        rc = plumb_lane_open_impl(&fake.queue[i].lane, self, &lane, err);
    }
    return rc;
}

static void end_reporters(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.stopping = true;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    for (uint32_t i = 0; i < fake.born; i++) {
        if (fake.fail == FAIL_LATE && i == 0)
            pthread_detach(fake.thread[i]);
        else
            pthread_join(fake.thread[i], NULL);
    }
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    int rc;
    (void)arg;
    switch_on();
    rc = take_options(options, err);
    if (rc == PLUMB_OK && fake.fail == FAIL_START)
        rc = plumb_fail(err, PLUMB_ERR_ABSENT, "there is no such device; it was told to say so");
    if (rc == PLUMB_OK && fake.fail == FAIL_HANG_START)
        hang();
    if (rc == PLUMB_OK)
        rc = open_lanes(self, err);
    for (uint32_t i = 0; rc == PLUMB_OK && i < fake.threads; i++) {
        int code = pthread_create(&fake.thread[i], NULL, reporter, (void *)(uintptr_t)i);
        if (code)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "cannot start a thread: %s", strerror(code));
        else
            PLUMB_STORE(fake.born, i + 1);
    }
    if (rc < 0) {
        end_reporters();
        return rc;
    }
    pthread_mutex_lock(&fake.lock);
    PLUMB_STORE(fake.pid, getpid());
    pthread_mutex_unlock(&fake.lock);
    return PLUMB_OK;
}

static int stop(void *arg, plumb_error *err)
{
    (void)arg;
    (void)err;
    pthread_mutex_lock(&fake.lock);
    PLUMB_STORE(fake.pid, 0);
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    if (fake.fail == FAIL_HANG_STOP)
        hang();
    end_reporters();
    return PLUMB_OK;
}

/* ---- What it offers -------------------------------------------------------------------------- */

/* Returns true with the lock held, false without it. */
static bool enter(void)
{
    if (PLUMB_LOAD(fake.pid) != getpid())
        return false;
    pthread_mutex_lock(&fake.lock);
    if (fake.pid)
        return true;
    pthread_mutex_unlock(&fake.lock);
    return false;
}

static uint64_t enqueue(plumb_node node, uint32_t queue, const char *name, uint64_t ns)
{
    struct work w = {.name = plumb_name_get_impl(name ? name : "kernel")};
    struct queue *q;
    uint64_t handle = 0;
    plumb_lane lane;
    if (queue >= QUEUES || !enter())
        return 0;
    lane = fake.queue[queue < fake.queues ? queue : 0].lane;
    pthread_mutex_unlock(&fake.lock);
    plumb_origin_capture_impl(&w.origin, lane, node);
    if (!enter())
        return 0;
    q = &fake.queue[queue < fake.queues ? queue : 0];
    if (q->put - q->reported < PENDING) {
        uint64_t now = device_now();
        w.begin = q->free_at > now ? q->free_at : now;
        w.end = q->free_at = w.begin + scaled(ns);
        q->work[q->put % PENDING] = w;
        q->put++;
        handle = q->put << 8 | (uint64_t)(q - fake.queue + 1);
        pthread_cond_broadcast(&fake.changed);
    }
    pthread_mutex_unlock(&fake.lock);
    return handle;
}

/* Waits until `end` on the device's clock. Called with the lock, which is released while it
 * waits. */
static void pass_until(uint64_t end)
{
    while (fake.pid && device_now() < end) {
        if (fake.virtual_time)
            PLUMB_ADD(plumb_clock_virtual_ns, unscaled(end - device_now()));
        else
            wait_until(end);
    }
    pthread_cond_broadcast(&fake.changed);
}

static int wait_for(uint64_t handle)
{
    uint64_t number = (handle >> 8) - 1, begin;
    uint32_t queue = (uint32_t)(handle & 0xff) - 1;
    plumb_event e = {.size = sizeof e, .kind = PLUMB_EVENT_WAIT};
    plumb_clock host = {0};
    struct queue *q = &fake.queue[queue < QUEUES ? queue : 0];
    plumb_lane lane;
    struct work w;
    bool events;
    if (queue >= QUEUES)
        return PLUMB_ERR_ARG;
    if (!enter())
        return PLUMB_ERR_STATE;
    if (number >= q->put || q->put - number > PENDING) {
        pthread_mutex_unlock(&fake.lock);
        return PLUMB_ERR_ARG;
    }
    w = q->work[number % PENDING];
    begin = plumb_host_ticks_impl();
    pass_until(w.end);
    events = fake.events;
    lane = q->lane;
    pthread_mutex_unlock(&fake.lock);
    e.name = w.name;
    e.begin = begin;
    e.end = plumb_host_ticks_impl();
    e.origin = &w.origin;
    if (events)
        plumb_emit_impl(lane, host, &e);
    return PLUMB_OK;
}

static int advance(uint64_t ns)
{
    if (!enter())
        return PLUMB_ERR_STATE;
    bool can = fake.virtual_time;
    if (can)
        PLUMB_ADD(plumb_clock_virtual_ns, ns);
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return can ? PLUMB_OK : PLUMB_ERR_STATE;
}

static int jump(int64_t ns)
{
    if (!enter())
        return PLUMB_ERR_STATE;
    fake.ahead += (uint64_t)ns;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return PLUMB_OK;
}

static uint64_t device_ticks(void)
{
    uint64_t now;
    if (!enter())
        return 0;
    now = device_now();
    pthread_mutex_unlock(&fake.lock);
    return now;
}

static const plumb_fake_offer offer = {.size = sizeof offer,
                                       .enqueue = enqueue,
                                       .wait = wait_for,
                                       .advance = advance,
                                       .jump = jump,
                                       .device_ticks = device_ticks};

const plumb_collector_ops plumb_fake_collector = {
    .size = sizeof(plumb_collector_ops),
    .name = "fake",
    .help = "a simulated device: queues work, has a clock of its own, fails on demand",
    .on_request = 1,
    .start = start,
    .stop = stop,
    .offer = &offer};
