/* helper_life.c: see helper_life.h. */
#include "record/runtime/helper_life.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/cancel.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/process/resident.h"
#include "record/runtime/helper_parts.h"
#include "record/runtime/keeper.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"

enum { STACK_BYTES = 256 * 1024, NAP_NS = 1000000, NAPS = 1000 };

/* Attributes of the process when the library was loaded: later changes of the thread that starts
 * the helper are not inherited by it. */
static struct {
    unsigned char cpus[1024];
    long cpus_bytes;
    int policy, nice;
} at_load;

void plumb_helper_loaded(void)
{
    pid_t first = getpid();
    int saved = errno;
    at_load.cpus_bytes = syscall(SYS_sched_getaffinity, first, sizeof at_load.cpus, at_load.cpus);
    at_load.policy = sched_getscheduler(first) & ~SCHED_RESET_ON_FORK;
    at_load.nice = getpriority(PRIO_PROCESS, (id_t)first);
    if (at_load.policy == SCHED_FIFO || at_load.policy == SCHED_RR || at_load.policy < 0)
        at_load.policy = SCHED_OTHER;
    errno = saved;
}

static void settle(void)
{
    const struct sched_param none = {0};
    if (at_load.cpus_bytes > 0)
        syscall(SYS_sched_setaffinity, 0, at_load.cpus_bytes, at_load.cpus);
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != at_load.policy)
        sched_setscheduler(0, at_load.policy, &none);
    if (getpriority(PRIO_PROCESS, 0) != at_load.nice)
        setpriority(PRIO_PROCESS, 0, at_load.nice);
}

/* Returns whether the limit of the address space allows a thread: libc reserves 64 MiB of addresses
 * for each that allocates. */
static bool has_room(void)
{
    enum { PART = 16 };
    const rlim_t arena = UINT64_C(64) << 20;
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur / PART >= arena;
}

/* Makes libc reserve the addresses that has_room() checked now, before the program relies on the
 * rest. */
static void reserve(void)
{
    void *p = malloc(1);
    __asm__ volatile("" : : "r"(p) : "memory"); /* or the compiler removes both calls */
    free(p);
}

void plumb_helper_warn_control(void)
{
    if (PLUMB_ACQUIRE(plumb_rt.control_wanted))
        plumb_say("plumb: PLUMB_CONTROL does nothing without plumb's thread: %s",
                  plumb_helper_cure());
}

/* There will be no helper: waiting threads do their jobs themselves. */
static void give_up(void)
{
    plumb_helper_warn_control();
    PLUMB_RELEASE(plumb_helper.there, 0);
    for (enum plumb_job i = 0; i < PLUMB_JOBS; i++)
        plumb_futex_wake(&plumb_helper.job[i].done);
}

static void *helper_main(void *unused)
{
    (void)unused;
    plumb_helper_is_born();
    /* The program may have changed its limits in the meantime. */
    if (!has_room() || !plumb_own_table()) {
        give_up();
        plumb_own_thread_ends();
        return NULL;
    }
    settle();
    plumb_resident_keep();
    reserve();
    while (!PLUMB_ACQUIRE(plumb_helper.ending)) {
        uint32_t heard = PLUMB_LOAD_ORDERED(plumb_helper.bell);
        plumb_helper_serve(PLUMB_JOBS - 1);
        plumb_helper_sleep(heard, plumb_helper_work.turn());
    }
    plumb_helper_serve(PLUMB_JOBS - 1);
    plumb_own_thread_ends();
    return NULL;
}

static bool is_wanted(void)
{
    return plumb_rt.settings.helper && has_room();
}

const char *plumb_helper_cure(void)
{
    if (!PLUMB_LOAD(plumb_rt.settings.helper))
        return "set PLUMB_HELPER=on";
    return has_room() ? "raise the limit of threads (ulimit -u)"
                      : "raise the limit of the address space (ulimit -v) to 1 GiB";
}

void plumb_helper_start(void)
{
    static struct plumb_birth birth;
    bool locked = plumb_life_locked;
    clockid_t cpu = 0;
    int code;
    if (plumb_helper_is_there() || plumb_helper_is_ending() || !is_wanted())
        return;
    /* A process that does not record does not wait for it. */
    PLUMB_RELEASE(plumb_helper.there, 1);
    birth = (struct plumb_birth){helper_main, NULL, true, 0};
    /* A span in the program's malloc() must not wait for the helper that is being started. */
    plumb_life_locked = true;
    code = plumb_own_thread_make(&plumb_helper.thread, &birth, STACK_BYTES);
    plumb_life_locked = locked;
    if (code) {
        PLUMB_RELEASE(plumb_helper.there, 0);
        plumb_say("plumb: cannot start its thread: %s; memory is not sampled, there is no trace, a "
                  "run that is killed keeps a coarse clock, and signals end it without a report",
                  strerror(code));
        return;
    }
    pthread_getcpuclockid(plumb_helper.thread, &cpu);
    PLUMB_STORE(plumb_helper.cpu, cpu);
    plumb_keeper_needed();
    if (PLUMB_ACQUIRE(plumb_rt.control_wanted)) {
        PLUMB_STORE(plumb_rt.control_waits, 0);
        plumb_helper_ask(PLUMB_JOB_CONTROL);
    }
}

bool plumb_helper_end(void)
{
    if (!plumb_helper_is_there() || plumb_keeper_is_there() ||
        PLUMB_ACQUIRE(plumb_rt.control_wanted))
        return false;
    PLUMB_RELEASE(plumb_helper.there, 0);
    PLUMB_RELEASE(plumb_helper.ending, 1);
    plumb_helper_ring();
    return true;
}

void plumb_helper_join(void)
{
    struct timespec t;
    struct plumb_cancel before;
    before = plumb_cancel_off();
    pthread_join(plumb_helper.thread, NULL);
    /* The kernel counts the thread a moment longer, as long as it has a clock: until then unshare()
     * would be refused. */
    for (int i = 0; i < NAPS && clock_gettime(plumb_helper.cpu, &t) == 0; i++)
        plumb_helper_pause(NAP_NS / 10);
    plumb_cancel_on(before);
    PLUMB_RELEASE(plumb_helper.ending, 0);
}

bool plumb_helper_is_ending(void)
{
    return PLUMB_ACQUIRE(plumb_helper.ending) != 0;
}

/* ---- By the first span ----------------------------------------------------------------------- */

static struct {
    uint32_t waits;   /* atomic: and has had no span outside signal handlers */
    sigset_t blocked; /* at the fork, or when the library was loaded */
} late;

void plumb_helper_start_late(void)
{
    pthread_sigmask(SIG_SETMASK, NULL, &late.blocked);
    PLUMB_STORE(late.waits, 1);
}

void plumb_helper_forget(void)
{
    memset(&plumb_helper, 0, sizeof plumb_helper);
    plumb_own_threads_forget();
    plumb_helper_start_late();
}

static bool is_handled(int sig)
{
    struct sigaction a;
    return sigaction(sig, NULL, &a) == 0 &&
           (a.sa_flags & SA_SIGINFO || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN));
}

/* While a handler runs, its own signal is blocked, or it has a stack of its own; there is no other
 * sign. */
static bool seems_in_handler(void)
{
    sigset_t now;
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK)
        return true;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int sig = 1; sig < NSIG; sig++) {
        if (sigismember(&now, sig) == 1 && sigismember(&late.blocked, sig) != 1 && is_handled(sig))
            return true;
    }
    return false;
}

bool plumb_helper_start_by_span(void)
{
    if (!PLUMB_ACQUIRE(late.waits) || plumb_helper_is_there())
        return true;
    if (seems_in_handler())
        return false;
    plumb_life_lock();
    plumb_helper_start();
    plumb_life_unlock();
    PLUMB_RELEASE(late.waits, 0);
    return true;
}
