/* Processes that name one file for their activations: a process never touches the file that another
 * one writes to, no record is lost, and a process that writes elsewhere says so. */
#include "runtime/child.h"

#include "tensor_fixture.h"

enum { TELLS = 200, MANY = 8 };

/* ---- The processes --------------------------------------------------------------------------- */

static void tell(int n)
{
    static float values[4] = {1, 2, 3, 4};
    struct fixture_tensor x;
    DLTensor *t = fixture_tensor(&x, values, "float32", DIMS(4));
    char name[32];
    snprintf(name, sizeof name, "layer%d", (int)getpid());
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN_NODE(node);
        plumb_activation(node, "out", t);
    }
}

static int role_tells(void)
{
    tell(1);
    child_ready();
    child_wait_go();
    tell(TELLS - 1);
    return 0;
}

/* A child that goes leaves its parent the file. */
static int role_forks_and_tells(void)
{
    pid_t pid;
    tell(1);
    pid = fork();
    if (pid == 0)
        _exit(0);
    child_needs_exit(pid, 0);
    child_ready();
    child_wait_go();
    tell(TELLS - 1);
    return 0;
}

/* ---- What they left -------------------------------------------------------------------------- */

/* Returns the number of lines of process `pid` in `path`. Fails if a line is not a record, or
 * belongs to no process of the test. */
static int lines_of(const char *path, pid_t pid)
{
    char line[4096 + 2], name[32];
    int n = 0;
    FILE *f = fopen(path, "re");
    snprintf(name, sizeof name, "\"layer%d\"", (int)pid);
    while (f && fgets(line, sizeof line, f)) {
        size_t end = strcspn(line, "\n");
        if (line[end] != '\n')
            fail_msg("%s: a line without an end: '%s'", path, line);
        while (end > 0 && line[end - 1] == ' ')
            end--;
        if (line[0] != '{' || end < 2 || line[end - 1] != '}' || strstr(line + 1, "{\""))
            fail_msg("%s: not a whole line: '%s'", path, line);
        n += strstr(line, name) != NULL;
    }
    if (f)
        fclose(f);
    return n;
}

static const char *file_of(const char *tag)
{
    static char paths[4][1200];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/x%s.jsonl", in_place("records"), tag);
    return path;
}

static const char *own_file(pid_t pid)
{
    char tag[32];
    snprintf(tag, sizeof tag, ".%d", (int)pid);
    return file_of(tag);
}

static const char *const afresh[] = {"PLUMB_ACTIVATIONS=1",
                                     "PLUMB_ACTIVATIONS_OUTPUT=records/x.jsonl", NULL};
static const char *const appended[] = {"PLUMB_ACTIVATIONS=1",
                                       "PLUMB_ACTIVATIONS_OUTPUT=records/x.jsonl",
                                       "PLUMB_ACTIVATIONS_APPEND=1", NULL};

/* An empty folder for records; runs of earlier tests are gone. */
static int setup(void **state)
{
    (void)state;
    return system("rm -rf records run.*");
}

static struct child start(const char *role, const char *const *settings)
{
    static unsigned number;
    char dir[32];
    struct child c;
    snprintf(dir, sizeof dir, "run.%u", number++);
    c = child_start(role, dir, settings);
    child_await_ready(&c);
    return c;
}

static void end(struct child *c)
{
    child_go(c);
    assert_exited(c, child_end(c), 0);
}

static void assert_said(const struct child *c, bool want)
{
    bool said = strstr(child_errors(c),
                       "is being written to; the activation records of this process go to") != NULL;
    if (said != want)
        fail_msg("said: %s", child_errors(c));
}

/* Two at once: the first keeps the file. */
static void assert_apart(const char *role, const char *const *first, const char *const *second)
{
    struct child a = start(role, first), b = start("tells", second);
    pid_t a_pid = a.pid, b_pid = b.pid;
    end(&b);
    end(&a);
    assert_said(&a, false);
    assert_said(&b, true);
    assert_non_null(strstr(child_errors(&b), own_file(b_pid)));
    assert_int_equal(lines_of(file_of(""), a_pid), TELLS);
    assert_int_equal(lines_of(file_of(""), b_pid), 0);
    assert_int_equal(lines_of(own_file(b_pid), b_pid), TELLS);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void who_comes_second_writes_beside(void **state)
{
    (void)state;
    assert_apart("tells", afresh, afresh);
}

static void a_child_that_ends_gives_nothing_away(void **state)
{
    (void)state;
    assert_apart("forks_and_tells", afresh, afresh);
}

static void nothing_is_added_to_what_is_written_afresh(void **state)
{
    (void)state;
    assert_apart("tells", afresh, appended);
}

static void nothing_that_others_add_to_is_begun_afresh(void **state)
{
    (void)state;
    assert_apart("tells", appended, afresh);
}

static void those_who_append_share_the_file(void **state)
{
    struct child a = start("tells", appended), b = start("tells", appended);
    (void)state;
    child_go(&a);
    child_go(&b);
    assert_exited(&a, child_end(&a), 0);
    assert_exited(&b, child_end(&b), 0);
    assert_said(&a, false);
    assert_said(&b, false);
    assert_int_equal(lines_of(file_of(""), a.pid), TELLS);
    assert_int_equal(lines_of(file_of(""), b.pid), TELLS);
}

static void what_has_ended_or_was_killed_is_begun_afresh(void **state)
{
    struct child a = start("tells", afresh), b, c;
    (void)state;
    assert_int_equal(kill(a.pid, SIGKILL), 0);
    assert_signaled(&a, child_end(&a), SIGKILL);
    b = start("tells", afresh);
    end(&b);
    c = start("tells", afresh);
    end(&c);
    assert_said(&b, false);
    assert_said(&c, false);
    assert_int_equal(lines_of(file_of(""), a.pid) + lines_of(file_of(""), b.pid), 0);
    assert_int_equal(lines_of(file_of(""), c.pid), TELLS);
}

/* As started by a launcher that sets no ranks. */
static void many_at_once_lose_nothing(void **state)
{
    struct child all[MANY];
    int in_the_file = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        char dir[32];
        snprintf(dir, sizeof dir, "run.many%d", i);
        all[i] = child_start("tells", dir, afresh);
    }
    for (int i = 0; i < MANY; i++)
        child_await_ready(&all[i]);
    for (int i = 0; i < MANY; i++)
        child_go(&all[i]);
    for (int i = 0; i < MANY; i++) {
        int lines;
        assert_exited(&all[i], child_end(&all[i]), 0);
        lines = lines_of(file_of(""), all[i].pid);
        in_the_file += lines;
        assert_int_equal(lines + lines_of(own_file(all[i].pid), all[i].pid), TELLS);
    }
    assert_int_equal(in_the_file, TELLS);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {
        {"tells", role_tells}, {"forks_and_tells", role_forks_and_tells}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(who_comes_second_writes_beside, setup),
        cmocka_unit_test_setup(a_child_that_ends_gives_nothing_away, setup),
        cmocka_unit_test_setup(nothing_is_added_to_what_is_written_afresh, setup),
        cmocka_unit_test_setup(nothing_that_others_add_to_is_begun_afresh, setup),
        cmocka_unit_test_setup(those_who_append_share_the_file, setup),
        cmocka_unit_test_setup(what_has_ended_or_was_killed_is_begun_afresh, setup),
        cmocka_unit_test_setup(many_at_once_lose_nothing, setup),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
