/* TF-7: one line a stage, with rank, milliseconds and memory, exactly so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <cmocka.h>

#include "record_memory.h"

#include <regex.h>

static char lines[8][512];
static int line_count;

static void take(int level, const char *line, void *arg)
{
    (void)arg;
    assert_int_equal(level, PLUMB_LOG_INFO);
    if (strstr(line, "[Timing]") && line_count < 8)
        snprintf(lines[line_count++], sizeof lines[0], "%s", line);
}

static int listen_in(void **state)
{
    (void)state;
    line_count = 0;
    record_start();
    plumb_set_log(PLUMB_LOG_INFO, take, NULL);
    return 0;
}

static int listen_no_more(void **state)
{
    plumb_set_log(0, NULL, NULL);
    return record_teardown(state);
}

static void matches(const char *line, const char *pattern)
{
    regex_t r;
    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&r, line, 0, NULL, 0) != 0)
        fail_msg("'%s' is not '%s'", line, pattern);
    regfree(&r);
}

static void one_line_a_stage(void **state)
{
    (void)state;
    {
        PLUMB_STAGE(outer, "vae_decode");
        plumb_mem_reserve("cuda:0", "caching", NULL, 8 * MIB);
        mem_alloc(1, 4 * MIB);
        mem_free(1);
        mem_alloc(1, MIB);
        {
            PLUMB_SPAN("plain");
        }
    }
    {
        PLUMB_STAGE(next, "save"); /* takes over what vae_decode allocated */
        mem_free(1);
    }
    assert_int_equal(line_count, 2);
    matches(lines[0], "^\\[Rank 0\\] \\[Timing\\] vae_decode: [0-9]+\\.[0-9]{2} ms, "
                      "memory: 1\\.00/8\\.00 MB \\(peak: 4\\.00/8\\.00 MB\\)$");
    matches(lines[1], "^\\[Rank 0\\] \\[Timing\\] save: [0-9]+\\.[0-9]{2} ms, "
                      "memory: 0\\.00/8\\.00 MB \\(peak: 1\\.00/8\\.00 MB\\)$");
}

static void without_pools_it_is_the_resident_set(void **state)
{
    (void)state;
    {
        PLUMB_STAGE(stage, "stage");
    }
    assert_int_equal(line_count, 1);
    matches(lines[0], "memory: ([0-9]+\\.[0-9]{2})/[0-9]+\\.[0-9]{2} MB \\(peak: "
                      "[0-9]+\\.[0-9]{2}/[0-9.]+ MB\\)$");
    assert_null(strstr(lines[0], "memory: 0.00/"));
}

/* Its time is printed all the same; figures of pools come from the program and cost no reading. */
static void with_memory_off_the_line_comes_too(void **state)
{
    (void)state;
    setenv("PLUMB_MEMORY", "off", 1);
    listen_in(state);
    {
        PLUMB_STAGE(stage, "alone");
    }
    {
        PLUMB_STAGE(stage, "allocates");
        mem_alloc(1, 2 * MIB);
    }
    unsetenv("PLUMB_MEMORY");
    listen_no_more(state);
    assert_int_equal(line_count, 2);
    matches(lines[0], "^\\[Rank 0\\] \\[Timing\\] alone: [0-9]+\\.[0-9]{2} ms, "
                      "memory: 0\\.00/0\\.00 MB \\(peak: 0\\.00/0\\.00 MB\\)$");
    matches(lines[1], "^\\[Rank 0\\] \\[Timing\\] allocates: [0-9]+\\.[0-9]{2} ms, "
                      "memory: 2\\.00/0\\.00 MB \\(peak: 2\\.00/0\\.00 MB\\)$");
}

static void the_rank_is_the_environments(void **state)
{
    (void)state;
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "4", 1);
    listen_in(state);
    {
        PLUMB_STAGE(stage, "stage");
    }
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    listen_no_more(state);
    assert_int_equal(line_count, 1);
    matches(lines[0], "^\\[Rank 3\\] \\[Timing\\] stage: ");
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, listen_in, listen_no_more)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(one_line_a_stage),
        IN_A_RUN(without_pools_it_is_the_resident_set),
        cmocka_unit_test(with_memory_off_the_line_comes_too),
        cmocka_unit_test(the_rank_is_the_environments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
