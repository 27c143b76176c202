/* Loops under a limit, in a program that has no libplumb: prints what ran. */
#include <plumb/stage_library.h>

#include <plumb/plumb.h>
#include <pthread.h>
#include <stdio.h>

static void loop(const char *name, int steps, int inner)
{
    printf("%s:", name);
    for (PLUMB_STEPS (step, steps)) {
        int count = 0;
        for (PLUMB_STEPS (tile, inner))
            count += tile >= 0;
        printf(" %d(%d)", step, count);
    }
    printf("\n");
}

static void leaves(void)
{
    for (PLUMB_STEPS (step, 10))
        if (step == 4)
            return;
}

static void *worker(void *arg)
{
    loop("worker", 3, 1);
    return arg;
}

int main(void)
{
    struct plumb_loop_limit limit = {sizeof limit, 0, 3, 2, 0, 0, NULL, 0, 0};
    volatile int64_t current = -1;
    pthread_t thread;
    loop("free", 3, 2);
    limit.current = &current;
    plumb_loop_limit_set(&limit);
    loop("limited", 10, 2);
    printf("steps %lld ran %lld loops %u current %lld\n", (long long)limit.steps,
           (long long)limit.ran, limit.loops, (long long)current);
    leaves();
    loop("after a return", 10, 2);
    loop("too short", 4, 2);
    loop("nothing", 2, 2);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    plumb_loop_limit_set(NULL);
    loop("free again", 3, 2);
    return 0;
}
