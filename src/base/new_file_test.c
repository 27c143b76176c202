/* Files are made next to those of others, and never over them. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SOMEBODY = 65534 };

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void assert_holds(const char *path, const char *text)
{
    char bytes[100];
    FILE *f = fopen(path, "re");
    size_t n;
    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes - 1, f);
    bytes[n] = '\0';
    fclose(f);
    assert_string_equal(bytes, text);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* An empty folder for each test, and the test is in it. */
static int enter(void **state)
{
    static char name[32];
    static int number;
    snprintf(name, sizeof name, "folder-%d", number++);
    *state = name;
    return mkdir(name, 0700) < 0 || chdir(name) < 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("..");
}

static void a_new_file_is_made_and_nothing_opened_that_is_there(void **state)
{
    int fd = plumb_new_file("new", O_WRONLY, 0600);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    assert_int_equal(plumb_new_file("new", O_WRONLY, 0600), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(plumb_new_file("link", O_WRONLY, 0600), -1);
    assert_false(is_there("nowhere"));
}

static void once_more_takes_away_a_file_of_its_own_alone(void **state)
{
    int fd;
    (void)state;
    put("own", "before");
    fd = plumb_new_file_again("own", O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_holds("own", "");
    put("victim", "kept");
    assert_int_equal(symlink("victim", "link"), 0);
    assert_int_equal(plumb_new_file_again("link", O_WRONLY, 0600), -1);
    assert_int_equal(errno, EEXIST);
    assert_holds("victim", "kept");
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(plumb_new_file_again("folder", O_WRONLY, 0600), -1);
}

static void a_file_appears_whole_or_not_at_all(void **state)
{
    struct plumb_new_file f;
    (void)state;
    put("report", "before");
    assert_int_equal(plumb_new_file_begin(&f, "./report", 0600), 0);
    assert_int_equal(write(f.fd, "after", 5), 5);
    assert_holds("report", "before");
    assert_int_equal(plumb_new_file_end(&f, true), 0);
    assert_holds("report", "after");
    assert_false(is_there(f.temporary));
    assert_int_equal(plumb_new_file_begin(&f, "report", 0600), 0);
    assert_int_equal(plumb_new_file_end(&f, false), 0);
    assert_holds("report", "after");
    assert_false(is_there(f.temporary));
}

/* As somebody would who wants to own what is written, or to have it written elsewhere. */
static void a_temporary_name_that_is_taken_is_left_alone(void **state)
{
    char taken[64], next[64];
    (void)state;
    snprintf(taken, sizeof taken, "report.%d.tmp", (int)gettid());
    snprintf(next, sizeof next, "report.%d-1.tmp", (int)gettid());
    put("victim", "kept");
    assert_int_equal(symlink("victim", taken), 0);
    put(next, "another's");
    assert_int_equal(plumb_new_file_write("report", "text", 4, 0600), 0);
    assert_holds("report", "text");
    assert_holds("victim", "kept");
    assert_holds(next, "another's");
    assert_true(is_there(taken));
}

static void a_link_of_the_name_stays(void **state)
{
    (void)state;
    put("victim", "kept");
    assert_int_equal(symlink("victim", "report"), 0);
    assert_int_equal(plumb_new_file_write("report", "text", 4, 0600), EEXIST);
    assert_holds("victim", "kept");
}

static void a_file_of_another_user_stays(void **state)
{
    (void)state;
    put("report", "theirs");
    if (chown("report", SOMEBODY, SOMEBODY) < 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_int_equal(plumb_new_file_write("report", "text", 4, 0600), EPERM);
    assert_holds("report", "theirs");
    assert_int_equal(plumb_new_file_again("report", O_WRONLY, 0600), -1);
    assert_holds("report", "theirs");
}

/* Whoever may rename the folder puts another one, or a link, in its place. */
static void a_file_stays_in_the_folder_it_was_begun_in(void **state)
{
    struct plumb_new_file f;
    (void)state;
    assert_int_equal(mkdir("ours", 0700), 0);
    assert_int_equal(mkdir("theirs", 0700), 0);
    put("theirs/report", "kept");
    assert_int_equal(plumb_new_file_begin(&f, "ours/report", 0600), 0);
    assert_int_equal(rename("ours", "moved"), 0);
    assert_int_equal(symlink("theirs", "ours"), 0);
    assert_int_equal(write(f.fd, "text", 4), 4);
    assert_int_equal(plumb_new_file_end(&f, true), 0);
    assert_holds("theirs/report", "kept");
    assert_holds("moved/report", "text");
}

static void names_that_cannot_be_are_refused(void **state)
{
    char path[5000];
    (void)state;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(plumb_new_file_write(path, "", 0, 0600), ENAMETOOLONG);
    path[4000] = '/';
    assert_int_equal(plumb_new_file_write(path, "", 0, 0600), ENAMETOOLONG);
    assert_int_equal(plumb_new_file_write("missing/report", "", 0, 0600), ENOENT);
    memset(path, 'x', 255);
    path[255] = '\0';
    assert_int_equal(plumb_new_file_write(path, "text", 4, 0600), 0);
    assert_holds(path, "text");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_file_is_made_and_nothing_opened_that_is_there, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(once_more_takes_away_a_file_of_its_own_alone, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_appears_whole_or_not_at_all, enter, leave),
        cmocka_unit_test_setup_teardown(a_temporary_name_that_is_taken_is_left_alone, enter, leave),
        cmocka_unit_test_setup_teardown(a_link_of_the_name_stays, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_of_another_user_stays, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_stays_in_the_folder_it_was_begun_in, enter, leave),
        cmocka_unit_test_setup_teardown(names_that_cannot_be_are_refused, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
