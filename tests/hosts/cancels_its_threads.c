/* labels: plain
 *
 * Threads with a pending cancellation pass code in which the host has no cancellation point: the
 * first span of the process, stages, spans and the stop of a run, with a mutex held around them. No
 * thread ends there, so that no mutex stays locked. */
#include "hosts/host.h"

#include <pthread.h>

static pthread_mutex_t around = PTHREAD_MUTEX_INITIALIZER;
static uint64_t made;

static void *worker(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self());
    pthread_mutex_lock(&around);
    for (int i = 0; i < 20; i++) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
        made++;
    }
    pthread_mutex_unlock(&around);
    pthread_testcancel();
    return NULL;
}

static void *stops(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self());
    pthread_mutex_lock(&around);
    plumb_stop(NULL);
    pthread_mutex_unlock(&around);
    pthread_testcancel();
    return NULL;
}

static void run_one(void *(*fn)(void *arg))
{
    pthread_t thread;
    void *result = NULL;
    HOST_NEEDS(pthread_create(&thread, NULL, fn, NULL) == 0);
    HOST_NEEDS(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    HOST_NEEDS(pthread_mutex_trylock(&around) == 0);
    pthread_mutex_unlock(&around);
}

int main(void)
{
    long rounds = host_rounds(50);
    for (long i = 0; i < rounds; i++)
        run_one(worker);
    HOST_NEEDS(made == (uint64_t)rounds * 20);
    host_expect("stage", made);
    host_expect("span", made);
    pid_t pid = fork();
    if (pid == 0) {
        run_one(worker);
        exit(3);
    }
    HOST_NEEDS(pid > 0 && host_status_of(pid) == 3);
    run_one(stops);
    return 0;
}
