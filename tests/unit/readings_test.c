/* Tests of plumb/read/live.h: what a program that watches another gets, and the difference of two
 * readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "record.h"
#include <plumb/read/live.h>

static const char run_dir[] = "read-live-run";

static int start(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.run_dir = run_dir;
    record_start_with(o);
    return 0;
}

static int end(void **state)
{
    (void)state;
    record_close(state);
    return system("rm -rf read-live-run");
}

static void samples(uint64_t ns, int n)
{
    for (int i = 0; i < n; i++)
        plumb_record_ns(plumb_node_get("sample"), ns);
}

static plumb_reading *read_now(plumb_watch *watch)
{
    plumb_reading *reading = NULL;
    plumb_error err = {0, ""};
    if (plumb_watch_read(&reading, watch, &err) < 0)
        fail_msg("%s", err.message);
    return reading;
}

static plumb_watch *watch_run(void)
{
    plumb_watch *watch = NULL;
    plumb_error err = {0, ""};
    if (plumb_watch_open(&watch, run_dir, &err) < 0)
        fail_msg("%s", err.message);
    return watch;
}

static const plumb_reading_row *row_of(const plumb_reading *r, const char *node)
{
    for (size_t i = 0; i < plumb_reading_rows(r); i++) {
        if (strcmp(plumb_reading_row_at(r, i)->row.node, node) == 0)
            return plumb_reading_row_at(r, i);
    }
    return NULL;
}

static void about(double value, double expected)
{
    assert_true(value >= expected * 0.992 && value <= expected * 1.008);
}

static void a_difference_has_the_samples_in_between_alone(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_reading *first, *second, *since = NULL;
    const plumb_reading_row *row;
    size_t n;
    (void)state;
    samples(1000000, 100);
    first = read_now(watch);
    samples(5000000, 30);
    samples(9000000, 1);
    {
        PLUMB_SPAN("later");
    }
    second = read_now(watch);
    assert_int_equal(plumb_reading_since(&since, second, first, NULL), PLUMB_OK);
    row = row_of(since, "sample");
    assert_non_null(row);
    assert_int_equal(row->row.count, 31);
    assert_int_equal(row->total_ns, 30 * 5000000 + 9000000);
    about(row->row.min_ms, 5);
    assert_true(row->row.max_ms == 9);
    about(row->row.p50_ms, 5);
    about(row->row.p95_ms, 5);
    about(row->row.p99_ms, 9);
    assert_non_null(row_of(since, "later"));
    assert_int_equal(row_of(second, "sample")->row.count, 131);
    assert_non_null(plumb_reading_buckets(&n, since, 0));
    assert_true(plumb_reading_facts_of(since)->elapsed_ns <
                plumb_reading_facts_of(second)->elapsed_ns);
    plumb_reading_free(first);
    plumb_reading_free(second);
    assert_string_equal(row->row.node, "sample"); /* it needs neither of the two */
    plumb_reading_free(since);
    plumb_watch_close(watch);
}

static void nothing_in_between_leaves_no_row(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_reading *first, *second, *since = NULL;
    (void)state;
    samples(1000, 3);
    first = read_now(watch);
    second = read_now(watch);
    assert_int_equal(plumb_reading_since(&since, second, first, NULL), PLUMB_OK);
    assert_int_equal(plumb_reading_rows(since), 0);
    plumb_reading_free(first);
    plumb_reading_free(second);
    plumb_reading_free(since);
    plumb_watch_close(watch);
}

static void a_reset_in_between_leaves_what_came_after_it(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_reading *first, *second, *since = NULL;
    (void)state;
    samples(1000, 50);
    first = read_now(watch);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    samples(3000, 7);
    second = read_now(watch);
    assert_int_equal(plumb_reading_since(&since, second, first, NULL), PLUMB_OK);
    assert_int_equal(row_of(since, "sample")->row.count, 7);
    assert_int_equal(row_of(since, "sample")->total_ns, 7 * 3000);
    plumb_reading_free(first);
    plumb_reading_free(second);
    plumb_reading_free(since);
    plumb_watch_close(watch);
}

static void open_spans_requests_and_pools_are_there(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_request request = plumb_request_begin("request-1", NULL);
    plumb_reading *r;
    plumb_mem_alloc("cuda:0", "caching", (const void *)0x1000, 4096);
    {
        PLUMB_SPAN("outer");
        PLUMB_SPAN("inner");
        r = read_now(watch);
    }
    (void)state;
    assert_int_equal(plumb_reading_opens(r), 2);
    assert_string_equal(plumb_reading_open_at(r, 0)->node, "outer");
    assert_string_equal(plumb_reading_open_at(r, 1)->node, "inner");
    assert_int_equal(plumb_reading_open_at(r, 1)->depth, 2);
    assert_true(plumb_reading_open_at(r, 0)->age_ns >= plumb_reading_open_at(r, 1)->age_ns);
    assert_int_equal(plumb_reading_open_at(r, 0)->thread, getpid());
    assert_int_equal(plumb_reading_requests(r), 1);
    assert_string_equal(plumb_reading_request_at(r, 0)->id, "request-1");
    assert_int_equal(plumb_reading_request_at(r, 0)->state, PLUMB_READING_REQUEST_OPEN);
    assert_int_equal(plumb_reading_pools(r), 1);
    assert_int_equal(plumb_reading_pool_at(r, 0)->allocated_bytes, 4096);
    assert_int_equal(plumb_reading_facts_of(r)->pid, getpid());
    assert_int_equal(plumb_reading_facts_of(r)->state, PLUMB_WATCH_RECORDS);
    assert_null(plumb_reading_open_at(r, 2));
    plumb_mem_free("cuda:0", "caching", (const void *)0x1000, 4096);
    plumb_request_end(request);
    plumb_reading_free(r);
    plumb_watch_close(watch);
}

static void an_open_span_is_one_of_its_own_pipeline(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_reading *r = NULL;
    uint32_t open = 0, rows = 0;
    (void)state;
    for (int i = 0; i < 3; i++) { /* a row comes with the first span that ends */
        PLUMB_PIPELINE(plumb_pipeline_get(i == 0 ? "first" : "second"));
        PLUMB_SPAN("shared");
        if (i == 2)
            r = read_now(watch);
    }
    for (size_t i = 0; i < plumb_reading_rows(r); i++) {
        const plumb_reading_row *row = plumb_reading_row_at(r, i);
        if (strcmp(row->row.node, "shared") != 0)
            continue;
        rows++;
        open += row->open;
        assert_int_equal(row->open, strcmp(row->row.pipeline, "second") == 0);
    }
    assert_int_equal(rows, 2);
    assert_int_equal(open, 1);
    plumb_reading_free(r);
    plumb_watch_close(watch);
}

static void the_last_reading_of_a_run_that_ends_is_its_final_state(void **state)
{
    plumb_watch *watch = watch_run();
    plumb_reading *r;
    plumb_error err = {0, ""};
    (void)state;
    samples(1000, 10);
    r = read_now(watch);
    plumb_reading_free(r);
    samples(1000, 5);
    record_stop();
    r = read_now(watch);
    assert_int_equal(plumb_reading_facts_of(r)->state, PLUMB_WATCH_ENDED);
    assert_int_equal(row_of(r, "sample")->row.count, 15);
    plumb_reading_free(r);
    plumb_watch_close(watch);
    assert_int_equal(plumb_watch_open(&watch, run_dir, &err), PLUMB_ERR_STATE);
    assert_int_equal(plumb_watch_open(&watch, "no-such-run", &err), PLUMB_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_difference_has_the_samples_in_between_alone, start, end),
        cmocka_unit_test_setup_teardown(nothing_in_between_leaves_no_row, start, end),
        cmocka_unit_test_setup_teardown(a_reset_in_between_leaves_what_came_after_it, start, end),
        cmocka_unit_test_setup_teardown(open_spans_requests_and_pools_are_there, start, end),
        cmocka_unit_test_setup_teardown(an_open_span_is_one_of_its_own_pipeline, start, end),
        cmocka_unit_test_setup_teardown(the_last_reading_of_a_run_that_ends_is_its_final_state,
                                        start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
