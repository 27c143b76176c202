/* CV-9: PLUMB_MEDIAN=p2 gives the P-square median of what is recorded, of spans and of samples
 * measured elsewhere; where it cannot, row, table and timing.json say that it is the sketch's, and
 * why. */
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

static const uint64_t MS = 1000000;

static int setup(void **state)
{
    setenv("PLUMB_MEDIAN", "p2", 1);
    record_setup(state);
    unsetenv("PLUMB_MEDIAN");
    return 0;
}

static void record_two_values(plumb_node node)
{
    for (int i = 0; i < 50; i++) {
        plumb_record_ns(node, 1 * MS);
        plumb_record_ns(node, 100 * MS);
    }
}

static void assert_why(plumb_node node, const char *name, uint32_t why, const char *line)
{
    struct plumb_timing t;
    char *text;
    (void)node;
    assert_int_equal(plumb_summary_text(&text, NULL, NULL, 0, NULL), PLUMB_OK);
    if ((strstr(text, "not P2") != NULL) != (line != NULL) || (line && !strstr(text, line)))
        fail_msg("the table says: %s", text);
    plumb_text_free(text);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, name)->median_why, why);
    assert_int_equal(timing_node(&t, NULL, name)->median_estimator,
                     why ? PLUMB_MEDIAN_SKETCH : PLUMB_MEDIAN_P2);
    plumb_timing_fini(&t);
    record_start();
}

/* 34 is what P-square makes of 1 and 100 in turns; the true median lies half way. */
static void samples_measured_elsewhere_have_the_p_square_median(void **state)
{
    plumb_node node = plumb_node_get("elsewhere");
    (void)state;
    record_two_values(node);
    assert_int_equal(record_row("elsewhere").median_estimator, PLUMB_MEDIAN_P2);
    assert_true(fabs(record_row("elsewhere").median_ms - 34) < 1e-9);
    assert_why(node, "elsewhere", PLUMB_MEDIAN_WHY_NONE, NULL);
}

static void *record_on_a_thread(void *node)
{
    record_two_values(*(plumb_node *)node);
    return NULL;
}

static void several_threads_have_the_median_of_the_sketch_and_say_so(void **state)
{
    plumb_node node = plumb_node_get("shared");
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, record_on_a_thread, &node), 0);
    record_two_values(node);
    pthread_join(thread, NULL);
    assert_int_equal(record_row("shared").median_estimator, PLUMB_MEDIAN_SKETCH);
    assert_true(fabs(record_row("shared").median_ms / 50.5 - 1) < 0.008);
    assert_why(node, "shared", PLUMB_MEDIAN_WHY_THREADS,
               "\nMedian of shared [inference]: of the sketch (within 0.8 %), not P2: several "
               "threads ran it");
}

static void spans_and_samples_of_one_node_have_the_median_of_the_sketch(void **state)
{
    plumb_node node = plumb_node_get("both");
    (void)state;
    record_two_values(node);
    for (int i = 0; i < 5; i++) {
        PLUMB_SPAN_NODE(node);
    }
    assert_why(node, "both", PLUMB_MEDIAN_WHY_SOURCES,
               "not P2: it has spans and samples measured elsewhere");
}

static void samples_of_days_have_the_median_of_the_sketch(void **state)
{
    plumb_node node = plumb_node_get("days");
    (void)state;
    record_two_values(node);
    plumb_record_ns(node, UINT64_C(1) << 47);
    assert_why(node, "days", PLUMB_MEDIAN_WHY_RANGE, "not P2: it has samples of hours");
}

static void of_an_even_count_it_is_the_mean_of_the_middle_two(void **state)
{
    static const uint64_t ms[6] = {1, 100, 1, 100, 1, 100};
    plumb_node node = plumb_node_get("even"), far = plumb_node_get("far apart");
    (void)state;
    record_stop();
    record_start();
    for (int i = 0; i < 6; i++) {
        plumb_record_ns(node, ms[i] * MS);
        plumb_record_device_ns(node, ms[i] * MS);
    }
    assert_int_equal(record_row("even").median_estimator, PLUMB_MEDIAN_SKETCH);
    assert_true(fabs(record_row("even").median_ms / 50.5 - 1) < 0.008);
    assert_true(fabs(record_row("even").device_median_ms / 50.5 - 1) < 0.008);
    assert_true(fabs(record_row("even").p50_ms / 1 - 1) < 0.008);
    /* In one group of buckets, and in two far ones, and an odd count. */
    for (int i = 0; i < 6; i++)
        plumb_record_ns(far, i < 3 ? 100 : UINT64_C(1) << 45);
    assert_true(fabs(record_row("far apart").median_ms / (0x1p44 / 1e6) - 1) < 0.008);
    plumb_record_ns(far, 100);
    assert_true(fabs(record_row("far apart").median_ms - 0.0001) < 1e-6);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(samples_measured_elsewhere_have_the_p_square_median),
        IN_A_RUN(several_threads_have_the_median_of_the_sketch_and_say_so),
        IN_A_RUN(spans_and_samples_of_one_node_have_the_median_of_the_sketch),
        IN_A_RUN(samples_of_days_have_the_median_of_the_sketch),
        IN_A_RUN(of_an_even_count_it_is_the_mean_of_the_middle_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
