/* Which passes a chain becomes, and that fused, unfused, in blocks and at once it gives the same
 * samples.
 * link: none
 */
#include "plan.h"
#include "wave.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RATE 16000.0

enum { FRAMES = 8192 };

/* ---- Passes ---------------------------------------------------------------------------------- */

/* The passes of a plan as letters: b, s, g, e. */
static const char *passes(const char *chain, bool fuse)
{
    static char text[EFFECTS_MAX + 1];
    struct effect effects[EFFECTS_MAX];
    char error[EFFECT_ERROR_BYTES];
    int count = effects_parse(effects, chain, RATE, error);
    struct plan plan;

    assert_true(count >= 0);
    assert_int_equal(plan_open(&plan, effects, (size_t)count, fuse, IIR_F64, 1), 0);
    for (size_t i = 0; i < plan.count; i++)
        text[i] = "bsge"[plan.steps[i].pass];
    text[plan.count] = '\0';
    plan_close(&plan);
    return text;
}

static void adjacent_filters_become_one_cascade(void **state)
{
    (void)state;
    assert_string_equal(passes("lowpass:2:900,highpass:2:90", true), "s");
    assert_string_equal(passes("lowpass:2:900,highpass:2:90", false), "bb");
    assert_string_equal(passes("lowpass:2:900,highpass:5:90,lowpass:1:70", false), "bsb");
}

static void a_filter_alone_stays_what_it_is(void **state)
{
    (void)state;
    assert_string_equal(passes("lowpass:2:900", true), "b");
    assert_string_equal(passes("lowpass:4:900", true), "s");
}

static void an_echo_splits_a_run(void **state)
{
    (void)state;
    assert_string_equal(passes("lowpass:2:900,echo:0.1:0.5,highpass:2:90", true), "beb");
    assert_string_equal(
        passes("lowpass:2:900,lowpass:2:800,echo:0.1:0.5,highpass:2:90,lowpass:2:70", true), "ses");
}

static void a_gain_joins_the_filters_next_to_it(void **state)
{
    (void)state;
    assert_string_equal(passes("lowpass:2:900,gain:-6,highpass:2:90", true), "s");
    assert_string_equal(passes("gain:3,lowpass:2:900,gain:-6", true), "b");
    assert_string_equal(passes("gain:3,echo:0.1:0.1,gain:1,gain:2", true), "gegg");
    assert_string_equal(passes("lowpass:2:900,gain:-6,highpass:2:90", false), "bgb");
    assert_string_equal(passes("", true), "");
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void pipe_all(struct wave *w, const char *chain)
{
    struct effect effects[EFFECTS_MAX];
    char error[EFFECT_ERROR_BYTES];
    int count = effects_parse(effects, chain, w->rate, error);

    assert_true(count > 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(wave_pipe(w, &effects[i]), 0);
}

static void open_noise(struct wave *w, enum iir_type type)
{
    assert_int_equal(wave_open(w, type, 2, FRAMES, RATE), 0);
    wave_noise(w, 7);
}

/* The largest difference between two waves' samples; `power` is of `a`. */
static double difference(const struct wave *a, const struct wave *b, double *power)
{
    double largest = 0.0;

    *power = 0.0;
    for (size_t ch = 0; ch < a->channels; ch++)
        for (size_t n = 0; n < a->frames; n++) {
            double x = wave_sample(a, ch, n), y = wave_sample(b, ch, n);
            largest = fmax(largest, fabs(x - y));
            *power += x * x;
        }
    return largest;
}

static const char chain[] = "highpass:3:60,gain:-4,lowpass:10:3000,gain:2,echo:0.05:0.4,"
                            "lowpass:5:5000,highpass:2:200,highpass:1:10";

static void fused_and_unfused_give_the_same_samples(void **state)
{
    (void)state;
    for (int type = IIR_F32; type <= IIR_F64; type++) {
        struct wave fused, unfused;
        double power;
        open_noise(&fused, (enum iir_type)type);
        open_noise(&unfused, (enum iir_type)type);
        unfused.fuse = false;
        pipe_all(&fused, chain);
        pipe_all(&unfused, chain);
        assert_non_null(wave_read(&fused));
        assert_non_null(wave_read(&unfused));
        assert_true(difference(&fused, &unfused, &power) < 1e-6);
        assert_true(power > 1.0); /* there was something to compare */
        wave_close(&fused);
        wave_close(&unfused);
    }
}

static void blocks_give_the_bytes_that_the_whole_gives(void **state)
{
    const size_t blocks[] = {1, 37, 512, FRAMES - 1};
    struct wave whole, part;
    (void)state;

    open_noise(&whole, IIR_F64);
    pipe_all(&whole, chain);
    wave_read(&whole);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        open_noise(&part, IIR_F64);
        part.block = blocks[i];
        pipe_all(&part, chain);
        wave_read(&part);
        assert_memory_equal(whole.samples, part.samples, 2 * FRAMES * sizeof(double));
        wave_close(&part);
    }
    wave_close(&whole);
}

static void nothing_is_computed_before_it_is_read(void **state)
{
    struct wave w;
    double before;
    (void)state;

    open_noise(&w, IIR_F64);
    before = wave_sample(&w, 1, 100);
    pipe_all(&w, "gain:-6,lowpass:2:900");
    assert_true(wave_sample(&w, 1, 100) == before);
    wave_read(&w);
    assert_true(wave_sample(&w, 1, 100) != before);
    before = wave_sample(&w, 1, 100);
    wave_read(&w); /* nothing is pending any more */
    assert_true(wave_sample(&w, 1, 100) == before);
    wave_close(&w);
}

static void an_echo_repeats_the_signal(void **state)
{
    struct wave w;
    (void)state;

    assert_int_equal(wave_open(&w, IIR_F64, 2, 1000, RATE), 0);
    wave_set(&w, 1, 3, 1.0);
    pipe_all(&w, "echo:0.01:0.25"); /* 160 frames */
    wave_read(&w);
    assert_true(wave_sample(&w, 1, 3) == 1.0);
    assert_true(wave_sample(&w, 1, 163) == 0.25);
    for (size_t n = 0; n < 1000; n++) {
        assert_true(wave_sample(&w, 0, n) == 0.0);
        assert_true(n == 3 || n == 163 || wave_sample(&w, 1, n) == 0.0);
    }
    wave_close(&w);
}

static void chains_that_cannot_be_had_are_refused(void **state)
{
    const char *bad[] = {"lowpass",        "lowpass:2",       "lowpass:2:9000", "lowpass:11:900",
                         "lowpass:2.5:90", "lowpass:nan:nan", "gain:",          "gain:61",
                         "gain:1:2",       "echo:0:0.5",      "echo:11:0.5",    "echo:1:2",
                         "flanger:1",      "gain:3 ,gain:3x", "lowpas:2:900",   ",gain:1",
                         "gain:1,,gain:1", "lowpass:-2:900",  "gain:inf",       "highpass:2:0"};
    struct effect effects[EFFECTS_MAX];
    char error[EFFECT_ERROR_BYTES], many[EFFECTS_MAX * 8];
    (void)state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        error[0] = '\0';
        if (effects_parse(effects, bad[i], RATE, error) >= 0)
            fail_msg("'%s' was taken", bad[i]);
        assert_true(error[0] && !strchr(error, '\n'));
    }
    many[0] = '\0';
    for (int i = 0; i <= EFFECTS_MAX; i++)
        strcat(many, "gain:1,");
    assert_int_equal(effects_parse(effects, many, RATE, error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjacent_filters_become_one_cascade),
        cmocka_unit_test(a_filter_alone_stays_what_it_is),
        cmocka_unit_test(an_echo_splits_a_run),
        cmocka_unit_test(a_gain_joins_the_filters_next_to_it),
        cmocka_unit_test(fused_and_unfused_give_the_same_samples),
        cmocka_unit_test(blocks_give_the_bytes_that_the_whole_gives),
        cmocka_unit_test(nothing_is_computed_before_it_is_read),
        cmocka_unit_test(an_echo_repeats_the_signal),
        cmocka_unit_test(chains_that_cannot_be_had_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
