/* TF-8: a request opens a section of its own for records, memory and checkpoints, and leaves
 * cumulative statistics alone; requests of several threads stay apart.
 *
 * labels: tsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_memory.h"

#include <regex.h>

static void stage(const char *name, uint64_t bytes)
{
    plumb_node node = plumb_node_get(name);
    plumb_span s = plumb_begin_with(node, PLUMB_POINT_STAGE);
    if (bytes) {
        mem_alloc((uint64_t)node << 32 | bytes, bytes);
        mem_free((uint64_t)node << 32 | bytes);
    }
    record_work_ns(100000);
    plumb_end(s);
}

static void sections_hold_their_own_and_nodes_hold_all(void **state)
{
    const plumb_pair metadata[] = {{"prompt", "a \"cat\"\n"}, {"seed", "7"}, {NULL, NULL}};
    struct plumb_timing t;
    const struct plumb_timing_request *r;
    (void)state;
    {
        PLUMB_REQUEST(request, "one", metadata);
        stage("encode", 0);
        stage("denoise", 500);
        stage("denoise", 300);
    }
    {
        PLUMB_REQUEST(request, "two", NULL);
        stage("denoise", 200);
        plumb_request_fail(request, "no frames");
    }
    stage("outside", 0);
    record_finish(&t);
    assert_int_equal(t.request_count, 2);
    r = timing_request(&t, "one");
    assert_int_equal(r->records, 3);
    assert_int_equal(r->state, PLUMB_TIMING_REQUEST_ENDED);
    assert_int_equal(r->metadata_count, 2);
    assert_string_equal(r->metadata[0].value, "a \"cat\"\n");
    /* Two clocks agree within 1 %. */
    assert_true(r->stages_ns >= 300000 * 0.99 && r->stages_ns <= r->wall_ns);
    assert_int_equal(timing_request_stage(&t, "one", "denoise")->count, 2);
    assert_int_equal(
        timing_use(&t, &timing_request_stage(&t, "one", "denoise")->memory, "cuda:0", "caching")
            .peak_allocated,
        500);
    r = timing_request(&t, "two");
    assert_int_equal(r->records, 1);
    assert_int_equal(r->state, PLUMB_TIMING_REQUEST_FAILED);
    assert_string_equal(r->why, "no frames");
    /* Peaks of requests start anew (row FV-22). */
    assert_int_equal(timing_use(&t, &r->memory, "cuda:0", "caching").peak_allocated, 200);
    assert_int_equal(timing_node(&t, NULL, "denoise")->host.ns.count, 3);
    assert_int_equal(timing_node(&t, NULL, "outside")->host.ns.count, 1);
    plumb_timing_fini(&t);
}

static void a_request_without_a_name_gets_one(void **state)
{
    struct plumb_timing t;
    regex_t pattern;
    (void)state;
    plumb_request_begin(NULL, NULL);
    plumb_request_begin("", NULL); /* ends the one before */
    record_finish(&t);
    assert_int_equal(t.request_count, 2);
    assert_int_equal(regcomp(&pattern, "^req_[0-9]{8}_[0-9]{6}_[0-9]{6}$", REG_EXTENDED), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(regexec(&pattern, t.requests[i].id, 0, NULL, 0), 0);
    regfree(&pattern);
    assert_int_equal(t.requests[0].state, PLUMB_TIMING_REQUEST_ENDED);
    assert_int_equal(t.requests[1].state, PLUMB_TIMING_REQUEST_OPEN);
    plumb_timing_fini(&t);
}

enum { THREADS = 4, REQUESTS = 50 };

static void *worker(void *arg)
{
    PLUMB_ADOPT((const plumb_context *)arg);
    stage("of_worker", 1);
    return NULL;
}

static void *serve(void *arg)
{
    int me = *(const int *)arg;
    for (int i = 0; i < REQUESTS; i++) {
        char id[32];
        plumb_request request;
        plumb_context context;
        pthread_t thread;
        snprintf(id, sizeof id, "t%d.%d", me, i);
        request = plumb_request_begin(id, NULL);
        for (int k = 0; k <= me; k++)
            stage("work", (uint64_t)(me + 1) * 10);
        if (i % 10 == 0) {
            plumb_context_capture(&context);
            assert_int_equal(pthread_create(&thread, NULL, worker, &context), 0);
            pthread_join(thread, NULL);
        }
        plumb_request_end(request);
    }
    return NULL;
}

static void requests_of_several_threads_stay_apart(void **state)
{
    pthread_t thread[THREADS];
    int number[THREADS];
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, serve, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    record_finish(&t);
    assert_int_equal(t.request_count, THREADS * REQUESTS);
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < REQUESTS; k++) {
            const struct plumb_timing_request *r;
            char id[32];
            snprintf(id, sizeof id, "t%d.%d", i, k);
            r = timing_request(&t, id);
            assert_int_equal(r->records, i + 1 + (k % 10 == 0));
            assert_int_equal(r->state, PLUMB_TIMING_REQUEST_ENDED);
            assert_int_equal(timing_use(&t, &r->memory, "cuda:0", "caching").peak_allocated,
                             (i + 1) * 10);
        }
    }
    assert_int_equal(timing_node(&t, NULL, "of_worker")->host.ns.count, THREADS * REQUESTS / 10);
    plumb_timing_fini(&t);
}

static void the_newest_are_kept_and_the_rest_counted(void **state)
{
    struct plumb_timing t;
    char id[32];
    (void)state;
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof id, "r%d", i);
        plumb_request_end(plumb_request_begin(id, NULL));
    }
    record_finish(&t);
    assert_int_equal(t.request_count, 4096);
    assert_int_equal(t.requests_lost, 5000 - 4096);
    assert_string_equal(t.requests[0].id, "r904");
    assert_string_equal(t.requests[4095].id, "r4999");
    plumb_timing_fini(&t);
}

static void *end_it(void *arg)
{
    plumb_request_end(*(const plumb_request *)arg);
    plumb_request_end(*(const plumb_request *)arg); /* once is enough */
    return NULL;
}

static void any_thread_may_end_a_request_and_a_stale_one_ends_nothing(void **state)
{
    plumb_request first = plumb_request_begin("first", NULL), made_up = {UINT64_MAX};
    struct plumb_timing t;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &first), 0);
    pthread_join(thread, NULL);
    stage("after", 64); /* counts nowhere that is closed */
    plumb_request_end(made_up);
    record_finish(&t);
    assert_int_equal(t.requests[0].state, PLUMB_TIMING_REQUEST_ENDED);
    assert_int_equal(t.requests[0].records, 0);
    plumb_timing_fini(&t);
    record_start();
    plumb_request_begin("second", NULL);
    plumb_request_end(first); /* of the run before */
    record_finish(&t);
    assert_int_equal(t.requests[0].state, PLUMB_TIMING_REQUEST_OPEN);
    plumb_timing_fini(&t);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(sections_hold_their_own_and_nodes_hold_all),
        IN_A_RUN(a_request_without_a_name_gets_one),
        IN_A_RUN(requests_of_several_threads_stay_apart),
        IN_A_RUN(the_newest_are_kept_and_the_rest_counted),
        IN_A_RUN(any_thread_may_end_a_request_and_a_stale_one_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
