/* The file of a mapping is another process's: it may become shorter at any moment. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "live/layout.h"
#include "live/read.h"

enum { BYTES = 1 << 20, HOLE = 300000, READINGS = 2000 };

static const char path[] = "run/" PLUMB_LIVE_NAME;

static int make_file(void)
{
    static unsigned char bytes[BYTES];
    int fd;
    mkdir("run", 0700);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    memset(bytes, 7, sizeof bytes);
    assert_int_equal(pwrite(fd, bytes, HOLE, 0), HOLE);
    assert_int_equal(pwrite(fd, bytes, BYTES - 2 * HOLE, 2 * (off_t)HOLE), BYTES - 2 * HOLE);
    return fd;
}

static void a_copy_has_every_byte_and_every_hole(void **state)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    int fd = make_file();
    (void)state;
    assert_int_equal(ftruncate(fd, BYTES + HOLE), 0);
    assert_int_equal(plumb_live_copy(&base, &bytes, "run", NULL), PLUMB_OK);
    assert_int_equal(bytes, BYTES + HOLE);
    for (size_t i = 0; i < bytes; i++)
        if (base[i] != (i < HOLE || (i >= 2 * HOLE && i < BYTES) ? 7 : 0))
            fail_msg("byte %zu is %d", i, base[i]);
    plumb_pages_unmap(base, bytes);
    close(fd);
}

static uint32_t ending;

static void *cut_and_grow(void *arg)
{
    int fd = *(int *)arg;
    while (!PLUMB_ACQUIRE(ending))
        if (ftruncate(fd, 4096) < 0 || ftruncate(fd, BYTES) < 0)
            return arg;
    return NULL;
}

static void a_file_that_is_cut_short_while_it_is_read_ends_no_process(void **state)
{
    pthread_t thread;
    void *failed = NULL;
    int fd = make_file();
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, cut_and_grow, &fd), 0);
    for (int i = 0; i < READINGS; i++) {
        plumb_error err = {0, ""};
        unsigned char *base = NULL, sum = 0;
        size_t bytes = 0;
        if (plumb_live_copy(&base, &bytes, "run", &err) == PLUMB_ERR_FORMAT)
            assert_non_null(strstr(err.message, "cut short"));
        for (size_t at = 0; at < bytes; at += 4096)
            sum ^= base[at];
        assert_true(sum == 0 || sum == 7);
        plumb_pages_unmap(base, bytes);
    }
    PLUMB_RELEASE(ending, 1);
    pthread_join(thread, &failed);
    assert_null(failed);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_every_byte_and_every_hole),
        cmocka_unit_test(a_file_that_is_cut_short_while_it_is_read_ends_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
