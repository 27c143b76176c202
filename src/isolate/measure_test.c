/* Tests of measure.c: which calls a run consists of, which runs count, and what of a run is its
 * time. Times are exact: this file replaces the clock for the thread of the stage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <plumb/plumb.h>

#include "isolate/measure.h"

/* ---- Clock ----------------------------------------------------------------------------------- */

static _Thread_local bool fake;
static uint64_t now;
static uint64_t reading; /* passes after the next reading of the clock */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!fake)
        return (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec = (time_t)(now / 1000000000);
    t->tv_nsec = (long)(now % 1000000000);
    now += reading;
    reading = 0;
    return 0;
}

/* ---- Stage ----------------------------------------------------------------------------------- */

enum { RUN_NS = 500, SYNC_NS = 30, HASH_NS = 1000000, LOOP = 12 };

struct stage {
    char calls[64]; /* S: sync, R: run, 0 to 9: that step */
    size_t count;
    uint32_t fails_at; /* the index of a call; 0: none fails */
    bool breaks;       /* out of its loop, after the first step */
    bool varies;
};

static int note(struct stage *s, char what, plumb_error *err)
{
    if (s->count + 1 < sizeof s->calls)
        s->calls[s->count] = what;
    s->count++;
    return s->fails_at && s->count > s->fails_at ? plumb_call_fail("no device", err) : 0;
}

static int sync_stage(void *instance, plumb_error *err)
{
    now += SYNC_NS;
    return note(instance, 'S', err);
}

static int run_whole(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct stage *s = instance;
    now += RUN_NS;
    reading = HASH_NS;
    plumb_call_output_value(call, "x", plumb_value_i64(s->varies ? (int64_t)s->count : 1));
    reading = 0;
    return note(s, 'R', err);
}

static int run_loop(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct stage *s = instance;
    int rc = 0;
    (void)call;
    for (PLUMB_STEPS (step, LOOP)) {
        rc = note(s, (char)('0' + step), err);
        if (s->breaks)
            break;
    }
    return rc;
}

static int one_step(void *instance, plumb_stage_call *call, int64_t step, plumb_error *err)
{
    (void)call;
    return note(instance, (char)('0' + step), err);
}

static int open_nothing(void **out, const char *config, plumb_error *err)
{
    (void)config;
    (void)err;
    *out = NULL;
    return 0;
}

static const plumb_stage_ops whole = {
    PLUMB_STAGE_OPS_BEGIN, "whole", NULL, NULL, open_nothing, run_whole, NULL, NULL, sync_stage};
static const plumb_stage_ops looping = {
    PLUMB_STAGE_OPS_BEGIN, "looping", NULL, NULL, open_nothing, run_loop, NULL, NULL, NULL};
static const plumb_stage_ops stepping = {
    PLUMB_STAGE_OPS_BEGIN, "stepping", NULL, NULL, open_nothing, NULL, one_step, NULL, sync_stage};

struct bench {
    struct stage stage;
    struct plumb_measure m;
    plumb_bench_progress progress;
    plumb_bench_result result;
    plumb_error err;
};

static void prepare(struct bench *b, const plumb_stage_ops *ops)
{
    memset(b, 0, sizeof *b);
    b->m.ops = ops;
    b->m.instance = &b->stage;
    b->m.progress = &b->progress;
    b->m.steps = 1;
    b->m.warmup = 1;
    b->m.repeat = 2;
}

static int measured(struct bench *b)
{
    int rc;
    free(b->result.run_ns);
    memset(&b->result, 0, sizeof b->result);
    memset(&b->stage.calls, 0, sizeof b->stage.calls);
    b->stage.count = 0;
    fake = true;
    now = 1;
    rc = plumb_measure_runs(&b->result, &b->m, &b->err);
    fake = false;
    return rc;
}

static void finish(struct bench *b)
{
    free(b->result.run_ns);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void the_device_is_synchronised_before_and_after_every_run(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_string_equal(b.stage.calls, "SRSSRSSRS");
    finish(&b);
    prepare(&b, &stepping);
    b.m.steps = 3;
    b.m.repeat = 1;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_string_equal(b.stage.calls, "S012SS012S");
    finish(&b);
}

/* The first sync is not the run's time, the second is; the reading of outputs is not. */
static void a_run_takes_its_own_time_and_that_of_its_device(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.m.repeat = 4;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.runs, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(b.result.run_ns[i], RUN_NS + SYNC_NS);
    assert_true(b.result.warmup_ms == (RUN_NS + SYNC_NS) / 1e6);
    assert_int_equal(b.result.outputs, 1);
    assert_int_equal(b.result.outputs_vary, 0);
    assert_true(now > HASH_NS);
    finish(&b);
}

static void warm_ups_are_not_measured_and_can_be_none(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.m.warmup = 3;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.warmups, 3);
    assert_int_equal(b.result.runs, 2);
    assert_int_equal(b.stage.count, 3 * 5);
    b.m.warmup = 0;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.warmups, 0);
    assert_int_equal(b.stage.count, 3 * 2);
    finish(&b);
}

static void a_minimum_of_time_is_a_minimum_of_measured_time(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.m.min_time_s = 10.5 * (RUN_NS + SYNC_NS) / 1e9;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.runs, 11);
    b.m.repeat = 20;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.runs, 20);
    finish(&b);
}

static void five_runs_are_the_default(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.m.repeat = 0;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.runs, 5);
    b.m.steps = 8; /* of a stage without a loop: runs */
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.runs, 8);
    assert_int_equal(b.result.shape, PLUMB_BENCH_WHOLE);
    assert_int_equal(b.result.first_step, -1);
    finish(&b);
}

static void a_loop_runs_the_wanted_steps(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &looping);
    b.m.warmup = 0;
    b.m.first_step = 7;
    b.m.first_given = true;
    b.m.steps = 2;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_string_equal(b.stage.calls, "7878");
    assert_int_equal(b.result.shape, PLUMB_BENCH_LOOP);
    assert_int_equal(b.result.loop_steps, LOOP);
    assert_int_equal(b.result.first_step, 7);
    assert_int_equal(b.result.steps, 2);
    finish(&b);
}

static void assert_fails(struct bench *b, int32_t code, const char *why)
{
    assert_int_equal(measured(b), code);
    if (!strstr(b->err.message, why))
        fail_msg("'%s' is not in '%s'", why, b->err.message);
}

static void steps_that_the_loop_does_not_have_are_an_error(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &looping);
    b.m.first_step = 11;
    b.m.steps = 2;
    assert_fails(&b, PLUMB_ERR_ARG, "has 12 steps: it does not have step 12");
    b.m.first_step = 0;
    b.stage.breaks = true;
    assert_fails(&b, PLUMB_ERR_ARG, "ended early: 1 of 2 wanted steps ran");
    finish(&b);
    prepare(&b, &whole);
    b.m.first_given = true;
    assert_fails(&b, PLUMB_ERR_ARG, "has no loop that can be limited");
    finish(&b);
}

static void a_failed_sync_ends_the_bench(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.stage.fails_at = 3; /* the sync before the second run */
    assert_fails(&b, PLUMB_ERR_STATE, "stage 'whole' failed in run 0: no device");
    assert_string_equal(b.stage.calls, "SRSS");
    b.stage.fails_at = 2;
    assert_fails(&b, PLUMB_ERR_STATE, "no device");
    assert_string_equal(b.stage.calls, "SRS");
    finish(&b);
}

static void outputs_of_the_first_and_the_last_run_are_compared(void **state)
{
    struct bench b;
    (void)state;
    prepare(&b, &whole);
    b.stage.varies = true;
    b.m.repeat = 3;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.outputs_vary, 1);
    b.m.repeat = 1;
    assert_int_equal(measured(&b), PLUMB_OK);
    assert_int_equal(b.result.outputs_vary, 0);
    finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_is_synchronised_before_and_after_every_run),
        cmocka_unit_test(a_run_takes_its_own_time_and_that_of_its_device),
        cmocka_unit_test(warm_ups_are_not_measured_and_can_be_none),
        cmocka_unit_test(a_minimum_of_time_is_a_minimum_of_measured_time),
        cmocka_unit_test(five_runs_are_the_default),
        cmocka_unit_test(a_loop_runs_the_wanted_steps),
        cmocka_unit_test(steps_that_the_loop_does_not_have_are_an_error),
        cmocka_unit_test(a_failed_sync_ends_the_bench),
        cmocka_unit_test(outputs_of_the_first_and_the_last_run_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
