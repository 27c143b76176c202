/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * A server whose signal handler runs stages forks a worker for each request. A stage takes a lock
 * that a fork takes as well: no handler may run while its own thread holds that lock. */
#include "hosts/host.h"

static uint64_t made;

static void on_alarm(int sig)
{
    (void)sig;
    PLUMB_STAGE(stage, "handled");
    made++;
}

int main(void)
{
    long rounds = host_rounds(300);
    host_signals(on_alarm, 500);
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            _exit(7);
        HOST_NEEDS(host_status_of(pid) == 7);
    }
    host_signals_end();
    host_expect_at_most("handled", made);
    return 0;
}
