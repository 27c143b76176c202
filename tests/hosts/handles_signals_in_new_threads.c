/* Threads that have just begun are interrupted where they meet plumb for the first time, by
 * handlers with a span: each of these is recorded, or counted as dropped. */
#include "hosts/host.h"

#include <pthread.h>

enum { THREADS = 4, SIGNALS_US = 100 };

static uint64_t handled, worked;

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    PLUMB_SPAN("handler");
}

/* ThreadSanitizer puts a thread away before the thread's last destructors, and crashes in a handler
 * that comes then. */
static void end_signals_under_tsan(void)
{
#ifdef __SANITIZE_THREAD__
    sigset_t all;
    sigfillset(&all);
    HOST_NEEDS(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
#endif
}

static void *worker(void *arg)
{
    for (int i = 0; i < 20; i++) {
        PLUMB_SPAN("worker");
        PLUMB_SPAN("inner");
    }
    end_signals_under_tsan();
    return arg;
}

int main(void)
{
    long rounds = host_rounds(400);
    {
        PLUMB_SPAN("worker");
    }
    host_signals(on_signal, SIGNALS_US);
    for (long i = 0; i < rounds; i++) {
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            HOST_NEEDS(pthread_create(&threads[t], NULL, worker, NULL) == 0);
        for (int t = 0; t < THREADS; t++)
            HOST_NEEDS(pthread_join(threads[t], NULL) == 0);
        worked += 20 * THREADS;
    }
    host_signals_end();
    host_expect("worker", worked + 1);
    host_expect_at_most("handler", handled);
    return 0;
}
