/* Tests of runs.c: what counts as a run, which is newest, what a user's word for a run means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/run/runs.h"

static void touch(const char *path, time_t when)
{
    struct timespec times[2] = {{when, 0}, {when, 0}};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/* A folder of its own for each test, and its runs. */
static int make_runs(void **state)
{
    static char dir[] = "runs-XXXXXX";
    strcpy(dir, "runs-XXXXXX");
    if (!mkdtemp(dir) || chdir(dir) < 0)
        return -1;
    mkdir("out", 0700);
    mkdir("out/p", 0700);
    mkdir("out/p/20260101-000000-h-1", 0700);
    touch("out/p/20260101-000000-h-1/timing.json", 3000);
    mkdir("out/p/20260101-000001-h-2", 0700);
    touch("out/p/20260101-000001-h-2/live.plumb", 1000);
    mkdir("out/p/20260101-000001-h-3", 0700);
    touch("out/p/20260101-000001-h-3/timing.json", 2000);
    mkdir("out/p/deeper", 0700);
    mkdir("out/p/deeper/20260101-000009-h-9", 0700);
    touch("out/p/deeper/20260101-000009-h-9/timing.json", 2000);
    if (symlink("20260101-000000-h-1", "out/p/latest") < 0)
        return -1;
    *state = dir;
    return 0;
}

static int remove_runs(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    return chdir("..") < 0 ? -1 : system(command);
}

static void runs_come_newest_first_and_links_are_no_runs(void **state)
{
    struct plumb_found_runs found;
    (void)state;
    assert_int_equal(plumb_runs_find(&found, "out/", NULL), PLUMB_OK);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.runs[0].path, "out/p/20260101-000001-h-3");
    assert_string_equal(found.runs[1].name, "20260101-000001-h-2");
    assert_string_equal(found.runs[1].pipeline, "p");
    assert_false(found.runs[1].ended);
    assert_true(found.runs[2].ended);
    assert_string_equal(found.runs[2].stamp, "20260101-000000");
    plumb_runs_fini(&found);
}

static void a_missing_folder_has_no_runs_and_a_file_is_an_error(void **state)
{
    struct plumb_found_runs found;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_runs_find(&found, "nowhere", &err), PLUMB_OK);
    assert_int_equal(found.count, 0);
    plumb_runs_fini(&found);
    assert_int_equal(plumb_runs_find(&found, "out/p/20260101-000000-h-1/timing.json", &err),
                     PLUMB_ERR_IO);
    assert_non_null(strstr(err.message, "Not a directory"));
}

static void assert_resolves(const char *what, const char *want)
{
    char path[256] = "";
    plumb_error err = {0, ""};
    int rc = plumb_runs_resolve(path, sizeof path, what, "out", &err);
    assert_int_equal(rc, want ? PLUMB_OK : PLUMB_ERR_NOT_FOUND);
    assert_string_equal(path, want ? want : "");
}

static void a_run_can_be_meant_in_many_ways(void **state)
{
    (void)state;
    assert_resolves(NULL, "out/p/20260101-000001-h-3");
    assert_resolves("out", "out/p/20260101-000001-h-3");
    assert_resolves("out/p/latest", "out/p/latest");
    assert_resolves("out/p/20260101-000000-h-1", "out/p/20260101-000000-h-1");
    assert_resolves("20260101-000001-h-2", "out/p/20260101-000001-h-2");
    assert_resolves("20260101-000001-h-4", NULL);
    assert_resolves("out/q", NULL);
    assert_resolves("", NULL);
}

static void a_path_that_does_not_fit_is_an_error(void **state)
{
    char path[8] = "before";
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_runs_resolve(path, sizeof path, NULL, "out", &err), PLUMB_ERR_ARG);
    assert_string_equal(path, "before");
}

static bool always(const char *path, void *arg)
{
    (void)path;
    return *(bool *)arg;
}

static void pruning_spares_what_still_records(void **state)
{
    struct plumb_found_runs found;
    struct plumb_pruned done;
    bool busy = true;
    struct plumb_prune rules = {UINT64_MAX, UINT64_MAX, always, &busy};
    (void)state;
    assert_int_equal(plumb_runs_find(&found, "out", NULL), PLUMB_OK);
    assert_int_equal(plumb_runs_prune(&done, &found, &rules, NULL), PLUMB_OK);
    assert_int_equal(done.runs, 2);
    assert_true(plumb_runs_is_run("out/p/20260101-000001-h-2"));
    assert_false(plumb_runs_is_run("out/p/20260101-000000-h-1"));
    plumb_runs_fini(&found);
    busy = false;
    assert_int_equal(plumb_runs_find(&found, "out", NULL), PLUMB_OK);
    assert_int_equal(plumb_runs_prune(&done, &found, &rules, NULL), PLUMB_OK);
    assert_int_equal(done.runs, 1);
    plumb_runs_fini(&found);
    assert_int_equal(access("out/p/deeper", F_OK), 0);
}

static void a_folder_is_removed_however_its_name_is_spelt(void **state)
{
    static const char *const spelt[] = {"out/p/deeper", "out/p/deeper/", "./out//p//deeper///"};
    plumb_error err = {0, ""};
    char path[6000];
    (void)state;
    for (size_t i = 0; i < sizeof spelt / sizeof *spelt; i++) {
        mkdir("out/p/deeper", 0700);
        touch("out/p/deeper/file", 1000);
        if (plumb_runs_remove_folder(spelt[i], &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(access("out/p/deeper", F_OK), -1);
        assert_int_equal(access("out/p/latest", F_OK), 0);
    }
    memset(path, '/', sizeof path - 1);
    memcpy(path, "out", 3);
    strcpy(path + sizeof path - 10, "p");
    assert_int_equal(plumb_runs_remove_folder(path, &err), PLUMB_ERR_IO);
    assert_int_equal(access("out/p", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_come_newest_first_and_links_are_no_runs, make_runs,
                                        remove_runs),
        cmocka_unit_test_setup_teardown(a_missing_folder_has_no_runs_and_a_file_is_an_error,
                                        make_runs, remove_runs),
        cmocka_unit_test_setup_teardown(a_run_can_be_meant_in_many_ways, make_runs, remove_runs),
        cmocka_unit_test_setup_teardown(a_path_that_does_not_fit_is_an_error, make_runs,
                                        remove_runs),
        cmocka_unit_test_setup_teardown(a_folder_is_removed_however_its_name_is_spelt, make_runs,
                                        remove_runs),
        cmocka_unit_test_setup_teardown(pruning_spares_what_still_records, make_runs, remove_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
