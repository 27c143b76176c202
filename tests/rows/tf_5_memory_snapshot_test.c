/* TF-5: what is held now, of a pool, a device, all; exact against an allocator made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_json.h"
#include "record_memory.h"

static void four_figures_and_the_overhead(void **state)
{
    plumb_memory m;
    (void)state;
    plumb_mem_reserve("cuda:0", "caching", NULL, 100 * MIB);
    mem_alloc(1, 60 * MIB);
    mem_alloc(2, 20 * MIB);
    mem_free(1);
    m = mem_now("cuda:0", "caching");
    assert_int_equal(m.allocated, 20 * MIB);
    assert_int_equal(m.reserved, 100 * MIB);
    assert_int_equal(m.peak_allocated, 80 * MIB);
    assert_int_equal(m.peak_reserved, 100 * MIB);
    assert_int_equal(m.overhead, 80 * MIB);
    assert_true(m.overhead_percent == 80.0);
    plumb_mem_release("cuda:0", "caching", NULL, 100 * MIB);
    mem_free(2);
    m = mem_now("cuda:0", "caching");
    assert_int_equal(m.allocated + m.reserved + m.overhead, 0);
    assert_true(m.overhead_percent == 0);
    assert_int_equal(m.peak_reserved, 100 * MIB);
}

static void pools_of_a_device_add_up_at_their_common_peak(void **state)
{
    (void)state;
    plumb_mem_alloc("cuda:0", "a", block(1), 10);
    plumb_mem_free("cuda:0", "a", block(1), 10);
    plumb_mem_alloc("cuda:0", "b", block(1), 7); /* another pool's address 1 */
    plumb_mem_alloc("cuda:1", "a", block(1), 100);
    assert_int_equal(mem_now("cuda:0", "a").peak_allocated, 10);
    assert_int_equal(mem_now("cuda:0", NULL).allocated, 7);
    /* Not 17: they were never there together. */
    assert_int_equal(mem_now("cuda:0", NULL).peak_allocated, 10);
    assert_int_equal(mem_now(NULL, NULL).allocated, 107);
    assert_int_equal(mem_now(NULL, NULL).peak_allocated, 107);
}

static void zeros_where_nobody_told(void **state)
{
    plumb_memory m = mem_now("xpu:0", NULL);
    (void)state;
    assert_int_equal(m.allocated + m.reserved + m.peak_allocated + m.peak_reserved, 0);
    assert_true(m.overhead_percent == 0);
    assert_true(m.rss > 0 && m.peak_rss >= m.rss / 2); /* of the process, all the same */
}

static void *free_first_block(void *arg)
{
    mem_free(1);
    return arg;
}

/* On one thread a stage's snapshot is that of the pool, whichever function allocated. */
static void a_stage_that_frees_the_last_block_shows_none(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_use use;
    (void)state;
    plumb_mem_reserve("cuda:0", "caching", NULL, 300);
    {
        PLUMB_STAGE(s, "first");
        mem_alloc(1, 100);
    }
    {
        PLUMB_STAGE(s, "last");
        mem_free(1);
    }
    record_finish(&t);
    use = timing_use(&t, &timing_node(&t, NULL, "last")->memory, "cuda:0", "caching");
    assert_int_equal(use.allocated, 0);
    assert_int_equal(use.peak_allocated, 100);
    assert_int_equal(use.reserved, 300);
    assert_int_equal(use.peak_reserved, 300);
    use = timing_use(&t, &timing_node(&t, NULL, "first")->memory, "cuda:0", "caching");
    assert_int_equal(use.allocated, 100);
    plumb_timing_fini(&t);
}

/* Segments serve every thread, whichever thread took them from the system. */
static void reserved_is_the_pools_on_every_thread(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_use use;
    pthread_t thread;
    (void)state;
    plumb_mem_reserve("cuda:0", "caching", NULL, 300);
    mem_alloc(1, 100);
    {
        PLUMB_STAGE(s, "grows");
        plumb_mem_reserve("cuda:0", "caching", NULL, 200);
        plumb_mem_release("cuda:0", "caching", NULL, 400);
        assert_int_equal(pthread_create(&thread, NULL, free_first_block, NULL), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    use = timing_use(&t, &timing_node(&t, NULL, "grows")->memory, "cuda:0", "caching");
    assert_int_equal(use.reserved, 100);
    assert_int_equal(use.peak_reserved, 500);
    assert_int_equal(use.allocated, 0);
    assert_int_equal(use.peak_allocated, 100);
    plumb_timing_fini(&t);
}

static void a_stage_shows_mib_with_two_decimals(void **state)
{
    const char *text;
    (void)state;
    {
        PLUMB_STAGE(s, "stage");
        plumb_mem_reserve("cuda:0", "caching", NULL, 3 * MIB);
        mem_alloc(1, 3 * MIB / 2);
    }
    text = record_finish_text();
    assert_non_null(strstr(text, "\"allocated_mb\": 1.50"));
    assert_non_null(strstr(text, "\"reserved_mb\": 3.00"));
    assert_non_null(strstr(text, "\"peak_allocated_mb\": 1.50"));
    assert_non_null(strstr(text, "\"peak_reserved_mb\": 3.00"));
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(four_figures_and_the_overhead),
        IN_A_RUN(pools_of_a_device_add_up_at_their_common_peak),
        IN_A_RUN(zeros_where_nobody_told),
        cmocka_unit_test_setup(a_stage_that_frees_the_last_block_shows_none, record_setup),
        cmocka_unit_test_setup(reserved_is_the_pools_on_every_thread, record_setup),
        cmocka_unit_test_setup(a_stage_shows_mib_with_two_decimals, record_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
