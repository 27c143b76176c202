/* CV-17: one enabling call in the program covers inference, train, val and test, on its own thread
 * and on workers, with nothing more to do for a phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static const char *const phases[] = {"inference", "train", "val", "test"};
enum { PHASES = sizeof phases / sizeof phases[0] };

static void *load(void *context)
{
    PLUMB_ADOPT(context);
    PLUMB_SPAN("load");
    return NULL;
}

static void forward(void)
{
    plumb_context context;
    pthread_t thread;
    PLUMB_SPAN("forward");
    plumb_context_capture(&context);
    assert_int_equal(pthread_create(&thread, NULL, load, &context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The code of a predictor and a trainer: marks, and no call that switches. */
static void predict_and_train(void)
{
    forward();
    for (int i = 1; i < PHASES; i++) {
        PLUMB_PHASE(phases[i]);
        forward();
    }
}

static void check_rows(plumb_pipeline *pipeline, uint64_t count)
{
    plumb_rows *rows = record_rows(pipeline, NULL);
    assert_int_equal(plumb_rows_count(rows), count ? 2 * PHASES : 0);
    plumb_rows_free(rows);
    for (int i = 0; i < PHASES && count; i++) {
        assert_int_equal(record_row_of(pipeline, phases[i], "forward").count, count);
        assert_int_equal(record_row_of(pipeline, phases[i], "load").count, count);
    }
}

static void one_start_covers_every_phase(void **state)
{
    (void)state;
    predict_and_train();
    record_start();
    predict_and_train();
    predict_and_train();
    check_rows(NULL, 2);
    record_stop();
}

static void one_configure_covers_every_phase(void **state)
{
    plumb_config off = plumb_config_default(), on = plumb_config_default();
    plumb_pipeline *pipeline;
    (void)state;
    on.enabled = 1;
    record_start();
    pipeline = plumb_pipeline_get("trainer");
    assert_int_equal(plumb_configure(pipeline, &off, NULL), 0);
    {
        PLUMB_PIPELINE(pipeline);
        predict_and_train();
        check_rows(pipeline, 0);
        assert_int_equal(plumb_configure(pipeline, &on, NULL), 0);
        predict_and_train();
        check_rows(pipeline, 1);
    }
    record_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_start_covers_every_phase, record_close),
        cmocka_unit_test_teardown(one_configure_covers_every_phase, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
