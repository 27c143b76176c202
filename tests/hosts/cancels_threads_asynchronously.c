/* labels: plain
 * Threads are cancelled at any instruction, in spans, stages and counts. No other thread waits for
 * a lock of theirs, summaries stay quick, and the run is written. They are never cancelled in
 * malloc(), which would hang the program without plumb as well. Not under a sanitizer, whose code
 * must not be cancelled. */
#include "hosts/host.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static int begun;

static void *worker(void *arg)
{
    const uintptr_t kind = (uintptr_t)arg % 3;
    int last;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &last);
    for (;;) {
        if (kind == 0) {
            PLUMB_SPAN("outer");
            PLUMB_SPAN("inner");
        } else if (kind == 1) {
            PLUMB_STAGE(stage, "stage");
            PLUMB_SPAN("inner");
        } else {
            plumb_counter_add("counted", 1);
        }
        __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static uint64_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

int main(void)
{
    uint64_t rounds = (uint64_t)host_rounds(60), began;
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        plumb_rows *rows = NULL;
        __atomic_store_n(&begun, 0, __ATOMIC_RELEASE);
        HOST_NEEDS(pthread_create(&thread, NULL, worker, (void *)(uintptr_t)i) == 0);
        while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
            sched_yield();
        usleep((useconds_t)(500 + i * 7 % 1000));
        HOST_NEEDS(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
        {
            PLUMB_STAGE(whole, "main");
        }
        began = now_s();
        if (plumb_is_recording()) {
            HOST_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
            plumb_rows_free(rows);
        }
        HOST_NEEDS(now_s() - began < 9); /* such a thread must not be waited for each time */
    }
    host_expect("main", rounds);
    return 0;
}
