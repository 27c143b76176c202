/* A run directory is removed while its run records. The figures are printed at the end, and no
 * message says that a file was kept. */
#include "runtime/child.h"

enum { RUNS = 100 };

static void record(void)
{
    for (int i = 0; i < RUNS; i++) {
        PLUMB_SPAN("work");
    }
}

static int role_recorded(void)
{
    record();
    child_ready();
    child_wait_go();
    record();
    return 7;
}

static void run_while(struct child *c, const char *dir, void (*tidy)(const char *dir))
{
    *c = child_start("recorded", dir, NULL);
    child_await_ready(c);
    tidy(in_place(dir));
    child_go(c);
    assert_exited(c, child_end(c), 7);
}

static void says(const struct child *c, const char *text)
{
    if (!strstr(child_errors(c), text))
        fail_msg("it does not say '%s' but: %s", text, child_errors(c));
}

static void does_not_say(const struct child *c, const char *text)
{
    if (strstr(child_errors(c), text))
        fail_msg("it says '%s': %s", text, child_errors(c));
}

static void remove_all(const char *dir)
{
    char command[2100];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void a_run_without_its_directory_prints_its_table(void **state)
{
    struct child c;
    (void)state;
    run_while(&c, "removed", remove_all);
    says(&c, "\nwork ");
    says(&c, " 200 ");
    says(&c, "live.plumb was removed while the run was recorded: no file has it");
    does_not_say(&c, "what was recorded is kept");
    does_not_say(&c, "plumb recover");
    assert_false(exists(in_place("removed")));
}

static void remove_and_put_another_file(const char *dir)
{
    char path[2100];
    FILE *f;
    remove_all(dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(path, sizeof path, "%s/timing.json", dir);
    assert_int_equal(mkdir(path, 0700), 0); /* where the report is written */
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_LIVE_NAME);
    f = fopen(path, "we");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(chmod(dir, 0500), 0);
}

/* A file of that name is not enough. */
static void another_live_file_is_not_taken_for_its_own(void **state)
{
    struct child c;
    (void)state;
    run_while(&c, "another", remove_and_put_another_file);
    says(&c, "\nwork ");
    does_not_say(&c, "what was recorded is kept");
    assert_true(run_has(in_place("another"), PLUMB_LIVE_NAME));
    assert_int_equal(chmod(in_place("another"), 0700), 0); /* or only root can remove it */
}

static void put_folder_in_the_way(const char *dir)
{
    char path[2100];
    snprintf(path, sizeof path, "%s/timing.json", dir);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void a_file_that_is_still_there_is_said_to_be_kept(void **state)
{
    struct child c;
    struct plumb_load run;
    (void)state;
    run_while(&c, "kept", put_folder_in_the_way);
    says(&c, "what was recorded is kept: `plumb recover ");
    rmdir(in_place("kept/timing.json"));
    load_run(&run, in_place("kept"));
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    assert_true(run.timing.unsaved);
    assert_int_equal(count_of(&run.timing, "work"), 2 * RUNS);
    plumb_timing_fini(&run.timing);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"recorded", role_recorded}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_its_directory_prints_its_table),
        cmocka_unit_test(another_live_file_is_not_taken_for_its_own),
        cmocka_unit_test(a_file_that_is_still_there_is_said_to_be_kept),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
