/* A profiled program whose only marks are in the handler of a timer, which runs on a stack of 8
 * KiB, while it allocates and frees without end: the first span of the process interrupts malloc().
 */
#include "hosts/host.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 16 * 8192 }; /* their frames are larger */
#else
enum { STACK = 8192 };
#endif
enum { PATTERN = 0x5a };

static uint64_t handled;
static unsigned char area[3 * STACK] __attribute__((aligned(4096)));

static void handler(int sig)
{
    (void)sig;
    PLUMB_SPAN("handled");
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void own_stack(void)
{
    struct sigaction action;
    stack_t stack = {.ss_sp = area + STACK, .ss_size = STACK};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    memset(area, PATTERN, sizeof area);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    HOST_NEEDS(sigaltstack(&stack, NULL) == 0);
    HOST_NEEDS(sigaction(SIGALRM, &action, NULL) == 0);
    HOST_NEEDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static int work(long handlers)
{
    own_stack();
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < (uint64_t)handlers) {
        void *blocks[20];
        for (int i = 0; i < 20; i++)
            blocks[i] = malloc((size_t)(i * 997 + 1));
        for (int i = 0; i < 20; i++)
            free(blocks[i]);
    }
    host_signals_end();
    for (int i = 0; i < STACK; i++)
        HOST_NEEDS(area[i] == PATTERN);
    host_expect_at_most("handled", handled);
    return 7;
}

int main(void)
{
    long rounds = host_rounds(10);
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork();
        if (pid == 0)
            exit(work(40));
        HOST_NEEDS(pid > 0 && host_status_of(pid) == 7);
    }
    return work(100) - 7;
}
