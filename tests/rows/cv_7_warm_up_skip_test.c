/* CV-7: skip_first_n drops the first samples of each key entirely; a key whose samples were all
 * dropped is still there, with zeros. Shared exactly by the threads of a key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

enum { THREADS = 4, EACH = 400, SKIP = 1000 };

static void skip_first(int64_t n)
{
    plumb_config c = plumb_config_default();
    c.enabled = 1;
    c.skip_first_n = n;
    c.reset = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
}

static void skip_2_of_5_leaves_3_in_each_phase(void **state)
{
    static const uint64_t ns[5] = {9000000, 8000000, 1000000, 2000000, 3000000};
    static const char *const phases[2] = {"train", "val"};
    plumb_node node = plumb_node_get("node");
    (void)state;
    skip_first(2);
    for (int p = 0; p < 2; p++) {
        PLUMB_PHASE(phases[p]);
        for (int i = 0; i < 5; i++)
            plumb_record_ns(node, ns[i]);
    }
    for (int p = 0; p < 2; p++) {
        plumb_row row = record_row_of(NULL, phases[p], "node");
        assert_int_equal(row.count, 3);
        assert_int_equal(row.skipped, 2);
        assert_true(row.mean_ms == 2.0 && row.min_ms == 1.0 && row.max_ms == 3.0);
        assert_true(row.last_ms == 3.0 && row.total_ms == 6.0 && row.median_ms == 2.0);
    }
}

static void spans_are_skipped_alike(void **state)
{
    (void)state;
    skip_first(3);
    for (int i = 0; i < 200; i++) {
        PLUMB_SPAN("outer");
        {
            PLUMB_SPAN("inner");
        }
    }
    assert_int_equal(record_count("outer"), 197);
    assert_int_equal(record_count("inner"), 197);
    assert_int_equal(record_row("outer").skipped, 3);
}

/* Its time is what its samples add up to, not what is left of rounding those inside. */
static void nothing_outermost_is_left_of_a_node_whose_samples_were_all_skipped(void **state)
{
    static const char *const inside[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct plumb_timing t;
    (void)state;
    skip_first(3);
    for (int i = 0; i < 2; i++) {
        PLUMB_SPAN("outer");
        for (int k = 0; k < 400; k++) {
            PLUMB_SPAN_NODE(plumb_node_get(inside[k % 8]));
        }
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "outer")->host.ns.count, 0);
    assert_int_equal(timing_node(&t, NULL, "outer")->outermost_ns, 0);
    for (size_t i = 0; i < t.tree_count; i++)
        assert_true(t.tree[i].count > 0 || t.tree[i].total_ns == 0);
    plumb_timing_fini(&t);
}

static void a_key_whose_samples_were_all_skipped_is_a_row_of_zeros(void **state)
{
    plumb_row row;
    (void)state;
    skip_first(10);
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("node");
    }
    row = record_row("node");
    assert_non_null(row.node);
    assert_int_equal(row.count, 0);
    assert_int_equal(row.skipped, 10);
    record_check_row(&row);
}

static void async_spans_follow_the_same_rule(void **state)
{
    plumb_node node = plumb_node_get("async");
    (void)state;
    skip_first(2);
    for (int i = 0; i < 5; i++)
        plumb_async_end(plumb_async_begin(node));
    assert_int_equal(record_count("async"), 3);
    assert_int_equal(record_row("async").skipped, 2);
}

static void host_and_device_samples_are_skipped_apart(void **state)
{
    plumb_node both = plumb_node_get("both"), device = plumb_node_get("device");
    struct plumb_timing t;
    (void)state;
    skip_first(2);
    for (int i = 0; i < 5; i++) {
        plumb_record_ns(both, 1000000);
        plumb_record_device_ns(both, 3000000);
        plumb_record_device_ns(device, 2000000);
    }
    assert_int_equal(record_count("both"), 3);
    assert_int_equal(record_row("both").skipped, 2);
    assert_int_equal(record_row("both").device_count, 3);
    assert_true(record_row("both").device_total_ms == 9.0);
    assert_int_equal(record_row("device").device_count, 3);
    assert_int_equal(record_row("device").skipped, 2);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "both")->device_skipped, 2);
    assert_int_equal(timing_node(&t, NULL, "both")->device.ns.count, 3);
    plumb_timing_fini(&t);
    record_start();
}

/* As many as are folded into the statistics on the way. */
static void folded_device_samples_are_skipped_alike(void **state)
{
    plumb_node both = plumb_node_get("both");
    (void)state;
    skip_first(2);
    for (int i = 0; i < 500; i++) {
        plumb_record_ns(both, 1000000);
        plumb_record_device_ns(both, i < 2 ? 9000000 : 3000000);
    }
    assert_int_equal(record_count("both"), 498);
    assert_int_equal(record_row("both").device_count, 498);
    assert_true(record_row("both").device_total_ms == 498 * 3.0);
}

static void *record_some(void *arg)
{
    pthread_barrier_wait(arg);
    for (int i = 0; i < EACH; i++) {
        PLUMB_SPAN("shared");
    }
    return NULL;
}

static void threads_of_a_key_share_the_skip_exactly(void **state)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    (void)state;
    skip_first(SKIP);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_some, &barrier), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(record_row("shared").skipped, SKIP);
    assert_int_equal(record_count("shared"), THREADS * EACH - SKIP);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(skip_2_of_5_leaves_3_in_each_phase),
        IN_A_RUN(spans_are_skipped_alike),
        cmocka_unit_test_setup_teardown(
            nothing_outermost_is_left_of_a_node_whose_samples_were_all_skipped, record_setup,
            record_close),
        IN_A_RUN(a_key_whose_samples_were_all_skipped_is_a_row_of_zeros),
        IN_A_RUN(async_spans_follow_the_same_rule),
        IN_A_RUN(host_and_device_samples_are_skipped_apart),
        IN_A_RUN(folded_device_samples_are_skipped_alike),
        IN_A_RUN(threads_of_a_key_share_the_skip_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
