/* timeout: 300
 * Requests of a busy program that are read from outside: one that has ended has all of its stages,
 * whenever the reading began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "live/read.h"
#include "read/run/live_watch.h"
#include "record.h"

enum { REQUESTS = 200, STAGES = 4, RUNS = 4 };

static const char run_dir[] = "watched-run";

/* Each request has stages that no request before it had, so that tables grow as well. */
static void request(uint32_t i)
{
    char name[48];
    plumb_request r;
    snprintf(name, sizeof name, "request %u", i);
    r = plumb_request_begin(name, NULL);
    for (uint32_t s = 0; s < STAGES; s++) {
        snprintf(name, sizeof name, "stage %u of %u", s, i);
        plumb_end(plumb_begin_with(plumb_node_get(name), PLUMB_POINT_STAGE));
    }
    plumb_request_end(r);
}

static void *work(void *arg)
{
    uint32_t *done = arg;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        request(i);
        PLUMB_RELEASE(*done, i + 1);
    }
    return NULL;
}

static uint64_t runs_of(const struct plumb_timing *t, size_t request)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->stage_run_count; i++)
        n += t->stage_runs[i].request == request;
    return n;
}

/* Returns the number of requests that have ended. */
static uint64_t check(const struct plumb_timing *t)
{
    uint64_t ended = 0;
    for (size_t i = 0; i < t->request_count; i++) {
        if (t->requests[i].state == PLUMB_TIMING_REQUEST_OPEN)
            continue;
        assert_int_equal(t->requests[i].records, STAGES);
        assert_int_equal(runs_of(t, i), STAGES);
        ended++;
    }
    return ended;
}

static plumb_options options_of_run(void)
{
    plumb_options o = plumb_options_default();
    o.run_dir = run_dir;
    return o;
}

static void watch_one_run(void)
{
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t;
    uint32_t done = 0;
    uint64_t ended = 0;
    pthread_t thread;
    record_start_with(options_of_run());
    plumb_timing_init(&t);
    assert_int_equal(plumb_live_watch_open(&w, run_dir, NULL), PLUMB_OK);
    assert_int_equal(pthread_create(&thread, NULL, work, &done), 0);
    while (ended < REQUESTS) {
        uint32_t before = PLUMB_ACQUIRE(done);
        if (plumb_live_watch_read(&w, &t, &m, NULL) < 0)
            continue;
        ended = check(&t);
        assert_true(ended >= before); /* all that ended before the reading began */
    }
    pthread_join(thread, NULL);
    plumb_timing_fini(&t);
    plumb_live_watch_close(&w);
    record_stop();
    record_remove(run_dir);
}

static void a_request_that_has_ended_has_all_its_stages(void **state)
{
    (void)state;
    for (int i = 0; i < RUNS; i++)
        watch_one_run();
}

/* The moment from which on a request counts as open is the last one at which it had not ended. */
static void a_request_that_ends_during_a_reading_is_open(void **state)
{
    struct plumb_live_view view;
    struct plumb_timing t;
    const struct plumb_live_request *r;
    unsigned char *base = NULL;
    size_t bytes = 0;
    (void)state;
    record_start_with(options_of_run());
    request(0);
    assert_int_equal(plumb_live_copy(&base, &bytes, run_dir, NULL), PLUMB_OK);
    view = plumb_live_view_of(base, bytes);
    r = plumb_live_element(&view, &view.h->requests, 0, sizeof *r);
    assert_non_null(r);
    for (uint64_t after = 0; after < 3; after++) {
        view.whole_ticks = after ? r->end_ticks + after - 2 : 0;
        plumb_timing_init(&t);
        assert_int_equal(plumb_live_view_to_timing(&t, &view, NULL, NULL), PLUMB_OK);
        assert_int_equal(t.requests[0].state,
                         after == 1 ? PLUMB_TIMING_REQUEST_OPEN : PLUMB_TIMING_REQUEST_ENDED);
        plumb_timing_fini(&t);
    }
    plumb_pages_unmap(base, bytes);
    record_stop();
    record_remove(run_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_request_that_ends_during_a_reading_is_open, record_close),
        cmocka_unit_test_teardown(a_request_that_has_ended_has_all_its_stages, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
