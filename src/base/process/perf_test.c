/* labels: notsan
 * Tests of perf.c: differences of made-up readings, reasons, and reading what every machine has. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/perf.h"

enum { INS = PLUMB_PERF_INSTRUCTIONS, FAULTS = PLUMB_PERF_MINOR_FAULTS };

static void show(struct plumb_perf_reading *r, uint32_t id, uint64_t value, uint64_t enabled,
                 uint64_t running)
{
    r->known |= PLUMB_PERF_BIT(id);
    r->value[id] = value;
    r->enabled[id] = enabled;
    r->running[id] = running;
}

static struct plumb_perf_counts between(uint32_t id, const uint64_t begin[3], const uint64_t end[3])
{
    struct plumb_perf_reading a = {.known = 0}, b = {.known = 0};
    struct plumb_perf_counts c;
    show(&a, id, begin[0], begin[1], begin[2]);
    show(&b, id, end[0], end[1], end[2]);
    plumb_perf_between(&c, &a, &b);
    return c;
}

#define AT(...) ((const uint64_t[3]){__VA_ARGS__})

static void an_event_that_always_ran_has_its_exact_count(void **state)
{
    struct plumb_perf_counts c = between(INS, AT(1000, 50, 50), AT(1700, 90, 90));
    (void)state;
    assert_int_equal(c.known, PLUMB_PERF_BIT(INS));
    assert_int_equal(c.scaled, 0);
    assert_int_equal(c.value[INS], 700);
    assert_int_equal(c.enabled[INS], 40);
}

static void an_event_that_took_turns_is_scaled_and_marked(void **state)
{
    /* Counted during 10000 of 40000 ns. */
    struct plumb_perf_counts c = between(INS, AT(100, 0, 0), AT(400, 40000, 10000));
    (void)state;
    assert_int_equal(c.known, PLUMB_PERF_BIT(INS));
    assert_int_equal(c.scaled, PLUMB_PERF_BIT(INS));
    assert_int_equal(c.value[INS], 1200);
    assert_int_equal(c.enabled[INS], 40000);
    assert_int_equal(c.running[INS], 10000);
}

static void a_difference_of_a_few_ns_is_not_multiplexing(void **state)
{
    struct plumb_perf_counts c = between(INS, AT(0, 0, 0), AT(999, 1000000, 999950));
    (void)state;
    assert_int_equal(c.scaled, 0);
    assert_int_equal(c.value[INS], 999);
}

static void an_event_that_never_ran_is_absent(void **state)
{
    (void)state;
    assert_int_equal(between(INS, AT(5, 0, 0), AT(5, 40000, 0)).known, 0);
    assert_int_equal(between(INS, AT(5, 100, 70), AT(9, 40000, 70)).known, 0);
}

static void a_value_that_went_backwards_is_absent(void **state)
{
    (void)state;
    assert_int_equal(between(INS, AT(9, 10, 10), AT(8, 20, 20)).known, 0);
    assert_int_equal(between(INS, AT(9, 30, 10), AT(10, 20, 20)).known, 0);
    assert_int_equal(between(FAULTS, AT(9, 0, 0), AT(8, 0, 0)).known, 0);
}

static void a_counter_that_one_reading_lacks_is_absent_and_one_of_0_is_not(void **state)
{
    struct plumb_perf_reading a = {.known = 0}, b = {.known = 0};
    struct plumb_perf_counts c;
    (void)state;
    show(&a, INS, 10, 10, 10);
    show(&a, FAULTS, 3, 0, 0);
    show(&b, FAULTS, 3, 0, 0);
    plumb_perf_between(&c, &a, &b);
    assert_int_equal(c.known, PLUMB_PERF_BIT(FAULTS));
    assert_int_equal(c.value[FAULTS], 0);
}

static void what_plumb_did_in_between_is_taken_off(void **state)
{
    struct plumb_perf_reading own, a = {.known = 0}, b = {.known = 0}, c = {.known = 0},
                                   d = {.known = 0};
    struct plumb_perf_counts counts;
    (void)state;
    memset(&own, 0, sizeof own);
    show(&a, FAULTS, 10, 0, 0); /* the stage around begins */
    show(&b, FAULTS, 14, 0, 0); /* plumb works from here ... */
    show(&c, FAULTS, 20, 0, 0); /* ... to here */
    show(&d, FAULTS, 25, 0, 0);
    show(&b, INS, 100, 1000, 500);
    show(&c, INS, 200, 3000, 1500);
    plumb_perf_without(&a, &own);
    plumb_perf_add_own(&own, &b, &c);
    assert_int_equal(own.value[INS], 100);
    assert_int_equal(own.enabled[INS], 2000);
    assert_int_equal(own.running[INS], 1000);
    plumb_perf_without(&d, &own);
    plumb_perf_between(&counts, &a, &d);
    assert_int_equal(counts.value[FAULTS], 9);
}

static void scaling_rounds_and_does_not_wrap(void **state)
{
    (void)state;
    assert_int_equal(plumb_perf_scaled(10, 3, 2), 15);
    assert_int_equal(plumb_perf_scaled(10, 4, 3), 13);
    assert_int_equal(plumb_perf_scaled(11, 3, 2), 17);
    assert_true(plumb_perf_scaled(UINT64_MAX / 2, 8, 8) == UINT64_MAX / 2);
    assert_true(plumb_perf_scaled(UINT64_MAX, 3, 2) == UINT64_MAX);
}

static void names_lead_to_their_counters_and_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++)
        assert_int_equal(plumb_perf_bits_of(plumb_perf_name(i), strlen(plumb_perf_name(i))),
                         PLUMB_PERF_BIT(i));
    assert_null(plumb_perf_name(PLUMB_PERF_COUNTERS));
    assert_int_equal(plumb_perf_bits_of("hardware", 8) | plumb_perf_bits_of("software", 8),
                     PLUMB_PERF_ALL & ~PLUMB_PERF_BIT(PLUMB_PERF_MIGRATIONS));
    assert_int_equal(plumb_perf_bits_of("instruction", 11), 0);
    assert_int_equal(plumb_perf_bits_of("", 0), 0);
}

static bool why(uint32_t id, int code, int32_t level, const char *part)
{
    char text[200];
    plumb_perf_why(text, sizeof text, id, code, level);
    if (!strstr(text, part))
        print_message("%s\n", text);
    return strstr(text, part) != NULL;
}

static void each_refusal_says_what_to_do(void **state)
{
    (void)state;
    assert_true(why(INS, ENOENT, 2, "not on this machine"));
    assert_true(why(INS, EACCES, 3, "kernel.perf_event_paranoid is 3, 2 or less is needed"));
    assert_true(why(PLUMB_PERF_MIGRATIONS, EACCES, 2, "is 2, 1 or less is needed"));
    assert_true(why(INS, EPERM, 2, "filter of system calls"));
    assert_true(why(INS, EACCES, INT32_MIN, "filter of system calls"));
    assert_true(why(INS, ENOSYS, INT32_MIN, "no perf_event_open()"));
    assert_true(why(INS, EMFILE, 0, "ulimit -n"));
    assert_true(why(INS, EBUSY, 0, "another program"));
    assert_true(why(INS, E2BIG, 0, strerror(E2BIG)));
}

static void software_counters_count_the_pages_that_a_thread_touches(void **state)
{
    enum { PAGES = 64 };
    struct plumb_perf_reading a = {.known = 0}, b = {.known = 0};
    struct plumb_perf_counts c;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(p != MAP_FAILED);
    madvise((void *)p, PAGES * page, MADV_NOHUGEPAGE);
    plumb_perf_read_soft(&a, PLUMB_PERF_SOFT);
    for (size_t i = 0; i < PAGES; i++)
        p[i * page] = 1;
    plumb_perf_read_soft(&b, PLUMB_PERF_SOFT);
    munmap((void *)p, PAGES * page);
    plumb_perf_between(&c, &a, &b);
    assert_int_equal(c.known, PLUMB_PERF_SOFT);
    assert_in_range(c.value[FAULTS], PAGES, PAGES + 16);
    assert_true(c.value[PLUMB_PERF_TASK_CLOCK] > 0);
    assert_true(c.value[PLUMB_PERF_PROCESS_CPU] > 0);
}

static void only_what_is_wanted_is_read(void **state)
{
    struct plumb_perf_reading a = {.known = 0};
    (void)state;
    plumb_perf_read_soft(&a, PLUMB_PERF_BIT(FAULTS) | PLUMB_PERF_BIT(INS));
    assert_int_equal(a.known, PLUMB_PERF_BIT(FAULTS));
}

static void simulated_events_have_the_ratios_that_they_promise(void **state)
{
    struct plumb_perf_reading a = {.known = 0}, b = {.known = 0};
    struct plumb_perf_counts c;
    (void)state;
    plumb_perf_read_simulated(&a, PLUMB_PERF_HARD);
    do {
        b.known = 0;
        plumb_perf_read_simulated(&b, PLUMB_PERF_HARD);
    } while (b.value[PLUMB_PERF_CYCLES] - a.value[PLUMB_PERF_CYCLES] < 30000);
    plumb_perf_between(&c, &a, &b);
    assert_int_equal(c.known, PLUMB_PERF_HARD & ~(PLUMB_PERF_BIT(PLUMB_PERF_BRANCHES) |
                                                  PLUMB_PERF_BIT(PLUMB_PERF_BRANCH_MISSES)));
    assert_int_equal(c.scaled, PLUMB_PERF_BIT(PLUMB_PERF_CACHE_REFERENCES) |
                                   PLUMB_PERF_BIT(PLUMB_PERF_CACHE_MISSES));
    assert_int_equal(c.value[INS], 2 * c.value[PLUMB_PERF_CYCLES]);
}

/* ---- The page that the kernel shares --------------------------------------------------------- */

#if defined(__x86_64__)
static void a_page_without_times_is_not_read(void **state)
{
    struct perf_event_mmap_page page;
    struct plumb_perf_event e = {&page, sizeof page, -1};
    struct plumb_perf_reading r = {.known = 0};
    (void)state;
    memset(&page, 0, sizeof page);
    assert_false(plumb_perf_read_page(&r, INS, &e));
    page.cap_user_rdpmc = 1;
    assert_false(plumb_perf_read_page(&r, INS, &e));
    page.cap_user_time = 1;
    assert_true(plumb_perf_read_page(&r, INS, &e));
    e.page = NULL;
    assert_false(plumb_perf_read_page(&r, INS, &e));
}

static void an_event_that_waits_for_its_turn_is_read_from_the_page_alone(void **state)
{
    struct perf_event_mmap_page page;
    struct plumb_perf_event e = {&page, sizeof page, -1};
    struct plumb_perf_reading r = {.known = 0};
    (void)state;
    memset(&page, 0, sizeof page);
    page.cap_user_rdpmc = page.cap_user_time = 1;
    page.offset = 12345;
    page.time_enabled = 1000;
    page.time_running = 400;
    page.time_offset = 77; /* with a factor of 0: ns since the page was written */
    assert_true(plumb_perf_read_page(&r, INS, &e));
    assert_int_equal(r.known, PLUMB_PERF_BIT(INS));
    assert_int_equal(r.value[INS], 12345);
    assert_int_equal(r.enabled[INS], 1077);
    assert_int_equal(r.running[INS], 400);
}
#endif

static void an_event_is_opened_and_closed_without_a_trace(void **state)
{
    int before = dup(0);
    (void)state;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++) {
        struct plumb_perf_event e;
        struct plumb_perf_reading r = {.known = 0};
        int code = plumb_perf_open(&e, i, 0, NULL);
        if (code == 0)
            assert_true(plumb_perf_read_fd(&r, i, &e));
        else
            assert_int_equal(e.fd, -1);
        plumb_perf_close(&e);
        assert_null(e.page);
        assert_false(plumb_perf_read_fd(&r, i, &e));
    }
    int after = dup(0);
    assert_int_equal(after, before + 1);
    close(before);
    close(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_always_ran_has_its_exact_count),
        cmocka_unit_test(an_event_that_took_turns_is_scaled_and_marked),
        cmocka_unit_test(a_difference_of_a_few_ns_is_not_multiplexing),
        cmocka_unit_test(an_event_that_never_ran_is_absent),
        cmocka_unit_test(a_value_that_went_backwards_is_absent),
        cmocka_unit_test(a_counter_that_one_reading_lacks_is_absent_and_one_of_0_is_not),
        cmocka_unit_test(what_plumb_did_in_between_is_taken_off),
        cmocka_unit_test(scaling_rounds_and_does_not_wrap),
        cmocka_unit_test(names_lead_to_their_counters_and_back),
        cmocka_unit_test(each_refusal_says_what_to_do),
        cmocka_unit_test(software_counters_count_the_pages_that_a_thread_touches),
        cmocka_unit_test(only_what_is_wanted_is_read),
        cmocka_unit_test(simulated_events_have_the_ratios_that_they_promise),
#if defined(__x86_64__)
        cmocka_unit_test(a_page_without_times_is_not_read),
        cmocka_unit_test(an_event_that_waits_for_its_turn_is_read_from_the_page_alone),
#endif
        cmocka_unit_test(an_event_is_opened_and_closed_without_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
