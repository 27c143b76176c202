/* TF-39: timing of a streaming stage by sequence: an injected stall of 50 ms is that of the input
 * that came late, and the summaries of latencies are those that a person calculates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#include "record_timing.h"

#define MS UINT64_C(1000000)

static uint64_t raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct plumb_timing_channel_of_streams *channel(const struct plumb_timing *t,
                                                             const char *name)
{
    for (size_t i = 0; i < t->streams.channel_count; i++)
        if (strcmp(t->streams.channels[i].name, name) == 0)
            return &t->streams.channels[i];
    fail_msg("no stream is called '%s'", name);
    return NULL;
}

static const struct plumb_timing_stream_stage *
stage_of(const struct plumb_timing_channel_of_streams *c, const char *name)
{
    for (size_t i = 0; i < c->stage_count; i++)
        if (strcmp(c->stages[i].name, name) == 0)
            return &c->stages[i];
    fail_msg("'%s' has no stage '%s'", c->name, name);
    return NULL;
}

static struct plumb_timing_sum idle(const struct plumb_timing_stream_stage *s, const char *cause)
{
    struct plumb_timing_sum none = {0, 0, 0, 0};
    for (size_t i = 0; i < s->idle_count; i++)
        if (strcmp(s->idle[i].cause, cause) == 0)
            return s->idle[i].sum;
    return none;
}

static void is(struct plumb_timing_sum s, uint64_t count, uint64_t total, uint64_t min,
               uint64_t max)
{
    assert_int_equal(s.count, count);
    assert_int_equal(s.total_ns, total);
    assert_int_equal(s.min_ns, min);
    assert_int_equal(s.max_ns, max);
}

/* ---- Idle time ------------------------------------------------------------------------------- */

static plumb_stream_stage stage;
static uint64_t zero;

static void at(uint64_t us, uint32_t what, uint64_t sequence, const char *text)
{
    plumb_stream_event_at(stage, what, sequence, text, zero + us * 1000);
}

static void a_stall_is_that_of_the_input_that_was_missing(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_stream_stage *s;
    plumb_stream video = plumb_stream_begin("video");
    (void)state;
    zero = raw_ns();
    stage = plumb_stream_stage_of(video, "denoise");
    at(0, PLUMB_STREAM_INPUT, 0, "latents");
    at(0, PLUMB_STREAM_INPUT, 0, "control");
    at(100, PLUMB_STREAM_ADMITTED, 0, NULL);
    at(10000, PLUMB_STREAM_INPUT, 1, "latents");
    at(20000, PLUMB_STREAM_COMPLETED, 0, NULL);
    /* 50 ms late: `latents` is there */
    at(70000, PLUMB_STREAM_INPUT, 1, "control");
    at(70000, PLUMB_STREAM_READY, 1, NULL);
    at(70300, PLUMB_STREAM_ADMITTED, 1, "output_full"); /* 0.3 ms: part of the first */
    at(80000, PLUMB_STREAM_COMPLETED, 1, NULL);
    /* Both inputs are late; then the output has no space for 6 ms. */
    at(83000, PLUMB_STREAM_INPUT, 2, "control");
    at(84000, PLUMB_STREAM_INPUT, 2, "latents");
    at(90000, PLUMB_STREAM_ADMITTED, 2, "output_full");
    at(95000, PLUMB_STREAM_COMPLETED, 2, NULL);
    at(96000, PLUMB_STREAM_ADMITTED, 3, NULL); /* 1.000 ms */
    at(99000, PLUMB_STREAM_COMPLETED, 3, NULL);
    at(101000, PLUMB_STREAM_READY, 4, NULL);    /* by no input that has a name */
    at(101000, PLUMB_STREAM_ADMITTED, 4, NULL); /* 2 ms */
    at(102000, PLUMB_STREAM_READY, 5, NULL);
    at(103000, PLUMB_STREAM_COMPLETED, 4, NULL);
    at(110000, PLUMB_STREAM_ADMITTED, 5, NULL); /* 7 ms: the scheduler did not come */
    record_finish(&t);
    s = stage_of(channel(&t, "video"), "denoise");
    assert_int_equal(s->input_count, 2);
    is(idle(s, "control"), 1, 50300 * 1000, 50300 * 1000, 50300 * 1000);
    is(idle(s, "latents+control"), 1, 4 * MS, 4 * MS, 4 * MS);
    is(idle(s, "output_full"), 1, 6 * MS, 6 * MS, 6 * MS);
    is(idle(s, "continuous"), 1, MS, MS, MS);
    is(idle(s, "inputs_not_ready"), 1, 2 * MS, 2 * MS, 2 * MS);
    is(idle(s, "scheduler_admission"), 1, 7 * MS, 7 * MS, 7 * MS);
    assert_int_equal(s->idle_count, 6);
    /* 19.9, 9.7, 5, 3, 2; the sixth has not ended */
    is(s->ran, 5, 39600 * 1000, 2 * MS, 19900 * 1000);
    /* 0.1, 0.3, 6, 0, 8; sequence 3 has no inputs */
    is(s->waited, 5, 14400 * 1000, 0, 8 * MS);
    assert_int_equal(t.streams.sequence_count, 6);
    assert_string_equal(t.streams.sequences[1].idle[0].cause, "control");
    assert_int_equal(t.streams.sequences[1].idle[0].ns, 50300 * 1000);
    assert_int_equal(t.streams.sequences[1].admitted_ns - t.streams.sequences[0].completed_ns,
                     50300 * 1000);
    assert_int_equal(t.streams.sequences[2].idle[0].ns, 4 * MS);
    assert_true(t.streams.sequences[5].admitted && !t.streams.sequences[5].completed);
    assert_true(t.streams.streams[0].open);
    assert_int_equal(t.streams.events_lost + t.streams.events_stale, 0);
    plumb_timing_fini(&t);
}

/* The same with the clock: the stall is as long as this program saw it. */
static void a_stall_of_the_clock(void **state)
{
    struct timespec stall = {0, 50 * MS};
    struct plumb_timing t;
    struct plumb_timing_sum s;
    plumb_stream video = plumb_stream_begin("video");
    plumb_stream_stage d = plumb_stream_stage_of(video, "denoise");
    uint64_t before, after, stalled;
    (void)state;
    plumb_stream_admitted(d, 0, NULL);
    plumb_stream_input(d, 1, "latents");
    before = raw_ns();
    plumb_stream_completed(d, 0);
    stalled = raw_ns();
    nanosleep(&stall, NULL);
    stalled = raw_ns() - stalled;
    plumb_stream_input(d, 1, "control");
    plumb_stream_ready(d, 1);
    plumb_stream_admitted(d, 1, NULL);
    after = raw_ns();
    plumb_stream_completed(d, 1);
    plumb_stream_end(video);
    record_finish(&t);
    s = idle(stage_of(channel(&t, "video"), "denoise"), "control");
    assert_int_equal(s.count, 1);
    assert_true(
        s.total_ns +
            idle(stage_of(channel(&t, "video"), "denoise"), "scheduler_admission").total_ns <=
        after - before);
    assert_true(s.total_ns >= stalled);
    assert_false(t.streams.streams[0].open);
    plumb_timing_fini(&t);
}

static void sequences_in_flight_are_not_idle(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_stream_stage *s;
    plumb_stream video = plumb_stream_begin("video");
    (void)state;
    zero = raw_ns();
    stage = plumb_stream_stage_of(video, "denoise");
    at(0, PLUMB_STREAM_ADMITTED, 0, NULL);
    at(1000, PLUMB_STREAM_ADMITTED, 1, NULL);
    at(5000, PLUMB_STREAM_COMPLETED, 0, NULL);
    at(30000, PLUMB_STREAM_ADMITTED, 2, NULL); /* 1 was at work */
    at(31000, PLUMB_STREAM_COMPLETED, 1, NULL);
    at(32000, PLUMB_STREAM_ABANDONED, 2, NULL);
    at(40000, PLUMB_STREAM_ADMITTED, 3, "budget");
    at(41000, PLUMB_STREAM_ADMITTED, 3, "again");
    at(42000, PLUMB_STREAM_COMPLETED, 9, NULL);
    record_finish(&t);
    s = stage_of(channel(&t, "video"), "denoise");
    assert_int_equal(s->idle_count, 1);
    is(idle(s, "budget"), 1, 8 * MS, 8 * MS, 8 * MS);
    assert_int_equal(s->abandoned, 1);
    assert_int_equal(s->ran.count, 2);
    assert_int_equal(t.streams.events_stale, 2);
    plumb_timing_fini(&t);
}

/* ---- Latencies ------------------------------------------------------------------------------- */

static void latencies_are_those_of_a_calculation(void **state)
{
    static const uint64_t outputs[] = {100, 140, 190, 250, 320}; /* periods 40, 50, 60, 70 */
    struct plumb_timing t;
    const struct plumb_timing_channel_of_streams *c;
    uint64_t from = raw_ns();
    plumb_stream s = plumb_stream_begin_at("video", from), other;
    (void)state;
    plumb_stream_mark_at(s, PLUMB_STREAM_CONTROL, 0, from + 10 * MS); /* 90 */
    plumb_stream_mark_at(s, PLUMB_STREAM_CONTROL, 2, from + 90 * MS); /* 100: not by 0 and 1 */
    plumb_stream_mark_at(s, PLUMB_STREAM_CONTROL, 3,
                         from + 170 * MS); /* 150: by 4, as 3 never comes */
    for (uint64_t i = 0; i < 5; i++)
        plumb_stream_mark_at(s, PLUMB_STREAM_OUTPUT,
                             i < 3    ? i
                             : i == 3 ? 2
                                      : 4,
                             from + outputs[i] * MS);
    plumb_stream_mark_at(s, PLUMB_STREAM_END, 0, from + 400 * MS);
    plumb_stream_mark_at(s, PLUMB_STREAM_OUTPUT, 5, from + 500 * MS); /* too late */
    other = plumb_stream_begin_at("video", from);
    plumb_stream_mark_at(other, PLUMB_STREAM_OUTPUT, 0, from + 20 * MS);
    record_finish(&t);
    c = channel(&t, "video");
    assert_int_equal(c->streams, 2);
    assert_int_equal(c->outputs, 6);
    assert_int_equal(c->controls, 3);
    is(c->first_output.sum, 2, 120 * MS, 20 * MS, 100 * MS);
    assert_float_equal(c->first_output.p50_ns, 60e6, 0.5);
    assert_float_equal(c->first_output.p95_ns, 96e6, 0.5);
    is(c->control_to_output.sum, 3, 340 * MS, 90 * MS, 150 * MS);
    assert_float_equal(c->control_to_output.p50_ns, 100e6, 0.5);
    assert_float_equal(c->control_to_output.p95_ns, 145e6, 0.5);
    is(c->chunk_period.sum, 4, 220 * MS, 40 * MS, 70 * MS);
    assert_float_equal(c->chunk_period.p50_ns, 55e6, 0.5);
    assert_float_equal(c->chunk_period.p95_ns, 68.5e6, 0.5);
    assert_float_equal(plumb_timing_sum_mean(&c->chunk_period.sum), 55e6, 0.5);
    assert_int_equal(t.streams.streams[0].first_output_ns, 100 * MS);
    assert_int_equal(t.streams.streams[0].lasted_ns, 400 * MS);
    plumb_timing_fini(&t);
}

/* ---- Threads, bounds ------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 500 };

static void *one_user(void *arg)
{
    plumb_stream s = plumb_stream_begin(arg);
    plumb_stream_stage a = plumb_stream_stage_of(s, "a"), b = plumb_stream_stage_of(s, "b");
    for (uint64_t i = 0; i < ROUNDS; i++) {
        plumb_stream_control(s, i);
        plumb_stream_input(a, i, "in");
        plumb_stream_admitted(a, i, NULL);
        plumb_stream_completed(a, i);
        plumb_stream_ready(b, i);
        plumb_stream_admitted(b, i, "turn");
        plumb_stream_completed(b, i);
        plumb_stream_output(s, i);
    }
    plumb_stream_end(s);
    return NULL;
}

static void threads_have_streams_of_one_name(void **state)
{
    static char name[] = "users";
    struct plumb_timing t;
    const struct plumb_timing_channel_of_streams *c;
    pthread_t thread[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, one_user, name), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    record_finish(&t);
    c = channel(&t, name);
    assert_int_equal(c->streams, THREADS);
    assert_int_equal(c->outputs, THREADS * ROUNDS);
    assert_int_equal(c->first_output.sum.count, THREADS);
    assert_int_equal(c->control_to_output.sum.count, THREADS * ROUNDS);
    assert_int_equal(c->control_to_output.kept, 1024);
    assert_int_equal(c->chunk_period.sum.count, THREADS * (ROUNDS - 1));
    assert_int_equal(c->stage_count, 2);
    for (int i = 0; i < 2; i++) {
        uint64_t between = 0;
        for (size_t k = 0; k < c->stages[i].idle_count; k++)
            between += c->stages[i].idle[k].sum.count;
        assert_int_equal(c->stages[i].ran.count, THREADS * ROUNDS);
        assert_int_equal(c->stages[i].waited.count, THREADS * ROUNDS);
        /* an idle time has one part or two */
        assert_true(between >= THREADS * (ROUNDS - 1) && between <= 2 * THREADS * (ROUNDS - 1));
    }
    assert_int_equal(t.streams.sequence_count + t.streams.sequences_lost, 2 * THREADS * ROUNDS);
    assert_int_equal(t.streams.events_lost + t.streams.events_stale, 0);
    plumb_timing_fini(&t);
}

static void everything_has_a_bound(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_stream_stage *s;
    plumb_stream one;
    char name[32];
    (void)state;
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "kind%d", i % 40);
        plumb_stream_end(plumb_stream_begin(name));
    }
    one = plumb_stream_begin("kind0");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "stage%d", i);
        assert_true((plumb_stream_stage_of(one, name).stream != 0) == (i < 16));
    }
    zero = raw_ns();
    stage = plumb_stream_stage_of(one, "stage0");
    for (uint64_t i = 0; i < 5000; i++) { /* 40 causes of 2 ms each */
        snprintf(name, sizeof name, "because%u", (unsigned)i % 40);
        at(3000 * i, PLUMB_STREAM_ADMITTED, i, name);
        at(3000 * i + 1000, PLUMB_STREAM_COMPLETED, i, NULL);
    }
    stage = plumb_stream_stage_of(one, "stage1");
    for (uint64_t i = 0; i < 20; i++) {                      /* 16 are open at once */
        snprintf(name, sizeof name, "input%u", (unsigned)i); /* 8 have names */
        at(0, PLUMB_STREAM_INPUT, i, name);
        at(0, PLUMB_STREAM_ADMITTED, i, NULL);
    }
    for (uint64_t i = 4; i < 20; i++)
        at(5000, PLUMB_STREAM_COMPLETED, i, NULL);
    at(9000, PLUMB_STREAM_ADMITTED, 99, "idle again");
    record_finish(&t);
    assert_int_equal(t.streams.channel_count, 32);
    assert_int_equal(channel(&t, "(other)")->streams, 9 * 15);
    assert_int_equal(t.streams.stream_count, 512);
    assert_int_equal(t.streams.streams_lost, 601 - 512);
    s = stage_of(channel(&t, "kind0"), "stage0");
    assert_int_equal(s->ran.count, 5000);
    assert_int_equal(s->idle_count, 16);
    assert_int_equal(idle(s, "because3").count, 125);
    assert_int_equal(idle(s, "(other)").total_ns, (4999 - 15 * 125) * 2 * MS);
    assert_int_equal(t.streams.sequence_count, 4096);
    assert_int_equal(t.streams.sequences_lost, 5000 + 21 - 4096);
    s = stage_of(channel(&t, "kind0"), "stage1");
    assert_int_equal(s->input_count, 8);
    is(idle(s, "idle again"), 1, 4 * MS, 4 * MS, 4 * MS);
    assert_int_equal(t.streams.events_lost, 4 + 12 + 4); /* stages, inputs, sequences */
    plumb_timing_fini(&t);
}

static void nothing_happens_without_a_stream(void **state)
{
    plumb_stream none = {0}, begun = plumb_stream_begin(NULL);
    plumb_stream_stage nothing = {0, 0, 0}, wild;
    struct plumb_timing t;
    (void)state;
    plumb_stream_control(none, 1);
    plumb_stream_output(none, 1);
    plumb_stream_end(none);
    assert_int_equal(plumb_stream_stage_of(none, "a").stream, 0);
    plumb_stream_input(nothing, 1, "a");
    plumb_stream_admitted(nothing, 1, NULL);
    wild = plumb_stream_stage_of(begun, NULL);
    plumb_stream_input(wild, 1, NULL);
    plumb_stream_event_at(wild, 77, 1, NULL, 0);
    wild.step = 900;
    plumb_stream_admitted(wild, 1, NULL);
    wild.stream ^= UINT64_C(1) << 40; /* of another run */
    plumb_stream_admitted(wild, 1, NULL);
    record_finish(&t);
    assert_int_equal(t.streams.stream_count, 1);
    assert_string_equal(t.streams.channels[0].name, "");
    assert_int_equal(t.streams.events_lost, 0);
    plumb_timing_fini(&t);
}

/* Its number is that of the first stream of each run. */
static void a_handle_is_of_no_effect_in_a_later_run(void **state)
{
    plumb_stream before = plumb_stream_begin("before"), later;
    struct plumb_timing t;
    (void)state;
    record_stop();
    record_start();
    later = plumb_stream_begin("later");
    plumb_stream_output(before, 0);
    plumb_stream_end(before);
    plumb_stream_output(later, 0);
    record_finish(&t);
    assert_int_equal(t.streams.channel_count, 1);
    assert_int_equal(channel(&t, "later")->outputs, 1);
    assert_true(t.streams.streams[0].open);
    assert_int_equal(t.streams.events_lost, 0);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stall_is_that_of_the_input_that_was_missing, record_setup),
        cmocka_unit_test_setup(a_stall_of_the_clock, record_setup),
        cmocka_unit_test_setup(sequences_in_flight_are_not_idle, record_setup),
        cmocka_unit_test_setup(latencies_are_those_of_a_calculation, record_setup),
        cmocka_unit_test_setup(threads_have_streams_of_one_name, record_setup),
        cmocka_unit_test_setup(everything_has_a_bound, record_setup),
        cmocka_unit_test_setup(nothing_happens_without_a_stream, record_setup),
        cmocka_unit_test_setup(a_handle_is_of_no_effect_in_a_later_run, record_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
