/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * A crash reporter forks in its signal handler while the same thread already forks, and waits for a
 * lock of plumb that is held by a thread that opens and closes runs. The outer fork must release
 * the locks it took; otherwise every other thread waits forever. */
#include "hosts/host.h"

#include <pthread.h>
#include <stdbool.h>

static volatile sig_atomic_t forking, inside;
static bool stop;
static long rounds;

static void on_alarm(int sig)
{
    pid_t pid;
    (void)sig;
    if (!forking || inside >= rounds) /* two threads may have counted at once */
        return;
    pid = fork();
    HOST_NEEDS(pid >= 0);
    if (pid == 0)
        _exit(7);
    HOST_NEEDS(host_status_of(pid) == 7);
    inside++;
}

static void *opens_and_closes(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        PLUMB_STAGE(stage, "stage");
        plumb_stop(NULL);
        plumb_start(NULL, NULL);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    pid_t pid;
    rounds = host_rounds(20);
    HOST_NEEDS(pthread_create(&thread, NULL, opens_and_closes, NULL) == 0);
    host_signals(on_alarm, 2000);
    for (long i = 0; i < 200 || inside < rounds; i++) {
        PLUMB_STAGE(stage, "stage of the forking thread");
        forking = 1;
        pid = fork();
        if (pid == 0)
            _exit(7);
        forking = 0;
        HOST_NEEDS(pid > 0 && host_status_of(pid) == 7);
    }
    host_signals_end();
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    return 0;
}
