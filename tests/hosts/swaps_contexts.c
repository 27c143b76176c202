/* labels: plain
 * Coroutines on one thread, each with a span open while another runs: no span is invented, and
 * those that are missing are counted. */
#include "hosts/host.h"

#include <ucontext.h>

enum { COROUTINES = 3, STACK = 64 * 1024 };

static ucontext_t scheduler, coroutines[COROUTINES];
static char stacks[COROUTINES][STACK];
static uint64_t rounds;

static void coroutine(int who)
{
    static const char *const names[COROUTINES] = {"a", "b", "c"};
    plumb_node node = plumb_node_get(names[who]);
    for (uint64_t i = 0; i < rounds; i++) {
        PLUMB_SPAN_NODE(node);
        swapcontext(&coroutines[who], &scheduler);
        PLUMB_SPAN("after");
    }
}

static void make(int who)
{
    HOST_NEEDS(getcontext(&coroutines[who]) == 0);
    coroutines[who].uc_stack.ss_sp = stacks[who];
    coroutines[who].uc_stack.ss_size = STACK;
    coroutines[who].uc_link = &scheduler;
    makecontext(&coroutines[who], (void (*)(void))coroutine, 1, who);
}

int main(void)
{
    rounds = (uint64_t)host_rounds(1000);
    for (int i = 0; i < COROUTINES; i++)
        make(i);
    for (uint64_t i = 0; i <= rounds; i++)
        for (int k = 0; k < COROUTINES; k++)
            swapcontext(&scheduler, &coroutines[k]);
    for (int i = 0; i < 100; i++) {
        PLUMB_SPAN("main");
    }
    host_expect_between("a", 0, rounds, 0);
    host_expect_between("b", 0, rounds, 0);
    host_expect_between("after", 0, COROUTINES * rounds, 0);
    host_expect("main", 100);
    return 0;
}
