/* Quantiles and lists of buckets of states, of packed copies of them and of single samples, against
 * one plain array of all counts, walked from the bottom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/merge_parts.h"
#include "random.h"

enum { STATES = 3 };

struct fixture {
    struct plumb_arena arena;
    struct plumb_merge m;
    struct plumb_merge_channel c;
    uint64_t want[PLUMB_SKETCH_BUCKETS];
};

static void count_in(struct fixture *f, uint64_t value, uint64_t n)
{
    struct plumb_stats *s = &f->c.stats;
    f->want[plumb_sketch_index(value)] += n;
    s->count += n;
    s->min = value < s->min ? value : s->min;
    s->max = value > s->max ? value : s->max;
}

static uint64_t value_between(uint64_t *random, uint32_t low, uint32_t high)
{
    uint32_t octave = low + (uint32_t)(random_next(random) % (high - low + 1));
    return (UINT64_C(1) << octave) + random_next(random) % (UINT64_C(1) << octave);
}

/* Only the lines in use, like a copy of a state. */
static void pack(uint32_t *to, const uint32_t *buckets, const uint64_t *lines)
{
    for (uint32_t l = 0; l < PLUMB_SKETCH_LINES; l++) {
        if (!(lines[l / 64] >> l % 64 & 1))
            continue;
        memcpy(to, &buckets[l * PLUMB_SKETCH_LINE], PLUMB_SKETCH_LINE * sizeof *to);
        to += PLUMB_SKETCH_LINE;
    }
}

static void add_state(struct fixture *f, bool packed, uint64_t *random, uint32_t samples,
                      uint32_t each)
{
    uint32_t low = (uint32_t)(random_next(random) % 30), high = low + 8;
    uint32_t buckets[PLUMB_SKETCH_BUCKETS] = {0}, lines_alone[PLUMB_SKETCH_BUCKETS];
    uint64_t lines[PLUMB_SKETCH_LINE_WORDS] = {0};
    for (uint32_t n = 0; n < samples; n++) {
        uint64_t value = value_between(random, low, high);
        count_in(f, value, each);
        buckets[plumb_sketch_index(value)] += each;
        plumb_sketch_use(lines, plumb_sketch_index(value));
    }
    pack(lines_alone, buckets, lines);
    plumb_counts_lines(&f->m, &f->c, lines, packed ? lines_alone : buckets, packed);
}

static void add_sample(struct fixture *f, uint64_t value, uint64_t n)
{
    count_in(f, value, n);
    plumb_counts_add(&f->m, &f->c, plumb_sketch_index(value), n);
}

/* `file`: the input is a file, which may be damaged. */
static void fixture_open(struct fixture *f, bool file)
{
    memset(f, 0, sizeof *f);
    f->m.arena = &f->arena;
    f->c.wide = f->c.unsure = file;
    plumb_stats_init(&f->c.stats);
}

static void fixture_close(struct fixture *f)
{
    assert_false(f->arena.failed);
    plumb_arena_fini(&f->arena);
}

static double sample_from_the_bottom(const struct fixture *f, uint64_t rank)
{
    const struct plumb_stats *s = &f->c.stats;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++) {
        double v = plumb_sketch_value(i);
        seen += f->want[i];
        if (seen >= rank)
            return v < (double)s->min ? (double)s->min : v > (double)s->max ? (double)s->max : v;
    }
    return (double)s->max;
}

static void check(const struct fixture *f)
{
    static const uint32_t percent[4] = {50, 90, 95, 99};
    double q[PLUMB_QUANTILES];
    uint64_t samples = f->c.stats.count;
    size_t n, at = 0;
    const struct plumb_bucket *list = plumb_merge_buckets(&f->m, &f->c, 3, &n);
    plumb_merge_quantiles(&f->c, q);
    for (int i = 0; i < PLUMB_QUANTILES; i++) {
        uint32_t p = percent[i % 4];
        uint64_t rank = samples / 100 * p + (samples % 100 * p + 99) / 100 + i / 4;
        double want = sample_from_the_bottom(f, rank);
        if (memcmp(&q[i], &want, sizeof want) != 0)
            fail_msg("sample %llu of %llu is %.17g, not %.17g", (unsigned long long)rank,
                     (unsigned long long)samples, q[i], want);
    }
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++) {
        if (!f->want[i])
            continue;
        assert_true(at < n);
        assert_true(list[at].value == plumb_sketch_value(i) * 3);
        assert_int_equal(list[at++].count, f->want[i]);
    }
    assert_int_equal(at, n);
}

static void figures_are_those_of_all_counts_together(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int turn = 0; turn < 400; turn++) {
        /* Counts whose sum fits into 32 bits, counts whose sum does not, and few. */
        static const uint32_t each[3] = {1, 40000000, 1};
        static const uint32_t most[3] = {900, 90, 7};
        struct fixture f;
        fixture_open(&f, turn % 4 == 0);
        for (int i = 0; i < STATES; i++) {
            uint32_t samples = (uint32_t)(random_next(&random) % most[turn % 3]);
            if (random_next(&random) % 4)
                add_state(&f, (turn + i) % 2, &random, samples, each[turn % 3]);
        }
        for (uint64_t n = random_next(&random) % 40; n > 0; n--)
            add_sample(&f, value_between(&random, 0, 40), 1);
        if (f.c.stats.count > PLUMB_EXACT)
            check(&f);
        fixture_close(&f);
    }
}

static void values_at_the_ends_of_the_scheme_are_found(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f, false);
    add_sample(&f, 0, 3);
    add_sample(&f, UINT64_MAX, 3);
    check(&f);
    /* A wrapped bucket. */
    add_sample(&f, 1000, UINT64_C(5) << 32);
    check(&f);
    fixture_close(&f);
}

static void counts_are_kept_when_they_outgrow_their_words(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f, false);
    for (uint64_t value = 100; value < 5000; value += 700)
        add_sample(&f, value, INT32_MAX / 4);
    assert_true(f.c.wide);
    add_sample(&f, 100, UINT32_MAX);
    check(&f);
    fixture_close(&f);
}

static void a_damaged_file_gives_figures_within_its_bounds(void **state)
{
    uint64_t lines[PLUMB_SKETCH_LINE_WORDS] = {0}, random = 11;
    uint32_t buckets[PLUMB_SKETCH_BUCKETS] = {0};
    struct fixture f;
    (void)state;
    fixture_open(&f, true);
    add_state(&f, false, &random, 500, 1);
    /* Bits beyond the last line, and samples that no bucket has. */
    lines[PLUMB_SKETCH_LINE_WORDS - 1] = UINT64_MAX;
    plumb_counts_lines(&f.m, &f.c, lines, buckets, false);
    f.c.stats.count += 300;
    check(&f);
    /* More in the buckets than were counted. */
    f.c.stats.count = 100;
    check(&f);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_all_counts_together),
        cmocka_unit_test(values_at_the_ends_of_the_scheme_are_found),
        cmocka_unit_test(counts_are_kept_when_they_outgrow_their_words),
        cmocka_unit_test(a_damaged_file_gives_figures_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
