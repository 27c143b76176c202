/* own_cpu.c: processor time of plumb's own threads, as counted by the kernel. Other threads can
 * read a thread's clock while it lives; its time is added to the sum when it ends.
 *
 * The lock is a leaf, held for some clock reads at most. */
#include "record/runtime/own_cpu.h"

#include <pthread.h>
#include <time.h>

#include "record/runtime/mapping.h"

enum { THREADS = 48 }; /* collectors, and the writers; further ones are not counted */

static struct {
    pthread_mutex_t lock;
    uint64_t ended_ns;
    struct {
        bool used;
        clockid_t clock;
    } thread[THREADS];
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int mine __attribute__((tls_model("initial-exec"))); /* index + 1; 0: none */

void plumb_own_cpu_begin(void)
{
    pthread_mutex_lock(&own.lock);
    for (int i = 0; i < THREADS && !mine; i++) {
        if (!own.thread[i].used &&
            pthread_getcpuclockid(pthread_self(), &own.thread[i].clock) == 0) {
            own.thread[i].used = true;
            mine = i + 1;
        }
    }
    pthread_mutex_unlock(&own.lock);
}

void plumb_own_cpu_end(void)
{
    if (!mine)
        return;
    pthread_mutex_lock(&own.lock);
    own.ended_ns += plumb_clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID);
    own.thread[mine - 1].used = false;
    pthread_mutex_unlock(&own.lock);
    mine = 0;
}

uint64_t plumb_own_cpu_ns(void)
{
    uint64_t ns;
    pthread_mutex_lock(&own.lock);
    ns = own.ended_ns;
    for (int i = 0; i < THREADS; i++)
        if (own.thread[i].used)
            ns += plumb_clock_gettime_ns(own.thread[i].clock);
    pthread_mutex_unlock(&own.lock);
    return ns;
}

void plumb_own_cpu_store(struct plumb_run *run)
{
    uint64_t now = plumb_own_cpu_ns();
    PLUMB_STORE(run->h->own_cpu_ns, now > run->own_cpu_from ? now - run->own_cpu_from : 0);
}

void plumb_own_cpu_forked(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    own.lock = fresh;
    own.ended_ns = 0;
    for (int i = 0; i < THREADS; i++)
        own.thread[i].used = false;
    mine = 0;
}
