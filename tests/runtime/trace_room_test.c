/* labels: notsan
 * The trace never takes memory from the statistics. With every size of the mapping, and with
 * hundreds of threads, each sample is counted or counted as lost, and spans that do not fit into
 * the trace are counted as missing from the trace alone. TEST_SIZES is the number of sizes instead
 * of 60. */
#include <pthread.h>

#include "runtime/child.h"

#include "record_timing.h"
#include "record_trace.h"
#include "trace_ends.h"

enum { THREADS = 6, MANY = 400, SPANS = 300, SIZES = 60, FROM_KIB = 256, UPTO_KIB = 2400 };

static pthread_barrier_t all_here;

/* All at once, so that no thread takes over what another has left. */
static void *record_spans(void *arg)
{
    plumb_node node = plumb_node_get("work");
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN_NODE(node);
    }
    pthread_barrier_wait(&all_here);
    return arg;
}

static void in_threads(int n)
{
    static pthread_t threads[MANY];
    pthread_attr_t attr;
    assert_int_equal(pthread_barrier_init(&all_here, NULL, (unsigned)n), 0);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], &attr, record_spans, NULL), 0);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attr);
    pthread_barrier_destroy(&all_here);
}

/* A traced run of `n` threads in a mapping of `bytes` (0: the default). */
static void record_traced(struct plumb_timing *t, const char *dir, int n, uint64_t bytes)
{
    plumb_options o = plumb_options_default();
    o.run_dir = dir;
    o.trace = PLUMB_ON;
    o.max_state_bytes = bytes;
    record_start_with(o);
    in_threads(n);
    record_finish(t);
}

/* Returns how many samples there are, those without a state of their own as well. */
static uint64_t assert_whole_or_counted(const char *dir, const struct plumb_timing *timing)
{
    uint64_t untraced, untraced_other, ended = trace_ended_of(timing, "work", &untraced);
    struct trace_read t;
    ended += trace_ended_of(timing, "(other)", &untraced_other);
    trace_read_run(&t, dir);
    assert_int_equal(t.whole + timing->trace.dropped, ended);
    assert_true(untraced + untraced_other <= timing->trace.dropped);
    trace_fini(&t);
    return ended;
}

static void with_every_size_each_sample_is_counted(void **state)
{
    const char *asked = getenv("TEST_SIZES");
    uint64_t sizes = asked ? (uint64_t)atoi(asked) : SIZES, without_room = 0;
    (void)state;
    assert_true(sizes > 0);
    for (uint64_t i = 0; i < sizes; i++) {
        uint64_t bytes = FROM_KIB * 1024 + (UPTO_KIB - FROM_KIB) * 1024 / sizes * i;
        struct plumb_timing t;
        uint64_t samples;
        record_traced(&t, "size", THREADS, bytes);
        samples = assert_whole_or_counted("size", &t);
        if (samples + t.drops.lost_state != THREADS * SPANS)
            fail_msg("%" PRIu64 " bytes: %" PRIu64 " samples, %" PRIu64 " lost", bytes, samples,
                     t.drops.lost_state);
        without_room += t.drops.lost_state != 0;
        plumb_timing_fini(&t);
        record_remove("size");
    }
    assert_in_range(without_room, 1, sizes - 1); /* else the sizes show nothing */
}

static void the_trace_of_many_threads_takes_no_sample_its_room(void **state)
{
    struct plumb_timing t;
    (void)state;
    record_traced(&t, "many", MANY, 0);
    assert_int_equal(count_of(&t, "work"), MANY * SPANS);
    assert_int_equal(t.drops.lost_state, 0);
    assert_int_equal(t.drops.other_state, 0);
    assert_whole_or_counted("many", &t);
    assert_true(t.trace.dropped >= SPANS); /* some thread has no slot at all */
    plumb_timing_fini(&t);
}

/* ---- Many spans that end together ------------------------------------------------------------ */

enum { DEEP = 240, LEFT_ROUNDS = 60 };

static plumb_node deep_node(int i)
{
    char name[32];
    snprintf(name, sizeof name, "deep.%d", i);
    return plumb_node_get(name);
}

/* Leaves DEEP spans of different nodes open, at another place of the block each time. */
static void leave_open(plumb_node leaf, int round)
{
    for (int i = 0; i < DEEP; i++)
        plumb_begin_node(deep_node(i));
    for (int i = 0; i < round * 7 % 120; i++)
        plumb_end(plumb_begin_node(leaf));
}

static void *ends_with_open_spans(void *leaf)
{
    leave_open(*(plumb_node *)leaf, 1);
    return NULL;
}

/* Each loss under its own key, of which a block that closes many spans has as many as it may. */
static void spans_that_end_together_are_counted_by_node(void **state)
{
    plumb_options o = plumb_options_default();
    plumb_node leaf = plumb_node_get("leaf");
    struct plumb_timing timing;
    pthread_t thread;
    uint64_t untraced = 0;
    (void)state;
    o.run_dir = "together";
    o.trace = PLUMB_ON;
    o.trace_ring_bytes = 16384;
    o.median_p2 = PLUMB_ON;
    record_start_with(o);
    for (int round = 0; round < LEFT_ROUNDS; round++) {
        PLUMB_SPAN("outer");
        leave_open(leaf, round);
    }
    assert_int_equal(pthread_create(&thread, NULL, ends_with_open_spans, &leaf), 0);
    pthread_join(thread, NULL);
    record_finish(&timing);
    for (int i = 0; i < DEEP; i++) {
        char name[32];
        snprintf(name, sizeof name, "deep.%d", i);
        assert_int_equal(node_in(&timing, "inference", name)->unbalanced, LEFT_ROUNDS + 1);
    }
    for (size_t i = 0; i < timing.node_count; i++)
        untraced += timing.nodes[i].untraced;
    assert_int_equal(untraced, timing.trace.dropped);
    assert_true(timing.trace.dropped > DEEP); /* else nothing had to be counted */
    assert_int_equal(count_of(&timing, "outer"), LEFT_ROUNDS);
    plumb_timing_fini(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(with_every_size_each_sample_is_counted, record_close),
        cmocka_unit_test_teardown(the_trace_of_many_threads_takes_no_sample_its_room, record_close),
        cmocka_unit_test_teardown(spans_that_end_together_are_counted_by_node, record_close),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
