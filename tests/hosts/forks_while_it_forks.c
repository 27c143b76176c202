/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * A crash reporter forks in its signal handler while the same thread already forks, and waits for a
 * lock of plumb that is held by a thread that opens and closes runs. The outer fork must release
 * the locks it took; otherwise every other thread waits forever.
 *
 * Between the handlers of pthread_atfork(), fork() of glibc holds a lock of its own, which a fork
 * in a signal handler would wait for without end, with or without plumb. There the reporter does
 * not fork. */
#include "hosts/host.h"

#include <pthread.h>
#include <stdbool.h>
#include <ucontext.h>

/* More than the functions of glibc that call those handlers have. */
enum { CALLER_BYTES = 1024 };

static volatile sig_atomic_t forking, inside;
static bool stop;
static long rounds;
static uintptr_t before_from, after_from; /* in those functions */

static void before(void)
{
    before_from = (uintptr_t)__builtin_return_address(0);
}

static void after(void)
{
    after_from = (uintptr_t)__builtin_return_address(0);
}

static bool is_near(uintptr_t at, uintptr_t from)
{
    return at - from + CALLER_BYTES < 2 * CALLER_BYTES;
}

static bool is_between_handlers(const ucontext_t *context)
{
#if defined(__x86_64__)
    uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    uintptr_t at = context->uc_mcontext.pc;
#else
#error "which register is the program counter?"
#endif
    return is_near(at, before_from) || is_near(at, after_from);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
    pid_t pid;
    (void)sig;
    (void)info;
    if (!forking || inside >= rounds || is_between_handlers(context))
        return; /* two threads may have counted at once */
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
    HOST_NEEDS(pthread_atfork(before, after, NULL) == 0);
    pid = fork(); /* calls both */
    if (pid == 0)
        _exit(7);
    HOST_NEEDS(pid > 0 && host_status_of(pid) == 7);
    HOST_NEEDS(pthread_create(&thread, NULL, opens_and_closes, NULL) == 0);
    host_signals_to(
        (struct sigaction){.sa_sigaction = on_alarm, .sa_flags = SA_RESTART | SA_SIGINFO}, 2000);
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
