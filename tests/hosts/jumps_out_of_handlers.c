/* labels: notsan
 * A time limit as in old programs: the handler of a signal leaves the running code by siglongjmp(),
 * in the middle of a span too. Such a thread need not record any more. The run is written all the
 * same, with everything that other threads recorded. */
#include "hosts/host.h"

#include <pthread.h>
#include <setjmp.h>

enum { AFTER = 100 };

static sigjmp_buf back;
static int done;

static void on_signal(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void *worker(void *arg)
{
    volatile long i = 0;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    for (; i < *(long *)arg; i++) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval once = {{0, 0}, {0, 300 + i * 7 % 500}};
            HOST_NEEDS(pthread_sigmask(SIG_UNBLOCK, &alarm, NULL) == 0);
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) {
                PLUMB_SPAN("outer");
                PLUMB_SPAN("inner");
            }
        }
    }
    HOST_NEEDS(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

int main(void)
{
    long rounds = host_rounds(200);
    struct sigaction action;
    pthread_t thread;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    HOST_NEEDS(pthread_sigmask(SIG_BLOCK, &alarm, NULL) == 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    HOST_NEEDS(sigaction(SIGALRM, &action, NULL) == 0);
    HOST_NEEDS(pthread_create(&thread, NULL, worker, &rounds) == 0);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        usleep(1000);
    for (int k = 0; k < AFTER; k++) {
        PLUMB_SPAN("after");
    }
    host_expect("after", AFTER);
    HOST_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    return 0;
}
