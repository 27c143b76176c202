/* CV-22: ten clients of one process see counts that only grow, while four threads record, and in
 * the end the exact ones; also if the work runs in a forked child. */
#include <pthread.h>

#include "runtime/control.h"

enum { CLIENTS = 10, CALLS = 100, THREADS = 4, SPANS = 50000 };

static void *record(void *unused)
{
    (void)unused;
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN("work");
    }
    return NULL;
}

static int work(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ROLE_NEEDS(pthread_create(&threads[i], NULL, record, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ROLE_NEEDS(write(CHILD_READY_FD, "d", 1) == 1);
    child_wait_go();
    return 3;
}

static int role_serves(void)
{
    ROLE_NEEDS(dprintf(CHILD_READY_FD, "%d\n", (int)getpid()) > 0);
    return work();
}

/* A server whose work is in a child: the parent only waits. */
static int role_forks(void)
{
    pid_t child = fork();
    if (!child)
        return work();
    ROLE_NEEDS(dprintf(CHILD_READY_FD, "%d\n", (int)child) > 0);
    child_needs_exit(child, 3);
    return 3;
}

static uint64_t count_now(plumb_control *c, bool *failed)
{
    plumb_control_rows *rows = NULL;
    uint64_t n = 0;
    *failed |= plumb_control_summary(&rows, c, NULL, NULL, NULL) < 0;
    for (size_t i = 0; !*failed && i < plumb_control_rows_count(rows); i++)
        n += plumb_control_rows_get(rows, i)->count;
    if (rows)
        plumb_control_rows_free(rows);
    return n;
}

struct client {
    pthread_t thread;
    const char *who;
    uint64_t last;
    bool shrank, failed;
};

static void *client_main(void *arg)
{
    struct client *me = arg;
    plumb_control *c = NULL;
    me->failed = plumb_control_connect(&c, me->who, CONTROL_WAIT_MS, NULL) < 0;
    for (int i = 0; i < CALLS && !me->failed; i++) {
        uint64_t n = count_now(c, &me->failed);
        me->shrank |= n < me->last;
        me->last = n;
    }
    plumb_control_disconnect(c);
    return NULL;
}

static void ask_with_ten_clients(const char *role)
{
    const char *const settings[] = {"PLUMB_CONTROL=1", "PLUMB=1", "PLUMB_QUIET=1", NULL};
    struct child c = child_start(role, role, settings);
    struct client clients[CLIENTS];
    char pid[32] = "";
    plumb_control *control;
    bool failed = false;
    for (size_t n = 0; n < sizeof pid - 1 && !strchr(pid, '\n'); n++)
        assert_int_equal(read(c.ready_fd, pid + n, 1), 1);
    pid[strcspn(pid, "\n")] = '\0';
    control = control_of(&c, (pid_t)atoi(pid));
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.who = pid};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, client_main, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_false(clients[i].failed);
        assert_false(clients[i].shrank);
    }
    child_await_ready(&c);
    assert_int_equal(count_now(control, &failed), THREADS * SPANS);
    assert_false(failed);
    plumb_control_disconnect(control);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

static void ten_clients_see_consistent_counts(void **state)
{
    (void)state;
    ask_with_ten_clients("serves");
}

/* ThreadSanitizer of gcc 12 ends a child that makes a thread where its parent had one: "dup thread
 * with used id". */
static void ten_clients_see_consistent_counts_of_a_child(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    print_message("not under ThreadSanitizer: the child makes threads\n");
    skip();
#endif
    ask_with_ten_clients("forks");
}

static const struct role roles[] = {{"serves", role_serves}, {"forks", role_forks}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_clients_see_consistent_counts),
        cmocka_unit_test(ten_clients_see_consistent_counts_of_a_child),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, control_place, NULL);
}
