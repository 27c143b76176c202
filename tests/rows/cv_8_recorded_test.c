/* CV-8: what is recorded comes out exact in the rows, in the table and in timing.json; a duration
 * that cannot be is refused and counted; sums that run full say so instead of wrapping. */
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"
#include "report/run/render.h"

enum { HOUR_S = 3600 };
static const uint64_t MS = 1000000, HOUR = UINT64_C(1000000000) * HOUR_S;

static void assert_remark(const struct plumb_timing *t, const char *want)
{
    struct plumb_buf text = {0};
    plumb_remarks_write(t, false, &text);
    if (!text.data || !strstr(text.data, want))
        fail_msg("no '%s' in the remarks: %s", want, text.data ? text.data : "none");
    plumb_buf_fini(&text);
}

/* Mean 5, deviation 2, median 4.5. */
static void the_same_figures_stand_in_rows_table_and_report(void **state)
{
    static const uint64_t ms[8] = {4, 9, 4, 5, 2, 7, 5, 4};
    plumb_node node = plumb_node_get("node");
    struct plumb_timing t;
    plumb_row row;
    char *text;
    (void)state;
    for (int i = 0; i < 8; i++) {
        plumb_record_ns(node, ms[i] * MS);
        plumb_record_device_ns(node, ms[i] * 2 * MS);
    }
    row = record_row("node");
    assert_true(row.count == 8 && row.total_ms == 40 && row.mean_ms == 5 && row.std_ms == 2);
    assert_true(row.min_ms == 2 && row.max_ms == 9 && row.last_ms == 4 && row.self_ms == 40);
    assert_true(row.device_count == 8 && row.device_total_ms == 80 && row.device_mean_ms == 10);
    assert_true(row.device_min_ms == 4 && row.device_max_ms == 18);
    assert_true(fabs(row.median_ms / 4.5 - 1) < 0.008 && fabs(row.p50_ms / 4 - 1) < 0.008);
    assert_true(fabs(row.device_median_ms / 9 - 1) < 0.008);
    assert_int_equal(plumb_summary_text(&text, NULL, NULL, 8, NULL), PLUMB_OK);
    assert_non_null(
        strstr(text, " inference        8       5.00       2.00       2.00       9.00 "));
    assert_non_null(
        strstr(text, "      0.040\nAverage per-frame pipeline time: 5.00 ms (200.0 FPS)"));
    plumb_text_free(text);
    record_finish(&t);
    const struct plumb_timing_node *n = timing_node(&t, NULL, "node");
    assert_true(plumb_stats_std(&n->host.ns) == 2e6 && plumb_stats_std(&n->device.ns) == 4e6);
    assert_int_equal(n->host.ns.total, 40 * MS);
    assert_int_equal(n->host.ns.last, 4 * MS);
    timing_check_nodes(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void a_duration_that_cannot_be_is_refused_and_counted(void **state)
{
    static const uint64_t most = (UINT64_C(1) << 58) - 1;
    plumb_node node = plumb_node_get("decode");
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < 10; i++)
        plumb_record_ns(node, MS);
    plumb_record_ns(node, (uint64_t)4000 - 5000);
    plumb_record_ns(node, most + 1);
    plumb_record_device_ns(node, UINT64_MAX);
    assert_int_equal(record_count("decode"), 10);
    assert_true(record_row("decode").max_ms == 1 && record_row("decode").device_count == 0);
    plumb_record_ns(plumb_node_get("longest"), most);
    assert_true(record_row("longest").max_ms == (double)most / 1e6);
    record_finish(&t);
    assert_int_equal(t.drops.range, 3);
    assert_remark(&t, "3 samples were refused: negative, or longer than 9 years");
    assert_int_equal(timing_node(&t, NULL, "longest")->host.ns.total, most);
    timing_check_nodes(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void *record_longest(void *node)
{
    for (int i = 0; i < 40; i++) {
        plumb_record_ns(*(plumb_node *)node, (UINT64_C(1) << 58) - 1);
        plumb_record_device_ns(*(plumb_node *)node, (UINT64_C(1) << 58) - 1);
    }
    return NULL;
}

static void a_total_that_is_full_stands_still_and_says_so(void **state)
{
    plumb_node node = plumb_node_get("full");
    struct plumb_timing t;
    pthread_t thread;
    (void)state;
    plumb_record_ns(plumb_node_get("sane"), MS);
    assert_int_equal(pthread_create(&thread, NULL, record_longest, &node), 0);
    pthread_join(thread, NULL);
    assert_true(record_row("full").total_ms < 0x1p64 / 1e6);
    record_longest(&node);
    assert_int_equal(record_count("full"), 80);
    assert_true(record_row("full").total_ms == (double)UINT64_MAX / 1e6);
    record_finish(&t);
    const struct plumb_timing_node *n = timing_node(&t, NULL, "full");
    assert_true(n->host.ns.total == PLUMB_TOTAL_MAX && n->device.ns.total == PLUMB_TOTAL_MAX);
    assert_true(n->self_ns == PLUMB_TOTAL_MAX && n->outermost_ns == PLUMB_TOTAL_MAX);
    assert_int_equal(n->host.ns.count, 80);
    assert_remark(&t, "1 row has a total of more than 584 years");
    plumb_timing_fini(&t);
    record_start();
}

static void percentiles_of_days_are_as_good_as_those_of_microseconds(void **state)
{
    plumb_node node = plumb_node_get("days"), mixed = plumb_node_get("mixed");
    struct plumb_timing t;
    plumb_row row;
    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        plumb_record_ns(node, (20 + 10 * i) * HOUR);
        plumb_record_device_ns(node, (20 + 10 * i) * HOUR);
        plumb_record_ns(mixed, i < 7 ? (i + 1) * MS : (20 + i) * HOUR);
    }
    row = record_row("days");
    assert_true(fabs(row.p50_ms / (60e3 * HOUR_S) - 1) < 0.008);
    assert_true(fabs(row.median_ms / (65e3 * HOUR_S) - 1) < 0.008);
    assert_true(fabs(row.p90_ms / (100e3 * HOUR_S) - 1) < 0.008);
    assert_true(fabs(row.p99_ms / (110e3 * HOUR_S) - 1) < 0.008);
    assert_true(fabs(row.device_median_ms / (65e3 * HOUR_S) - 1) < 0.008);
    row = record_row("mixed");
    assert_true(fabs(row.median_ms / 5.5 - 1) < 0.008 && row.min_ms == 1);
    assert_true(fabs(row.p90_ms / (28e3 * HOUR_S) - 1) < 0.008 && row.last_ms == 29e3 * HOUR_S);
    record_finish(&t);
    assert_true(fabs(timing_node(&t, NULL, "mixed")->host.p90_ns / (28e9 * HOUR_S) - 1) < 0.008);
    timing_check_nodes(&t);
    plumb_timing_fini(&t);
    record_start();
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(the_same_figures_stand_in_rows_table_and_report),
        IN_A_RUN(a_duration_that_cannot_be_is_refused_and_counted),
        IN_A_RUN(a_total_that_is_full_stands_still_and_says_so),
        IN_A_RUN(percentiles_of_days_are_as_good_as_those_of_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
