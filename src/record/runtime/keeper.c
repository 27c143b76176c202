/* keeper.c: see keeper.h.
 *
 * A program whose main() leaves by pthread_exit() ends with its last thread, which calls exit().
 * plumb's threads would keep it alive for ever. So the destructor of a thread-specific value
 * reports that the first thread leaves. From then on the helper checks whether all other threads
 * are gone. Then the keeper, which has the program's descriptors, ends the process as the last
 * thread would have: exit(0). */
#include "record/runtime/keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"
#include "record/runtime/helper.h"
#include "record/runtime/runtime.h"

enum { LOOK_NS = 200000000 }; /* between checks whether other threads are left */

static struct {
    pthread_mutex_t lock; /* one call at a time */
    uint32_t there;       /* atomic */
    uint32_t asked, done; /* atomic: calls */
    void (*fn)(void *arg);
    void *arg;
    uint32_t main_left; /* atomic: the first thread has left; the helper checks for others */
    uint32_t ending;    /* atomic: the keeper ends the process */
    pthread_key_t key;  /* of the first thread */
    bool watches;
} keeper = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *keeper_main(void *unused)
{
    (void)unused;
    for (uint32_t done = 0;;) {
        while (PLUMB_ACQUIRE(keeper.asked) == done)
            plumb_futex_wait(&keeper.asked, done, UINT64_MAX);
        keeper.fn(keeper.arg);
        PLUMB_RELEASE(keeper.done, ++done);
        plumb_futex_wake(&keeper.done);
    }
    return NULL;
}

bool plumb_keeper_start(void)
{
    uint32_t none = 0;
    pthread_t thread;
    if (!__atomic_compare_exchange_n(&keeper.there, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return true;
    if (plumb_own_thread(&thread, keeper_main, NULL, 0) != 0) {
        PLUMB_RELEASE(keeper.there, 0);
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool plumb_keeper_is_there(void)
{
    return PLUMB_ACQUIRE(keeper.there) != 0;
}

void plumb_keeper_call(void (*fn)(void *arg), void *arg)
{
    uint32_t ticket;
    if (!PLUMB_ACQUIRE(keeper.there) || PLUMB_ACQUIRE(keeper.ending)) {
        fn(arg);
        return;
    }
    pthread_mutex_lock(&keeper.lock);
    keeper.fn = fn;
    keeper.arg = arg;
    ticket = keeper.asked + 1;
    PLUMB_RELEASE(keeper.asked, ticket);
    plumb_futex_wake(&keeper.asked);
    while (PLUMB_ACQUIRE(keeper.done) != ticket)
        plumb_futex_wait(&keeper.done, ticket - 1, UINT64_MAX);
    pthread_mutex_unlock(&keeper.lock);
}

/* ---- The last thread ------------------------------------------------------------------------- */

static bool is_first_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

static void first_thread_leaves(void *unused)
{
    (void)unused;
    PLUMB_RELEASE(keeper.main_left, 1);
    if (plumb_helper_is_there() && plumb_keeper_start())
        plumb_helper_ask(PLUMB_JOB_RSS); /* any job would do: it only wakes the helper */
}

void plumb_keeper_watch(void)
{
    if (!keeper.watches && is_first_thread())
        keeper.watches = pthread_key_create(&keeper.key, first_thread_leaves) == 0;
    if (keeper.watches && is_first_thread())
        pthread_setspecific(keeper.key, &keeper);
}

void plumb_keeper_needed(void)
{
    if (!keeper.watches)
        PLUMB_RELEASE(keeper.main_left, 1); /* perhaps */
    if (PLUMB_ACQUIRE(keeper.main_left) || plumb_helper_work.needs_keeper())
        plumb_keeper_start();
}

/* Returns whether the first thread is a zombie, and all others, whose number is in /proc, are ours.
 */
static bool is_alone(void)
{
    char text[1024];
    const char *p;
    unsigned long threads = 0;
    ssize_t n;
    int fd;
    /* The file of the first thread: that of the process adds up the times of all threads. */
    snprintf(text, sizeof text, "/proc/self/task/%u/stat", plumb_rt.pid);
    if ((fd = open(text, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* "pid (name) state ..."; the number of threads is the 17th word after the state. */
    p = strrchr(text, ')');
    if (!p || strncmp(p, ") Z ", 4) != 0)
        return false;
    p += 3;
    for (int i = 1; i < 17 && p; i++)
        p = strchr(p + 1, ' ');
    if (p)
        threads = strtoul(p, NULL, 10);
    return threads == 1ul + plumb_own_threads();
}

static void end_process(void *unused)
{
    (void)unused;
    exit(0);
}

uint64_t plumb_keeper_look(void)
{
    if (!PLUMB_ACQUIRE(keeper.main_left) || PLUMB_LOAD(keeper.ending))
        return UINT64_MAX;
    if (!is_alone() || pthread_mutex_trylock(&keeper.lock) != 0)
        return LOOK_NS;
    /* Not waited for: exit() asks this thread for the end of the run. */
    PLUMB_RELEASE(keeper.ending, 1);
    keeper.fn = end_process;
    PLUMB_RELEASE(keeper.asked, keeper.asked + 1);
    plumb_futex_wake(&keeper.asked);
    pthread_mutex_unlock(&keeper.lock);
    return UINT64_MAX;
}

void plumb_keeper_forget(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    keeper.lock = fresh;
    keeper.there = keeper.asked = keeper.done = keeper.main_left = keeper.ending = 0;
}
