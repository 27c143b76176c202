/* CV-16: recording, resetting, reading and switching at once: no error, no torn row; (+) clean
 * under a race detector. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "record_timing.h"

enum { RECORDERS = 4, SPANS = 500, RESETS = 50, SNAPSHOTS = 100, SWITCHES = 100, OTHERS = 4 };

static pthread_barrier_t barrier;
static atomic_int recorders_left;

/* Three nodes a round, nested, one of constant samples measured elsewhere. */
static void one_round(int i)
{
    PLUMB_SPAN("frame");
    {
        PLUMB_SPAN("decode");
        plumb_record_ns(plumb_node_get("constant"), 250000);
    }
    if (i % 5 == 0) {
        PLUMB_SPAN_AS(span, "sometimes");
        if (i % 25 == 0)
            plumb_span_fail(span, "every fifth");
    }
}

static void *record_spans(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SPANS; i++) {
        PLUMB_PHASE(i % 2 ? "train" : "val");
        one_round(i);
    }
    atomic_fetch_sub(&recorders_left, 1);
    return arg;
}

static void *reset_rows(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < RESETS; i++) {
        if (plumb_reset(NULL, NULL) < 0)
            return NULL;
        sched_yield();
    }
    return arg;
}

static void check(const plumb_rows *rows)
{
    for (size_t i = 0; i < plumb_rows_count(rows); i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        record_check_row(row);
        assert_true(row->count <= RECORDERS * SPANS);
        /* The sum of what lies between minimum and maximum. */
        assert_true(row->total_ms >= row->min_ms * (double)row->count * (1 - 1e-9) - 1e-6);
        assert_true(row->total_ms <= row->max_ms * (double)row->count * (1 + 1e-9) + 1e-6);
        if (strcmp(row->node, "constant") == 0 && row->count)
            assert_true(row->min_ms == 0.25 && row->max_ms == 0.25 && row->std_ms == 0 &&
                        row->p50_ms == 0.25 && row->p99_ms == 0.25 &&
                        row->total_ms == 0.25 * (double)row->count);
    }
}

static void *take_snapshots(void *arg)
{
    plumb_rows **rows = arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SNAPSHOTS; i++) {
        plumb_error err = {0, ""};
        if (plumb_summary_rows(&rows[i], NULL, NULL, &err) < 0) {
            print_error("summary %d: %s\n", i, err.message);
            return NULL;
        }
        sched_yield();
    }
    return arg;
}

static void *switch_on_and_off(void *arg)
{
    plumb_config c = plumb_config_default();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SWITCHES; i++) {
        c.enabled = (uint32_t)(i % 2);
        if (plumb_configure(NULL, &c, NULL) < 0)
            return NULL;
        sched_yield();
    }
    return arg;
}

static void configure_on(void)
{
    plumb_config c = plumb_config_default();
    c.enabled = c.reset = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
}

/* Starts the recorders and the given others, checks that all succeed and every snapshot is sound.
 */
static void together(void *(*const *others)(void *), int count)
{
    plumb_rows *rows[SNAPSHOTS] = {NULL};
    pthread_t threads[RECORDERS + OTHERS];
    void *result;
    configure_on();
    atomic_store(&recorders_left, RECORDERS);
    pthread_barrier_init(&barrier, NULL, (unsigned)(RECORDERS + count));
    for (int i = 0; i < RECORDERS + count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < RECORDERS ? record_spans : others[i - RECORDERS], rows),
                         0);
    for (int i = 0; i < RECORDERS + count; i++) {
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < SNAPSHOTS; i++) {
        check(rows[i]);
        plumb_rows_free(rows[i]);
    }
}

/* Ends the run, looks at what it leaves, and opens the next. */
static void finish_and_check(void)
{
    struct plumb_timing t;
    record_finish(&t);
    timing_check_nodes(&t);
    assert_int_equal(t.drops.lost_state, 0);
    assert_int_equal(t.drops.stale, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void recording_reading_resetting_and_switching_at_once_is_sound(void **state)
{
    static void *(*const all[])(void *) = {reset_rows, take_snapshots, switch_on_and_off};
    plumb_rows *rows;
    (void)state;
    together(all, 3);
    configure_on();
    one_round(0);
    rows = record_rows(NULL, NULL);
    assert_int_equal(record_find(rows, NULL, "frame")->count, 1);
    assert_int_equal(record_find(rows, NULL, "sometimes")->failures, 1);
    plumb_rows_free(rows);
    finish_and_check();
}

static void without_resets_and_switches_no_sample_is_lost(void **state)
{
    static void *(*const readers[])(void *) = {take_snapshots};
    static const char *const phases[] = {"train", "val"};
    (void)state;
    together(readers, 1);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(record_row_of(NULL, phases[p], "frame").count, RECORDERS * SPANS / 2);
        assert_int_equal(record_row_of(NULL, phases[p], "decode").count, RECORDERS * SPANS / 2);
        assert_int_equal(record_row_of(NULL, phases[p], "constant").count, RECORDERS * SPANS / 2);
        assert_int_equal(record_row_of(NULL, phases[p], "frame").threads, RECORDERS);
        assert_int_equal(record_row_of(NULL, phases[p], "sometimes").failures,
                         RECORDERS * SPANS / 50);
    }
    finish_and_check();
}

/* Without a reset, counts can only grow from one summary to the next. */
static void snapshots_never_go_back(void **state)
{
    static void *(*const readers[])(void *) = {take_snapshots};
    plumb_rows *rows[SNAPSHOTS] = {NULL};
    pthread_t threads[RECORDERS + 1];
    uint64_t before = 0;
    (void)state;
    configure_on();
    atomic_store(&recorders_left, RECORDERS);
    pthread_barrier_init(&barrier, NULL, RECORDERS + 1);
    for (int i = 0; i <= RECORDERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < RECORDERS ? record_spans : readers[0], rows), 0);
    for (int i = 0; i <= RECORDERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < SNAPSHOTS; i++) {
        const plumb_row *row = record_find(rows[i], "train", "decode");
        uint64_t count = row ? row->count : 0;
        assert_true(count >= before);
        before = count;
        plumb_rows_free(rows[i]);
    }
    assert_int_equal(record_row_of(NULL, "train", "decode").count, RECORDERS * SPANS / 2);
}

static void *start_and_stop(void *arg)
{
    plumb_options o = plumb_options_default();
    o.quiet = PLUMB_ON;
    pthread_barrier_wait(&barrier);
    while (atomic_load(&recorders_left)) {
        if (plumb_stop(NULL) < 0 || plumb_start(&o, NULL) < 0)
            return NULL;
    }
    return arg;
}

static void runs_may_end_and_begin_under_everybodys_feet(void **state)
{
    static void *(*const all[])(void *) = {start_and_stop, take_snapshots, reset_rows};
    (void)state;
    together(all, 3);
    assert_true(plumb_is_recording());
    configure_on();
    one_round(1);
    assert_int_equal(record_count("frame"), 1);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(recording_reading_resetting_and_switching_at_once_is_sound),
        IN_A_RUN(without_resets_and_switches_no_sample_is_lost),
        IN_A_RUN(snapshots_never_go_back),
        IN_A_RUN(runs_may_end_and_begin_under_everybodys_feet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
