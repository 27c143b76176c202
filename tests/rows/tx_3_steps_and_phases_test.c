/* labels: notsan
 * TX-3: what the run and a node counted is given by step and phase as well, of every kind, exactly:
 * the parts add up to the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"

enum { STEPS = 3, PAGES = 50 };

static void touch(size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    madvise((void *)p, pages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        p[i * page] = 1;
    munmap((void *)p, pages * page);
}

static void run(unsigned step, unsigned times)
{
    static char memory[STEPS + 1];
    PLUMB_STAGE(stage, "staged");
    (void)stage;
    for (unsigned i = 0; i < times; i++) {
        plumb_dispatch("sos");
        plumb_counter_add("samples", -(int64_t)i);
        plumb_mem_alloc("dev:0", "pool", &memory[i], 100 * (step + 1));
    }
    for (unsigned i = 0; i < times; i++)
        plumb_mem_free("dev:0", "pool", &memory[i], 0);
    touch(PAGES * (step + 1));
}

/* Step s in "train": s + 1 times of everything; in "val": once; outside steps: twice. */
static int run_all(void **state)
{
    (void)state;
    for (unsigned s = 0; s < STEPS; s++) {
        PLUMB_STEP(s);
        {
            PLUMB_PHASE("train");
            run(s, s + 1);
        }
        PLUMB_PHASE("val");
        run(s, 1);
    }
    run(0, 2);
    return 0;
}

static plumb_count_scope node(void)
{
    return plumb_count_of_node(plumb_node_get("staged"));
}

static int64_t in_step(uint32_t kind, uint64_t step)
{
    return plumb_count_get(plumb_count_in_step(node(), step), kind);
}

static int64_t in_phase(uint32_t kind, const char *phase)
{
    return plumb_count_get(plumb_count_in_phase(node(), phase), kind);
}

static int64_t in_both(uint32_t kind, uint64_t step, const char *phase)
{
    return plumb_count_get(plumb_count_in_phase(plumb_count_in_step(node(), step), phase), kind);
}

static void dispatches_and_allocations_have_parts(void **state)
{
    static const uint32_t kinds[] = {PLUMB_COUNT_DISPATCHES, PLUMB_COUNT_ALLOCATIONS};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint32_t kind = kinds[i];
        assert_int_equal(plumb_count_get(node(), kind), 6 + 3 + 2);
        for (unsigned s = 0; s < STEPS; s++) {
            assert_int_equal(in_step(kind, s), s + 2);
            assert_int_equal(in_both(kind, s, "train"), s + 1);
            assert_int_equal(in_both(kind, s, "val"), 1);
            assert_int_equal(in_both(kind, s, NULL), 0);
        }
        assert_int_equal(in_phase(kind, "train"), 6);
        assert_int_equal(in_phase(kind, "val"), 3);
        assert_int_equal(in_phase(kind, NULL), 2);
        assert_int_equal(in_phase(kind, "inference"), 2);
        assert_int_equal(in_phase(kind, "never"), 0);
        assert_int_equal(in_step(kind, STEPS), 0);
        assert_int_equal(plumb_count_get(plumb_count_in_step(plumb_count_of_run(), 2), kind), 4);
        assert_int_equal(plumb_count_get(plumb_count_in_phase(plumb_count_of_run(), "val"), kind),
                         3);
    }
    assert_int_equal(in_both(PLUMB_COUNT_ALLOCATED_BYTES, 2, "train"), 3 * 300);
    assert_int_equal(
        plumb_count_get_named(plumb_count_in_step(node(), 1), PLUMB_COUNT_DISPATCHES, "biquad"), 0);
}

static void user_counts_have_parts(void **state)
{
    plumb_count_scope all = plumb_count_of_run();
    (void)state;
    assert_int_equal(plumb_count_get(node(), PLUMB_COUNT_USER), -5);
    assert_int_equal(in_step(PLUMB_COUNT_USER, 2), -3);
    assert_int_equal(in_both(PLUMB_COUNT_USER, 2, "train"), -3);
    assert_int_equal(in_both(PLUMB_COUNT_USER, 2, "val"), 0);
    assert_int_equal(in_phase(PLUMB_COUNT_USER, "train"), -4);
    assert_int_equal(in_phase(PLUMB_COUNT_USER, NULL), -1);
    plumb_counter_add("outside", 7);
    {
        PLUMB_PHASE("val");
        plumb_counter_add("outside", 70);
        PLUMB_STEP(2);
        plumb_counter_add("outside", 700);
    }
    assert_int_equal(plumb_count_get_named(all, PLUMB_COUNT_USER, "outside"), 777);
    assert_int_equal(plumb_count_get(plumb_count_in_phase(all, NULL), PLUMB_COUNT_USER), 7 - 1);
    assert_int_equal(plumb_count_get(plumb_count_in_phase(all, "val"), PLUMB_COUNT_USER), 770);
    assert_int_equal(plumb_count_get(plumb_count_in_step(all, 2), PLUMB_COUNT_USER), 700 - 3);
}

static void peaks_are_the_highest_of_a_stage_in_the_step(void **state)
{
    (void)state;
    assert_int_equal(plumb_count_get(node(), PLUMB_COUNT_PEAK_BYTES), 900);
    assert_int_equal(in_step(PLUMB_COUNT_PEAK_BYTES, 0), 100);
    assert_int_equal(in_step(PLUMB_COUNT_PEAK_BYTES, 1), 400);
    assert_int_equal(in_step(PLUMB_COUNT_PEAK_BYTES, 2), 900);
    assert_int_equal(in_both(PLUMB_COUNT_PEAK_BYTES, 2, "val"), 300);
    assert_int_equal(in_phase(PLUMB_COUNT_PEAK_BYTES, "val"), 300);
    assert_int_equal(in_phase(PLUMB_COUNT_PEAK_BYTES, NULL), 200);
    assert_int_equal(
        plumb_count_get_named(plumb_count_in_step(node(), 1), PLUMB_COUNT_PEAK_BYTES, "dev:0/pool"),
        400);
    assert_int_equal(
        plumb_count_get(plumb_count_in_step(plumb_count_of_run(), 1), PLUMB_COUNT_PEAK_BYTES),
        PLUMB_COUNT_UNKNOWN);
}

/* Returns the sum over steps and phases of what the whole node should have. */
static int64_t sum_of_parts(uint32_t kind)
{
    int64_t sum = in_both(kind, 0, NULL) + in_phase(kind, NULL);
    for (unsigned s = 0; s < STEPS; s++)
        sum += in_both(kind, s, "train") + in_both(kind, s, "val");
    return sum;
}

static void page_faults_and_instructions_add_up(void **state)
{
    (void)state;
    for (unsigned s = 0; s < STEPS; s++) {
        assert_true(in_both(PLUMB_COUNT_PAGE_FAULTS, s, "train") >= PAGES * (int64_t)(s + 1));
        assert_true(in_both(PLUMB_COUNT_PAGE_FAULTS, s, "val") >= PAGES * (int64_t)(s + 1));
    }
    assert_int_equal(sum_of_parts(PLUMB_COUNT_PAGE_FAULTS),
                     plumb_count_get(node(), PLUMB_COUNT_PAGE_FAULTS));
    /* Where there is no such counter, no part of it is 0. */
    if (plumb_count_get(node(), PLUMB_COUNT_INSTRUCTIONS) == PLUMB_COUNT_UNKNOWN)
        assert_int_equal(in_step(PLUMB_COUNT_INSTRUCTIONS, 1), PLUMB_COUNT_UNKNOWN);
    else
        assert_int_equal(sum_of_parts(PLUMB_COUNT_INSTRUCTIONS),
                         plumb_count_get(node(), PLUMB_COUNT_INSTRUCTIONS));
}

static void a_span_has_no_parts(void **state)
{
    (void)state;
    PLUMB_SPAN("open");
    assert_int_equal(
        plumb_count_get(plumb_count_in_step(plumb_count_of_span(), 0), PLUMB_COUNT_DISPATCHES),
        PLUMB_COUNT_UNKNOWN);
}

/* Last: it drops the figures of stages. */
static void a_reset_drops_the_figures_of_stages_in_steps_too(void **state)
{
    (void)state;
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    assert_int_equal(in_step(PLUMB_COUNT_DISPATCHES, 2), 4);
    assert_int_equal(in_step(PLUMB_COUNT_PEAK_BYTES, 2), 0);
    assert_int_equal(plumb_count_get(node(), PLUMB_COUNT_PEAK_BYTES), 0);
    assert_int_equal(in_step(PLUMB_COUNT_PAGE_FAULTS, 2), PLUMB_COUNT_UNKNOWN);
    {
        PLUMB_STEP(2);
        run(2, 2);
        run(2, 1);
    }
    assert_int_equal(in_step(PLUMB_COUNT_PEAK_BYTES, 2), 600);
    assert_int_equal(plumb_count_get(node(), PLUMB_COUNT_PEAK_BYTES), 600);
    assert_int_equal(in_step(PLUMB_COUNT_PAGE_FAULTS, 2),
                     plumb_count_get(node(), PLUMB_COUNT_PAGE_FAULTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatches_and_allocations_have_parts),
        cmocka_unit_test(user_counts_have_parts),
        cmocka_unit_test(peaks_are_the_highest_of_a_stage_in_the_step),
        cmocka_unit_test(page_faults_and_instructions_add_up),
        cmocka_unit_test(a_span_has_no_parts),
        cmocka_unit_test(a_reset_drops_the_figures_of_stages_in_steps_too),
    };
    setenv("PLUMB_QUIET", "1", 1);
    setenv("PLUMB_COLLECT", "perf", 1);
    if (plumb_start(NULL, NULL) < 0)
        return 1;
    return cmocka_run_group_tests(tests, run_all, NULL);
}
