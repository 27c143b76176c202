/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * Processes end in each possible way while their threads do everything: the exit status is
 * theirs. */
#include "hosts/host.h"

#include <pthread.h>

enum { THREADS = 6, WAYS = 5, STATUS = 7 };

static void cold(uint64_t i)
{
    plumb_context context;
    plumb_rows *rows = NULL;
    char name[32];
    snprintf(name, sizeof name, "node.%d", (int)(i % 500));
    PLUMB_SPAN_NODE(plumb_node_get(name));
    plumb_context_capture(&context);
    PLUMB_ADOPT(&context);
    plumb_counter_add("counted", 1);
    if (i % 10 == 0 && plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK)
        plumb_rows_free(rows);
}

static void *worker(void *arg)
{
    uint64_t who = *(const uint64_t *)arg;
    for (uint64_t i = 0;; i++) {
        PLUMB_SPAN("span");
        if (who % 3 == 0) {
            PLUMB_STAGE(stage, "stage");
        } else if (who % 3 == 1) {
            plumb_async_end(plumb_async_begin(plumb_node_get("async")));
        } else {
            cold(i);
        }
    }
    return NULL;
}

static void process(long i)
{
    static uint64_t who[THREADS];
    for (uint64_t t = 0; t < THREADS; t++) {
        pthread_t thread;
        who[t] = t;
        HOST_NEEDS(pthread_create(&thread, NULL, worker, &who[t]) == 0);
    }
    usleep((useconds_t)(i * 997 % 5000));
    switch (i % WAYS) {
    case 0:
        exit(STATUS);
    case 1:
        quick_exit(STATUS);
    case 2:
        plumb_stop(NULL);
        exit(STATUS);
    case 3:
        kill(getpid(), SIGTERM);
        pause();
        break;
    default:
        _exit(STATUS);
    }
}

int main(void)
{
    long rounds = host_rounds(10);
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process(i);
        HOST_NEEDS(host_status_of(pid) == (i % WAYS == 3 ? 128 + SIGTERM : STATUS));
    }
    return 0;
}
