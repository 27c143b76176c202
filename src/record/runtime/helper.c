/* helper.c: see helper.h.
 *
 * Each job has two numbers: how often it was asked for, and how many of these requests are done. A
 * thread that asks increments the first, rings, and waits for the second; many requests at once are
 * served by one turn. The helper sleeps until the bell rings or a periodic job is due. */
#include "record/runtime/helper.h"

#include <time.h>

#include "base/atomic.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/futex.h"
#include "record/runtime/helper_parts.h"

enum { NAP_NS = 1000000, SECOND = 1000000000 };
static const enum plumb_job URGENT = PLUMB_JOB_MODULES;

struct plumb_helper plumb_helper;

static __thread bool is_helper __attribute__((tls_model("initial-exec")));

void plumb_helper_is_born(void)
{
    is_helper = true;
}

bool plumb_helper_is_there(void)
{
    return PLUMB_ACQUIRE(plumb_helper.there) != 0;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

void plumb_helper_serve(enum plumb_job last)
{
    for (enum plumb_job i = 0; i <= last; i++) {
        uint32_t asked = PLUMB_ACQUIRE(plumb_helper.job[i].asked);
        if (asked == plumb_helper.job[i].done)
            continue;
        plumb_helper_work.job[i]();
        PLUMB_RELEASE(plumb_helper.job[i].done, asked);
        plumb_futex_wake(&plumb_helper.job[i].done);
    }
}

void plumb_helper_sleep(uint32_t heard, uint64_t ns)
{
    __atomic_store_n(&plumb_helper.sleeping, 1, __ATOMIC_SEQ_CST);
    if (PLUMB_LOAD_ORDERED(plumb_helper.bell) == heard)
        plumb_futex_wait(&plumb_helper.bell, heard, ns);
    PLUMB_STORE(plumb_helper.sleeping, 0);
}

void plumb_helper_ring(void)
{
    __atomic_fetch_add(&plumb_helper.bell, 1, __ATOMIC_SEQ_CST);
    if (PLUMB_LOAD_ORDERED(plumb_helper.sleeping))
        plumb_futex_wake(&plumb_helper.bell);
}

static uint32_t ask(enum plumb_job job)
{
    uint32_t ticket = __atomic_add_fetch(&plumb_helper.job[job].asked, 1, __ATOMIC_ACQ_REL);
    plumb_helper_ring();
    return ticket;
}

static bool is_done(enum plumb_job job, uint32_t ticket)
{
    return (int32_t)(PLUMB_ACQUIRE(plumb_helper.job[job].done) - ticket) >= 0;
}

static bool await(enum plumb_job job, uint32_t ticket, uint64_t ns)
{
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC), until = now + ns;
    while (!is_done(job, ticket) && now < until && plumb_helper_is_there()) {
        uint32_t seen = PLUMB_LOAD(plumb_helper.job[job].done);
        if (!is_done(job, ticket))
            plumb_futex_wait(&plumb_helper.job[job].done, seen, until - now);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    }
    return is_done(job, ticket);
}

/* Does the job on this thread, without cancellation: jobs call cancellation points. */
static void do_it_here(enum plumb_job job)
{
    struct plumb_cancel before;
    before = plumb_cancel_off();
    plumb_helper_work.job[job]();
    plumb_cancel_on(before);
}

bool plumb_helper_do(enum plumb_job job, uint64_t ns)
{
    if (!plumb_helper_is_me() && plumb_helper_is_there() && await(job, ask(job), ns))
        return true;
    if (!plumb_helper_is_me() && plumb_helper_is_there())
        return false;
    do_it_here(job);
    return true;
}

void plumb_helper_ask(enum plumb_job job)
{
    if (plumb_helper_is_there())
        ask(job);
}

static uint64_t cpu_ns(void)
{
    struct timespec t = {0, 0};
    clock_gettime(PLUMB_LOAD(plumb_helper.cpu), &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

bool plumb_helper_do_patiently(enum plumb_job job, uint64_t ns)
{
    uint64_t cpu, before = 0, quiet = 0;
    uint32_t ticket;
    bool done = false;
    if (plumb_helper_is_me() || !plumb_helper_is_there())
        return plumb_helper_do(job, ns);
    ticket = ask(job);
    while (!done && quiet < ns && plumb_helper_is_there()) {
        done = await(job, ticket, SECOND);
        cpu = cpu_ns();
        quiet = cpu != before ? 0 : quiet + SECOND;
        before = cpu;
    }
    if (!done && !plumb_helper_is_there())
        return plumb_helper_do(job, ns);
    return done;
}

void plumb_helper_pause(uint64_t ns)
{
    uint32_t heard = PLUMB_LOAD_ORDERED(plumb_helper.bell);
    if (is_helper) {
        plumb_helper_serve(URGENT);
        plumb_helper_sleep(heard, ns);
    } else {
        plumb_nap(ns);
    }
}

void plumb_helper_lock(pthread_mutex_t *mutex)
{
    while (is_helper && pthread_mutex_trylock(mutex) != 0)
        plumb_helper_pause(NAP_NS);
    if (!is_helper)
        pthread_mutex_lock(mutex);
}
