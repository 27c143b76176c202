/* labels: plain
 * Not under sanitizers, which map memory of their own.
 * A job that goes on in its child, again and again, as daemons do that replace themselves: no
 * generation is larger than the one before it. */
#include "hosts/host.h"

#include <pthread.h>
#include <sys/prctl.h>

/* A generation. libc keeps some 2 KiB of each thread that was there at a fork, its cache of freed
 * blocks, which at times makes the heap of that thread a mapping longer. */
enum { KIB = 8, MAPS = 2 };
/* Memory that comes and goes: buffers, stacks, the pages that this generation has touched. */
enum { MORE_KIB = 2048, MORE_MAPPED_KIB = 4096, MORE_MAPS = 8, SETTLED = 5 };

struct size {
    long kib, mapped_kib, maps;
};

static struct size size_now(void)
{
    struct size now = {0, 0, 0};
    char line[512];
    FILE *maps = fopen("/proc/self/smaps", "re");
    HOST_NEEDS(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        long kib;
        now.maps += strncmp(line, "Size:", 5) == 0;
        now.mapped_kib += sscanf(line, "Size: %ld kB", &kib) == 1 ? kib : 0;
        now.kib += sscanf(line, "Rss: %ld kB", &kib) == 1 ? kib : 0;
    }
    fclose(maps);
    return now;
}

static pthread_barrier_t all_here;

/* All are there at once in each generation, so the load does not decide which stacks there are. */
static void *worker(void *arg)
{
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 100; i++) {
        PLUMB_STAGE(stage, "worker's stage");
        plumb_stage_input_value(stage, "number", plumb_value_i64(i));
        PLUMB_SPAN("worker");
    }
    pthread_barrier_wait(&all_here);
    return arg;
}

static void work(void)
{
    pthread_t thread[3];
    for (int i = 0; i < 200; i++) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
    }
    HOST_NEEDS(pthread_barrier_init(&all_here, NULL, 3) == 0);
    for (int t = 0; t < 3; t++)
        HOST_NEEDS(pthread_create(&thread[t], NULL, worker, NULL) == 0);
    for (int t = 0; t < 3; t++)
        HOST_NEEDS(pthread_join(thread[t], NULL) == 0);
    HOST_NEEDS(pthread_barrier_destroy(&all_here) == 0);
    if (plumb_is_recording())
        HOST_NEEDS(host_count_of("worker") == 300);
}

static void compare(struct size first, struct size now, long n)
{
    if (now.kib <= first.kib + MORE_KIB + n * KIB &&
        now.mapped_kib <= first.mapped_kib + MORE_MAPPED_KIB + n * KIB &&
        now.maps <= first.maps + MORE_MAPS + n * MAPS)
        return;
    fprintf(stderr,
            "%ld generations later: %ld instead of %ld KiB, %ld instead of %ld mapped, %ld instead "
            "of %ld mappings\n",
            n, now.kib, first.kib, now.mapped_kib, first.mapped_kib, now.maps, first.maps);
    _exit(98);
}

static void live(long generations)
{
    struct size first = {0, 0, 0};
    for (long i = 0; i < generations; i++) {
        pid_t pid;
        work();
        if (i == SETTLED)
            first = size_now();
        if (i > SETTLED)
            compare(first, size_now(), i - SETTLED);
        pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid)
            _exit(0);
    }
    _exit(0);
}

/* All generations become children of this process, which has the status of each. */
int main(void)
{
    long generations = SETTLED + host_rounds(24), ended = 0;
    pid_t pid;
    HOST_NEEDS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    pid = fork();
    HOST_NEEDS(pid >= 0);
    if (pid == 0)
        live(generations);
    for (int status; wait(&status) > 0; ended++)
        HOST_NEEDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    HOST_NEEDS(ended == generations + 1);
    return 0;
}
