/* Living, ended and ending processes: real ones, by their files in /proc, and texts for the states
 * that are hard to catch. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/process.h"

static enum plumb_life told(const char *state, unsigned flags, int threads, const char *status)
{
    char stat[512];
    snprintf(stat, sizeof stat,
             "7 (a) b) c) %s 1 7 7 0 -1 %u 0 0 0 0 0 0 0 0 20 0 %d 0 4711 0 0 18446744073709551615",
             state, flags, threads);
    return plumb_process_parse(stat, status, 4711);
}

static void texts_are_understood(void **state)
{
    static const char healthy[] =
        "Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n";
    static const char all[] = "Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n";
    static const char one[] = "Name:\tx\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n";
    (void)state;
    assert_int_equal(told("R", 0x400000, 1, healthy), PLUMB_PROCESS_LIVES);
    assert_int_equal(told("S", 0x400000, 1, ""), PLUMB_PROCESS_LIVES);
    assert_int_equal(told("R", 0x400000, 1, all), PLUMB_PROCESS_ENDING);
    assert_int_equal(told("R", 0x400000, 4, one), PLUMB_PROCESS_ENDING);
    assert_int_equal(told("D", 0x400600, 4, healthy), PLUMB_PROCESS_ENDING);
    assert_int_equal(told("R", 0x400004, 1, healthy), PLUMB_PROCESS_ENDING);
    assert_int_equal(told("Z", 0x40000c, 1, ""), PLUMB_PROCESS_GONE);
    assert_int_equal(told("X", 0x40000c, 1, ""), PLUMB_PROCESS_GONE);
    /* The first thread has ended, others have not. */
    assert_int_equal(told("Z", 0x40000c, 3, healthy), PLUMB_PROCESS_LIVES);
    assert_int_equal(told("Z", 0x40000c, 3, all), PLUMB_PROCESS_ENDING);
    /* Another process of that number, none, and half a text. */
    assert_int_equal(
        plumb_process_parse("7 (x) R 1 2 3 4 5 0 0 0 0 0 0 0 0 0 20 0 1 0 4712 0", "", 4711),
        PLUMB_PROCESS_GONE);
    assert_int_equal(plumb_process_parse("", "", 4711), PLUMB_PROCESS_GONE);
    assert_int_equal(plumb_process_parse("7 (x) R 1 2", "", 0), PLUMB_PROCESS_GONE);
}

static void this_process_lives(void **state)
{
    uint32_t pid = (uint32_t)getpid();
    uint64_t start = plumb_process_start(pid);
    (void)state;
    assert_true(start > 0);
    assert_int_equal(plumb_process_state(pid, start), PLUMB_PROCESS_LIVES);
    assert_false(plumb_process_is_over(pid, start));
    assert_true(plumb_process_is_over(pid, start + 1));
}

static void who_was_killed_does_not_live_from_that_moment(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        uint64_t start;
        assert_true(pid >= 0);
        while (pid == 0)
            pause();
        start = plumb_process_start((uint32_t)pid);
        assert_true(start > 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_not_equal(plumb_process_state((uint32_t)pid, start), PLUMB_PROCESS_LIVES);
        assert_true(plumb_process_is_over((uint32_t)pid, start));
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(plumb_process_state((uint32_t)pid, start), PLUMB_PROCESS_GONE);
        assert_int_equal(plumb_process_start((uint32_t)pid), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_understood),
        cmocka_unit_test(this_process_lives),
        cmocka_unit_test(who_was_killed_does_not_live_from_that_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
