/* labels: notsan
 *
 * A thread with a pending cancellation passes the first span of its process. The opening of the run
 * there must neither end the thread nor leave a lock locked: other threads record, fork and
 * exit. */
#include "hosts/host.h"

#include <pthread.h>

static int went_on;

static void *cancelled(void *arg)
{
    (void)arg;
    HOST_NEEDS(pthread_cancel(pthread_self()) == 0);
    {
        PLUMB_STAGE(stage, "cancelled");
    }
    went_on = 1;
    pthread_testcancel();
    return NULL;
}

static void process(void)
{
    pthread_t thread;
    void *result;
    pid_t pid;
    HOST_NEEDS(pthread_create(&thread, NULL, cancelled, NULL) == 0);
    HOST_NEEDS(pthread_join(thread, &result) == 0);
    HOST_NEEDS(went_on && result == PTHREAD_CANCELED);
    {
        PLUMB_SPAN("main");
    }
    pid = fork();
    HOST_NEEDS(pid >= 0);
    if (pid == 0) {
        PLUMB_SPAN("child");
        exit(5);
    }
    HOST_NEEDS(host_status_of(pid) == 5);
    host_expect("main", 1);
    exit(6);
}

int main(void)
{
    long rounds = host_rounds(4);
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process();
        HOST_NEEDS(host_status_of(pid) == 6);
    }
    return 0;
}
