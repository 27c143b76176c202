/* labels: plain
 * Not under sanitizers, which read files on any thread.
 *
 * A sandbox: a filter ends the program if one of its threads opens, reads, writes or closes a
 * descriptor, except for messages on descriptor 2. plumb's own threads, which are older, have no
 * filter. */
#include "hosts/host.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { ROUNDS = 20 };

#define ARG(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define TRAPS(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1),                                       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

static void on_trap(int sig, siginfo_t *info, void *context)
{
    char text[] = "call ... of the filter\n";
    (void)sig;
    (void)context;
    for (int i = 0, n = info->si_syscall; i < 3; i++, n /= 10)
        text[7 - i] = (char)('0' + n % 10);
    syscall(SYS_write, 2, text, sizeof text - 1);
    _exit(98);
}

/* Of this thread, and of those that it makes. */
static bool forbid(void)
{
    struct sock_filter f[] = {
        ARG(nr),
        TRAPS(openat),
        TRAPS(close),
        TRAPS(read),
        TRAPS(pread64),
        TRAPS(pwrite64),
        TRAPS(readv),
        TRAPS(writev),
        TRAPS(dup),
        TRAPS(dup3),
        TRAPS(fcntl),
        TRAPS(memfd_create),
        TRAPS(pipe2),
        TRAPS(socket),
        TRAPS(getdents64),
        TRAPS(perf_event_open),
        TRAPS(ftruncate),
        TRAPS(epoll_create1),
#ifdef SYS_open
        TRAPS(open),
        TRAPS(dup2),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
        ARG(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof f / sizeof f[0], f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

static void compute(void)
{
    const int64_t shape[] = {4, 4};
    float values[16] = {1, 2, 3};
    PLUMB_STAGE(stage, "stage");
    plumb_stage_input_value(stage, "number", plumb_value_i64(7));
    {
        PLUMB_SPAN("span");
        plumb_instant("instant");
        plumb_counter_add("count", 1);
    }
    {
        PLUMB_SPAN("layer");
        plumb_activation_f32(plumb_node_get("layer"), "out", values, shape, 2);
    }
    plumb_checkpoint("checkpoint");
}

static void ask(void)
{
    plumb_environment environment = {.size = sizeof environment};
    plumb_rows *rows = NULL;
    char *text = NULL;
    HOST_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) <= PLUMB_OK);
    plumb_rows_free(rows);
    HOST_NEEDS(plumb_summary_text(&text, NULL, NULL, 0, NULL) <= PLUMB_OK);
    plumb_text_free(text);
    /* Without plumb's thread the caller reads the files itself. */
    if (plumb_is_recording()) {
        HOST_NEEDS(plumb_environment_read(&environment, "none", "1", NULL) == PLUMB_OK);
        HOST_NEEDS(environment.platform[0] != '\0');
    }
    plumb_trace_keep("asked for", NULL);
    plumb_reset(NULL, NULL);
}

static void *computes(void *allowed)
{
    if (!forbid())
        return NULL;
    *(bool *)allowed = true;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 2)
            ask();
        compute();
    }
    return NULL;
}

static void *stops(void *unused)
{
    HOST_NEEDS(forbid());
    plumb_stop(NULL);
    return unused;
}

static void run(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    HOST_NEEDS(pthread_create(&thread, NULL, fn, arg) == 0);
    HOST_NEEDS(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    struct sigaction action;
    bool allowed = false;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    HOST_NEEDS(sigaction(SIGSYS, &action, NULL) == 0);
    run(computes, &allowed);
    if (!allowed) {
        fprintf(stderr, "skipped: no filter of system calls may be set here\n");
        return 77;
    }
    host_expect("stage", ROUNDS - ROUNDS / 2);
    host_expect("span", ROUNDS - ROUNDS / 2);
    run(stops, NULL);
    return 0;
}
