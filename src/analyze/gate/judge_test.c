/* Tests of the judgement of times: on samples that were recorded on a shared machine with other
 * work, with drift, two modes and outliers on top, it raises no false alarm and finds 5 %; it never
 * says what the samples cannot show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/gate/judge.h"
#include "base/stats/sketch.h"

/* Times of one loop of constant work, one after the other, in us, of two lengths: a third of the
 * long ones is interrupted (tests/gate/README.md). */
#define SAMPLES TEST_PLUMB_SOURCE_DIR "/tests/gate/"
enum { SAMPLES_MAX = 16384, ROUNDS = 180, NOISES = 5 };

struct recorded {
    double us[SAMPLES_MAX];
    size_t count;
};

static void load(struct recorded *r, const char *name)
{
    char path[1024];
    FILE *file;
    snprintf(path, sizeof path, SAMPLES "%s", name);
    file = fopen(path, "r");
    assert_non_null(file);
    r->count = 0;
    while (r->count < SAMPLES_MAX && fscanf(file, "%lf", &r->us[r->count]) == 1)
        r->count++;
    fclose(file);
    assert_true(r->count > 4 * ROUNDS);
}

static double uniform(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*x >> 11) / 9007199254740992.0;
}

/* Noise of shared machines on top of the recorded one, by the time `at` of the sample. */
static double noise(int kind, size_t at, uint64_t *x)
{
    switch (kind) {
    case 1: /* the machine becomes slower by a quarter */
        return 1 + 0.25 * (double)at / (2 * ROUNDS);
    case 2: /* two speeds, for dozens of runs each */
        return at / 37 % 2 ? 1.12 : 1;
    case 3: /* two speeds, for a run each */
        return uniform(x) < 0.3 ? 1.15 : 1;
    case 4: /* one run in 12 is interrupted for long */
        return uniform(x) < 0.08 ? 2 + 10 * uniform(x) : 1;
    default:
        return 1;
    }
}

struct tally {
    int answers[3];
};

/* `pairs` pairs of consecutive samples, measured in turn; the new side takes `factor` times as
 * long. */
static struct tally try_pairs(const struct recorded *r, int pairs, double factor, uint64_t seed)
{
    const struct plumb_gate_bound bound = {.op = PLUMB_GATE_AT_MOST, .of_old = 1.025};
    struct tally t = {{0, 0, 0}};
    for (int i = 0; i < pairs; i++) {
        double side[2][ROUNDS];
        const struct plumb_gate_times a = {side[0], ROUNDS, 0}, b = {side[1], ROUNDS, 0};
        struct plumb_gate_judgement j;
        plumb_error err;
        size_t start = (size_t)((double)(r->count - 2 * ROUNDS) * uniform(&seed));
        for (size_t k = 0; k < 2 * ROUNDS; k++) {
            size_t round = k / 2, fresh = (k + round) % 2;
            side[fresh][round] =
                r->us[start + k] * noise(i % NOISES, k, &seed) * (fresh ? factor : 1);
        }
        assert_int_equal(plumb_gate_judge(&j, &a, &b, true, &bound, 0, &err), PLUMB_OK);
        t.answers[j.answer]++;
    }
    return t;
}

static void unchanged_code_raises_no_alarm_and_five_percent_are_found(void **state)
{
    static struct recorded fast, slow;
    struct tally same, worse, more;
    (void)state;
    load(&fast, "samples_1500us.txt");
    load(&slow, "samples_6ms.txt");
    same = try_pairs(&fast, 250, 1, 11);
    more = try_pairs(&slow, 250, 1, 12);
    for (int i = 0; i < 3; i++)
        same.answers[i] += more.answers[i];
    worse = try_pairs(&fast, 100, 1.05, 13);
    more = try_pairs(&slow, 100, 1.05, 14);
    for (int i = 0; i < 3; i++)
        worse.answers[i] += more.answers[i];
    print_message(
        "A/A: %d pass, %d alarms, %d cannot tell; +5 %%: %d pass, %d found, %d cannot tell\n",
        same.answers[0], same.answers[1], same.answers[2], worse.answers[0], worse.answers[1],
        worse.answers[2]);
    assert_true(same.answers[PLUMB_GATE_FAILS] <= 5);    /* 1 % of 500 */
    assert_true(worse.answers[PLUMB_GATE_FAILS] >= 190); /* 95 % of 200 */
    assert_int_equal(worse.answers[PLUMB_GATE_MEETS], 0);
}

/* Recordings on which nothing was tuned, and nothing is added to them (tests/gate/README.md). */
static const char *const kinds[] = {"fresh_quiet.txt", "fresh_bimodal.txt", "fresh_drift.txt",
                                    "fresh_bursts.txt", "fresh_process.txt"};
enum { KINDS = 5, FRESH_PAIRS = 100 };

/* Pairs of consecutive samples, from places that cover the recording. */
static struct tally try_fresh(const struct recorded *r, int pairs, double factor, bool in_turn)
{
    const struct plumb_gate_bound bound = {.op = PLUMB_GATE_AT_MOST, .of_old = 1.025};
    struct tally t = {{0, 0, 0}};
    for (int i = 0; i < pairs; i++) {
        double side[2][ROUNDS];
        const struct plumb_gate_times a = {side[0], ROUNDS, 0}, b = {side[1], ROUNDS, 0};
        struct plumb_gate_judgement j;
        plumb_error err;
        size_t start = (r->count - 2 * ROUNDS) * (size_t)i / (size_t)pairs;
        for (size_t k = 0; k < 2 * ROUNDS; k++) {
            size_t fresh = in_turn ? (k + k / 2) % 2 : k / ROUNDS;
            side[fresh][in_turn ? k / 2 : k % ROUNDS] = r->us[start + k] * (fresh ? factor : 1);
        }
        assert_int_equal(plumb_gate_judge(&j, &a, &b, in_turn, &bound, 0, &err), PLUMB_OK);
        t.answers[j.answer]++;
    }
    return t;
}

static void fresh_recordings_raise_no_alarm_and_show_five_percent(void **state)
{
    static struct recorded r;
    struct tally same = {{0, 0, 0}}, apart = {{0, 0, 0}}, worse = {{0, 0, 0}}, heavy;
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        load(&r, kinds[kind]);
        struct tally in_turn = try_fresh(&r, FRESH_PAIRS, 1, true);
        struct tally after = try_fresh(&r, FRESH_PAIRS, 1, false);
        struct tally slower = try_fresh(&r, FRESH_PAIRS / 2, 1.05, true);
        print_message("%s: A/A %d pass, %d alarms; one after the other %d pass, %d alarms; "
                      "+5 %%: %d pass, %d found, of %d\n",
                      kinds[kind], in_turn.answers[0], in_turn.answers[1], after.answers[0],
                      after.answers[1], slower.answers[0], slower.answers[1], FRESH_PAIRS / 2);
        for (int i = 0; i < 3; i++) {
            same.answers[i] += in_turn.answers[i];
            apart.answers[i] += after.answers[i];
            worse.answers[i] += kind < KINDS - 1 ? slower.answers[i] : 0;
        }
        heavy = slower;
    }
    assert_true(same.answers[PLUMB_GATE_FAILS] <= 5);    /* 1 % of 500 */
    assert_true(apart.answers[PLUMB_GATE_FAILS] <= 5);   /* as of two files of google/benchmark */
    assert_true(worse.answers[PLUMB_GATE_FAILS] >= 190); /* 95 % of 200 */
    assert_int_equal(worse.answers[PLUMB_GATE_MEETS], 0);
    /* Starting a process takes 1.3 to 14 ms: 180 rounds are too few to tell, and it says so. */
    assert_int_equal(heavy.answers[PLUMB_GATE_MEETS], 0);
}

/* At the limit itself a rule fails about once in a hundred times at most. */
static void a_change_as_large_as_the_limit_is_rarely_called_worse(void **state)
{
    static struct recorded slow;
    struct tally at;
    (void)state;
    load(&slow, "samples_6ms.txt");
    at = try_pairs(&slow, 200, 1.025, 15);
    assert_true(at.answers[PLUMB_GATE_FAILS] <= 4);
}

static struct plumb_gate_judgement judge(const double *old, size_t n_old, const double *fresh,
                                         size_t n_new, bool in_turn, enum plumb_gate_op op,
                                         double of_old, double add, double floor)
{
    const struct plumb_gate_times before = {old, n_old, 0}, after = {fresh, n_new, 0};
    struct plumb_gate_bound b = {.op = op, .of_old = of_old, .add = add};
    struct plumb_gate_judgement j;
    plumb_error err = {0, ""};
    assert_int_equal(plumb_gate_judge(&j, &before, &after, in_turn, &b, floor, &err), 0);
    return j;
}

/* Each of 30 recordings has the same median, read from a histogram. */
static struct plumb_gate_judgement judge_medians(double ratio, double limit, double resolution)
{
    double old[30], fresh[30];
    const struct plumb_gate_times a = {old, 30, resolution}, b = {fresh, 30, resolution};
    const struct plumb_gate_bound bound = {.op = PLUMB_GATE_AT_MOST, .of_old = limit};
    struct plumb_gate_judgement j;
    plumb_error err = {0, ""};
    for (int i = 0; i < 30; i++) {
        old[i] = 1000;
        fresh[i] = 1000 * ratio;
    }
    assert_int_equal(plumb_gate_judge(&j, &a, &b, true, &bound, 0, &err), 0);
    return j;
}

static void medians_of_neighbouring_buckets_cannot_tell(void **state)
{
    const double error = PLUMB_SKETCH_ERROR;
    (void)state;
    assert_int_equal(judge_medians(1.0156, 1.01, 0).answer, PLUMB_GATE_FAILS);
    assert_int_equal(judge_medians(1.0156, 1.01, error).answer, PLUMB_GATE_CANNOT_TELL);
    assert_non_null(strstr(judge_medians(1.0156, 1.01, error).why, "error of quantiles"));
    assert_int_equal(judge_medians(1, 1.01, error).answer, PLUMB_GATE_CANNOT_TELL);
    assert_int_equal(judge_medians(1, 1.025, error).answer, PLUMB_GATE_MEETS);
    assert_int_equal(judge_medians(1.05, 1.025, error).answer, PLUMB_GATE_FAILS);
    assert_float_equal(judge_medians(1, 1.025, error).noise, 2 * error, 1e-12);
}

static void a_fixed_time_is_held_to_the_error_of_quantiles(void **state)
{
    const double near = 20.1e6, far = 21e6;
    const struct plumb_gate_bound bound = {.op = PLUMB_GATE_AT_MOST, .add = 20e6};
    struct plumb_gate_times fresh = {&near, 1, PLUMB_SKETCH_ERROR}, none = {NULL, 0, 0};
    struct plumb_gate_judgement j;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_gate_judge(&j, &none, &fresh, false, &bound, 0, &err), 0);
    assert_int_equal(j.answer, PLUMB_GATE_CANNOT_TELL);
    fresh.ns = &far;
    assert_int_equal(plumb_gate_judge(&j, &none, &fresh, false, &bound, 0, &err), 0);
    assert_int_equal(j.answer, PLUMB_GATE_FAILS);
}

static void few_samples_cannot_tell(void **state)
{
    static const double old[] = {1, 1.01, 1.02, 0.99, 1}, fresh[] = {9, 9, 9, 9, 9, 9, 9};
    struct plumb_gate_judgement j = judge(old, 5, fresh, 7, false, PLUMB_GATE_AT_MOST, 1.05, 0, 0);
    (void)state;
    assert_int_equal(j.answer, PLUMB_GATE_CANNOT_TELL);
    assert_non_null(j.why);
    assert_float_equal(j.old_median, 1, 0);
    assert_float_equal(j.new_median, 9, 0);
    assert_int_equal(judge(old, 0, fresh, 7, false, PLUMB_GATE_AT_MOST, 1, 0, 0).answer,
                     PLUMB_GATE_CANNOT_TELL);
    assert_int_equal(judge(NULL, 0, fresh, 0, false, PLUMB_GATE_AT_MOST, 0, 5, 0).answer,
                     PLUMB_GATE_CANNOT_TELL);
}

static void what_is_not_a_time_cannot_tell(void **state)
{
    const double good[] = {1, 1, 1, 1, 1, 1, 1}, bad[] = {1, 1, NAN, 1, 1, 1, 1},
                 zero[] = {0, 0, 0, 0, 0, 0, 0}, endless[] = {1, 1, 1, INFINITY, 1, 1, 1};
    const double *const sides[] = {bad, zero, endless};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(judge(good, 7, sides[i], 7, false, PLUMB_GATE_AT_MOST, 1.05, 0, 0).answer,
                         PLUMB_GATE_CANNOT_TELL);
        assert_int_equal(judge(sides[i], 7, good, 7, true, PLUMB_GATE_AT_MOST, 1.05, 0, 0).answer,
                         PLUMB_GATE_CANNOT_TELL);
        assert_int_equal(judge(NULL, 0, sides[i], 7, false, PLUMB_GATE_AT_MOST, 0, 5, 0).answer,
                         PLUMB_GATE_CANNOT_TELL);
    }
}

static void a_fixed_limit_is_met_by_what_equals_it(void **state)
{
    const double one[] = {120e9}, above[] = {120e9 + 1}, spread[] = {110e9, 119e9, 121e9};
    (void)state;
    assert_int_equal(judge(NULL, 0, one, 1, false, PLUMB_GATE_AT_MOST, 0, 120e9, 0).answer,
                     PLUMB_GATE_MEETS);
    assert_int_equal(judge(NULL, 0, above, 1, false, PLUMB_GATE_AT_MOST, 0, 120e9, 0).answer,
                     PLUMB_GATE_FAILS);
    assert_int_equal(judge(NULL, 0, one, 1, false, PLUMB_GATE_BELOW, 0, 120e9, 0).answer,
                     PLUMB_GATE_FAILS);
    assert_int_equal(judge(NULL, 0, above, 1, false, PLUMB_GATE_AT_LEAST, 0, 120e9, 0).answer,
                     PLUMB_GATE_MEETS);
    assert_int_equal(judge(NULL, 0, spread, 3, false, PLUMB_GATE_AT_MOST, 0, 120e9, 0).answer,
                     PLUMB_GATE_CANNOT_TELL);
}

static void fill(double *out, size_t n, double middle, double spread, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        out[i] = middle * (1 + spread * (uniform(&seed) - 0.5));
}

static enum plumb_gate_answer figures(double a, double b, enum plumb_gate_op op, double limit)
{
    const double values[] = {a, b};
    const struct plumb_gate_times fresh = {values, 2, 0};
    const struct plumb_gate_bound bound = {.op = op, .add = limit};
    struct plumb_gate_judgement j;
    assert_int_equal(plumb_gate_judge_figures(&j, &fresh, &bound, NULL), PLUMB_OK);
    assert_true((j.answer == PLUMB_GATE_CANNOT_TELL) == (j.why != NULL));
    return j.answer;
}

static void figures_may_be_0_and_below(void **state)
{
    (void)state;
    assert_int_equal(figures(0, 0, PLUMB_GATE_AT_MOST, 0), PLUMB_GATE_MEETS);
    assert_int_equal(figures(0, 0, PLUMB_GATE_BELOW, 0), PLUMB_GATE_FAILS);
    assert_int_equal(figures(0, 3, PLUMB_GATE_AT_MOST, 5), PLUMB_GATE_MEETS);
    assert_int_equal(figures(3, 2, PLUMB_GATE_AT_MOST, 0), PLUMB_GATE_FAILS);
    assert_int_equal(figures(0, 3, PLUMB_GATE_AT_MOST, 1), PLUMB_GATE_CANNOT_TELL);
    assert_int_equal(figures(-3, -4, PLUMB_GATE_AT_LEAST, -4), PLUMB_GATE_MEETS);
    assert_int_equal(figures(-3, -4, PLUMB_GATE_ABOVE, -3), PLUMB_GATE_FAILS);
    assert_int_equal(figures(NAN, 0, PLUMB_GATE_AT_MOST, 1), PLUMB_GATE_CANNOT_TELL);
    assert_int_equal(figures(INFINITY, 2, PLUMB_GATE_AT_LEAST, 1), PLUMB_GATE_CANNOT_TELL);
    assert_int_equal(figures(2, 3, PLUMB_GATE_AT_LEAST, 1), PLUMB_GATE_MEETS);
}

static void both_directions_are_judged_alike(void **state)
{
    double old[40], fresh[40];
    (void)state;
    fill(old, 40, 100, 0.02, 1);
    fill(fresh, 40, 80, 0.02, 2);
    assert_int_equal(judge(old, 40, fresh, 40, true, PLUMB_GATE_AT_MOST, 1.05, 0, 0).answer,
                     PLUMB_GATE_MEETS);
    assert_int_equal(judge(old, 40, fresh, 40, true, PLUMB_GATE_AT_LEAST, 0.95, 0, 0).answer,
                     PLUMB_GATE_FAILS);
    assert_int_equal(judge(fresh, 40, old, 40, true, PLUMB_GATE_AT_LEAST, 0.95, 0, 0).answer,
                     PLUMB_GATE_MEETS);
    assert_int_equal(judge(fresh, 40, old, 40, true, PLUMB_GATE_AT_MOST, 1.05, 0, 0).answer,
                     PLUMB_GATE_FAILS);
}

static void a_regression_is_beyond_the_absolute_floor_too(void **state)
{
    double old[40], fresh[40];
    (void)state;
    fill(old, 40, 100, 0.01, 1);
    fill(fresh, 40, 110, 0.01, 2);
    assert_int_equal(judge(old, 40, fresh, 40, false, PLUMB_GATE_AT_MOST, 1.05, 0, 5).answer,
                     PLUMB_GATE_FAILS);
    assert_int_equal(judge(old, 40, fresh, 40, false, PLUMB_GATE_AT_MOST, 1.05, 0, 20).answer,
                     PLUMB_GATE_MEETS);
}

/* The same samples: as a series of rounds they agree, one side after the other they do not. */
static void drift_cancels_in_turn_and_cannot_be_told_from_a_change_otherwise(void **state)
{
    double old[60], fresh[60], late[60];
    (void)state;
    fill(old, 60, 100, 0.01, 1);
    fill(fresh, 60, 100, 0.01, 2);
    for (size_t i = 0; i < 60; i++) {
        old[i] *= 1 + 0.3 * (double)i / 60;
        late[i] = fresh[i] * 1.05 * (1 + 0.3 * (double)i / 60);
        fresh[i] *= 1 + 0.3 * (double)i / 60;
    }
    assert_int_equal(judge(old, 60, fresh, 60, true, PLUMB_GATE_AT_MOST, 1.025, 0, 0).answer,
                     PLUMB_GATE_MEETS);
    assert_int_equal(judge(old, 60, late, 60, true, PLUMB_GATE_AT_MOST, 1.025, 0, 0).answer,
                     PLUMB_GATE_FAILS);
    assert_int_equal(judge(old, 60, fresh, 60, false, PLUMB_GATE_AT_MOST, 1.025, 0, 0).answer,
                     PLUMB_GATE_CANNOT_TELL);
    assert_true(judge(old, 60, fresh, 60, false, PLUMB_GATE_AT_MOST, 1.025, 0, 0).noise > 0.1);
}

static void equal_samples_have_equal_answers(void **state)
{
    double old[30], fresh[30];
    struct plumb_gate_judgement a, b;
    (void)state;
    fill(old, 30, 100, 0.2, 3);
    fill(fresh, 30, 104, 0.2, 4);
    a = judge(old, 30, fresh, 30, true, PLUMB_GATE_AT_MOST, 1.02, 0, 0);
    b = judge(old, 30, fresh, 30, true, PLUMB_GATE_AT_MOST, 1.02, 0, 0);
    assert_float_equal(a.low, b.low, 0);
    assert_float_equal(a.high, b.high, 0);
    assert_float_equal(a.noise, b.noise, 0);
    assert_float_equal(a.p, b.p, 0);
    assert_true(a.noise > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_code_raises_no_alarm_and_five_percent_are_found),
        cmocka_unit_test(fresh_recordings_raise_no_alarm_and_show_five_percent),
        cmocka_unit_test(a_change_as_large_as_the_limit_is_rarely_called_worse),
        cmocka_unit_test(medians_of_neighbouring_buckets_cannot_tell),
        cmocka_unit_test(a_fixed_time_is_held_to_the_error_of_quantiles),
        cmocka_unit_test(few_samples_cannot_tell),
        cmocka_unit_test(what_is_not_a_time_cannot_tell),
        cmocka_unit_test(a_fixed_limit_is_met_by_what_equals_it),
        cmocka_unit_test(figures_may_be_0_and_below),
        cmocka_unit_test(both_directions_are_judged_alike),
        cmocka_unit_test(a_regression_is_beyond_the_absolute_floor_too),
        cmocka_unit_test(drift_cancels_in_turn_and_cannot_be_told_from_a_change_otherwise),
        cmocka_unit_test(equal_samples_have_equal_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
