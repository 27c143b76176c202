/* When the counter has jumped, a reading is dated from the side of the jump that it is nearer
 * to. */
#include "live/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

enum { ROUNDS = 300, S = 1000000000, MS = 1000000, SECONDS = 4, JUMPS = 5 };

/* A counter of 2 GHz, and readings of the clocks. */
struct machine {
    uint64_t ticks, raw_ns, unix_ns;
};
struct moment {
    uint64_t ticks, raw_ns, unix_ns;
};

static void run_for(struct machine *m, uint64_t ns)
{
    m->ticks += 2 * ns;
    m->raw_ns += ns;
    m->unix_ns += ns;
}

static struct plumb_anchor look(const struct machine *m)
{
    return (struct plumb_anchor){m->ticks, m->raw_ns, m->unix_ns, 100};
}

/* The header of a run that begins now; the caller frees it. */
static struct plumb_live_header *begun(const struct machine *m)
{
    struct plumb_live_header *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->clock_source = PLUMB_CLOCK_TSC;
    h->early = h->start = look(m);
    plumb_live_clock_begin(h);
    return h;
}

static void assert_near(uint64_t a, uint64_t b)
{
    uint64_t off = a < b ? b - a : a - b;
    if (off > 50000)
        fail_msg("%llu is %llu ns from %llu", (unsigned long long)a, (unsigned long long)off,
                 (unsigned long long)b);
}

/* A counter that is set back gets values that it did not have before: repeated ones are
 * ambiguous. */
static void suspend(struct machine *m, uint64_t *random, int turn)
{
    uint64_t s = 2 + random_next(random) % 40000;
    m->unix_ns += s * S;
    if (random_next(random) % 3)
        m->ticks += 2 * s * S;
    else
        m->ticks = (uint64_t)(JUMPS - turn) * 1000000 * S;
}

static void times_hold_on_both_sides_of_jumps(void **state)
{
    struct plumb_live_header *h = calloc(1, sizeof *h);
    uint64_t random = 5;
    (void)state;
    assert_non_null(h);
    for (int round = 0; round < ROUNDS; round++) {
        struct machine m = {(10000000 + random_next(&random) % 1000000) * S, 77 * (uint64_t)S,
                            UINT64_C(1700000000) * S};
        struct moment moments[JUMPS * SECONDS];
        struct plumb_anchor a;
        double ppm, tick_ns;
        int n = 0;
        memset(h, 0, sizeof *h);
        h->clock_source = PLUMB_CLOCK_TSC;
        h->early = look(&m);
        run_for(&m, S);
        h->start = look(&m);
        plumb_live_clock_begin(h);
        for (int j = 0; j < JUMPS; j++) {
            for (int s = 0; s < SECONDS; s++) {
                moments[n++] = (struct moment){m.ticks, m.raw_ns, m.unix_ns};
                run_for(&m, S);
                a = look(&m);
                assert_false(plumb_live_clock_take(h, &a));
            }
            run_for(&m, random_next(&random) % 400 * MS);
            suspend(&m, &random, j);
            run_for(&m, random_next(&random) % 400 * MS);
            a = look(&m);
            assert_true(plumb_live_clock_take(h, &a));
        }
        tick_ns = plumb_live_tick_ns(h, NULL, &ppm);
        assert_true(tick_ns > 0.49999 && tick_ns < 0.50001);
        for (int i = 0; i < n; i++) {
            const struct moment *x = &moments[i];
            assert_near(plumb_live_at_ns(h, &a, tick_ns, x->ticks), x->raw_ns - h->start.raw_ns);
            assert_near(plumb_live_unix_ns(h, &a, tick_ns, x->ticks), x->unix_ns);
        }
    }
    free(h);
}

static void without_a_jump_times_follow_from_the_rate(void **state)
{
    struct machine m = {1000, 2000, 3000};
    struct plumb_live_header *h = begun(&m);
    struct plumb_anchor a;
    double ppm;
    (void)state;
    run_for(&m, S);
    a = look(&m);
    assert_false(plumb_live_clock_take(h, &a));
    assert_int_equal(plumb_live_at_ns(h, &a, plumb_live_tick_ns(h, NULL, &ppm), 1000 + 2 * MS), MS);
    assert_int_equal(plumb_live_at_ns(h, &a, 0.5, 10), 0);
    assert_int_equal(plumb_live_unix_ns(h, &a, 0.5, 1000 + 2 * MS), 3000 + MS);
    free(h);
}

/* A rate that was used for reported figures stays, unless it was wrong or a later one is far
 * better. */
static void a_told_rate_stays_while_readings_agree(void **state)
{
    struct machine m = {1000, 2000, 3000};
    struct plumb_live_header *h = begun(&m);
    struct plumb_anchor a;
    double ppm, first, later;
    (void)state;
    run_for(&m, S);
    a = look(&m);
    first = plumb_live_tick_ns(h, &a, &ppm);
    assert_true(ppm > 0 && ppm < 10);
    plumb_live_tick_keep(h, first, ppm);
    run_for(&m, S / 2);
    a = look(&m);
    a.ticks++; /* within the width of a reading */
    assert_true(plumb_live_tick_ns(h, &a, &ppm) == first);
    run_for(&m, 10 * (uint64_t)S);
    a = look(&m);
    a.ticks++;
    later = plumb_live_tick_ns(h, &a, &ppm);
    assert_true(later != first && fabs(later / first - 1) < 1e-6);
    plumb_live_tick_keep(h, later * 1.001, ppm);
    assert_true(plumb_live_tick_ns(h, &a, &ppm) == later);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_hold_on_both_sides_of_jumps),
        cmocka_unit_test(without_a_jump_times_follow_from_the_rate),
        cmocka_unit_test(a_told_rate_stays_while_readings_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
