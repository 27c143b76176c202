/* bench_switch.c: what it takes to switch a trace on and off in a running process, from outside
 * (plumb/control.h), while eight threads of it record without a pause. A round is a request for the
 * trace, 5 ms of it, and the request for its end, which returns when the file is complete; the
 * figure is the time of the two requests. */
#include "harness.h"

#include <plumb/control.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 100, TRACE_MS = 5, CONNECT_TRIES = 500 };

static void *work(void *arg)
{
    for (;;) {
        PLUMB_SPAN("outer");
        for (int i = 0; i < 100; i++) {
            PLUMB_SPAN("inner");
        }
    }
    return arg;
}

static int host(void)
{
    pthread_t t;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&t, NULL, work, NULL) != 0)
            return 1;
    work(NULL);
    return 0;
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static pid_t start_host(const struct bench *b, const char *program)
{
    char dir[600];
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    snprintf(dir, sizeof dir, "%s/switch-host", b->tmp_path);
    setenv("PLUMB", "1", 1);
    setenv("PLUMB_CONTROL", "1", 1);
    setenv("PLUMB_QUIET", "1", 1);
    setenv("PLUMB_DIR", dir, 1);
    execl(program, program, "host", (char *)NULL);
    _exit(127);
}

static plumb_control *connect_to(pid_t pid, plumb_error *err)
{
    plumb_control *c = NULL;
    const plumb_process *p;
    char who[32];
    snprintf(who, sizeof who, "%d", (int)pid);
    for (int i = 0; i < CONNECT_TRIES; i++, nap_ms(10)) {
        if (!c && plumb_control_connect(&c, who, 60000, err) < 0)
            continue;
        if (plumb_control_status(&p, c, err) == PLUMB_OK && p->recording == 1)
            return c;
    }
    plumb_control_disconnect(c);
    return NULL;
}

static bool one_round(plumb_control *c, double *on_ms, double *off_ms, plumb_error *err)
{
    char path[4096];
    double from = now_ms();
    if (plumb_control_trace_on(path, sizeof path, c, NULL, err) < 0)
        return false;
    *on_ms = now_ms() - from;
    nap_ms(TRACE_MS);
    from = now_ms();
    if (plumb_control_trace_off(path, sizeof path, c, err) < 0)
        return false;
    *off_ms = now_ms() - from;
    return unlink(path) == 0;
}

static void measure(struct bench *b, const char *program)
{
    double on[ROUNDS], off[ROUNDS], both[ROUNDS];
    size_t rounds = b->quick ? ROUNDS / 10 : ROUNDS;
    plumb_error err = {0, ""};
    pid_t pid = start_host(b, program);
    plumb_control *c = connect_to(pid, &err);
    bool good = c != NULL;
    for (size_t i = 0; good && i < rounds; i++) {
        good = one_round(c, &on[i], &off[i], &err);
        both[i] = on[i] + off[i];
    }
    if (good) {
        struct bench_stat s = bench_stat_of(on, rounds);
        bench_put_stat(b, "attach_switch_on_ms", &s);
        s = bench_stat_of(off, rounds);
        bench_put_stat(b, "attach_switch_off_ms", &s);
        s = bench_stat_of(both, rounds);
        bench_put_stat(b, "attach_switch_ms", &s);
    } else {
        bench_put_null(b, "attach_switch_ms", err.message);
    }
    plumb_control_disconnect(c);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    struct bench b;
    if (argc == 2 && strcmp(argv[1], "host") == 0)
        return host();
    bench_open(&b, "switch", argc, argv);
    measure(&b, argv[0]);
    return bench_close(&b);
}
