/* A program whose counts are known: threads that take turns in another order each time, in phases
 * and steps, on a simulated device. _counts.c [many] [killed] [extra] */
#include <plumb/fake.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, STEPS = 20 };

static int extra;

static void wander(unsigned *seed)
{
    for (int n = rand_r(seed) % 4; n > 0; n--)
        sched_yield();
}

static void *work(void *arg)
{
    int number = (int)(intptr_t)arg;
    unsigned seed = (unsigned)getpid() * 31u + (unsigned)number;
    char device[16];
    void *volatile kept;
    snprintf(device, sizeof device, "dev:%d", number);
    PLUMB_PHASE(number % 2 ? "train" : "val");
    for (PLUMB_STEPS (step, STEPS)) {
        PLUMB_STAGE(stage, "step");
        (void)stage;
        wander(&seed);
        plumb_dispatch("gemm");
        if (extra && number == 2 && step == 7)
            plumb_dispatch("gemm");
        for (int i = 0; i < step % 3; i++) {
            PLUMB_SPAN("layer");
            wander(&seed);
            plumb_dispatch(i ? "relu" : "conv");
            plumb_counter_add("elements", 1000 + number);
            plumb_mem_alloc(device, "pool", (char *)&seed + i + 1, 64u * (unsigned)(i + 1));
        }
        for (int i = 0; i < step % 3; i++)
            plumb_mem_free(device, "pool", (char *)&seed + i + 1, 0);
        if (step % 3 == 0) {
            kept = malloc(100);
            free(kept);
        }
        wander(&seed);
        plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    const char *how = argc > 1 ? argv[1] : "";
    extra = strcmp(how, "extra") == 0;
    plumb_counter_add("started", 1);
    {
        PLUMB_PHASE("val");
        plumb_counter_add("started", 10);
        for (PLUMB_STEPS (step, 3))
            plumb_counter_add("started", 100);
    }
    for (PLUMB_STEPS (step, 3)) {
        PLUMB_SPAN("start");
        plumb_counter_add("started", 1000);
        PLUMB_PHASE("train");
        plumb_counter_add("started", 10000);
    }
    if (strcmp(how, "many") == 0) {
        for (PLUMB_STEPS (step, 70000)) {
            PLUMB_SPAN("step");
            plumb_dispatch("gemm");
        }
        return 0;
    }
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
