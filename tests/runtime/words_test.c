/* labels: notsan
 * Messages are printed with no lock held: a callback may fork, start and stop, and a pipe without a
 * reader stops only the thread that writes to it. A role that is stuck is ended by its alarm. */
#include <pthread.h>

#include "runtime/child.h"

enum { STUCK_S = 30 };

static void record(void)
{
    PLUMB_SPAN("work");
}

static unsigned lines, forks;

static void says(int level, const char *line, void *arg)
{
    plumb_error err = {0, ""};
    pid_t pid;
    (void)level;
    (void)line;
    (void)arg;
    if (lines++ > 3)
        return;
    plumb_start(NULL, &err);
    pid = fork();
    if (pid == 0)
        _exit(0);
    ROLE_NEEDS(pid > 0);
    child_needs_exit(pid, 0);
    forks++;
}

static int role_calls_back(void)
{
    plumb_options options = plumb_options_default();
    alarm(STUCK_S);
    options.log = says;
    options.log_level = PLUMB_LOG_INFO;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    record();
    ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    ROLE_NEEDS(lines > 0 && forks > 0);
    return 7;
}

static void a_callback_may_fork_and_start(void **state)
{
    struct child c;
    (void)state;
    assert_exited(&c, child_run(&c, "calls_back", "calls_back", NULL), 7);
}

static void *stop(void *arg)
{
    (void)arg;
    plumb_stop(NULL);
    return NULL;
}

static void block_stderr(int ends[2])
{
    static const char zeros[4096];
    ROLE_NEEDS(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    while (write(ends[1], zeros, sizeof zeros) > 0)
        continue;
    while (write(ends[1], zeros, 1) > 0)
        continue;
    ROLE_NEEDS(fcntl(ends[1], F_SETFL, 0) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
}

/* The report is written before anything is said of it. */
static int role_blocked(void)
{
    char dir[1024], bytes[4096], path[1100];
    struct stat st;
    pthread_t thread;
    pid_t pid;
    int ends[2];
    alarm(STUCK_S);
    record();
    ROLE_NEEDS(plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK);
    snprintf(path, sizeof path, "%s/timing.json", dir);
    block_stderr(ends);
    ROLE_NEEDS(pthread_create(&thread, NULL, stop, NULL) == 0);
    while (stat(path, &st) < 0)
        sched_yield();
    pid = fork();
    if (pid == 0)
        _exit(0);
    child_needs_exit(pid, 0);
    ROLE_NEEDS(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && close(ends[1]) == 0);
    /* A thread that waits to write can write now. */
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        ssize_t n = read(ends[0], bytes, sizeof bytes);
        ROLE_NEEDS(n > 0 || errno == EAGAIN);
        sched_yield();
    }
    return 7;
}

static void a_blocked_pipe_stops_no_fork(void **state)
{
    struct child c;
    (void)state;
    assert_exited(&c, child_run(&c, "blocked", "blocked", NULL), 7);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {
        {"calls_back", role_calls_back}, {"blocked", role_blocked}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_may_fork_and_start),
        cmocka_unit_test(a_blocked_pipe_stops_no_fork),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
