/* A file is recognised by its identity, not by its name or descriptor number. */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TRIES = 1000000 };

static int make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void a_name_that_leads_elsewhere_is_refused(void **state)
{
    struct plumb_own_file own;
    int fd = make("own"), again;
    (void)state;
    assert_true(plumb_own_file_remember(&own, fd));
    assert_true(plumb_own_file_is_at(&own, "own"));
    again = plumb_own_file_open(&own, "own", O_RDWR);
    assert_true(again >= 0);
    assert_int_equal(fcntl(again, F_GETFD), FD_CLOEXEC);
    close(again);
    assert_int_equal(rename("own", "moved"), 0);
    assert_false(plumb_own_file_is_at(&own, "own"));
    assert_int_equal(plumb_own_file_open(&own, "own", O_RDWR), -1);
    assert_int_equal(errno, ENOENT);
    close(make("own"));
    assert_false(plumb_own_file_is_at(&own, "own"));
    assert_int_equal(plumb_own_file_open(&own, "own", O_RDWR), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(unlink("own"), 0);
    assert_int_equal(symlink("moved", "own"), 0);
    assert_false(plumb_own_file_is_at(&own, "own"));
    assert_int_equal(plumb_own_file_open(&own, "own", O_RDWR), -1);
    assert_true(plumb_own_file_is_at(&own, "moved"));
    close(fd);
    unlink("own");
    unlink("moved");
}

/* A pipe must not block the thread that opens it. */
static void a_pipe_in_its_place_does_not_block(void **state)
{
    struct plumb_own_file own;
    int fd = make("own");
    (void)state;
    assert_true(plumb_own_file_remember(&own, fd));
    assert_int_equal(unlink("own"), 0);
    assert_int_equal(mkfifo("own", 0600), 0);
    assert_int_equal(plumb_own_file_open(&own, "own", O_RDONLY), -1);
    assert_int_equal(errno, ESTALE);
    close(fd);
    unlink("own");
}

static void a_number_that_is_another_file_is_told(void **state)
{
    struct plumb_own_file own, none;
    int fd = make("own"), other = -1;
    (void)state;
    assert_true(plumb_own_file_remember(&own, fd));
    assert_true(plumb_own_file_is(&own, fd));
    assert_int_equal(unlink("own"), 0);
    close(fd);
    assert_false(plumb_own_file_is(&own, fd));
    assert_false(plumb_own_file_remember(&none, fd));
    assert_false(plumb_own_file_is(&none, fd));
    /* The file system may give it the inode of the one before; then the time of its birth tells
     * them apart, as soon as the clock of the file system has moved on. */
    for (int i = 0; i < TRIES; i++) {
        other = make("other");
        assert_int_equal(other, fd);
        assert_true(plumb_own_file_remember(&none, other));
        if (!none.born_ns || none.born_s != own.born_s || none.born_ns != own.born_ns)
            break;
        close(other);
        unlink("other");
        other = -1;
    }
    assert_true(other >= 0);
    assert_false(plumb_own_file_is(&own, other));
    close(other);
    unlink("other");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_leads_elsewhere_is_refused),
        cmocka_unit_test(a_pipe_in_its_place_does_not_block),
        cmocka_unit_test(a_number_that_is_another_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
