/* TF-4: a stage resets memory peaks; a stage with a running peak continues with the highest since
 * the last reset. A reset inside hides nothing from the stages around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record_memory.h"

static void up_and_down(uint64_t address, uint64_t bytes)
{
    mem_alloc(address, bytes);
    mem_free(address);
}

static struct plumb_timing_use use_of(const struct plumb_timing *t, const char *stage)
{
    return timing_use(t, &timing_node(t, NULL, stage)->memory, "cuda:0", "caching");
}

static void each_stage_has_its_own_peak(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE(s, "big");
        up_and_down(0x1000, 1000);
    }
    {
        PLUMB_STAGE(s, "small");
        up_and_down(0x1000, 10);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "big").peak_allocated, 1000);
    assert_int_equal(use_of(&t, "small").peak_allocated, 10);
    plumb_timing_fini(&t);
}

/* The commonest pipeline: each stage takes over what the one before allocated. No stage held more
 * than the pool ever did. */
static void a_peak_counts_a_block_of_an_earlier_stage_until_it_is_freed(void **state)
{
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < 3; i++) {
        {
            PLUMB_STAGE(s, "producer");
            mem_alloc(0x1000, 1000);
        }
        {
            PLUMB_STAGE(s, "consumer");
            mem_free(0x1000);
            up_and_down(0x2000, 100);
        }
    }
    mem_alloc(0x1000, 1000);
    {
        PLUMB_STAGE(s, "filter");
        mem_free(0x1000);
        mem_alloc(0x2000, 1000);
    }
    mem_free(0x2000);
    record_finish(&t);
    assert_int_equal(use_of(&t, "producer").peak_allocated, 1000);
    assert_int_equal(use_of(&t, "consumer").peak_allocated, 1000);
    assert_int_equal(use_of(&t, "filter").peak_allocated, 1000);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->peak_allocated, 1000);
    plumb_timing_fini(&t);
}

static void a_stage_that_frees_a_block_of_the_stage_around_it(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE(outer, "outer");
        mem_alloc(0x1000, 400);
        {
            PLUMB_STAGE(inner, "inner");
            mem_free(0x1000);
            mem_alloc(0x2000, 300);
        }
        mem_free(0x2000);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "inner").peak_allocated, 400);
    assert_int_equal(use_of(&t, "inner").allocated, 300);
    assert_int_equal(use_of(&t, "outer").peak_allocated, 400);
    plumb_timing_fini(&t);
}

static void a_running_peak_goes_on(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE(s, "first");
        up_and_down(0x1000, 1000);
    }
    {
        PLUMB_STAGE_RUNNING_PEAK(s, "second");
        up_and_down(0x1000, 10);
    }
    {
        PLUMB_STAGE_RUNNING_PEAK(s, "third");
        up_and_down(0x1000, 3000);
    }
    plumb_memory_reset_peak();
    {
        PLUMB_STAGE_RUNNING_PEAK(s, "fourth");
        up_and_down(0x1000, 20);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "second").peak_allocated, 1000);
    assert_int_equal(use_of(&t, "third").peak_allocated, 3000);
    assert_int_equal(use_of(&t, "fourth").peak_allocated, 20);
    plumb_timing_fini(&t);
}

static void a_reset_inside_does_not_hide_a_running_peak(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE_RUNNING_PEAK(outer, "outer");
        up_and_down(0x1000, 700);
        {
            PLUMB_STAGE(inner, "inner");
            up_and_down(0x1000, 40);
        }
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "outer").peak_allocated, 700);
    assert_int_equal(use_of(&t, "inner").peak_allocated, 40);
    plumb_timing_fini(&t);
}

static void a_reset_inside_does_not_hide_the_peak_around(void **state)
{
    struct plumb_timing t;
    (void)state;
    mem_alloc(0x10, 5);
    {
        PLUMB_STAGE(outer, "outer");
        up_and_down(0x1000, 700);
        {
            PLUMB_STAGE(inner, "inner");
            up_and_down(0x1000, 40);
            plumb_memory_reset_peak();
        }
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "outer").peak_allocated, 705);
    assert_int_equal(use_of(&t, "inner").peak_allocated, 45);
    assert_int_equal(use_of(&t, "outer").allocated, 5);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->peak_allocated, 705);
    plumb_timing_fini(&t);
}

static void touch_pages(size_t bytes)
{
    volatile char *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
    munmap((void *)p, bytes);
}

static void exact_peaks_of_the_resident_set_are_each_stages_own(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_memory *outer, *big, *small;
    (void)state;
    setenv("PLUMB_MEMORY_PEAK", "exact", 1);
    record_start();
    {
        PLUMB_STAGE(o, "outer");
        {
            PLUMB_STAGE(s, "big");
            touch_pages(64 * MIB);
        }
        {
            PLUMB_STAGE(s, "small");
            touch_pages(8 * MIB);
        }
    }
    unsetenv("PLUMB_MEMORY_PEAK");
    record_finish(&t);
    outer = &timing_node(&t, NULL, "outer")->memory;
    big = &timing_node(&t, NULL, "big")->memory;
    small = &timing_node(&t, NULL, "small")->memory;
    assert_true(outer->peak_exact && big->peak_exact);
    assert_true(big->peak_rss >= 64 * MIB);
    /* If the kernel does not let a process reset its peak, all three are the highest. */
    if (access("/proc/self/clear_refs", W_OK) == 0)
        assert_true(small->peak_rss + 40 * MIB < big->peak_rss);
    assert_true(outer->peak_rss >= big->peak_rss);
    assert_true(t.memory.peak_rss >= big->peak_rss);
    plumb_timing_fini(&t);
}

static void without_a_reset_a_new_height_is_still_seen(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_memory *m;
    (void)state;
    {
        PLUMB_STAGE(s, "grows");
        touch_pages(256 * MIB); /* higher than the process has ever been */
    }
    record_finish(&t);
    m = &timing_node(&t, NULL, "grows")->memory;
    assert_int_equal(m->samples, 1);
    assert_false(m->peak_exact);
    assert_true(m->peak_rss >= 256 * MIB);
    assert_true(m->rss > 0 && m->rss <= m->peak_rss);
    plumb_timing_fini(&t);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(each_stage_has_its_own_peak),
        IN_A_RUN(a_peak_counts_a_block_of_an_earlier_stage_until_it_is_freed),
        IN_A_RUN(a_stage_that_frees_a_block_of_the_stage_around_it),
        IN_A_RUN(a_running_peak_goes_on),
        IN_A_RUN(a_reset_inside_does_not_hide_a_running_peak),
        IN_A_RUN(a_reset_inside_does_not_hide_the_peak_around),
        cmocka_unit_test(exact_peaks_of_the_resident_set_are_each_stages_own),
        IN_A_RUN(without_a_reset_a_new_height_is_still_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
