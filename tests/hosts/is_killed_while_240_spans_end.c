/* labels: notsan
 * As leaves_240_spans_at_once, killed at any instruction: the recovered spans are those that had
 * ended. */
#include "hosts/host.h"

#include <sched.h>
#include <sys/mman.h>

enum { DEEP = 240, LEAVES = 20 };

/* The spans that the killed process began and ended, and its run directory. */
static struct side {
    uint64_t begun[LEAVES], ended[LEAVES];
    char dir[1024];
} * side;

static void one_leaf(const plumb_node *leaf, int i)
{
    __atomic_fetch_add(&side->begun[i], 1, __ATOMIC_SEQ_CST);
    plumb_end(plumb_begin_node(leaf[i]));
    __atomic_fetch_add(&side->ended[i], 1, __ATOMIC_SEQ_CST);
}

static void record_until_killed(void)
{
    plumb_node deep[DEEP], leaf[LEAVES];
    for (int i = 0; i < DEEP + LEAVES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.%d", i < DEEP ? "deep" : "leaf", i < DEEP ? i : i - DEEP);
        *(i < DEEP ? &deep[i] : &leaf[i - DEEP]) = plumb_node_get(name);
    }
    for (int i = 0;; i++) {
        for (int k = 0; k < LEAVES; k++)
            one_leaf(leaf, k);
        if (i == 0)
            plumb_run_dir(side->dir, sizeof side->dir, NULL);
        PLUMB_SPAN("outer");
        for (int k = 0; k < DEEP; k++)
            plumb_begin_node(deep[k]);
        for (int k = 0; k < i * 7 % 120; k++)
            one_leaf(leaf, k % LEAVES);
    }
}

int main(void)
{
    long rounds = host_rounds(2);
    side = mmap(NULL, sizeof *side, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HOST_NEEDS(side != MAP_FAILED);
    for (long i = 0; i < rounds; i++) {
        pid_t pid;
        memset(side, 0, sizeof *side);
        pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            record_until_killed();
        while (__atomic_load_n(&side->ended[0], __ATOMIC_ACQUIRE) < 2)
            sched_yield();
        usleep((useconds_t)(i * 7919 % 4000));
        HOST_NEEDS(kill(pid, SIGKILL) == 0 && host_status_of(pid) == 128 + SIGKILL);
        for (int k = 0; k < LEAVES && side->dir[0]; k += LEAVES - 1) {
            char name[32];
            snprintf(name, sizeof name, "leaf.%d", k);
            host_expect_in(side->dir, name, side->ended[k], side->begun[k], 0);
        }
    }
    return 0;
}
