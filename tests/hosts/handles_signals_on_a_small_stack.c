/* labels: plain
 * Handlers with spans and stages in them run on an alternate stack of 8 KiB, as small as
 * SIGSTKSZ: the memory below it stays as it was. */
#include "hosts/host.h"

#include <sys/mman.h>

enum { STACK = 8192, BELOW = 64 * 1024, MARK = 0xa5 };

static void on_signal(int number)
{
    (void)number;
    for (int i = 0; i < 40; i++) {
        PLUMB_SPAN("outer");
        PLUMB_SPAN("inner");
    }
    PLUMB_STAGE(stage, "stage");
}

int main(void)
{
    long rounds = host_rounds(500);
    stack_t stack = {.ss_size = STACK};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    unsigned char *memory =
        mmap(NULL, BELOW + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOST_NEEDS(memory != MAP_FAILED);
    memset(memory, MARK, BELOW);
    stack.ss_sp = memory + BELOW;
    HOST_NEEDS(sigaltstack(&stack, NULL) == 0);
    HOST_NEEDS(sigaction(SIGUSR1, &action, NULL) == 0);
    for (long i = 0; i < rounds; i++)
        raise(SIGUSR1);
    for (int i = 0; i < BELOW; i++)
        HOST_NEEDS(memory[i] == MARK);
    host_expect_at_most("inner", 40 * (uint64_t)rounds);
    host_expect_at_most("stage", (uint64_t)rounds);
    return 0;
}
