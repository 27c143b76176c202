/* labels: plain
 * A program whose own close() and read() have trace points: plumb calls them too, also while it is
 * loaded and while it reads memory for a span. */
#include <sys/syscall.h>

#include "runtime/child.h"

enum { STAGES = 100 };

int close(int fd)
{
    PLUMB_SPAN("close");
    return (int)syscall(SYS_close, fd);
}

ssize_t read(int fd, void *to, size_t size)
{
    PLUMB_STAGE(stage, "read");
    return (ssize_t)syscall(SYS_read, fd, to, size);
}

static int role_works(void)
{
    for (int i = 0; i < STAGES; i++) {
        PLUMB_STAGE(stage, "work");
        close(dup(STDERR_FILENO));
    }
    return 3;
}

static const struct role roles[] = {{"works", role_works}, {NULL, NULL}};

static void plays(const char *dir, const char *const *settings)
{
    struct child c;
    struct plumb_load run;
    int status = child_run(&c, "works", dir, settings);
    assert_exited(&c, status, 3);
    load_run(&run, dir);
    assert_int_equal(run.state, PLUMB_LOAD_ENDED);
    assert_int_equal(count_of(&run.timing, "work"), STAGES);
    assert_true(count_of(&run.timing, "close") >= STAGES);
    plumb_timing_fini(&run.timing);
}

static void the_run_does_not_open_before_there_is_who_writes_its_trace(void **state)
{
    static const char *const settings[] = {"PLUMB_TRACE=1", NULL};
    (void)state;
    plays("traced", settings);
    assert_true(run_has("traced", PLUMB_TRACE_FILE));
}

static void spans_in_what_reads_memory_want_no_other_reading(void **state)
{
    static const char *const all[] = {"PLUMB_MEMORY=all", NULL};
    static const char *const exact[] = {"PLUMB_MEMORY=all", "PLUMB_MEMORY_PEAK=exact", NULL};
    static const char *const alone[] = {"PLUMB_MEMORY=all", "PLUMB_HELPER=off", NULL};
    (void)state;
    plays("all", all);
    plays("exact", exact);
    plays("alone", alone);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_does_not_open_before_there_is_who_writes_its_trace),
        cmocka_unit_test(spans_in_what_reads_memory_want_no_other_reading),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
