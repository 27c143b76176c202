/* _record.c: records the samples of this folder, one time in whole microseconds on each line:
 *
 *     cc -O2 -o record tests/gate/_record.c -lpthread
 *     ./record KIND COUNT > tests/gate/fresh_KIND.txt
 *
 * Each kind is real work on the machine at hand; nothing is added to the times. Not part of the
 * build: a recording cannot be repeated, which is why the samples lie here. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FLOATS = 64 << 10, PAGES = 300, WORKERS = 3 };
static float field[FLOATS];
static atomic_int busy, ended; /* how many workers compute; whether they end */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double uniform(void)
{
    static uint64_t x = 5;
    x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(x >> 11) / 9007199254740992.0;
}

static void sweep(int times)
{
    for (int k = 0; k < times; k++)
        for (size_t i = 0; i < FLOATS; i++)
            field[i] = field[i] * 0.999f + 0.001f;
    __asm__ volatile("" : : "r"(field) : "memory");
}

/* Touches pages that are new, or the same as last time: an allocator that gives memory back to the
 * system one time in three has two modes of its own. */
static void touch(int fresh)
{
    static char *kept;
    size_t bytes = PAGES * 4096;
    char *p = kept;
    if (fresh || !kept)
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < bytes; i += 4096)
        p[i]++;
    if (fresh && p != kept)
        munmap(p, bytes);
    else
        kept = p;
}

static void start_process(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void *worker(void *arg)
{
    int me = (int)(intptr_t)arg;
    volatile float own = 1;
    while (!ended) {
        if (busy > me)
            for (int i = 0; i < 100000; i++)
                own = own * 0.999f + 0.001f;
        else
            usleep(500);
    }
    return NULL;
}

/* Sets how many threads compute in the meantime, before sample `at` of `count`. */
static void set_load(const char *kind, long at, long count)
{
    static uint64_t until;
    if (strcmp(kind, "drift") == 0)
        busy = (int)(4 * at / count) % (WORKERS + 1); /* one more each quarter */
    if (strcmp(kind, "bursts") == 0 && now_ns() > until) {
        busy = busy ? 0 : 1 + (int)(uniform() * WORKERS);
        until = now_ns() + (uint64_t)(5e6 + 2e8 * uniform() * uniform());
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "";
    long count = argc > 2 ? atol(argv[2]) : 0;
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, (void *)(intptr_t)i);
    for (long i = -50; i < count; i++) {
        set_load(kind, i < 0 ? 0 : i, count ? count : 1);
        int fresh = uniform() < 0.33;
        uint64_t start = now_ns();
        if (strcmp(kind, "process") == 0)
            start_process();
        else if (strcmp(kind, "bimodal") == 0)
            touch(fresh);
        sweep(strcmp(kind, "process") == 0 ? 100 : 200);
        if (i >= 0)
            printf("%llu\n", (unsigned long long)(now_ns() - start + 500) / 1000);
    }
    ended = 1;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
