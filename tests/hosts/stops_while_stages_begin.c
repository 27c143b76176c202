/* One thread starts and stops runs while others begin stages and spans and are interrupted, so that
 * each of their instructions meets a stop some time. */
#include "hosts/host.h"

#include <pthread.h>

enum { THREADS = 3 };

static int stop;

static void *worker(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
    }
    return NULL;
}

/* Stands for another process that gets the processor. */
static void on_signal(int number)
{
    struct timespec pause = {0, 3000000};
    (void)number;
    nanosleep(&pause, NULL);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t threads[THREADS];
    uint32_t random = 7;
    long rounds = host_rounds(30);
    HOST_NEEDS(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int t = 0; t < THREADS; t++)
        HOST_NEEDS(pthread_create(&threads[t], NULL, worker, NULL) == 0);
    for (long i = 0; i < rounds; i++) {
        random = random * 1664525 + 1013904223;
        plumb_start(NULL, NULL);
        usleep(200 + (random >> 16) % 1000);
        for (int t = 0; t < THREADS; t++)
            pthread_kill(threads[t], SIGUSR1);
        usleep(100);
        plumb_stop(NULL);
        usleep((random >> 8) % 4000);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < THREADS; t++)
        HOST_NEEDS(pthread_join(threads[t], NULL) == 0);
    return 0;
}
