/* Figures in ns of a row whose samples are in ticks: rounded, and still consistent with each
 * other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "live/merge_parts.h"
#include "live/read.h"
#include "random.h"

static const double tick_ns = 0.4347826;

struct fixture {
    struct plumb_live_header h;
    struct plumb_merge m;
    struct plumb_merge_row row;
    struct plumb_merge_channel spans;
    struct plumb_arena arena;
    struct plumb_anchor end;
};

static struct fixture *fixture_new(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->m.view.h = &f->h;
    f->row.channel[PLUMB_CHANNEL_SPAN] = &f->spans;
    f->row.threads = 1;
    f->m.arena = &f->arena;
    plumb_stats_init(&f->spans.stats);
    return f;
}

static void fixture_free(struct fixture *f)
{
    plumb_arena_fini(&f->arena);
    free(f);
}

static void add(struct fixture *f, uint64_t ticks, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        plumb_stats_add(&f->spans.stats, ticks, ++f->end.ticks);
    plumb_counts_add(&f->m, &f->spans, plumb_sketch_index(ticks), n);
}

/* With the sums of squares and without: the same deviation, and none beyond the range. */
static void check(struct fixture *f)
{
    struct plumb_timing_node with, without;
    double range, std, want = plumb_stats_std(&f->spans.stats) * tick_ns;
    plumb_live_row_figures(&with, &f->m, &f->row, tick_ns, &f->end, true);
    plumb_live_row_figures(&without, &f->m, &f->row, tick_ns, &f->end, false);
    range = (double)(with.host.ns.max - with.host.ns.min);
    std = plumb_stats_std(&with.host.ns);
    assert_true(without.host.std_ns == with.host.std_ns);
    assert_true(with.host.std_ns == (want < range ? want : range));
    /* Sums of squares are whole numbers. */
    assert_true(fabs(std * std - want * want) <= 2 + want * want * 1e-9);
    assert_true(with.host.ns.total == without.host.ns.total);
    assert_true(with.host.p99_ns == without.host.p99_ns);
    assert_true(with.host.median_ns == without.host.median_ns);
}

static void the_deviation_of_samples_a_tick_apart_is_within_their_range(void **state)
{
    (void)state;
    for (uint64_t ticks = 1000; ticks < 1040; ticks++) {
        for (uint64_t n = 1; n < 200; n *= 3) {
            struct fixture *f = fixture_new();
            add(f, ticks, n);
            add(f, ticks + 1, n);
            check(f);
            fixture_free(f);
        }
    }
}

static void figures_with_and_without_squares_are_the_same(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        struct fixture *f = fixture_new();
        for (uint64_t n = 1 + random_next(&random) % 40; n > 0; n--)
            add(f, 100 + random_next(&random) % 1000000, 1 + random_next(&random) % 3);
        check(f);
        fixture_free(f);
    }
}

static void without_a_sample_all_is_zero_but_the_minimum(void **state)
{
    struct fixture *f = fixture_new();
    struct plumb_timing_node n;
    (void)state;
    plumb_live_row_figures(&n, &f->m, &f->row, tick_ns, &f->end, true);
    assert_true(n.host.ns.count == 0 && n.host.ns.total == 0 && n.host.ns.max == 0);
    assert_true(n.host.ns.min == UINT64_MAX && n.device.ns.min == UINT64_MAX);
    assert_true(n.host.std_ns == 0 && n.host.p50_ns == 0 && n.host.median_ns == 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deviation_of_samples_a_tick_apart_is_within_their_range),
        cmocka_unit_test(figures_with_and_without_squares_are_the_same),
        cmocka_unit_test(without_a_sample_all_is_zero_but_the_minimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
