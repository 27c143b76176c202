/* TX-3: dispatches into compute libraries are counted by kind while a scope is open, and left alone
 * after it, also when a jump leaves it; (+) exactly with threads, and for entry points that are
 * added later. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static int64_t of(const plumb_counted *since, const char *name)
{
    return plumb_counted_get(since, PLUMB_COUNT_DISPATCHES, name);
}

/* Entry points of a native library. */
static void biquad(void)
{
    plumb_dispatch("biquad");
}
static void sos(void)
{
    plumb_dispatch("sos");
}
static void delay(void)
{
    plumb_dispatch("delay");
}

static void kinds_are_counted_apart_in_the_scope_alone(void **state)
{
    plumb_counted since;
    (void)state;
    biquad();
    since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    assert_int_equal(of(&since, NULL), 0);
    for (int i = 0; i < 3; i++)
        biquad();
    sos();
    assert_int_equal(of(&since, "biquad"), 3);
    assert_int_equal(of(&since, "sos"), 1);
    assert_int_equal(of(&since, "delay"), 0);
    assert_int_equal(of(&since, NULL), 4);
    {
        plumb_counted inner = plumb_counted_begin(PLUMB_COUNTED_THREAD);
        delay();
        assert_int_equal(of(&inner, "delay"), 1);
        assert_int_equal(of(&inner, "biquad"), 0);
        assert_int_equal(of(&inner, NULL), 1);
    }
    assert_int_equal(of(&since, NULL), 5);
}

static jmp_buf back;

static void fails_in_a_scope(void)
{
    plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    sos();
    assert_int_equal(of(&since, NULL), 1);
    longjmp(back, 1);
}

static void a_jump_out_of_a_scope_leaves_nothing_behind(void **state)
{
    enum { JUMPS = 1000 };
    plumb_counted since;
    volatile int jumps = 0;
    (void)state;
    since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    if (setjmp(back) == 0 || ++jumps < JUMPS)
        fails_in_a_scope();
    assert_int_equal(of(&since, "sos"), JUMPS);
    biquad();
    assert_int_equal(of(&since, NULL), JUMPS + 1);
}

static void an_entry_point_that_is_added_later_is_caught(void **state)
{
    char name[32];
    plumb_counted since;
    (void)state;
    since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "late-%d", i);
        plumb_dispatch(name);
        assert_int_equal(of(&since, name), 1);
    }
    assert_int_equal(of(&since, NULL), 10);
}

enum { THREADS = 8, EACH = 20000 };

static void *dispatches(void *arg)
{
    const char *kind = arg;
    plumb_counted mine = plumb_counted_begin(PLUMB_COUNTED_THREAD);
    for (int i = 0; i < EACH; i++) {
        PLUMB_SPAN("kernel");
        plumb_dispatch(kind);
        if (plumb_count_get(plumb_count_of_span(), PLUMB_COUNT_DISPATCHES) != 1)
            return "a span has other dispatches than its own";
    }
    return of(&mine, kind) == EACH && of(&mine, NULL) == EACH ? NULL : "a thread has others";
}

static void threads_count_exactly_and_apart(void **state)
{
    plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    pthread_t thread[THREADS];
    void *problem;
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, dispatches, i % 2 ? (void *)"sos" : (void *)"biquad"),
            0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], &problem), 0);
        assert_null(problem);
    }
    assert_int_equal(of(&since, NULL), THREADS * EACH);
    assert_int_equal(of(&since, "sos"), THREADS / 2 * EACH);
    assert_int_equal(of(&since, "biquad"), THREADS / 2 * EACH);
    assert_int_equal(plumb_count_get_named(plumb_count_of_node(plumb_node_get("kernel")),
                                           PLUMB_COUNT_DISPATCHES, "sos"),
                     THREADS / 2 * EACH);
}

static int64_t of_run(const char *name)
{
    return plumb_count_get_named(plumb_count_of_run(), PLUMB_COUNT_USER, name);
}

/* Names in one buffer, more of them than a thread remembers, in every kind of place. */
static void a_counter_is_the_sum_of_its_places(void **state)
{
    enum { NAMES = 100, ROUNDS = 3 };
    char name[16];
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "places %d", i);
            plumb_counter_add(name, i);
            for (PLUMB_STEPS (step, 2)) {
                plumb_counter_add(name, i);
                PLUMB_SPAN("placed");
                plumb_counter_add(name, -1);
            }
            PLUMB_PHASE("val");
            plumb_counter_add(name, i);
            PLUMB_SPAN("placed");
            plumb_counter_add(name, 5);
        }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "places %d", i);
        assert_int_equal(of_run(name), ROUNDS * (4 * i + 3));
        assert_int_equal(plumb_count_get_named(plumb_count_of_node(plumb_node_get("placed")),
                                               PLUMB_COUNT_USER, name),
                         ROUNDS * 3);
    }
}

static void *asks_for_the_others(void *arg)
{
    return of(arg, NULL) == PLUMB_COUNT_UNKNOWN ? NULL : "it has an answer";
}

static void counts_of_a_thread_are_for_that_thread(void **state)
{
    plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_THREAD);
    pthread_t thread;
    void *problem;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, asks_for_the_others, &since), 0);
    assert_int_equal(pthread_join(thread, &problem), 0);
    assert_null(problem);
}

static void a_span_has_what_its_thread_counted_since_it_began(void **state)
{
    plumb_count_scope here = plumb_count_of_span();
    (void)state;
    assert_int_equal(plumb_count_get(here, PLUMB_COUNT_DISPATCHES), PLUMB_COUNT_UNKNOWN);
    PLUMB_SPAN("outer");
    sos();
    assert_int_equal(plumb_count_get(here, PLUMB_COUNT_DISPATCHES), 1);
    for (int i = 0; i < 1000; i++) { /* several rounds of the ring, while "outer" stays open */
        PLUMB_SPAN("middle");
        assert_int_equal(plumb_count_get(here, PLUMB_COUNT_DISPATCHES), 0);
        for (int k = 0; k < 3; k++) {
            PLUMB_SPAN("inner");
            if (i % 2)
                biquad();
            plumb_counter_add("samples", 10);
        }
        assert_int_equal(plumb_count_get(here, PLUMB_COUNT_DISPATCHES), i % 2 ? 3 : 0);
        assert_int_equal(plumb_count_get_named(here, PLUMB_COUNT_USER, "samples"), 30);
        delay();
        assert_int_equal(plumb_count_get_named(here, PLUMB_COUNT_DISPATCHES, "delay"), 1);
    }
    assert_int_equal(plumb_count_get(here, PLUMB_COUNT_DISPATCHES), 1 + 500 * 3 + 1000);
    assert_int_equal(plumb_count_get_named(here, PLUMB_COUNT_DISPATCHES, "sos"), 1);
    assert_int_equal(plumb_count_get(here, PLUMB_COUNT_USER), 30000);
}

static void the_run_and_a_node_have_all_threads(void **state)
{
    int64_t before = plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES);
    plumb_count_scope node = plumb_count_of_node(plumb_node_get("lonely"));
    (void)state;
    assert_int_equal(plumb_count_get(node, PLUMB_COUNT_DISPATCHES), 0);
    {
        PLUMB_SPAN("lonely");
        PLUMB_STEP(3);
        sos();
        plumb_counter_add("samples", -7);
        PLUMB_PHASE("train");
        biquad();
        PLUMB_SPAN("inside");
        sos();
    }
    assert_int_equal(plumb_count_get(node, PLUMB_COUNT_DISPATCHES), 2);
    assert_int_equal(plumb_count_get_named(node, PLUMB_COUNT_USER, "samples"), -7);
    assert_int_equal(plumb_count_get_named(node, PLUMB_COUNT_USER, "other"), 0);
    assert_int_equal(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES), before + 3);
}

static void allocations_of_a_pool_are_counted_and_their_peak(void **state)
{
    static char memory[3];
    plumb_count_scope here = plumb_count_of_span(), run = plumb_count_of_run();
    plumb_node node = plumb_node_get("allocates");
    (void)state;
    {
        PLUMB_STAGE(stage, "allocates");
        (void)stage;
        plumb_mem_alloc("cuda:0", "torch", &memory[0], 1000);
        plumb_mem_alloc("cuda:0", "torch", &memory[1], 500);
        plumb_mem_free("cuda:0", "torch", &memory[0], 0);
        plumb_mem_alloc("cuda:0", "torch", &memory[2], 300);
        assert_int_equal(plumb_count_get(here, PLUMB_COUNT_ALLOCATIONS), 3);
        assert_int_equal(plumb_count_get(here, PLUMB_COUNT_ALLOCATED_BYTES), 1800);
        assert_int_equal(plumb_count_get(here, PLUMB_COUNT_PEAK_BYTES), PLUMB_COUNT_UNKNOWN);
    }
    assert_int_equal(plumb_count_get_named(run, PLUMB_COUNT_PEAK_BYTES, "cuda:0/torch"), 1500);
    assert_int_equal(plumb_count_get_named(run, PLUMB_COUNT_PEAK_BYTES, "cuda:0"), 0);
    assert_int_equal(plumb_count_get(plumb_count_of_node(node), PLUMB_COUNT_PEAK_BYTES), 1500);
    assert_int_equal(
        plumb_count_get_named(plumb_count_of_node(node), PLUMB_COUNT_ALLOCATIONS, "cuda:0/torch"),
        3);
}

static volatile int64_t seen_in_handler;

static void on_signal(int sig)
{
    (void)sig;
    plumb_dispatch("handler");
    seen_in_handler =
        plumb_count_get_named(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES, "handler");
}

static void a_signal_handler_may_count_and_read(void **state)
{
    (void)state;
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(seen_in_handler, 2);
}

static void what_cannot_be_counted_is_unknown(void **state)
{
    plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_PROCESS), none;
    (void)state;
    assert_int_equal(plumb_count_get(plumb_count_of_run(), 0), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_KINDS), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_counted_get(&since, PLUMB_COUNT_PEAK_BYTES, NULL), PLUMB_COUNT_UNKNOWN);
    /* Nothing counts calls in this process: 0 would be a result. */
    assert_int_equal(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_CALLS), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_stop(NULL), PLUMB_OK);
    assert_int_equal(plumb_counted_get(&since, PLUMB_COUNT_DISPATCHES, NULL), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES),
                     PLUMB_COUNT_UNKNOWN);
    none = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    sos();
    assert_int_equal(plumb_start(NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_counted_get(&since, PLUMB_COUNT_DISPATCHES, NULL), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_counted_get(&none, PLUMB_COUNT_DISPATCHES, NULL), PLUMB_COUNT_UNKNOWN);
    assert_int_equal(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES), 0);
    since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    sos();
    assert_int_equal(of(&since, "sos"), 1);
}

/* Last: it takes the places of names. */
static void more_names_than_places_are_in_the_sum(void **state)
{
    plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
    char name[32];
    (void)state;
    for (int i = 0; i < 2 * PLUMB_COUNTED_NAMES; i++) {
        snprintf(name, sizeof name, "kernel-%d", i);
        plumb_dispatch(name);
    }
    assert_int_equal(of(&since, NULL), 2 * PLUMB_COUNTED_NAMES);
    assert_int_equal(of(&since, "kernel-0"), 1);
    assert_int_equal(of(&since, name), PLUMB_COUNT_UNKNOWN); /* not 0 */
    assert_int_equal(plumb_count_get_named(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES, name), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_counted_apart_in_the_scope_alone),
        cmocka_unit_test(a_jump_out_of_a_scope_leaves_nothing_behind),
        cmocka_unit_test(an_entry_point_that_is_added_later_is_caught),
        cmocka_unit_test(threads_count_exactly_and_apart),
        cmocka_unit_test(counts_of_a_thread_are_for_that_thread),
        cmocka_unit_test(a_span_has_what_its_thread_counted_since_it_began),
        cmocka_unit_test(the_run_and_a_node_have_all_threads),
        cmocka_unit_test(allocations_of_a_pool_are_counted_and_their_peak),
        cmocka_unit_test(a_signal_handler_may_count_and_read),
        cmocka_unit_test(what_cannot_be_counted_is_unknown),
        cmocka_unit_test(more_names_than_places_are_in_the_sum),
        cmocka_unit_test(a_counter_is_the_sum_of_its_places),
    };
    setenv("PLUMB_QUIET", "1", 1);
    if (plumb_start(NULL, NULL) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
