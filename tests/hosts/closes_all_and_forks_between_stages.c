/* labels: notsan
 * A server whose threads work in stages closes every descriptor that it did not open, forks workers
 * that have stages of their own, and counts on the numbers of its descriptors. Counters of stages
 * (PLUMB_COLLECT=perf) take none of them, and do not lose a stage.
 *
 * (ThreadSanitizer starts no threads in the child of a process with several.) */
#include "hosts/host.h"

#include <fcntl.h>
#include <pthread.h>

enum { THREADS = 4, STAGES = 50, DESCRIPTORS = 64 };

static void *works(void *arg)
{
    for (int i = 0; i < STAGES; i++) {
        PLUMB_STAGE(outer, "outer");
        {
            PLUMB_STAGE(inner, "inner");
            HOST_NEEDS(errno == 0);
        }
    }
    return arg;
}

static void work_in_threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        HOST_NEEDS(pthread_create(&thread[i], NULL, works, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        HOST_NEEDS(pthread_join(thread[i], NULL) == 0);
}

/* The lowest number that is free is the one that is given out. */
static void opens_one(void)
{
    for (int fd = 3; fd < DESCRIPTORS; fd++)
        close(fd);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    HOST_NEEDS(fd == 3);
    HOST_NEEDS(fcntl(4, F_GETFD) < 0);
    close(fd);
    errno = 0;
}

int main(void)
{
    long rounds = host_rounds(12);
    for (long i = 0; i < rounds; i++) {
        errno = 0;
        work_in_threads();
        opens_one();
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0) {
            works(NULL);
            work_in_threads();
            opens_one();
            _exit(7);
        }
        HOST_NEEDS(host_status_of(pid) == 7);
    }
    host_expect("outer", (uint64_t)rounds * THREADS * STAGES);
    host_expect("inner", (uint64_t)rounds * THREADS * STAGES);
    return 0;
}
