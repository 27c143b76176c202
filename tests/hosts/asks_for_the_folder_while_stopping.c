/* Threads ask for the run's folder and whether there is recording, while runs are started and
 * stopped. */
#include "hosts/host.h"

#include <pthread.h>

enum { THREADS = 2 };

static int stop;

static void *worker(void *arg)
{
    char dir[1024];
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK)
            HOST_NEEDS(dir[0] == '/');
        plumb_is_recording();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    long rounds = host_rounds(30);
    for (int t = 0; t < THREADS; t++)
        HOST_NEEDS(pthread_create(&threads[t], NULL, worker, NULL) == 0);
    for (long i = 0; i < rounds; i++) {
        plumb_start(NULL, NULL);
        {
            PLUMB_SPAN("span");
        }
        plumb_stop(NULL);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < THREADS; t++)
        HOST_NEEDS(pthread_join(threads[t], NULL) == 0);
    return 0;
}
