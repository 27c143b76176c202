/* TF-8: a request opens a section of its own for records, memory, checkpoints and signatures, and
 * leaves cumulative statistics alone; requests of several threads stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_memory.h"
#include "record_signatures.h"

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
    /* Peaks of requests start again (row FV-22). */
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

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* Returns the bytes at the checkpoint of a request (NULL: of no request). Fails unless there is
 * exactly one. */
static uint64_t checkpoint_bytes(const struct plumb_timing *t, const char *request,
                                 const char *name)
{
    const struct plumb_timing_checkpoint *found = NULL;
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        const char *id = c->request == PLUMB_TIMING_NONE ? "" : t->requests[c->request].id;
        if (strcmp(c->name, name) != 0 || strcmp(id, request ? request : "") != 0)
            continue;
        assert_null(found);
        found = c;
    }
    if (!found)
        fail_msg("no checkpoint '%s' of %s", name, request ? request : "no request");
    return timing_use(t, &found->memory, "cuda:0", "caching").allocated;
}

static void *load_elsewhere(void *unused)
{
    plumb_request_begin("elsewhere", NULL);
    mem_alloc(0x2000, 20);
    plumb_checkpoint("after_load");
    return unused;
}

static void each_request_keeps_its_checkpoints(void **state)
{
    struct plumb_timing t;
    pthread_t thread;
    (void)state;
    plumb_checkpoint("after_load");
    plumb_request_begin("here", NULL);
    mem_alloc(0x1000, 10);
    plumb_checkpoint("after_load");
    assert_int_equal(pthread_create(&thread, NULL, load_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    mem_alloc(0x3000, 70);
    plumb_checkpoint("after_load"); /* takes the place of this request's alone */
    plumb_request_end(plumb_request_begin("empty", NULL));
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, 3);
    assert_int_equal(checkpoint_bytes(&t, NULL, "after_load"), 0);
    assert_int_equal(checkpoint_bytes(&t, "here", "after_load"), 100);
    assert_int_equal(checkpoint_bytes(&t, "elsewhere", "after_load"), 30);
    plumb_timing_fini(&t);
}

static void checkpoints_are_kept_as_long_as_the_stages_of_their_request(void **state)
{
    struct plumb_timing t;
    char id[32];
    (void)state;
    plumb_checkpoint("start");
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "r%d", i);
        plumb_request request = plumb_request_begin(id, NULL);
        mem_alloc((uint64_t)(i + 1) << 16, 1);
        stage("work", 0);
        plumb_checkpoint("before");
        plumb_checkpoint("after");
        plumb_request_end(request);
    }
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, 1 + 2 * 64);
    assert_int_equal(checkpoint_bytes(&t, NULL, "start"), 0);
    for (int i = 136; i < 200; i++) {
        snprintf(id, sizeof id, "r%d", i);
        assert_int_equal(checkpoint_bytes(&t, id, "before"), i + 1);
        assert_int_equal(checkpoint_bytes(&t, id, "after"), i + 1);
        assert_int_equal(timing_request(&t, id)->stage_count, 1);
    }
    plumb_timing_fini(&t);
}

/* ---- Signatures ------------------------------------------------------------------------------ */

static const struct plumb_signature_request *signature_request(const struct plumb_signature *s,
                                                               const char *id)
{
    for (size_t i = 0; i < s->request_count; i++)
        if (strcmp(s->requests[i].id, id) == 0)
            return &s->requests[i];
    fail_msg("no signatures of request '%s'", id);
    return NULL;
}

static void call(const char *name, int64_t value, const char *text)
{
    plumb_span s = plumb_begin_with(plumb_node_get(name), PLUMB_POINT_STAGE);
    plumb_stage_input_value(s, "value", plumb_value_i64(value));
    if (text)
        plumb_stage_input_value(s, "text", plumb_value_str(text));
    plumb_end(s);
}

static void *call_elsewhere(void *unused)
{
    plumb_request request = plumb_request_begin("two", NULL);
    call("denoise", 2, NULL);
    call("denoise", 20, NULL);
    plumb_request_end(request);
    return unused;
}

static void each_request_keeps_the_signatures_of_its_calls(void **state)
{
    struct plumb_signature s;
    const struct plumb_signature_request *r;
    plumb_request request;
    pthread_t thread;
    (void)state;
    request = plumb_request_begin("one", NULL);
    call("encode", 1, NULL);
    call("denoise", 1, NULL);
    assert_int_equal(pthread_create(&thread, NULL, call_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    plumb_request_end(request);
    request = plumb_request_begin("three", NULL);
    call("denoise", 3, NULL);
    call("denoise", 4, "another form");
    plumb_request_end(request);
    call("denoise", 5, NULL);
    record_finish_signatures(&s);
    assert_int_equal(s.request_count, 3);
    assert_int_equal(signature_stage(&s, "denoise")->calls, 6);
    assert_int_equal(signature_stage(&s, "encode")->calls, 1);
    r = signature_request(&s, "one");
    assert_int_equal(r->stage_count, 2);
    assert_string_equal(r->stages[0].name, "encode");
    assert_int_equal(r->stages[1].calls, 1);
    assert_int_equal(signature_value(&r->stages[1].last.inputs, "value")->is.integer, 1);
    r = signature_request(&s, "two");
    assert_int_equal(r->stage_count, 1);
    assert_int_equal(r->stages[0].calls, 2);
    assert_int_equal(r->stages[0].distinct_count, 1);
    assert_int_equal(signature_value(&r->stages[0].last.inputs, "value")->is.integer, 20);
    r = signature_request(&s, "three");
    assert_int_equal(r->stage_count, 1);
    assert_int_equal(r->stages[0].calls, 2);
    assert_int_equal(r->stages[0].distinct_count, 2);
    assert_int_equal(signature_value(&r->stages[0].distinct[0].inputs, "value")->is.integer, 3);
    assert_int_equal(signature_value(&r->stages[0].last.inputs, "value")->is.integer, 4);
    assert_string_equal(s.request_id, "three");
    plumb_signature_fini(&s);
}

static void signatures_of_the_newest_requests_are_kept_and_too_many_counted(void **state)
{
    struct plumb_signature s;
    char id[32];
    (void)state;
    for (int i = 0; i < 150; i++) {
        snprintf(id, sizeof id, "r%d", i);
        plumb_request request = plumb_request_begin(id, NULL);
        call("work", i, NULL);
        plumb_request_end(request);
    }
    plumb_request_begin("many", NULL);
    for (int i = 0; i < 70; i++) {
        snprintf(id, sizeof id, "stage %d", i);
        call(id, i, NULL);
    }
    record_finish_signatures(&s);
    assert_int_equal(s.request_count, 64);
    assert_string_equal(s.requests[0].id, "r87");
    for (size_t i = 0; i < 63; i++) {
        assert_int_equal(s.requests[i].stage_count, 1);
        assert_int_equal(s.requests[i].stages[0].calls, 1);
        assert_int_equal(signature_value(&s.requests[i].stages[0].last.inputs, "value")->is.integer,
                         87 + i);
    }
    assert_int_equal(s.requests[63].stage_count, 64);
    assert_int_equal(s.requests[63].other_calls, 6);
    assert_int_equal(signature_stage(&s, "work")->calls, 150);
    plumb_signature_fini(&s);
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

/* Row FV-22: neither what a request before held counts, nor what was held between them. No stage
 * starts the peaks again here. */
static void the_peak_of_a_request_is_its_own(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_REQUEST(request, "large", NULL);
        mem_alloc(1, 500);
        mem_free(1);
    }
    mem_alloc(2, 400);
    mem_free(2);
    {
        PLUMB_REQUEST(request, "small", NULL);
        mem_alloc(3, 100);
        mem_free(3);
    }
    record_finish(&t);
    assert_int_equal(
        timing_use(&t, &timing_request(&t, "large")->memory, "cuda:0", "caching").peak_allocated,
        500);
    assert_int_equal(
        timing_use(&t, &timing_request(&t, "small")->memory, "cuda:0", "caching").peak_allocated,
        100);
    plumb_timing_fini(&t);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(sections_hold_their_own_and_nodes_hold_all),
        IN_A_RUN(the_peak_of_a_request_is_its_own),
        IN_A_RUN(a_request_without_a_name_gets_one),
        IN_A_RUN(each_request_keeps_its_checkpoints),
        IN_A_RUN(checkpoints_are_kept_as_long_as_the_stages_of_their_request),
        IN_A_RUN(each_request_keeps_the_signatures_of_its_calls),
        IN_A_RUN(signatures_of_the_newest_requests_are_kept_and_too_many_counted),
        IN_A_RUN(requests_of_several_threads_stay_apart),
        IN_A_RUN(the_newest_are_kept_and_the_rest_counted),
        IN_A_RUN(any_thread_may_end_a_request_and_a_stale_one_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
