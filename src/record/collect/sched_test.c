/* Made-up records of switches, laid out like the kernel's, become intervals, whatever other records
 * lie between them and wherever the ring ends. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/collect/sched.h"

enum { PAGE = 4096, RING = 512 };

static struct plumb_sched_watch watch;
static unsigned char *memory;

static struct perf_event_mmap_page *page(void)
{
    return (struct perf_event_mmap_page *)(void *)memory;
}

static int setup(void **state)
{
    (void)state;
    memset(&watch, 0, sizeof watch);
    memory = calloc(1, PAGE + RING);
    watch.page = memory;
    page()->data_offset = PAGE;
    page()->data_size = RING;
    page()->data_head = page()->data_tail = RING - 16; /* the first record runs over the end */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static void put(uint32_t type, uint32_t misc, uint64_t time, uint32_t cpu)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t time;
        uint32_t cpu, reserved;
    } r = {{type, (uint16_t)misc, sizeof r}, 1, 2, time, cpu, 0};
    const unsigned char *from = (const unsigned char *)&r;
    for (size_t i = 0; i < sizeof r; i++)
        memory[PAGE + (page()->data_head + i) % RING] = from[i];
    page()->data_head += sizeof r;
}

static void an_out_and_an_in_are_an_interval(void **state)
{
    (void)state;
    put(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 1000,
        0);
    put(PERF_RECORD_SWITCH, 0, 3000, 1);
    put(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 5000, 1);
    plumb_sched_read(&watch);
    assert_int_equal(watch.count, 1);
    assert_int_equal(watch.pending[0].out_ns, 1000);
    assert_int_equal(watch.pending[0].in_ns, 3000);
    assert_true(watch.pending[0].preempted && watch.pending[0].moved);
    assert_true(page()->data_tail == page()->data_head);
    put(PERF_RECORD_SWITCH, 0, 9000, 1);
    plumb_sched_read(&watch);
    assert_int_equal(watch.count, 2);
    assert_int_equal(watch.pending[1].out_ns, 5000);
    assert_false(watch.pending[1].preempted || watch.pending[1].moved);
}

static void what_began_before_or_was_lost_is_no_interval(void **state)
{
    (void)state;
    put(PERF_RECORD_SWITCH, 0, 1000, 0);
    put(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 2000, 0);
    put(PERF_RECORD_LOST, 0, 7, 0); /* seven */
    put(PERF_RECORD_SWITCH, 0, 9000, 0);
    put(PERF_RECORD_COMM, 0, 9000, 0); /* other kinds are skipped */
    plumb_sched_read(&watch);
    assert_int_equal(watch.count, 0);
    assert_int_equal(watch.lost, 7);
}

static void what_finds_no_room_waits(void **state)
{
    (void)state;
    watch.count = PLUMB_SCHED_PENDING;
    put(PERF_RECORD_SWITCH, 0, 1000, 0);
    plumb_sched_read(&watch);
    assert_true(page()->data_tail != page()->data_head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_out_and_an_in_are_an_interval, setup, teardown),
        cmocka_unit_test_setup_teardown(what_began_before_or_was_lost_is_no_interval, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_finds_no_room_waits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
