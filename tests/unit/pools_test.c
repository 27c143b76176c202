/* Pools to the byte: their owners, the peak, the blocks left. Threads of control are not mixed.
 * Whatever a host reports, no figure goes below zero or is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record_memory.h"

static struct plumb_timing_use use_of(const struct plumb_timing *t, const char *node)
{
    return timing_use(t, &timing_node(t, NULL, node)->memory, "cuda:0", "caching");
}

static void owners_at_the_peak_are_who_held_it_then(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("weights");
        mem_alloc(1, 1000);
    }
    {
        PLUMB_SPAN("latents");
        mem_alloc(2, 300);
        mem_free(2);
        mem_alloc(3, 200);
    }
    {
        PLUMB_SPAN("attention");
        mem_alloc(4, 5000); /* the peak: 1000 + 200 + 5000 */
    }
    mem_free(4);
    mem_alloc(5, 50);
    mem_free(1);
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_int_equal(p->peak_allocated, 6200);
    assert_int_equal(timing_owner(p, "weights")->at_peak, 1000);
    assert_int_equal(timing_owner(p, "latents")->at_peak, 200);
    assert_int_equal(timing_owner(p, "attention")->at_peak, 5000);
    assert_int_equal(timing_owner(p, "")->at_peak, 0);
    assert_int_equal(p->allocated, 250);
    assert_int_equal(p->allocs, 5);
    assert_int_equal(p->alloc_bytes, 6550);
    assert_int_equal(timing_owner(p, "latents")->allocs, 2);
    assert_int_equal(timing_owner(p, "weights")->free_bytes, 1000);
    /* Blocks that were never freed, largest first, with their owner. */
    assert_int_equal(p->leaked_blocks, 2);
    assert_int_equal(p->leaked_bytes, 250);
    assert_int_equal(p->leak_count, 2);
    assert_int_equal(p->leaks[0].bytes, 200);
    assert_int_equal(p->leaks[0].address, 3);
    assert_string_equal(p->owners[p->leaks[0].owner].node, "latents");
    plumb_timing_fini(&t);
}

static void an_owner_is_the_innermost_node_however_old_its_begin(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("around");
        for (int i = 0; i < 5000; i++) { /* many folds, the ring goes round */
            PLUMB_SPAN("inside");
        }
        mem_alloc(1, 10);
        {
            PLUMB_SPAN("inside");
            mem_alloc(2, 20);
        }
        {
            PLUMB_PHASE("val");
            PLUMB_STAGE(s, "stage");
            mem_alloc(3, 40);
        }
    }
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_int_equal(timing_owner(p, "around")->alloc_bytes, 10);
    assert_int_equal(timing_owner(p, "inside")->alloc_bytes, 20);
    assert_int_equal(timing_owner(p, "stage")->alloc_bytes, 40);
    assert_string_equal(timing_owner(p, "stage")->phase, "val");
    plumb_timing_fini(&t);
}

static void segments_tell_overhead_and_fragmentation(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    plumb_mem_reserve("cuda:0", "caching", block(0x10000), 1000);
    mem_alloc(0x10000, 100);
    mem_alloc(0x10000 + 400, 100); /* holes of 300 and 500 */
    plumb_mem_reserve("cuda:0", "caching", block(0x20000), 50);
    plumb_mem_release("cuda:0", "caching", block(0x20000), 0); /* plumb knows the size */
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_int_equal(p->reserved, 1000);
    assert_int_equal(p->peak_reserved, 1050);
    assert_int_equal(p->allocated_at_reserved, 200);
    assert_int_equal(p->free_bytes_reserved, 800);
    assert_int_equal(p->largest_free, 500);
    plumb_timing_fini(&t);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *allocating_stage(void *arg)
{
    uint64_t bytes = *(const uint64_t *)arg;
    plumb_span s;
    pthread_barrier_wait(&barrier);
    s = plumb_begin_with(plumb_node_get(bytes == 100 ? "hundreds" : "thousands"),
                         PLUMB_POINT_STAGE);
    for (uint64_t i = 1; i <= 1000; i++) {
        mem_alloc(bytes << 32 | i, bytes);
        if (i % 4)
            mem_free(bytes << 32 | i);
    }
    pthread_barrier_wait(&barrier);
    plumb_end(s);
    return NULL;
}

static void two_stages_at_once_are_not_mixed(void **state)
{
    static const uint64_t bytes[2] = {100, 1000};
    pthread_t thread[2];
    struct plumb_timing t;
    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, allocating_stage, (void *)&bytes[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    record_finish(&t);
    assert_int_equal(use_of(&t, "hundreds").allocated, 250 * 100);
    assert_int_equal(use_of(&t, "hundreds").peak_allocated, 250 * 100);
    assert_int_equal(use_of(&t, "thousands").allocated, 250 * 1000);
    assert_int_equal(use_of(&t, "thousands").peak_allocated, 250 * 1000);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->allocated, 250 * 1100);
    plumb_timing_fini(&t);
}

static void *worker(void *arg)
{
    PLUMB_ADOPT((const plumb_context *)arg);
    mem_alloc(0x100, 70);
    {
        PLUMB_STAGE(s, "tile");
        mem_alloc(0x200, 5);
        mem_free(0x200);
    }
    return NULL;
}

static void workers_count_for_the_stage_they_work_for(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        plumb_context context;
        pthread_t thread;
        PLUMB_STAGE(s, "decode");
        mem_alloc(0x300, 1000);
        plumb_context_capture(&context);
        assert_int_equal(pthread_create(&thread, NULL, worker, &context), 0);
        pthread_join(thread, NULL);
        mem_free(0x100); /* the worker's block, given back here */
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "decode").allocated, 1000);
    assert_int_equal(use_of(&t, "decode").peak_allocated, 1075);
    assert_int_equal(use_of(&t, "tile").peak_allocated, 1075);
    plumb_timing_fini(&t);
}

static void *free_them(void *arg)
{
    (void)arg;
    mem_free(1);
    return NULL;
}

static void a_block_is_taken_from_where_it_was_counted(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        pthread_t thread;
        PLUMB_STAGE(s, "producer");
        mem_alloc(1, 640);
        mem_alloc(2, 10);
        assert_int_equal(pthread_create(&thread, NULL, free_them, NULL), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "producer").allocated, 10);
    assert_int_equal(use_of(&t, "producer").peak_allocated, 650);
    plumb_timing_fini(&t);
}

/* Of two workers neither counts what the other allocates, and both see what goes. */
static void *replace_first_block(void *arg)
{
    PLUMB_ADOPT((const plumb_context *)arg);
    PLUMB_STAGE(s, "replaces");
    mem_free(1);
    mem_alloc(3, 640);
    return NULL;
}

static void a_worker_that_frees_what_its_stage_allocated(void **state)
{
    struct plumb_timing t;
    plumb_context context;
    pthread_t thread;
    (void)state;
    {
        PLUMB_STAGE(s, "producer");
        mem_alloc(1, 640);
        mem_alloc(2, 10);
        plumb_context_capture(&context);
        assert_int_equal(pthread_create(&thread, NULL, replace_first_block, &context), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "replaces").allocated, 650);
    assert_int_equal(use_of(&t, "replaces").peak_allocated, 650);
    assert_int_equal(use_of(&t, "producer").allocated, 650);
    assert_int_equal(use_of(&t, "producer").peak_allocated, 650);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->peak_allocated, 650);
    plumb_timing_fini(&t);
}

static void *allocate_in_first_and_last(void *arg)
{
    const plumb_context *context = arg; /* the first one, and the newest */
    for (uint64_t i = 0; i < 2; i++) {
        PLUMB_ADOPT(&context[i]);
        mem_alloc(i + 1, i ? 20 : 7);
    }
    return NULL;
}

/* A stage may be over when its context is adopted: the work counts for what is open around it, or,
 * when contexts of thousands of others were captured since, for the worker itself. */
static void a_context_of_a_stage_that_is_over(void **state)
{
    enum { STAGES = 5000 };
    struct plumb_timing t;
    plumb_context context[2];
    pthread_t thread;
    (void)state;
    {
        PLUMB_STAGE(s, "around");
        for (int i = 0; i < STAGES; i++) {
            PLUMB_STAGE(inner, "captured");
            plumb_context_capture(&context[i > 0]);
        }
        assert_int_equal(pthread_create(&thread, NULL, allocate_in_first_and_last, context), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "around").allocated, 20);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->allocated, 27);
    plumb_timing_fini(&t);
}

static void *live_and_leave(void *arg)
{
    PLUMB_STAGE(s, "short");
    mem_alloc((uint64_t)(uintptr_t)arg, 3);
    return NULL;
}

static void blocks_outlive_their_threads(void **state)
{
    struct plumb_timing t;
    (void)state;
    for (uintptr_t i = 1; i <= 3000; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, live_and_leave, (void *)i), 0);
        pthread_join(thread, NULL);
        if (i > 10)
            mem_free(i - 10);
    }
    record_finish(&t);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->allocated, 30);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->peak_allocated, 33);
    assert_int_equal(use_of(&t, "short").peak_allocated, 3);
    plumb_timing_fini(&t);
}

/* ---- Hosts that tell strange things ---------------------------------------------------------- */

static void what_cannot_be_is_counted_and_changes_nothing(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    mem_free(77);     /* allocated before plumb looked */
    mem_alloc(0, 10); /* an allocation that failed */
    mem_free(0);
    mem_alloc(1, 100);
    mem_alloc(1, 30); /* given out again: its release was not reported */
    mem_alloc(2, 0);
    plumb_mem_alloc("cuda:0", "caching", block(3), UINT64_MAX);
    plumb_mem_alloc(NULL, NULL, block(3), 5);
    plumb_mem_release("cuda:0", "caching", block(9), 1 << 20);
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_int_equal(p->allocated, 30);
    assert_int_equal(p->peak_allocated, 100);
    assert_int_equal(p->unknown_frees, 2);
    assert_int_equal(p->reserved, 0);
    assert_int_equal(timing_pool(&t, "cpu", "")->allocated, 5);
    plumb_timing_fini(&t);
}

static void pools_beyond_the_bound_share_one(void **state)
{
    struct plumb_timing t;
    char name[16];
    (void)state;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "pool%d", i);
        plumb_mem_alloc("cpu", name, block(0x1000 + (uint64_t)i), 1);
    }
    record_finish(&t);
    assert_int_equal(t.memory.pool_count, 16);
    assert_int_equal(timing_pool(&t, "cpu", "pool14")->allocated, 1);
    assert_int_equal(timing_pool(&t, "(other)", "(other)")->allocated, 25);
    plumb_timing_fini(&t);
}

static void more_blocks_than_can_be_followed_are_in_the_sums(void **state)
{
    plumb_options options = plumb_options_default();
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    options.max_state_bytes = 1 << 20;
    record_start_with(options);
    for (uint64_t i = 1; i <= 20000; i++)
        mem_alloc(i, 2);
    for (uint64_t i = 1; i <= 20000; i++)
        plumb_mem_free("cuda:0", "caching", block(i), 2);
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_true(p->untracked > 5000);
    assert_int_equal(p->peak_allocated, 40000);
    assert_int_equal(p->allocated, 0);
    assert_int_equal(p->frees, 20000);
    plumb_timing_fini(&t);
}

static void a_reset_clears_nodes_and_leaves_pools(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE(s, "stage");
        mem_alloc(1, 500);
    }
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    mem_free(1);
    {
        PLUMB_STAGE(s, "stage");
        mem_alloc(1, 20);
    }
    record_finish(&t);
    assert_int_equal(use_of(&t, "stage").peak_allocated, 20);
    assert_int_equal(timing_node(&t, NULL, "stage")->memory.samples, 1);
    assert_int_equal(timing_pool(&t, "cuda:0", "caching")->peak_allocated, 500);
    plumb_timing_fini(&t);
}

static void memory_of_every_node_or_of_none(void **state)
{
    struct plumb_timing t;
    (void)state;
    setenv("PLUMB_MEMORY", "all", 1);
    record_start();
    {
        PLUMB_SPAN("plain");
        PLUMB_SPAN_NODE(plumb_node_get("named"));
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "plain")->memory.samples, 1);
    assert_int_equal(timing_node(&t, NULL, "named")->memory.samples, 1);
    assert_true(t.memory.peak_rss >= timing_node(&t, NULL, "plain")->memory.peak_rss);
    assert_true(t.memory.series_count == 1 && t.memory.series[0].point_count > 0);
    plumb_timing_fini(&t);
    setenv("PLUMB_MEMORY", "off", 1);
    record_start();
    {
        PLUMB_STAGE(s, "stage");
        PLUMB_SPAN_MEMORY("asks");
    }
    unsetenv("PLUMB_MEMORY");
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "stage")->memory.samples, 0);
    assert_int_equal(timing_node(&t, NULL, "asks")->memory.samples, 0);
    assert_int_equal(t.memory.peak_rss, 0);
    plumb_timing_fini(&t);
    record_start();
    {
        PLUMB_SPAN_MEMORY("asks");
        PLUMB_SPAN("plain");
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "asks")->memory.samples, 1);
    assert_int_equal(timing_node(&t, NULL, "plain")->memory.samples, 0);
    plumb_timing_fini(&t);
}

static void stages_closed_from_outside_leave_no_scope_open(void **state)
{
    struct plumb_timing t;
    plumb_span outer, inner;
    plumb_node node = plumb_node_get("outer");
    (void)state;
    for (int i = 0; i < 100; i++) {
        outer = plumb_begin_node(node);
        inner = plumb_begin_with(plumb_node_get("inner"), PLUMB_POINT_STAGE);
        mem_alloc(1, 10);
        mem_free(1);
        plumb_end(outer); /* closes the stage */
        plumb_end(inner); /* too late */
    }
    {
        PLUMB_STAGE(s, "after");
        mem_alloc(1, 10);
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "outer")->host.ns.count, 100);
    assert_int_equal(timing_node(&t, NULL, "inner")->unbalanced, 100);
    assert_int_equal(t.stage_run_count, 1);
    assert_int_equal(t.stage_runs[0].depth, 0);
    assert_int_equal(use_of(&t, "after").peak_allocated, 10);
    plumb_timing_fini(&t);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(owners_at_the_peak_are_who_held_it_then),
        IN_A_RUN(an_owner_is_the_innermost_node_however_old_its_begin),
        IN_A_RUN(segments_tell_overhead_and_fragmentation),
        IN_A_RUN(two_stages_at_once_are_not_mixed),
        IN_A_RUN(workers_count_for_the_stage_they_work_for),
        IN_A_RUN(a_block_is_taken_from_where_it_was_counted),
        IN_A_RUN(a_worker_that_frees_what_its_stage_allocated),
        IN_A_RUN(a_context_of_a_stage_that_is_over),
        IN_A_RUN(blocks_outlive_their_threads),
        IN_A_RUN(what_cannot_be_is_counted_and_changes_nothing),
        IN_A_RUN(pools_beyond_the_bound_share_one),
        cmocka_unit_test(more_blocks_than_can_be_followed_are_in_the_sums),
        IN_A_RUN(a_reset_clears_nodes_and_leaves_pools),
        cmocka_unit_test(memory_of_every_node_or_of_none),
        IN_A_RUN(stages_closed_from_outside_leave_no_scope_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
