/* Random suspends: the counter goes on while the clock stands still, or starts again, at a random
 * moment between two anchors. The rate stays that of before, and each jump is found. */
#include "base/clock_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

enum { SUSPENDS = 300, WIDTH_NS = 400, MS = 1000000 };

/* A machine: its counter and its clock. */
struct machine {
    uint64_t random;
    double tick_ns, ticks, raw_ns;
};

static double part(struct machine *m)
{
    return (double)(random_next(&m->random) % 1000000) / 1e6;
}

static void run_for(struct machine *m, double ns)
{
    m->ticks += ns / m->tick_ns;
    m->raw_ns += ns;
}

static struct plumb_anchor look(struct machine *m)
{
    double width = part(m) * WIDTH_NS, off = (2 * part(m) - 1) * width;
    return (struct plumb_anchor){(uint64_t)m->ticks, (uint64_t)(m->raw_ns + off), 0,
                                 (uint64_t)width + 1};
}

static struct machine machine_new(uint64_t seed)
{
    struct machine m = {.random = seed};
    m.tick_ns = 0.2 + 2 * part(&m);
    m.ticks = 1e12 * part(&m) + 1e9;
    m.raw_ns = 1e12 * part(&m) + 1e9;
    return m;
}

/* Some 5 ms to 14 hours in which only the counter goes on, or it is set back. */
static void suspend(struct machine *m)
{
    double seconds[] = {0.006, 0.05, 1, 60, 3600, 50000};
    if (random_next(&m->random) % 4 == 0)
        m->ticks = 1e6 + part(m) * 1e9;
    else
        m->ticks += seconds[random_next(&m->random) % 6] * (1 + part(m)) * 1e9 / m->tick_ns;
}

static double error_of(const struct plumb_clock_point *p, const struct machine *m)
{
    double ppm, off = plumb_clock_line_rate(p, &ppm) / m->tick_ns - 1;
    return off < 0 ? -off : off;
}

struct line {
    struct plumb_clock_point p;
    struct plumb_clock_jump jump[PLUMB_CLOCK_JUMPS];
};

static enum plumb_clock_step advance(struct line *l, struct machine *m, double ns)
{
    struct plumb_anchor a;
    run_for(m, ns);
    a = look(m);
    return plumb_clock_line_advance(&l->p, &l->p, &a, l->jump);
}

/* Like plumb's thread: the first anchors after 5 and 50 ms. */
static void begin(struct line *l, struct machine *m)
{
    struct plumb_anchor early = look(m), start;
    run_for(m, MS);
    start = look(m);
    plumb_clock_line_begin(&l->p, &early, &start);
    assert_int_equal(advance(l, m, 5 * MS), PLUMB_CLOCK_FITS);
    assert_int_equal(advance(l, m, 50 * MS), PLUMB_CLOCK_FITS);
}

static void the_rate_is_that_of_before_after_300_suspends(void **state)
{
    struct machine m = machine_new(1);
    struct line l = {.p = {.jumps = 0}};
    uint32_t jumps = 0;
    (void)state;
    begin(&l, &m);
    for (int i = 0; i < SUSPENDS; i++) {
        for (uint64_t calm = random_next(&m.random) % 3; calm--;)
            assert_int_equal(advance(&l, &m, 1000 * MS), PLUMB_CLOCK_FITS);
        run_for(&m, part(&m) * 500 * MS);
        suspend(&m);
        assert_int_equal(advance(&l, &m, part(&m) * 500 * MS), PLUMB_CLOCK_JUMPED);
        assert_int_equal(l.p.jumps, ++jumps);
        assert_true(error_of(&l.p, &m) < 1e-4);
        assert_int_equal(advance(&l, &m, 5 * MS), PLUMB_CLOCK_FITS);
        assert_true(error_of(&l.p, &m) < 1e-4);
    }
}

static void one_suspend_of_any_machine_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SUSPENDS; seed++) {
        struct machine m = machine_new(seed);
        struct line l = {.p = {.jumps = 0}};
        begin(&l, &m);
        run_for(&m, part(&m) * 1000 * MS);
        suspend(&m);
        assert_int_equal(advance(&l, &m, 5 * MS), PLUMB_CLOCK_JUMPED);
        assert_int_equal(advance(&l, &m, 5 * MS), PLUMB_CLOCK_FITS);
        assert_int_equal(advance(&l, &m, 1000 * MS), PLUMB_CLOCK_FITS);
        assert_int_equal(l.p.jumps, 1);
        assert_true(error_of(&l.p, &m) < 1e-4);
    }
}

/* A jump before recording began: the time since the library was loaded measures no rate. */
static void a_suspend_before_the_run_makes_no_wrong_rate(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SUSPENDS; seed++) {
        struct machine m = machine_new(seed);
        struct line l = {.p = {.jumps = 0}};
        struct plumb_anchor early = look(&m), start;
        run_for(&m, 1000 * MS * part(&m));
        suspend(&m);
        run_for(&m, MS);
        start = look(&m);
        plumb_clock_line_begin(&l.p, &early, &start);
        advance(&l, &m, 5 * MS);
        advance(&l, &m, 5 * MS);
        assert_int_equal(advance(&l, &m, 50 * MS), PLUMB_CLOCK_FITS);
        assert_true(error_of(&l.p, &m) < 1e-3);
        assert_int_equal(l.p.jumps, 0);
    }
}

static void a_machine_moved_to_another_rate_keeps_the_first_and_says_so(void **state)
{
    struct machine m = machine_new(7);
    struct line l = {.p = {.jumps = 0}};
    double first = m.tick_ns, ppm, off;
    (void)state;
    begin(&l, &m);
    advance(&l, &m, 1000 * MS);
    m.tick_ns *= 1.25;
    assert_int_equal(advance(&l, &m, 1000 * MS), PLUMB_CLOCK_JUMPED);
    assert_int_equal(advance(&l, &m, 5 * MS), PLUMB_CLOCK_REVISED);
    assert_int_equal(advance(&l, &m, 1000 * MS), PLUMB_CLOCK_FITS);
    assert_int_equal(l.p.jumps, 1);
    assert_true(l.p.flags & PLUMB_CLOCK_CHANGED);
    off = plumb_clock_line_rate(&l.p, &ppm) / first - 1;
    assert_true(off < 1e-4 && off > -1e-4);
}

static void an_anchor_that_was_held_up_is_no_jump(void **state)
{
    struct machine m = machine_new(3);
    struct line l = {.p = {.jumps = 0}};
    struct plumb_anchor a;
    (void)state;
    begin(&l, &m);
    run_for(&m, 1000 * MS);
    a = look(&m);
    a.raw_ns += 40 * MS;
    a.half_width_ns = 41 * MS;
    assert_int_equal(plumb_clock_line_advance(&l.p, &l.p, &a, l.jump), PLUMB_CLOCK_FITS);
    assert_int_equal(advance(&l, &m, 1000 * MS), PLUMB_CLOCK_FITS);
    assert_int_equal(l.p.jumps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_that_of_before_after_300_suspends),
        cmocka_unit_test(one_suspend_of_any_machine_is_found),
        cmocka_unit_test(a_suspend_before_the_run_makes_no_wrong_rate),
        cmocka_unit_test(a_machine_moved_to_another_rate_keeps_the_first_and_says_so),
        cmocka_unit_test(an_anchor_that_was_held_up_is_no_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
