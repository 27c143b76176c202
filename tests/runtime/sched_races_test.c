/* The collector `sched` next to threads that record, come and go, and are summed up: blocked time
 * is in the nodes that were open and in no other, and every descriptor is as it was.
 * ThreadSanitizer sees the rest. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/collector.h>

#include "record_json.h"

enum { THREADS = 4, NAPS = 40, GENERATIONS = 5, RUNS = 3, SUMMARIES = 50 };

static void nap(void)
{
    const struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
}

static void *sleeper(void *arg)
{
    for (int i = 0; i < NAPS; i++) {
        PLUMB_SPAN("sleep");
        nap();
    }
    for (int i = 0; i < 2000; i++) {
        PLUMB_SPAN("awake");
    }
    return arg;
}

static void *watch_over(void *arg)
{
    for (int i = 0; i < SUMMARIES; i++) {
        char *text = NULL;
        if (plumb_summary_text(&text, NULL, NULL, 0, NULL) == PLUMB_OK)
            plumb_text_free(text);
    }
    return arg;
}

/* Returns false if the kernel does not report context switches. */
static bool start_run(void)
{
    plumb_options o = plumb_options_default();
    plumb_collector_status s;
    o.collect = "sched";
    record_start_with(o);
    assert_int_equal(plumb_collector_status_get(&s, plumb_collector_find("sched")), PLUMB_OK);
    if (s.state == PLUMB_COLLECTOR_RUNNING)
        return true;
    print_message("no context switches here: %s\n", s.why);
    record_stop();
    return false;
}

static double figure(const json_t *root, const char *node, const char *key)
{
    size_t i;
    json_t *n;
    json_array_foreach(json_object_get(root, "nodes"), i, n)
    {
        const json_t *sched = json_object_get(n, "sched");
        if (strcmp(json_string_value(json_object_get(n, "name")), node) == 0)
            return json_is_object(sched) ? json_number_value(json_object_get(sched, key)) : 0;
    }
    fail_msg("no node '%s'", node);
    return 0;
}

static void threads_that_come_and_go_are_watched(void **state)
{
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        pthread_t watcher;
        pthread_t threads[THREADS];
        if (!start_run())
            skip();
        assert_int_equal(pthread_create(&watcher, NULL, watch_over, NULL), 0);
        for (int g = 0; g < GENERATIONS; g++) {
            for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, sleeper, NULL), 0);
            for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        }
        pthread_join(watcher, NULL);
        json_t *root = record_parse(record_finish_text());
        /* A thread is met soon after its first span, on a busy machine after some of its naps. */
        double naps = THREADS * NAPS * GENERATIONS, seen = figure(root, "sleep", "blocks");
        assert_true(seen > naps / 50);
        assert_true(figure(root, "sleep", "blocked_ns") > seen / 2 * 1e6);
        assert_true(seen <= 2 * naps);
        assert_true(figure(root, "awake", "blocks") < naps / 4);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_come_and_go_are_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
