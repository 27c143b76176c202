/* Files are made next to those of others, and never over them. */
#include "base/new_file.h"
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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
    struct plumb_whole_file f;
    (void)state;
    put("report", "before");
    assert_int_equal(plumb_whole_file_begin(&f, "./report", 0, 0600), 0);
    assert_int_equal(write(f.fd, "after", 5), 5);
    assert_holds("report", "before");
    assert_int_equal(plumb_whole_file_end(&f, true), 0);
    assert_holds("report", "after");
    assert_false(is_there(f.temporary));
    assert_int_equal(plumb_whole_file_begin(&f, "report", 0, 0600), 0);
    assert_int_equal(plumb_whole_file_end(&f, false), 0);
    assert_holds("report", "after");
    assert_false(is_there(f.temporary));
}

/* The names are taken as by an attacker who wants to own the written file, or to redirect it. */
static void a_temporary_name_that_is_taken_is_left_alone(void **state)
{
    char taken[64], next[64];
    (void)state;
    snprintf(taken, sizeof taken, "report.%d.tmp", (int)gettid());
    snprintf(next, sizeof next, "report.%d-1.tmp", (int)gettid());
    put("victim", "kept");
    assert_int_equal(symlink("victim", taken), 0);
    put(next, "another's");
    assert_int_equal(plumb_whole_file_write("report", 0, 0600, "text", 4), 0);
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
    assert_int_equal(plumb_whole_file_write("report", 0, 0600, "text", 4), EEXIST);
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
    assert_int_equal(plumb_whole_file_write("report", 0, 0600, "text", 4), EPERM);
    assert_holds("report", "theirs");
    assert_int_equal(plumb_new_file_again("report", O_WRONLY, 0600), -1);
    assert_holds("report", "theirs");
}

/* The folder is replaced by another one, or by a link, as any user who may rename it can do. */
static void a_file_stays_in_the_folder_it_was_begun_in(void **state)
{
    struct plumb_whole_file f;
    (void)state;
    assert_int_equal(mkdir("ours", 0700), 0);
    assert_int_equal(mkdir("theirs", 0700), 0);
    put("theirs/report", "kept");
    assert_int_equal(plumb_whole_file_begin(&f, "ours/report", 0, 0600), 0);
    assert_int_equal(rename("ours", "moved"), 0);
    assert_int_equal(symlink("theirs", "ours"), 0);
    assert_int_equal(write(f.fd, "text", 4), 4);
    assert_int_equal(plumb_whole_file_end(&f, true), 0);
    assert_holds("theirs/report", "kept");
    assert_holds("moved/report", "text");
}

static void names_that_cannot_be_are_refused(void **state)
{
    char path[5000];
    (void)state;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(plumb_whole_file_write(path, 0, 0600, "", 0), ENAMETOOLONG);
    path[4000] = '/';
    assert_int_equal(plumb_whole_file_write(path, 0, 0600, "", 0), ENAMETOOLONG);
    assert_int_equal(plumb_whole_file_write("missing/report", 0, 0600, "", 0), ENOENT);
    memset(path, 'x', 255);
    path[255] = '\0';
    assert_int_equal(plumb_whole_file_write(path, 0, 0600, "text", 4), 0);
    assert_holds(path, "text");
}

static void the_first_file_of_a_name_stays(void **state)
{
    struct plumb_whole_file f;
    (void)state;
    assert_int_equal(plumb_whole_file_begin(&f, "report", PLUMB_WHOLE_FIRST, 0600), 0);
    assert_int_equal(plumb_whole_file_put(&f, "second", 6), 0);
    assert_int_equal(plumb_whole_file_write("report", PLUMB_WHOLE_FIRST, 0600, "first", 5), 0);
    assert_int_equal(plumb_whole_file_end(&f, true), EEXIST);
    assert_holds("report", "first");
    assert_false(is_there(f.temporary));
    assert_int_equal(plumb_whole_file_write("report", PLUMB_WHOLE_FIRST, 0600, "x", 1), EEXIST);
    assert_holds("report", "first");
}

static void a_file_of_any_owner_is_replaced_where_that_is_asked_for(void **state)
{
    (void)state;
    put("report", "theirs");
    if (chown("report", SOMEBODY, SOMEBODY) < 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_int_equal(plumb_whole_file_write("report", PLUMB_WHOLE_ANY_OWNER, 0600, "ours", 4), 0);
    assert_holds("report", "ours");
    assert_int_equal(symlink("report", "link"), 0);
    assert_int_equal(plumb_whole_file_write("link", PLUMB_WHOLE_ANY_OWNER, 0600, "x", 1), EEXIST);
    assert_holds("report", "ours");
}

static void a_typed_path_keeps_its_mode_and_links_are_followed(void **state)
{
    struct stat st;
    (void)state;
    put("report", "a longer text that was there before");
    assert_int_equal(chmod("report", 0640), 0);
    assert_int_equal(plumb_whole_file_write("report", PLUMB_WHOLE_AS_TYPED, 0666, "new", 3), 0);
    assert_holds("report", "new");
    assert_int_equal(stat("report", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(symlink("report", "link"), 0);
    assert_int_equal(plumb_whole_file_write("link", PLUMB_WHOLE_AS_TYPED, 0666, "by", 2), 0);
    assert_holds("report", "by");
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(symlink("made", "dangling"), 0);
    assert_int_equal(plumb_whole_file_write("dangling", PLUMB_WHOLE_AS_TYPED, 0666, "x", 1), 0);
    assert_holds("made", "x");
    assert_int_equal(plumb_whole_file_write(".", PLUMB_WHOLE_AS_TYPED, 0666, "x", 1), EISDIR);
    assert_int_equal(plumb_whole_file_write("no/", PLUMB_WHOLE_AS_TYPED, 0666, "x", 1), ENOENT);
    assert_int_equal(plumb_whole_file_write("/dev/full", PLUMB_WHOLE_AS_TYPED, 0666, "x", 1),
                     ENOSPC);
}

static void a_pipe_that_nobody_reads_any_more_raises_no_signal(void **state)
{
    struct plumb_whole_file f;
    int reader;
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(plumb_whole_file_begin(&f, "pipe", PLUMB_WHOLE_AS_TYPED, 0666), 0);
    close(reader);
    assert_int_equal(plumb_whole_file_put(&f, "text", 4), EPIPE);
    assert_int_equal(plumb_whole_file_end(&f, false), 0);
    assert_true(is_there("pipe"));
}

/* As on a full disk: some of the bytes are accepted, then none. */
static void a_file_that_may_not_grow_leaves_what_was_there(void **state)
{
    static char text[8192];
    const struct rlimit small = {5000, RLIM_INFINITY};
    struct rlimit before;
    struct plumb_whole_file f;
    (void)state;
    put("report", "before");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(plumb_whole_file_begin(&f, "report", 0, 0600), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(plumb_whole_file_put(&f, text, sizeof text), EFBIG);
    assert_int_equal(plumb_whole_file_write("report", 0, 0600, text, sizeof text), EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(plumb_whole_file_end(&f, false), 0);
    assert_holds("report", "before");
    assert_false(is_there(f.temporary));
}

static void a_path_may_be_longer_than_its_parts(void **state)
{
    char path[3000] = "", text[4100];
    (void)state;
    for (int i = 0; i < 12; i++) {
        strcat(path, path[0] ? "//" : "");
        memset(path + strlen(path), 'd', 200);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    strcat(path, "/report");
    assert_int_equal(plumb_whole_file_write(path, 0, 0600, "text", 4), 0);
    assert_holds(path, "text");
    assert_non_null(getcwd(text, 1000));
    strcat(text, "/");
    strcat(text, path);
    assert_int_equal(plumb_whole_file_write(text, 0, 0600, "more", 4), 0);
    assert_holds(path, "more");
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
        cmocka_unit_test_setup_teardown(the_first_file_of_a_name_stays, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_of_any_owner_is_replaced_where_that_is_asked_for,
                                        enter, leave),
        cmocka_unit_test_setup_teardown(a_typed_path_keeps_its_mode_and_links_are_followed, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_pipe_that_nobody_reads_any_more_raises_no_signal, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_file_that_may_not_grow_leaves_what_was_there, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_path_may_be_longer_than_its_parts, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
