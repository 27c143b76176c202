/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * A crash reporter forks in its signal handler, wherever the program is at that moment: mostly
 * inside plumb. Neither the parent nor a child hangs or crashes; a child that returns from the
 * handler goes on with the interrupted work. */
#include "hosts/host.h"

static volatile sig_atomic_t busy, forks, in_child;
static uint64_t made;
static long rounds;

static void on_alarm(int sig)
{
    pid_t pid;
    (void)sig;
    if (!busy || in_child || forks == rounds)
        return;
    pid = fork();
    HOST_NEEDS(pid >= 0);
    if (pid == 0) {
        in_child = 1;
        return;
    }
    HOST_NEEDS(host_status_of(pid) == 7);
    forks++;
}

static void work(void)
{
    for (int i = 0; i < 20 && !in_child; i++) {
        PLUMB_STAGE(stage, "stage");
        for (int k = 0; k < 100 && !in_child; k++) {
            PLUMB_SPAN("span");
            made++;
        }
    }
}

int main(void)
{
    rounds = host_rounds(20);
    work();
    host_signals(on_alarm, 2000);
    busy = 1;
    for (long i = 0; (i < 20 || forks < rounds) && !in_child; i++)
        work();
    busy = 0;
    if (in_child) {
        /* From here on the child records into a run of its own. */
        for (int i = 0; i < 300; i++) {
            PLUMB_SPAN("after");
        }
        _exit(7);
    }
    host_signals_end();
    host_expect_at_most("span", made);
    return 0;
}
