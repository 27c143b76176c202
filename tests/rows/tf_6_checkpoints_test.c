/* TF-6: checkpoints by name, the later overwrites; increase from the baseline, remaining memory and
 * pool overhead as computed by hand; nothing when none was recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <cmocka.h>

#include "record_json.h"
#include "record_memory.h"

static void the_analysis_is_what_a_hand_computes(void **state)
{
    json_t *root, *memory, *snapshots, *peak;
    (void)state;
    plumb_mem_total("cuda:0", "caching", 1000 * MIB);
    plumb_mem_reserve("cuda:0", "caching", NULL, 100 * MIB);
    mem_alloc(1, 40 * MIB);
    plumb_memory_baseline();
    plumb_mem_reserve("cuda:0", "caching", NULL, 300 * MIB);
    mem_alloc(2, 250 * MIB);
    plumb_checkpoint("after_load");
    mem_free(2);
    plumb_mem_release("cuda:0", "caching", NULL, 300 * MIB);
    plumb_memory_reset_peak();
    plumb_checkpoint("after_all");
    root = record_parse(record_finish_text());
    memory = json_object_get(json_object_get(root, "memory"), "analysis");
    snapshots = json_object_get(memory, "snapshots");
    assert_int_equal(json_object_size(snapshots), 3);
    assert_true(json_number_of(json_object_get(snapshots, "after_load"), "allocated_mb") == 290);
    assert_true(json_number_of(json_object_get(snapshots, "after_load"), "peak_reserved_mb") ==
                400);
    assert_true(json_number_of(json_object_get(snapshots, "after_all"), "allocated_mb") == 40);
    assert_true(json_number_of(json_object_get(snapshots, "after_all"), "peak_reserved_mb") == 100);
    /* At the highest reserved: 400 reserved, 290 allocated, of 1000; 100 reserved at the baseline.
     */
    peak = json_object_get(memory, "peak");
    assert_string_equal(json_string_value(json_object_get(peak, "name")), "after_load");
    assert_true(json_number_of(peak, "allocated_mb") == 290);
    assert_true(json_number_of(peak, "reserved_mb") == 400);
    assert_true(json_number_of(peak, "peak_allocated_mb") == 290);
    assert_true(json_number_of(peak, "peak_reserved_mb") == 400);
    assert_true(json_number_of(memory, "pool_overhead_mb") == 110);
    assert_true(json_number_of(memory, "pool_overhead_percent") == 27.5);
    assert_true(json_number_of(memory, "remaining_memory_mb") == 600);
    assert_true(json_number_of(memory, "total_device_memory_mb") == 1000);
    assert_true(json_number_of(json_object_get(memory, "baseline"), "allocated_mb") == 40);
    assert_true(json_number_of(memory, "memory_increase_mb") == 300);
    json_decref(root);
}

static void a_name_used_again_is_overwritten(void **state)
{
    struct plumb_timing t;
    (void)state;
    mem_alloc(1, 10);
    plumb_checkpoint("here");
    plumb_checkpoint("there");
    mem_alloc(2, 5);
    plumb_checkpoint("here");
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, 2);
    assert_string_equal(t.memory.checkpoints[0].name, "there");
    assert_string_equal(t.memory.checkpoints[1].name, "here");
    assert_int_equal(timing_use(&t, &t.memory.checkpoints[1].memory, "cuda:0", "caching").allocated,
                     15);
    assert_true(t.memory.checkpoints[1].memory.rss > 0);
    plumb_timing_fini(&t);
}

/* The peak is the checkpoint with the highest reserved, wherever it stands. */
static void the_peak_is_found_among_checkpoints(void **state)
{
    static const char *const names[] = {"low", "high", "middle"};
    static const uint64_t reserved[] = {10 * MIB, 300 * MIB, 200 * MIB};
    json_t *root, *memory, *peak;
    (void)state;
    for (int i = 0; i < 3; i++) {
        plumb_memory_reset_peak();
        plumb_mem_reserve("cuda:0", "caching", NULL, reserved[i]);
        plumb_checkpoint(names[i]);
        plumb_mem_release("cuda:0", "caching", NULL, reserved[i]);
    }
    root = record_parse(record_finish_text());
    memory = json_object_get(json_object_get(root, "memory"), "analysis");
    peak = json_object_get(memory, "peak");
    assert_string_equal(json_string_value(json_object_get(peak, "name")), "high");
    assert_true(json_number_of(peak, "reserved_mb") == 300);
    assert_true(json_number_of(memory, "pool_overhead_mb") == 300);
    json_decref(root);
}

static void take_checkpoints(int n)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "checkpoint %d", i);
        plumb_checkpoint(name);
    }
}

static bool told_of(const struct plumb_timing *t, const char *what)
{
    bool told = false;
    for (size_t i = 0; i < t->note_count; i++)
        told |= strncmp(t->notes[i], what, strlen(what)) == 0;
    return told;
}

static void names_beyond_the_bound_are_counted_as_what_they_are(void **state)
{
    enum { BOUND = 4096, MORE = 3 };
    struct plumb_timing t;
    (void)state;
    take_checkpoints(BOUND + MORE);
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, BOUND);
    assert_int_equal(t.drops.other_nodes, 0);
    assert_true(told_of(&t, "3 memory checkpoints were not kept: a request keeps 64,"));
    plumb_timing_fini(&t);
}

static void a_request_counts_names_beyond_its_own_bound(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_request request = plumb_request_begin("many", NULL);
    take_checkpoints(70);
    plumb_request_end(request);
    record_finish(&t);
    assert_true(told_of(&t, "6 memory checkpoints were not kept: a request keeps 64,"));
    plumb_timing_fini(&t);
}

static void stages_leave_their_own_when_asked(void **state)
{
    struct plumb_timing t;
    (void)state;
    setenv("PLUMB_MEMORY_CHECKPOINTS", "1", 1);
    record_start();
    {
        PLUMB_STAGE(s, "decode");
        mem_alloc(1, 10);
    }
    unsetenv("PLUMB_MEMORY_CHECKPOINTS");
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, 2);
    assert_string_equal(t.memory.checkpoints[0].name, "before_decode");
    assert_string_equal(t.memory.checkpoints[1].name, "after_decode");
    assert_int_equal(timing_use(&t, &t.memory.checkpoints[1].memory, "cuda:0", "caching").allocated,
                     10);
    plumb_timing_fini(&t);
}

static void nothing_when_none_was_recorded(void **state)
{
    json_t *root, *analysis;
    (void)state;
    {
        PLUMB_STAGE(s, "stage");
    }
    root = record_parse(record_finish_text());
    analysis = json_object_get(json_object_get(root, "memory"), "analysis");
    assert_true(json_is_object(analysis) && json_object_size(analysis) == 0);
    json_decref(root);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(the_analysis_is_what_a_hand_computes),
        IN_A_RUN(the_peak_is_found_among_checkpoints),
        IN_A_RUN(a_name_used_again_is_overwritten),
        IN_A_RUN(names_beyond_the_bound_are_counted_as_what_they_are),
        IN_A_RUN(a_request_counts_names_beyond_its_own_bound),
        cmocka_unit_test(stages_leave_their_own_when_asked),
        IN_A_RUN(nothing_when_none_was_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
