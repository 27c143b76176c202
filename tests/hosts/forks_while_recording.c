/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * A server forks for each request while other threads record; its children record and end, each in
 * another way. No process hangs or is harmed. */
#include "hosts/host.h"

#include <pthread.h>

static int stop;
static uint64_t made;

static void *worker(void *arg)
{
    uint64_t *spans = arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        PLUMB_STAGE(stage, "worker's stage");
        PLUMB_SPAN("worker");
        ++*spans;
    }
    return NULL;
}

static void child(long i)
{
    for (int k = 0; k < 50; k++) {
        PLUMB_STAGE(stage, "child's stage");
        PLUMB_SPAN("child");
    }
    if (i < 3)
        host_expect("child", 50);
    if (i % 3 == 0)
        exit(5);
    if (i % 3 == 1)
        kill(getpid(), SIGKILL);
    _exit(5);
}

int main(void)
{
    pthread_t threads[2];
    uint64_t spans[2] = {0};
    long rounds = host_rounds(12);
    for (int t = 0; t < 2; t++)
        HOST_NEEDS(pthread_create(&threads[t], NULL, worker, &spans[t]) == 0);
    for (long i = 0; i < rounds; i++) {
        PLUMB_SPAN("parent");
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            child(i);
        HOST_NEEDS(host_status_of(pid) == (i % 3 == 1 ? 128 + SIGKILL : 5));
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < 2; t++) {
        HOST_NEEDS(pthread_join(threads[t], NULL) == 0);
        made += spans[t];
    }
    host_expect("worker", made);
    host_expect("parent", (uint64_t)rounds);
    return 0;
}
