/* CV-2: plumb_configure() replaces the whole configuration: what is left out takes its default. A
 * negative skip_first_n is refused before anything changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static int syncs;

static void sync_device(void *arg)
{
    (void)arg;
    syncs++;
}

static void run(int times)
{
    for (int i = 0; i < times; i++) {
        PLUMB_SPAN("node");
    }
}

static plumb_config enabled(void)
{
    plumb_config c = plumb_config_default();
    c.enabled = 1;
    return c;
}

static int setup(void **state)
{
    plumb_config c = enabled();
    c.reset = 1;
    record_setup(state);
    plumb_pipeline_set_device(NULL, plumb_device_register("fake", sync_device, NULL));
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    syncs = 0;
    return 0;
}

static void what_is_left_out_takes_its_default(void **state)
{
    plumb_config c = enabled();
    (void)state;
    c.sync = 1;
    c.skip_first_n = 2;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    run(3);
    assert_int_equal(record_count("node"), 1);
    assert_int_equal(syncs, 6);
    /* Only `enabled` said: no sync, no skip. */
    c = enabled();
    c.reset = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    run(3);
    assert_int_equal(record_count("node"), 3);
    assert_int_equal(syncs, 6);
    /* Nothing said: off. */
    c = plumb_config_default();
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    assert_false(plumb_pipeline_enabled(NULL));
    run(3);
    assert_int_equal(record_count("node"), 3);
}

static void a_negative_skip_is_refused_and_nothing_changes(void **state)
{
    plumb_config c = enabled();
    plumb_error err = {0, ""};
    (void)state;
    c.skip_first_n = 2;
    c.sync = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    run(1);
    c = plumb_config_default();
    c.skip_first_n = -1;
    c.reset = 1;
    assert_int_equal(plumb_configure(NULL, &c, &err), PLUMB_ERR_ARG);
    assert_int_equal(err.code, PLUMB_ERR_ARG);
    assert_string_equal(err.message, "skip_first_n must be >= 0, got -1");
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_ERR_ARG);
    assert_true(plumb_pipeline_enabled(NULL));
    run(3);
    assert_int_equal(record_count("node"), 2);
    assert_int_equal(record_row("node").skipped, 2);
    assert_int_equal(syncs, 8);
}

static void a_null_or_sizeless_configuration_is_refused(void **state)
{
    plumb_config c;
    plumb_error err = {0, ""};
    (void)state;
    memset(&c, 0, sizeof c);
    assert_int_equal(plumb_configure(NULL, NULL, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_configure(NULL, &c, &err), PLUMB_ERR_ARG);
    assert_true(err.message[0] != '\0');
    assert_true(plumb_pipeline_enabled(NULL));
}

static void a_shorter_configuration_of_an_older_caller_is_taken(void **state)
{
    plumb_config c;
    (void)state;
    memset(&c, 0xff, sizeof c);
    c.size = offsetof(plumb_config, sync);
    c.enabled = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    run(2);
    assert_int_equal(record_count("node"), 2);
    assert_int_equal(syncs, 0);
}

static void each_pipeline_has_its_own_configuration(void **state)
{
    plumb_pipeline *a = plumb_pipeline_get("a"), *b = plumb_pipeline_get("b");
    plumb_config c = enabled();
    (void)state;
    assert_ptr_equal(plumb_pipeline_get("a"), a);
    assert_ptr_not_equal(a, b);
    c.skip_first_n = 3;
    assert_int_equal(plumb_configure(a, &c, NULL), PLUMB_OK);
    c = plumb_config_default();
    assert_int_equal(plumb_configure(b, &c, NULL), PLUMB_OK);
    {
        PLUMB_PIPELINE(a);
        run(5);
        {
            PLUMB_PIPELINE(b);
            run(5);
        }
        run(1);
    }
    run(4);
    assert_int_equal(record_row_of(a, NULL, "node").count, 3);
    assert_null(record_row_of(b, NULL, "node").node);
    assert_true(plumb_pipeline_enabled(a));
    assert_false(plumb_pipeline_enabled(b));
    /* The default pipeline keeps its row: the key is (pipeline, phase, node). */
    {
        plumb_rows *rows = record_rows(NULL, NULL);
        assert_int_equal(plumb_rows_count(rows), 2);
        for (size_t i = 0; i < 2; i++) {
            const plumb_row *row = plumb_rows_get(rows, i);
            assert_int_equal(row->count, strcmp(row->pipeline, "a") == 0 ? 3 : 4);
        }
        plumb_rows_free(rows);
    }
}

static void a_skip_from_the_environment_holds_until_the_program_configures(void **state)
{
    plumb_pipeline *fresh = plumb_pipeline_get("fresh");
    plumb_config c = enabled();
    (void)state;
    record_stop();
    setenv("PLUMB_SKIP_FIRST", "2", 1);
    record_start();
    unsetenv("PLUMB_SKIP_FIRST");
    {
        PLUMB_PIPELINE(fresh);
        run(5);
    }
    assert_int_equal(record_row_of(fresh, NULL, "node").count, 3);
    c.reset = 1;
    assert_int_equal(plumb_configure(fresh, &c, NULL), PLUMB_OK);
    {
        PLUMB_PIPELINE(fresh);
        run(5);
    }
    assert_int_equal(record_row_of(fresh, NULL, "node").count, 5);
}

/* Kept, as everything that is configured: nothing is recorded before a run is open. */
static void without_a_run_it_is_kept_for_the_next_one(void **state)
{
    plumb_config c = enabled();
    (void)state;
    record_stop();
    c.skip_first_n = 2;
    c.sync = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    assert_false(plumb_pipeline_enabled(NULL));
    run(5);
    assert_int_equal(syncs, 0);
    record_start();
    assert_true(plumb_pipeline_enabled(NULL));
    run(5);
    assert_int_equal(record_count("node"), 3);
    assert_int_equal(syncs, 10);
    record_stop();
    c = plumb_config_default();
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    record_start();
    assert_false(plumb_pipeline_enabled(NULL));
    run(5);
    assert_null(record_row("node").node);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(what_is_left_out_takes_its_default),
        IN_A_RUN(a_negative_skip_is_refused_and_nothing_changes),
        IN_A_RUN(a_null_or_sizeless_configuration_is_refused),
        IN_A_RUN(a_shorter_configuration_of_an_older_caller_is_taken),
        IN_A_RUN(each_pipeline_has_its_own_configuration),
        IN_A_RUN(a_skip_from_the_environment_holds_until_the_program_configures),
        IN_A_RUN(without_a_run_it_is_kept_for_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
