/* collector.c: see collector.h. */
#include "record/collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/keeper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

enum { STACK_BYTES = 256 * 1024, NAP_NS = 1000000 };

static void set_why(struct plumb_collector *c, const char *text)
{
    snprintf(c->why, sizeof c->why, "%.*s", (int)sizeof c->why - 1, text);
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* The argument of a collector's thread: the collector's index and the thread's serial. */
enum { INDEX_BITS = 8 };

static bool is_mine(const struct plumb_collector *c, uint32_t serial)
{
    return c->serial == serial;
}

static void at_ms(struct timespec *t, uint64_t ms)
{
    clock_gettime(CLOCK_MONOTONIC, t);
    t->tv_sec += (time_t)(ms / 1000);
    t->tv_nsec += (long)(ms % 1000) * 1000000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_nsec -= 1000000000;
        t->tv_sec++;
    }
}

/* Returns the next request, or NOTHING after `ms`. Under c->lock, which is released during the
 * wait. */
static uint32_t next_ask(struct plumb_collector *c, uint32_t serial, uint64_t ms)
{
    struct timespec until;
    at_ms(&until, ms);
    while (is_mine(c, serial) && c->ask == PLUMB_ASK_NOTHING) {
        if (pthread_cond_timedwait(&c->asked, &c->lock, &until) == ETIMEDOUT)
            break;
    }
    return is_mine(c, serial) ? c->ask : PLUMB_ASK_NOTHING;
}

/* Under c->lock. */
static void answer(struct plumb_collector *c, uint32_t state)
{
    c->state = state;
    c->ask = PLUMB_ASK_NOTHING;
    c->doing = NULL;
    pthread_cond_broadcast(&c->answered);
}

/* A function has returned on a thread that was abandoned: undoes its effect. */
static void come_back(struct plumb_collector *c, bool started)
{
    plumb_error err = {0, ""};
    if (started && c->ops.stop)
        c->ops.stop(c->arg, &err);
    pthread_mutex_lock(&c->lock);
    c->threads--;
    if (c->state == PLUMB_COLLECTOR_ABANDONED && c->threads == 0)
        c->state = PLUMB_COLLECTOR_IDLE;
    pthread_cond_broadcast(&c->answered);
    pthread_mutex_unlock(&c->lock);
}

/* Returns whether the collector runs. */
static bool play_start(struct plumb_collector *c, uint32_t serial)
{
    plumb_error err = {0, ""};
    double ppm;
    int rc;
    plumb_host_rate(&ppm);
    rc = c->ops.start(c, c->arg, c->options, &err);
    pthread_mutex_lock(&c->lock);
    if (!is_mine(c, serial)) {
        pthread_mutex_unlock(&c->lock);
        come_back(c, rc >= 0);
        return false;
    }
    if (rc < 0) {
        set_why(c, err.message[0] ? err.message : "its start failed without a reason");
        c->threads--;
    }
    answer(c, rc >= 0                  ? PLUMB_COLLECTOR_RUNNING
              : rc == PLUMB_ERR_ABSENT ? PLUMB_COLLECTOR_ABSENT
                                       : PLUMB_COLLECTOR_FAILED);
    pthread_mutex_unlock(&c->lock);
    return rc >= 0;
}

static void play_stop(struct plumb_collector *c, uint32_t serial)
{
    plumb_error err = {0, ""};
    int rc = PLUMB_OK;
    plumb_collector_anchors(c);
    pthread_mutex_lock(&c->lock);
    if (!is_mine(c, serial)) {
        pthread_mutex_unlock(&c->lock);
        come_back(c, true);
        return;
    }
    c->doing = "its stop";
    pthread_mutex_unlock(&c->lock);
    if (c->ops.stop)
        rc = c->ops.stop(c->arg, &err);
    pthread_mutex_lock(&c->lock);
    if (!is_mine(c, serial)) {
        pthread_mutex_unlock(&c->lock);
        come_back(c, false);
        return;
    }
    if (rc < 0 || err.message[0])
        set_why(c, err.message[0] ? err.message : "its stop failed without a reason");
    c->threads--;
    answer(c, rc >= 0                  ? PLUMB_COLLECTOR_STOPPED
              : rc == PLUMB_ERR_ABSENT ? PLUMB_COLLECTOR_ABSENT
                                       : PLUMB_COLLECTOR_FAILED);
    pthread_mutex_unlock(&c->lock);
}

static void work(void *arg)
{
    uintptr_t born = (uintptr_t)arg;
    struct plumb_collector *c = plumb_collector_at((uint32_t)(born & ((1u << INDEX_BITS) - 1)));
    uint32_t serial = (uint32_t)(born >> INDEX_BITS);
    uint64_t pause_ms = 5;
    if (!play_start(c, serial))
        return;
    pthread_mutex_lock(&c->lock);
    while (is_mine(c, serial) && next_ask(c, serial, pause_ms) == PLUMB_ASK_NOTHING) {
        if (!is_mine(c, serial))
            break;
        c->doing = "reading its clock";
        pthread_mutex_unlock(&c->lock);
        plumb_collector_anchors(c);
        pthread_mutex_lock(&c->lock);
        if (is_mine(c, serial))
            c->doing = NULL;
        pause_ms = pause_ms >= 50 ? 1000 : pause_ms * 10;
    }
    if (!is_mine(c, serial)) {
        pthread_mutex_unlock(&c->lock);
        come_back(c, true);
        return;
    }
    c->doing = "reading its clock";
    pthread_mutex_unlock(&c->lock);
    play_stop(c, serial);
}

/* It names itself: naming another thread would write to a file in /proc. */
static void *thread_main(void *arg)
{
    char name[16];
    uintptr_t born = (uintptr_t)arg;
    snprintf(name, sizeof name, "plumb-%.9s",
             plumb_collector_at((uint32_t)(born & ((1u << INDEX_BITS) - 1)))->ops.name);
    pthread_setname_np(pthread_self(), name);
    work(arg);
    plumb_own_thread_ends();
    return NULL;
}

struct made {
    struct plumb_collector *c;
    int code;
};

/* Starts a thread that is not joined. */
static void make_thread(void *arg)
{
    struct made *made = arg;
    struct plumb_collector *c = made->c;
    void *born = (void *)((uintptr_t)c->serial << INDEX_BITS | c->index);
    pthread_t thread;
    made->code = plumb_own_thread(&thread, thread_main, born, STACK_BYTES);
    if (!made->code)
        pthread_detach(thread);
}

/* ---- Which ----------------------------------------------------------------------------------- */

/* Returns the word of `name` in the setting, "name" or "name:options"; NULL if it is missing. */
static const char *find_word(const char *setting, const char *name, size_t *length)
{
    size_t n = strlen(name);
    for (const char *p = setting; *p; p += *p == ',') {
        size_t all = strcspn(p, ","), word = strcspn(p, ":,");
        if (word == n && memcmp(p, name, n) == 0) {
            *length = all;
            return p;
        }
        p += all;
    }
    return NULL;
}

/* Finds the options after its name. */
static void find_options(struct plumb_collector *c)
{
    size_t n = 0, name = strlen(c->ops.name);
    const char *word = find_word(plumb_rt.settings.collect, c->ops.name, &n);
    c->options[0] = '\0';
    if (word && n > name)
        snprintf(c->options, sizeof c->options, "%.*s", (int)(n - name - 1), word + name + 1);
}

/* Returns whether the run wants it; `asked`: by name. */
static bool is_wanted(const struct plumb_collector *c, bool *asked)
{
    const char *setting = plumb_rt.settings.collect;
    size_t n, any;
    const char *word = find_word(setting, c->ops.name, &n);
    *asked = word != NULL;
    return word || (!c->ops.on_request && find_word(setting, "auto", &any));
}

/* ---- Asking it ------------------------------------------------------------------------------- */

static bool is_over(const struct timespec *until)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > until->tv_sec ||
           (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

/* Under c->lock. Returns false after `until`. The collector's function may need the helper during
 * the wait. */
static bool wait_for_answer(struct plumb_collector *c, const struct timespec *until)
{
    if (!plumb_helper_is_me())
        return pthread_cond_timedwait(&c->answered, &c->lock, until) != ETIMEDOUT;
    pthread_mutex_unlock(&c->lock);
    plumb_helper_pause(NAP_NS);
    pthread_mutex_lock(&c->lock);
    return !is_over(until);
}

/* Waits until the state is not `busy` any more; gives up at `until`. Under c->lock. */
static void await(struct plumb_collector *c, uint32_t busy, const struct timespec *until,
                  const char *what)
{
    while (c->state == busy) {
        if (wait_for_answer(c, until))
            continue;
        if (c->state != busy)
            break;
        snprintf(c->why, sizeof c->why, "%s has not returned within %d ms; it is left to itself",
                 c->doing ? c->doing : what, (int)PLUMB_COLLECTOR_WAIT_MS);
        c->state = PLUMB_COLLECTOR_ABANDONED;
        c->serial++;
        c->ask = PLUMB_ASK_NOTHING;
    }
}

/* After this no event of the collector is being taken, or will be. */
static void shut(struct plumb_collector *c)
{
    uint64_t deadline_ns;
    __atomic_store_n(&c->open, 0, __ATOMIC_SEQ_CST);
    plumb_barrier();
    deadline_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + PLUMB_LEAVE_WAIT_MS * UINT64_C(1000000);
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        plumb_thread_await(th, deadline_ns);
}

static void begin_start(struct plumb_collector *c, struct plumb_run *run)
{
    struct made made = {c, 0};
    plumb_lock();
    plumb_collector_entry(c, run);
    plumb_unlock();
    pthread_mutex_lock(&c->lock);
    PLUMB_STORE(c->generation, run->generation);
    PLUMB_STORE(c->late, 0);
    PLUMB_STORE(c->clocks, 0);
    PLUMB_STORE(c->lanes, 0);
    c->why[0] = '\0';
    find_options(c);
    memset(&c->last, 0, sizeof c->last);
    c->state = PLUMB_COLLECTOR_STARTING;
    c->doing = "its start";
    c->serial++;
    c->threads++;
    PLUMB_RELEASE(c->open, 1);
    /* Its functions may open descriptors for the program. */
    plumb_keeper_call(make_thread, &made);
    if (made.code) {
        c->threads--;
        c->state = PLUMB_COLLECTOR_FAILED;
        PLUMB_STORE(c->open, 0);
        snprintf(c->why, sizeof c->why, "cannot start its thread: %s", strerror(made.code));
    }
    pthread_mutex_unlock(&c->lock);
}

static void begin_stop(struct plumb_collector *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->state == PLUMB_COLLECTOR_RUNNING) {
        c->state = PLUMB_COLLECTOR_STOPPING;
        c->ask = PLUMB_ASK_STOP;
        pthread_cond_broadcast(&c->asked);
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- A run ----------------------------------------------------------------------------------- */

static void note_locked(struct plumb_run *run, const char *name, const char *what, const char *why)
{
    plumb_lock();
    plumb_run_note(run, "collector '%s' %s: %s", name, what, why);
    plumb_unlock();
}

/* Collectors of plumb's in libraries that a process loads itself, and why it has not. */
static const struct {
    const char *name, *why;
} modules[] = {
    {"onednn", "libplumb-onednn.so was not preloaded, as 'plumb record --collect onednn' does"},
    {"opencl", "the program did not use OpenCL, or its loader knows no layers, or 'plumb record "
               "--collect opencl' did not give it libplumb-opencl.so"},
};

static const char *why_not_loaded(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i].name, name) == 0)
            return modules[i].why;
    return NULL;
}

/* Reports names in PLUMB_COLLECT that no collector has, at the end of the run: a program may
 * register one late. */
static void warn_unknown(struct plumb_run *run)
{
    for (const char *p = plumb_rt.settings.collect; *p; p += *p == ',') {
        size_t all = strcspn(p, ","), word = strcspn(p, ":,"), n = 0;
        char name[64], known[128] = "PLUMB_COLLECT names it; there are:";
        const char *why;
        snprintf(name, sizeof name, "%.*s", (int)(word < 63 ? word : 63), p);
        p += all;
        if (!word || strcmp(name, "auto") == 0 || strcmp(name, "none") == 0 ||
            plumb_collector_find_impl(name))
            continue;
        if ((why = why_not_loaded(name)) != NULL) {
            note_locked(run, name, "saw nothing", why);
            continue;
        }
        for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
            n = strlen(known);
            if (plumb_collector_at(i)->registered &&
                n + strlen(plumb_collector_at(i)->ops.name) + 2 < sizeof known)
                snprintf(known + n, sizeof known - n, " %s", plumb_collector_at(i)->ops.name);
        }
        note_locked(run, name, "is not known", known);
    }
}

static void end_start(struct plumb_collector *c, struct plumb_run *run,
                      const struct timespec *until, bool asked)
{
    uint32_t state;
    char why[PLUMB_COLLECTOR_WHY];
    pthread_mutex_lock(&c->lock);
    await(c, PLUMB_COLLECTOR_STARTING, until, "its start");
    state = c->state;
    memcpy(why, c->why, sizeof why);
    pthread_mutex_unlock(&c->lock);
    if (state == PLUMB_COLLECTOR_RUNNING)
        return;
    shut(c);
    if (state == PLUMB_COLLECTOR_FAILED || (state == PLUMB_COLLECTOR_ABSENT && asked))
        note_locked(run, c->ops.name, "did not start", why);
    else if (state == PLUMB_COLLECTOR_ABANDONED)
        note_locked(run, c->ops.name, "was given up", why);
}

static void start_one(struct plumb_collector *c, struct plumb_run *run, bool *asked)
{
    bool wanted = is_wanted(c, asked), held;
    pthread_mutex_lock(&c->lock);
    held = c->state == PLUMB_COLLECTOR_ABANDONED;
    if (!wanted && !held)
        c->state = PLUMB_COLLECTOR_IDLE;
    pthread_mutex_unlock(&c->lock);
    if (!wanted)
        return;
    if (held)
        note_locked(run, c->ops.name, "did not start", "it still is where it was given up");
    else
        begin_start(c, run);
}

bool plumb_collectors_any_wanted(void)
{
    bool asked;
    for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
        if (plumb_collector_at(i)->registered && is_wanted(plumb_collector_at(i), &asked))
            return true;
    }
    return false;
}

void plumb_collectors_start(struct plumb_run *run)
{
    bool asked[PLUMB_LIVE_COLLECTORS] = {false};
    struct timespec until;
    for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
        if (plumb_collector_at(i)->registered)
            start_one(plumb_collector_at(i), run, &asked[i]);
    }
    at_ms(&until, PLUMB_COLLECTOR_WAIT_MS);
    for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
        if (PLUMB_LOAD(plumb_collector_at(i)->generation) == run->generation)
            end_start(plumb_collector_at(i), run, &until, asked[i]);
    }
}

static void end_stop(struct plumb_collector *c, struct plumb_run *run, const struct timespec *until)
{
    bool asked;
    uint32_t state;
    char why[PLUMB_COLLECTOR_WHY];
    pthread_mutex_lock(&c->lock);
    await(c, PLUMB_COLLECTOR_STOPPING, until, "its stop");
    state = c->state;
    memcpy(why, c->why, sizeof why);
    pthread_mutex_unlock(&c->lock);
    shut(c);
    if (state == PLUMB_COLLECTOR_ABANDONED)
        note_locked(run, c->ops.name, "was given up", why);
    else if (state == PLUMB_COLLECTOR_FAILED)
        note_locked(run, c->ops.name, "did not stop well", why);
    else if (state == PLUMB_COLLECTOR_STOPPED && why[0])
        note_locked(run, c->ops.name, "reports", why);
    else if (state == PLUMB_COLLECTOR_ABSENT && is_wanted(c, &asked) && asked)
        note_locked(run, c->ops.name, "saw nothing", why);
}

void plumb_collectors_stop(struct plumb_run *run)
{
    struct timespec until;
    bool running[PLUMB_LIVE_COLLECTORS] = {false};
    for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
        running[i] = PLUMB_LOAD(plumb_collector_at(i)->generation) == run->generation &&
                     PLUMB_LOAD(plumb_collector_at(i)->open);
        if (running[i])
            begin_stop(plumb_collector_at(i));
    }
    at_ms(&until, PLUMB_COLLECTOR_WAIT_MS);
    for (uint32_t i = 0; i < plumb_collectors_count(); i++) {
        if (running[i])
            end_stop(plumb_collector_at(i), run, &until);
    }
    warn_unknown(run);
}

/* ---- One of them, in the open run ------------------------------------------------------------ */

void plumb_collector_start_one(struct plumb_collector *c, struct plumb_run *run)
{
    struct timespec until;
    bool asked;
    start_one(c, run, &asked);
    at_ms(&until, PLUMB_COLLECTOR_WAIT_MS);
    if (PLUMB_LOAD(c->generation) == run->generation)
        end_start(c, run, &until, asked);
}

void plumb_collector_stop_one(struct plumb_collector *c, struct plumb_run *run)
{
    struct timespec until;
    begin_stop(c);
    at_ms(&until, PLUMB_COLLECTOR_WAIT_MS);
    end_stop(c, run, &until);
}
