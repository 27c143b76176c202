/* labels: plain
 * Threads with the smallest possible stack record everything that a program records while it runs:
 * spans, stages with their values, activations, failures, into a trace that loses blocks. Memory
 * below their stacks is not touched, with a guard page or without. */
#include <limits.h>
#include <pthread.h>

#include "runtime/child.h"

#include "record_timing.h"
#include "tensor_fixture.h"

enum { ROUNDS = 300, BELOW = 64 * 1024, PATTERN = 0xa5 };

static void nest(int depth)
{
    PLUMB_SPAN_AS(s, "nested");
    plumb_arg_i64(s, "depth", depth);
    if (depth > 1)
        nest(depth - 1);
    else
        plumb_span_fail(s, "made to fail");
}

static void *record(void *tensor)
{
    plumb_node layer = plumb_node_get("layer");
    for (int i = 0; i < ROUNDS; i++) {
        PLUMB_PHASE(i & 1 ? "train" : "inference");
        PLUMB_STAGE(stage, "stage");
        plumb_stage_input(stage, "x", tensor);
        plumb_activation(layer, "out", tensor);
        nest(8);
        plumb_instant("moment");
        plumb_gauge_set("i", i);
        plumb_async_end(plumb_async_begin(layer));
    }
    return NULL;
}

static void in_small_thread(void)
{
    float values[4] = {1, 2, 3, 4};
    struct fixture_tensor x;
    size_t stack = (size_t)PTHREAD_STACK_MIN;
    unsigned char *room = mmap(NULL, BELOW + stack, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;
    assert_ptr_not_equal(room, MAP_FAILED);
    memset(room, PATTERN, BELOW + stack);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, room + BELOW, stack), 0);
    assert_int_equal(
        pthread_create(&thread, &attr, record, fixture_tensor(&x, values, "float32", DIMS(4))), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    for (size_t i = 0; i < BELOW; i++)
        if (room[i] != PATTERN)
            fail_msg("%zu bytes below the stack were written", (size_t)BELOW - i);
    munmap(room, BELOW + stack);
}

static void the_smallest_stack_is_enough(void **state)
{
    plumb_options o = plumb_options_default();
    struct plumb_timing t;
    (void)state;
    o.run_dir = "small";
    o.trace = o.trace_shapes = o.trace_memory = o.trace_stack = o.activations = PLUMB_ON;
    o.trace_ring_bytes = 16384;
    o.signature = PLUMB_SIGNATURE_FULL;
    o.activations_stats = "abs_mean,sum,histogram,hash";
    record_start_with(o);
    in_small_thread();
    record_finish(&t);
    assert_int_equal(count_of(&t, "stage"), ROUNDS);
    assert_int_equal(count_of(&t, "nested"), ROUNDS * 7);
    assert_true(run_has("small", "activations.jsonl"));
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_smallest_stack_is_enough, record_close),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
