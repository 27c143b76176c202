/* FV-10: an inner region keeps collection on until the outermost closes; regions of different
 * threads do not reach into each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "record_region.h"

enum { THREADS = 4, ROUNDS = 3000 };

static void the_outermost_switches(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("model_loading,training_epoch", PLUMB_REGION_THREAD);
    {
        PLUMB_REGION("model_loading");
        region_spans("inside", 1);
        {
            PLUMB_REGION("training_epoch");
            PLUMB_REGION("model_loading");
            region_spans("deep_inside", 1);
        }
        {
            PLUMB_REGION("training_train"); /* not selected: an ordinary span in one that is */
            region_spans("inside", 1);
        }
        region_spans("still_inside", 1);
    }
    region_spans("outside", 1);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "plumb.profiler.enable_collection"), 1);
    assert_int_equal(trace_count(&t, "plumb.profiler.disable_collection"), 1);
    assert_int_equal(trace_count(&t, "inside"), 2);
    assert_int_equal(trace_count(&t, "deep_inside"), 1);
    assert_int_equal(trace_count(&t, "still_inside"), 1);
    assert_int_equal(trace_count(&t, "outside"), 0);
    assert_int_equal(trace_count(&t, REGION_NODE "model_loading"), 2);
    assert_int_equal(trace_count(&t, REGION_NODE "training_train"), 1);
    trace_fini(&t);
}

struct worker {
    pthread_t thread;
    uint64_t seed, inside, regions;
    int depth;
};

/* Spans and regions at random, nested; every span's name says whether it is in a selected region.
 */
static void wander(struct worker *w, int depth, bool in)
{
    static const char *const names[] = {"model_loading", "training_epoch", "training_train"};
    for (int i = 0; i < 4; i++) {
        uint32_t choice = (uint32_t)(random_next(&w->seed) % 8);
        if (choice < 3 && depth < 6) {
            bool selected = choice < 2;
            plumb_span region = plumb_region_begin(names[choice]);
            w->regions += selected;
            w->inside += !selected && in;
            wander(w, depth + 1, in || selected);
            plumb_region_end(region);
        } else {
            region_spans(in ? "in" : "out", 1 + (int)choice);
            w->inside += in ? 1 + choice : 0;
        }
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < ROUNDS / 100; i++)
        wander(w, 0, false);
    return NULL;
}

static void threads_do_not_reach_into_each_other(void **state)
{
    struct worker workers[THREADS];
    uint64_t inside = 0, regions = 0;
    struct trace_read t;
    (void)state;
    region_start("model_loading,training_epoch", PLUMB_REGION_THREAD);
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.seed = 17 * i + 1};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        inside += workers[i].inside;
        regions += workers[i].regions;
    }
    traced_finish(&t);
    assert_true(inside > 100 && regions > 100);
    assert_int_equal(trace_count(&t, "out"), 0);
    assert_int_equal(t.whole, inside + regions);
    assert_int_equal(trace_count(&t, "plumb.profiler.enable_collection"),
                     trace_count(&t, "plumb.profiler.disable_collection"));
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_switches),
        cmocka_unit_test(threads_do_not_reach_into_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
