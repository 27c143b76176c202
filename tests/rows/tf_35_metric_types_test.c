/* TF-35: counters only grow, gauges are set, histograms count by upper bounds, summaries give
 * quantiles of what they keep; metrics are got or made by full name; (+) label sets are apart,
 * totals are exact with eight threads, and what is added outside a run is in the next one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "_labelled.h"
#include "record_timing.h"

enum { THREADS = 8, ROUNDS = 20000 };

static plumb_metric_value value_of(plumb_metric_series *m)
{
    plumb_metric_value v = {.size = sizeof v};
    assert_non_null(m);
    assert_int_equal(plumb_metric_read(&v, m), PLUMB_OK);
    return v;
}

static void a_counter_refuses_what_is_not_an_increment(void **state)
{
    plumb_metric_series *m = plumb_metric_counter("jobs", NULL);
    plumb_metric_series *refused = plumb_metric_counter("plumb_metrics_refused_total", NULL);
    double before = value_of(refused).value;
    (void)state;
    assert_int_equal(plumb_metric_add(m, 2), PLUMB_OK);
    assert_int_equal(plumb_metric_add(m, 0.5), PLUMB_OK);
    assert_int_equal(plumb_metric_add(m, 0), PLUMB_OK);
    assert_int_equal(plumb_metric_add(m, -0.0), PLUMB_OK);
    assert_int_equal(plumb_metric_add(m, -1), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_add(m, NAN), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_add(m, INFINITY), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_set(m, 7), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_observe(m, 7), PLUMB_ERR_ARG);
    assert_true(value_of(m).value == 2.5);
    assert_true(value_of(refused).value == before + 5);
    assert_int_equal(plumb_metric_add(NULL, 1), PLUMB_ERR_ABSENT);
}

static void a_counter_is_exact_beyond_the_digits_of_a_double(void **state)
{
    plumb_metric_series *m = plumb_metric_counter("bytes_read", NULL);
    (void)state;
    assert_int_equal(plumb_metric_add(m, 9007199254740992.0), PLUMB_OK); /* 2^53 */
    for (int i = 0; i < 4; i++)
        assert_int_equal(plumb_metric_add(m, 1), PLUMB_OK);
    assert_true(value_of(m).value == 9007199254740996.0);
}

static void *add_one(void *m)
{
    plumb_metric_add(m, 1);
    return NULL;
}

/* Each thread adds to a part of its own: the parts are not rounded before they meet. */
static void a_counter_of_several_threads_is_exact_beyond_the_digits_of_a_double(void **state)
{
    plumb_metric_series *m = plumb_metric_counter("bytes_sent", NULL);
    pthread_t thread[THREADS];
    (void)state;
    assert_int_equal(plumb_metric_add(m, 9007199254740992.0), PLUMB_OK); /* 2^53 */
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_one, m), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_true(value_of(m).value == 9007199254740992.0 + THREADS);
}

static void a_gauge_goes_up_and_down(void **state)
{
    plumb_metric_series *m = plumb_metric_gauge("depth", NULL);
    (void)state;
    assert_int_equal(plumb_metric_set(m, 5), PLUMB_OK);
    assert_int_equal(plumb_metric_add(m, -7.5), PLUMB_OK);
    assert_true(value_of(m).value == -2.5);
    assert_int_equal(plumb_metric_set(m, NAN), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_set(m, -INFINITY), PLUMB_ERR_ARG);
    assert_true(value_of(m).value == -2.5);
}

/* Inclusive upper bounds, as in Prometheus. */
static void a_histogram_has_the_default_buckets(void **state)
{
    static const double bounds[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
    plumb_metric_series *m = plumb_metric_histogram("latency", NULL);
    plumb_metric_value v;
    (void)state;
    for (int i = 0; i < 11; i++) {
        assert_int_equal(plumb_metric_observe(m, bounds[i]), PLUMB_OK);
        assert_int_equal(plumb_metric_observe(m, nextafter(bounds[i], 100)), PLUMB_OK);
    }
    assert_int_equal(plumb_metric_observe(m, -3), PLUMB_OK);
    assert_int_equal(plumb_metric_observe(m, NAN), PLUMB_ERR_ARG);
    assert_int_equal(plumb_metric_observe(m, INFINITY), PLUMB_ERR_ARG);
    v = value_of(m);
    assert_int_equal(v.bound_count, 11);
    assert_int_equal(v.count, 23);
    assert_int_equal(v.bucket[0], 2); /* -3 and the bound */
    for (int i = 0; i < 11; i++)
        assert_true(v.bound[i] == bounds[i]);
    for (int i = 1; i < 11; i++)
        assert_int_equal(v.bucket[i], 2);
    assert_int_equal(v.bucket[11], 1);
}

static void bounds_must_rise(void **state)
{
    static const double wrong[][3] = {{1, 1, 2}, {2, 1, 3}, {1, NAN, 2}, {-INFINITY, 1, 2}};
    static const double infinite_last[] = {-1, 0, INFINITY};
    plumb_metric_options o = plumb_metric_options_default();
    plumb_metric_series *m = NULL;
    plumb_error err = {0, ""};
    (void)state;
    o.bound_count = 3;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.bounds = wrong[i];
        assert_int_equal(plumb_metric_get(&m, PLUMB_METRIC_HISTOGRAM, "wrong", &o, &err),
                         PLUMB_ERR_ARG);
        assert_non_null(strstr(err.message, "rising order"));
    }
    o.bounds = infinite_last;
    assert_int_equal(plumb_metric_get(&m, PLUMB_METRIC_HISTOGRAM, "with_inf", &o, &err), PLUMB_OK);
    assert_int_equal(value_of(m).bound_count, 2);
}

static void a_summary_takes_quantiles_at_the_floor(void **state)
{
    plumb_metric_series *m = plumb_metric_summary("sizes", NULL);
    plumb_metric_value v = value_of(m);
    (void)state;
    assert_true(isnan(v.quantile[0]));
    for (int i = 10; i-- > 0;)
        assert_int_equal(plumb_metric_observe(m, i), PLUMB_OK);
    v = value_of(m);
    assert_int_equal(v.count, 10);
    assert_true(v.sum == 45);
    /* floor(q * 9): 4, 8, 8, 8 */
    assert_true(v.quantile[0] == 4 && v.quantile[1] == 8);
    assert_true(v.quantile[2] == 8 && v.quantile[3] == 8);
    for (int i = 0; i < 2 * PLUMB_METRIC_SAMPLES; i++)
        plumb_metric_observe(m, 1000 + i % PLUMB_METRIC_SAMPLES);
    v = value_of(m);
    assert_int_equal(v.count, 10 + 2 * PLUMB_METRIC_SAMPLES);
    /* Only the newest are kept: floor(.5 * 1023) and floor(.99 * 1023) */
    assert_true(v.quantile[0] == 1000 + 511 && v.quantile[3] == 1000 + 1012);
}

static void a_name_is_one_metric(void **state)
{
    plumb_metric_options o = plumb_metric_options_default();
    plumb_metric_series *m = NULL;
    plumb_error err = {0, ""};
    (void)state;
    o.space = "app";
    assert_int_equal(plumb_metric_get(&m, PLUMB_METRIC_COUNTER, "hits", &o, &err), PLUMB_OK);
    assert_ptr_equal(m, plumb_metric_counter("app_hits", NULL));
    assert_ptr_not_equal(m, plumb_metric_counter("hits", NULL));
    assert_int_equal(plumb_metric_get(&m, PLUMB_METRIC_GAUGE, "app_hits", NULL, &err),
                     PLUMB_ERR_STATE);
    assert_non_null(strstr(err.message, "app_hits"));
    assert_int_equal(plumb_metric_get(&m, 9, "hits", NULL, &err), PLUMB_ERR_ARG);
}

static void label_sets_are_apart(void **state)
{
    plumb_metric_options o = plumb_metric_options_default();
    plumb_pair ab[] = {{"a", "1"}, {"b", "2"}, {NULL, NULL}};
    plumb_pair ba[] = {{"b", "2"}, {"a", "1"}, {NULL, NULL}};
    plumb_metric_series *m = NULL;
    (void)state;
    plumb_metric_add(labelled(PLUMB_METRIC_COUNTER, "calls", "path", "/a", NULL), 1);
    plumb_metric_add(labelled(PLUMB_METRIC_COUNTER, "calls", "path", "/b", NULL), 2);
    assert_true(value_of(labelled(PLUMB_METRIC_COUNTER, "calls", "path", "/a", NULL)).value == 1);
    assert_true(value_of(labelled(PLUMB_METRIC_COUNTER, "calls", "path", "/b", NULL)).value == 2);
    assert_true(value_of(plumb_metric_counter("calls", NULL)).value == 0);
    o.labels = ab;
    m = plumb_metric_counter("calls", &o);
    o.labels = ba;
    assert_ptr_equal(m, plumb_metric_counter("calls", &o));
}

/* As for Prometheus, where two such series would be one with two values. */
static void a_label_with_an_empty_value_is_left_out(void **state)
{
    plumb_metric_series *plain = plumb_metric_counter("bare", NULL);
    (void)state;
    assert_ptr_equal(labelled(PLUMB_METRIC_COUNTER, "bare", "user", "", NULL), plain);
    assert_ptr_equal(labelled(PLUMB_METRIC_COUNTER, "bare", "path", NULL, NULL), plain);
    assert_ptr_not_equal(labelled(PLUMB_METRIC_COUNTER, "bare", "path", "/", NULL), plain);
}

static void labels_beyond_the_bound_are_added_up_and_counted(void **state)
{
    enum { MORE = 100 };
    plumb_metric_series *over = plumb_metric_counter("plumb_metrics_overflow_total", NULL), *last;
    double before = value_of(over).value;
    struct plumb_timing t;
    char user[32];
    (void)state;
    for (int i = 0; i < PLUMB_METRIC_OF_FAMILY_MAX + MORE; i++) {
        snprintf(user, sizeof user, "user %d", i);
        plumb_metric_add(labelled(PLUMB_METRIC_COUNTER, "logins", "user", user, NULL), 1);
    }
    last = labelled(PLUMB_METRIC_COUNTER, "logins", "user", "one more", NULL);
    assert_true(value_of(last).value == MORE);
    assert_true(value_of(over).value == before + MORE + 1);
    assert_true(value_of(labelled(PLUMB_METRIC_COUNTER, "logins", "user", "user 3", NULL)).value ==
                1);
    record_finish(&t);
    for (size_t i = 0; i < t.metric_count; i++)
        if (strcmp(t.metrics[i].name, "logins") == 0 && t.metrics[i].value == MORE)
            assert_string_equal(t.metrics[i].labels, "overflow=\"true\"");
    plumb_timing_fini(&t);
    record_start();
}

static void names_beyond_the_bound_are_counted_and_leave_queues_theirs(void **state)
{
    enum { MORE = 10 };
    plumb_metric_series *over = plumb_metric_counter("plumb_metrics_overflow_total", NULL),
                        *m = NULL;
    double before = value_of(over).value, refused;
    plumb_queue queue;
    char name[32];
    int made = 0;
    (void)state;
    for (int i = 0; i < PLUMB_METRIC_FAMILIES_MAX + MORE; i++) {
        snprintf(name, sizeof name, "name %d", i);
        made += plumb_metric_counter(name, NULL) != NULL;
    }
    refused = PLUMB_METRIC_FAMILIES_MAX + MORE - made;
    assert_true(refused >= MORE && made > 100);
    assert_true(value_of(over).value == before + refused);
    assert_int_equal(plumb_metric_get(&m, PLUMB_METRIC_GAUGE, "one more", NULL, NULL),
                     PLUMB_ERR_MEMORY);
    assert_true(value_of(over).value == before + refused + 1);
    queue = plumb_queue_get("late");
    plumb_queue_created(&queue);
    m = labelled(PLUMB_METRIC_COUNTER, "plumb_queue_tasks_created_total", "queue", "late", NULL);
    assert_true(value_of(m).value == 1);
}

static void *add_and_observe(void *arg)
{
    plumb_metric_series **m = arg;
    for (int i = 0; i < ROUNDS; i++) {
        plumb_metric_add(m[0], 1);
        plumb_metric_add(m[1], i % 2 ? -1 : 1);
        plumb_metric_observe(m[2], i % 4);
        plumb_metric_observe(m[3], 1);
    }
    return NULL;
}

/* The metrics get into the mapping, and out of it, while the threads add. */
static void eight_threads_are_exact_across_runs(void **state)
{
    plumb_metric_series *m[] = {
        plumb_metric_counter("t_count", NULL), plumb_metric_gauge("t_gauge", NULL),
        plumb_metric_histogram("t_histogram", NULL), plumb_metric_summary("t_summary", NULL)};
    pthread_t thread[THREADS];
    plumb_metric_value v;
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_and_observe, m), 0);
    for (int i = 0; i < 3; i++) {
        record_stop();
        record_start();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_true(value_of(m[0]).value == THREADS * ROUNDS);
    assert_true(value_of(m[1]).value == 0);
    v = value_of(m[2]);
    assert_int_equal(v.count, THREADS * ROUNDS);
    assert_int_equal(v.bucket[0], THREADS * ROUNDS / 4);
    assert_true(v.sum == 1.5 * THREADS * ROUNDS);
    v = value_of(m[3]);
    assert_int_equal(v.count, THREADS * ROUNDS);
    assert_true(v.sum == THREADS * ROUNDS && v.quantile[0] == 1);
}

static const struct plumb_timing_metric *metric_in(const struct plumb_timing *t, const char *name)
{
    for (size_t i = 0; i < t->metric_count; i++)
        if (strcmp(t->metrics[i].name, name) == 0)
            return &t->metrics[i];
    fail_msg("timing.json has no metric '%s'", name);
    return NULL;
}

static void what_is_added_outside_a_run_is_in_the_next_one(void **state)
{
    plumb_metric_series *count = plumb_metric_counter("kept", NULL),
                        *gauge = plumb_metric_gauge("g", NULL);
    plumb_metric_series *summary = plumb_metric_summary("s", NULL);
    struct plumb_timing t;
    (void)state;
    plumb_metric_add(count, 1);
    record_stop();
    plumb_metric_add(count, 2);
    plumb_metric_set(gauge, 4);
    plumb_metric_observe(summary, 3);
    record_start();
    plumb_metric_add(count, 0.25);
    record_finish(&t);
    assert_true(metric_in(&t, "kept")->value == 3.25);
    assert_true(metric_in(&t, "g")->value == 4);
    assert_true(metric_in(&t, "s")->quantile[3] == 3 && metric_in(&t, "s")->count == 1);
    plumb_timing_fini(&t);
    assert_true(value_of(count).value == 3.25);
    record_start();
}

static void a_request_that_outlives_its_run_is_not_open_in_the_next(void **state)
{
    plumb_request early = plumb_request_begin("early", NULL), late;
    plumb_metric_series *open = plumb_metric_gauge("plumb_requests_open", NULL);
    (void)state;
    assert_true(value_of(open).value == 1);
    record_stop();
    record_start();
    assert_true(value_of(open).value == 0);
    late = plumb_request_begin("late", NULL);
    plumb_request_end(early);
    assert_true(value_of(open).value == 1);
    plumb_request_end(late);
    assert_true(value_of(open).value == 0);
}

static void a_forked_child_begins_at_zero(void **state)
{
    plumb_metric_series *count = plumb_metric_counter("forks", NULL);
    int status = 0;
    pid_t pid;
    (void)state;
    plumb_metric_add(count, 2);
    record_stop();
    plumb_metric_add(count, 3); /* in private memory, which fork copies */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        plumb_metric_value v = {.size = sizeof v};
        plumb_metric_add(count, 1);
        _exit(plumb_metric_read(&v, count) == PLUMB_OK && v.value == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(value_of(count).value == 5);
    record_start();
}

static void a_histogram_keeps_the_request_as_an_exemplar(void **state)
{
    plumb_metric_series *m = plumb_metric_histogram("with_exemplar", NULL);
    const struct plumb_timing_metric *found;
    struct plumb_timing t;
    plumb_request request = plumb_request_begin("req-42", NULL);
    (void)state;
    plumb_metric_observe(m, 0.3);
    plumb_request_end(request);
    plumb_metric_observe(m, 0.004);
    record_finish(&t);
    found = metric_in(&t, "with_exemplar");
    assert_null(found->exemplars[0].request);
    assert_string_equal(found->exemplars[6].request, "req-42");
    assert_true(found->exemplars[6].value == 0.3);
    assert_true(found->exemplars[6].unix_ns >= t.start_unix_ns &&
                found->exemplars[6].unix_ns <= t.end_unix_ns + 1000000);
    plumb_timing_fini(&t);
    record_start();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_counter_refuses_what_is_not_an_increment),
        TEST(a_counter_is_exact_beyond_the_digits_of_a_double),
        TEST(a_counter_of_several_threads_is_exact_beyond_the_digits_of_a_double),
        TEST(a_gauge_goes_up_and_down),
        TEST(a_histogram_has_the_default_buckets),
        TEST(bounds_must_rise),
        TEST(a_summary_takes_quantiles_at_the_floor),
        TEST(a_name_is_one_metric),
        TEST(label_sets_are_apart),
        TEST(a_label_with_an_empty_value_is_left_out),
        TEST(labels_beyond_the_bound_are_added_up_and_counted),
        TEST(eight_threads_are_exact_across_runs),
        TEST(what_is_added_outside_a_run_is_in_the_next_one),
        TEST(a_request_that_outlives_its_run_is_not_open_in_the_next),
        TEST(a_forked_child_begins_at_zero),
        TEST(a_histogram_keeps_the_request_as_an_exemplar),
        /* The last: it takes the names that are left. */
        TEST(names_beyond_the_bound_are_counted_and_leave_queues_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
