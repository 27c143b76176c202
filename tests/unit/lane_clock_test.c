/* Times of a clock that is off, drifts, wanders and jumps, against the true times. */
#include "live/lane_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

#define SECOND UINT64_C(1000000000)
static uint64_t random_below(uint64_t *state, uint64_t n) /* n < 2^31 */
{
    return random_next(state) % n;
}

static const uint64_t start = 1000 * SECOND; /* of the host, in ns */

/* A device whose clock is `offset` off, `ppm` fast, and has jumped by `jump` at `jump_at`. */
struct device {
    int64_t offset, jump;
    double ppm;
    uint64_t jump_at;
};

static uint64_t shows(const struct device *d, uint64_t host)
{
    double since = (double)(int64_t)(host - start) * (1 + d->ppm * 1e-6);
    int64_t t = (int64_t)start + d->offset + (int64_t)(since + (since < 0 ? -0.5 : 0.5));
    return (uint64_t)(t + (host >= d->jump_at ? d->jump : 0));
}

static struct plumb_live_clock *made(double drift_ppm)
{
    static struct plumb_live_clock c;
    memset(&c, 0, sizeof c);
    c.hz = 1e9;
    c.drift_ppm = drift_ppm;
    c.wander_ppm = 1;
    c.nominal_step = 1;
    return &c;
}

static void anchor(struct plumb_live_clock *c, const struct device *d, uint64_t host,
                   uint32_t width)
{
    struct plumb_live_anchor a = {.source = shows(d, host), .ticks = host, .half_width = width};
    assert_true(plumb_lane_clock_append(c, &a));
}

/* The bound holds, and is at most `most`. */
static void check(const struct plumb_live_clock *c, const struct device *d, uint64_t host,
                  uint64_t emitted, uint64_t most)
{
    struct plumb_lane_time t;
    uint64_t off;
    assert_true(plumb_lane_clock_convert(&t, c, shows(d, host), emitted));
    off = t.ticks > host ? t.ticks - host : host - t.ticks;
    if (off > t.bound + 1)
        fail_msg("at %llu off by %llu, said to be within %llu", (unsigned long long)(host - start),
                 (unsigned long long)off, (unsigned long long)t.bound);
    if (t.bound > most)
        fail_msg("at %llu the bound is %llu", (unsigned long long)(host - start),
                 (unsigned long long)t.bound);
}

static const struct device usual = {.offset = 12000000000, .ppm = 50, .jump_at = UINT64_MAX};

static void without_an_anchor_there_is_no_time(void **state)
{
    struct plumb_lane_time t;
    (void)state;
    assert_false(plumb_lane_clock_convert(&t, made(200), 5, UINT64_MAX));
}

static void one_anchor_gives_the_nominal_rate_within_the_drift(void **state)
{
    struct plumb_live_clock *c = made(200);
    (void)state;
    anchor(c, &usual, start, 100);
    check(c, &usual, start, UINT64_MAX, 100);
    check(c, &usual, start + SECOND / 1000, UINT64_MAX, 100 + 201);
    check(c, &usual, start - SECOND / 1000, UINT64_MAX, 100 + 201);
    check(c, &usual, start + SECOND, UINT64_MAX, 100 + 200100);
}

static void between_anchors_a_drifting_clock_is_right(void **state)
{
    struct plumb_live_clock *c = made(200);
    (void)state;
    for (uint64_t s = 0; s <= 20; s++)
        anchor(c, &usual, start + s * SECOND, 100);
    for (uint64_t ms = 0; ms < 20000; ms += 7)
        check(c, &usual, start + ms * 1000000, UINT64_MAX, 100 + 1001);
    assert_int_equal(c->jumps, 0);
    assert_true(plumb_lane_clock_drift_ppm(c) > 49.99 && plumb_lane_clock_drift_ppm(c) < 50.01);
    assert_int_equal(plumb_lane_clock_width(c), 100);
}

static void behind_the_last_anchor_the_measured_rate_goes_on(void **state)
{
    struct plumb_live_clock *c = made(200);
    (void)state;
    anchor(c, &usual, start, 100);
    anchor(c, &usual, start + SECOND, 100);
    /* Half a second at the error of the rate, 2e-7, and at the wander, 1e-6. */
    check(c, &usual, start + SECOND + SECOND / 2, UINT64_MAX, 100 + 601);
    assert_int_equal(plumb_lane_clock_ns(c, 100005000), 100000000);
}

static void anchors_too_near_to_each_other_measure_nothing(void **state)
{
    struct plumb_live_clock *c = made(200);
    (void)state;
    anchor(c, &usual, start, 1000);
    anchor(c, &usual, start + 10000, 1000);
    assert_int_equal(plumb_lane_clock_ns(c, 1000000), 1000000);
    check(c, &usual, start + SECOND / 1000, UINT64_MAX, 1000 + 201);
}

static void an_anchor_that_is_not_later_is_none(void **state)
{
    struct plumb_live_clock *c = made(200);
    struct plumb_live_anchor a = {.source = 1, .ticks = start, .half_width = 1};
    (void)state;
    assert_true(plumb_lane_clock_append(c, &a));
    assert_false(plumb_lane_clock_append(c, &a));
    assert_int_equal(c->anchors, 1);
}

/* A forward jump, at an unknown moment: where it may have been, the bound is half the jump. */
static void a_jump_ahead_widens_the_bound_of_its_second_alone(void **state)
{
    const struct device d = {
        .offset = -5, .ppm = 50, .jump_at = start + 5 * SECOND / 2, .jump = 300000000};
    struct plumb_live_clock *c = made(200);
    (void)state;
    for (uint64_t s = 0; s <= 6; s++)
        anchor(c, &d, start + s * SECOND, 100);
    assert_int_equal(c->jumps, 1);
    for (uint64_t ms = 0; ms < 6000; ms += 13)
        check(c, &d, start + ms * 1000000, UINT64_MAX,
              ms / 1000 == 2 ? 150000000 + 300000 : 100 + 1001);
}

/* A backward jump: a time is shown twice, and the later one that had passed is meant. */
static void a_jump_back_leaves_what_was_emitted_at_once_right(void **state)
{
    const struct device d = {
        .offset = 0, .ppm = -20, .jump_at = start + 5 * SECOND / 2, .jump = -1500000000};
    struct plumb_live_clock *c = made(200);
    (void)state;
    for (uint64_t s = 0; s <= 6; s++)
        anchor(c, &d, start + s * SECOND, 100);
    assert_int_equal(c->jumps, 1);
    for (uint64_t ms = 0; ms < 6000; ms += 13) {
        uint64_t host = start + ms * 1000000;
        if (ms / 1000 != 2)
            check(c, &d, host, host + 1000000, 100 + 1300);
    }
}

static void after_a_jump_the_rate_is_measured_anew(void **state)
{
    const struct device d = {
        .offset = 0, .ppm = 100, .jump_at = start + SECOND / 2, .jump = 5000000000};
    struct plumb_live_clock *c = made(200);
    (void)state;
    anchor(c, &d, start, 10);
    anchor(c, &d, start + SECOND, 10);
    anchor(c, &d, start + 2 * SECOND, 10);
    assert_int_equal(c->jumps, 1);
    assert_int_equal(plumb_lane_clock_ns(c, 1000100000), 1000000000);
    check(c, &d, start + 2 * SECOND + SECOND / 2, UINT64_MAX, 10 + 600);
}

/* More anchors than are kept: what lies before them is interpolated from the first on. */
static void old_times_lie_between_the_first_and_the_oldest_anchor(void **state)
{
    struct plumb_live_clock *c = made(200);
    uint64_t n = 3 * PLUMB_LIVE_ANCHORS;
    (void)state;
    for (uint64_t s = 0; s < n; s++)
        anchor(c, &usual, start + s * SECOND, 100);
    check(c, &usual, start + SECOND / 2, UINT64_MAX, 100 + 1001);
    check(c, &usual, start + n / 2 * SECOND, UINT64_MAX, 100 + n * 1000);
    check(c, &usual, start + (n - 2) * SECOND + 5, UINT64_MAX, 100 + 10);
    check(c, &usual, start - 5, UINT64_MAX, 200);
}

/* Rate that wanders as much as it may from second to second, readings wrong within their width. */
static void the_bound_holds_for_any_clock_that_keeps_its_word(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        struct plumb_live_clock *c = made(200);
        double ppm = (double)(random_below(&random, 300)) - 150, at = (double)start * 2;
        uint64_t source[31], host[31];
        for (int s = 0; s <= 30; s++) {
            uint32_t width = 20 + (uint32_t)random_below(&random, 500);
            int64_t wrong = (int64_t)random_below(&random, 2 * width + 1) - width;
            struct plumb_live_anchor a;
            host[s] = start + (uint64_t)s * SECOND;
            source[s] = (uint64_t)(at + 0.5);
            a = (struct plumb_live_anchor){.source = source[s],
                                           .ticks = (uint64_t)((int64_t)host[s] + wrong),
                                           .half_width = width};
            assert_true(plumb_lane_clock_append(c, &a));
            at += 1e9 * (1 + ppm * 1e-6);
            ppm += ((double)random_below(&random, 2001) - 1000) * 1e-3;
        }
        assert_int_equal(c->jumps, 0);
        for (int k = 0; k < 300; k++) {
            uint64_t s = random_below(&random, 30), part = random_below(&random, SECOND);
            struct plumb_lane_time t;
            uint64_t real = host[s] + part, off;
            double own = (double)(source[s + 1] - source[s]) * ((double)part / 1e9);
            assert_true(
                plumb_lane_clock_convert(&t, c, source[s] + (uint64_t)(own + 0.5), UINT64_MAX));
            off = t.ticks > real ? t.ticks - real : real - t.ticks;
            assert_true(off <= t.bound + 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_anchor_there_is_no_time),
        cmocka_unit_test(one_anchor_gives_the_nominal_rate_within_the_drift),
        cmocka_unit_test(between_anchors_a_drifting_clock_is_right),
        cmocka_unit_test(behind_the_last_anchor_the_measured_rate_goes_on),
        cmocka_unit_test(anchors_too_near_to_each_other_measure_nothing),
        cmocka_unit_test(an_anchor_that_is_not_later_is_none),
        cmocka_unit_test(a_jump_ahead_widens_the_bound_of_its_second_alone),
        cmocka_unit_test(a_jump_back_leaves_what_was_emitted_at_once_right),
        cmocka_unit_test(after_a_jump_the_rate_is_measured_anew),
        cmocka_unit_test(old_times_lie_between_the_first_and_the_oldest_anchor),
        cmocka_unit_test(the_bound_holds_for_any_clock_that_keeps_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
