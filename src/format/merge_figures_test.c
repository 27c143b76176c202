/* Quantiles and lists of buckets of states in place, of copies and of single samples, against one
 * plain array of all counts, walked from the bottom; and each way to find ranks against the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/merge_ranks.h"
#include "random.h"

enum { STATES = 3 };

struct left;
struct fixture {
    struct plumb_arena arena;
    struct plumb_merge m;
    struct plumb_merge_channel c;
    struct plumb_live_state *state[STATES];
    struct left *left[STATES];
    struct plumb_copy *copy[STATES];
    struct plumb_merge_sketch sketch[STATES];
    uint64_t want[PLUMB_SKETCH_BUCKETS];
};

static void *zeroed(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    assert_non_null(p);
    memset(p, 0, bytes);
    return p;
}

struct left {
    struct plumb_copy_line line[PLUMB_SKETCH_LINES];
    struct plumb_copy copy;
};

/* What snapshot.c leaves of a state: its head, and lines of which some are in use; then changes
 * those lines. */
static struct left *leave(struct plumb_live_state *st, uint64_t *random)
{
    struct left *left = zeroed(sizeof *left);
    struct plumb_copy_line *to = left->line;
    memcpy(&left->copy.head, st, plumb_copy_head_bytes(st->flags, st->count));
    for (uint32_t l = 0; l < PLUMB_SKETCH_LINES; l++) {
        uint32_t *counts = &st->buckets[l * PLUMB_SKETCH_LINE];
        if (random_next(random) % 3 == 0)
            continue;
        *to = (struct plumb_copy_line){.next = left->copy.lines, .line = l};
        memcpy(to->counts, counts, sizeof to->counts);
        left->copy.lines = to++;
        left->copy.groups |= UINT64_C(1) << l * PLUMB_SKETCH_LINE / 64;
        memset(counts, 0xa5, sizeof to->counts);
        plumb_sketch_use(st->lines_used, l * PLUMB_SKETCH_LINE);
    }
    return left;
}

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

/* `kind`: 0: in place and quiet, 1: in place, 2: changed after a copy was left. */
static void fill_state(struct fixture *f, int i, int kind, uint64_t *random, uint32_t samples,
                       uint32_t each)
{
    struct plumb_live_state *st = f->state[i] = zeroed(sizeof *st);
    uint32_t low = (uint32_t)(random_next(random) % 30), high = low + 8;
    st->flags = random_next(random) % 2 ? PLUMB_STATE_P2 : 0;
    for (uint32_t n = 0; n < samples; n++) {
        uint64_t value = value_between(random, low, high);
        count_in(f, value, each);
        st->count += each;
        st->buckets[plumb_sketch_index(value)] += each;
        plumb_sketch_use(st->lines_used, plumb_sketch_index(value));
    }
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        f->c.lines[w] |= st->lines_used[w];
    f->sketch[i] = (struct plumb_merge_sketch){f->c.sketches, st->lines_used, st->buckets,
                                               kind ? &f->copy[i] : NULL};
    f->c.sketches = &f->sketch[i];
    f->c.unsure |= kind == 0;
    if (kind == 2) {
        f->left[i] = leave(st, random);
        f->copy[i] = &f->left[i]->copy;
        f->sketch[i].lines = f->copy[i]->head.lines_used;
    }
}

static void add_extra(struct fixture *f, uint64_t value, uint64_t n)
{
    uint32_t index = plumb_sketch_index(value);
    struct plumb_merge_extra *x = f->c.extra;
    while (x && x->line != index / PLUMB_SKETCH_LINE)
        x = x->next;
    if (!x) {
        x = plumb_arena_alloc(&f->arena, sizeof *x);
        assert_non_null(x);
        *x = (struct plumb_merge_extra){.next = f->c.extra, .line = index / PLUMB_SKETCH_LINE};
        f->c.extra = x;
    }
    x->count[index % PLUMB_SKETCH_LINE] += n;
    x->used |= 1u << index % PLUMB_SKETCH_LINE;
    plumb_sketch_use(f->c.lines, index);
    count_in(f, value, n);
}

static void fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->m.arena = &f->arena;
    plumb_stats_init(&f->c.stats);
}

static void fixture_close(struct fixture *f)
{
    for (int i = 0; i < STATES; i++) {
        free(f->state[i]);
        free(f->left[i]);
    }
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
        /* Counts that fit 32 bits together, that do not, and few. */
        static const uint32_t each[3] = {1, 40000000, 1};
        static const uint32_t most[3] = {900, 90, 7};
        struct fixture f;
        fixture_open(&f);
        for (int i = 0; i < STATES; i++) {
            uint32_t samples = (uint32_t)(random_next(&random) % most[turn % 3]);
            if (random_next(&random) % 4)
                fill_state(&f, i, turn % 4 ? 1 + (turn + i) % 2 : i % 3, &random, samples,
                           each[turn % 3]);
        }
        for (uint64_t n = random_next(&random) % 40; n > 0; n--)
            add_extra(&f, value_between(&random, 0, 40), 1);
        if (f.c.stats.count > PLUMB_EXACT)
            check(&f);
        fixture_close(&f);
    }
}

static uint64_t groups_of(const struct plumb_merge_channel *c)
{
    uint64_t groups = 0;
    for (uint32_t l = 0; l < PLUMB_SKETCH_LINES; l++) {
        if (c->lines[l / 64] >> l % 64 & 1)
            groups |= UINT64_C(1) << l / PLUMB_GROUP_LINES;
    }
    return groups;
}

static uint32_t bucket_from_the_bottom(const struct fixture *f, uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++) {
        seen += f->want[i];
        if (seen >= rank)
            return i;
    }
    return PLUMB_NO_BUCKET;
}

static void check_ranks(struct fixture *f, plumb_ranks_fn *find, uint64_t *random)
{
    uint32_t total = (uint32_t)f->c.stats.count, rank[PLUMB_RANKS], bucket[PLUMB_QUANTILES];
    for (int turn = 0; turn < 8; turn++) {
        for (int i = 0; i < PLUMB_RANKS; i++) {
            uint32_t low = i ? rank[i - 1] : 1;
            rank[i] = turn ? low + (uint32_t)(random_next(random) % (total - low + 1)) : total;
        }
        /* The mean says where to begin; any will do. */
        f->c.stats.total = turn % 3 == 2 ? random_next(random) : turn % 3 ? UINT64_MAX : 0;
        find(bucket, &f->c, groups_of(&f->c), total, rank);
        for (int i = 0; i < PLUMB_RANKS; i++)
            assert_int_equal(bucket[i], bucket_from_the_bottom(f, rank[i]));
        assert_int_equal(bucket[PLUMB_RANKS],
                         bucket_from_the_bottom(f, rank[0] < total ? rank[0] + 1 : total));
    }
}

static void every_way_finds_the_same_buckets(void **state)
{
    uint64_t random = 13;
    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        struct fixture f;
        fixture_open(&f);
        for (int i = 0; i < STATES; i++)
            fill_state(&f, i, 1 + (turn + i) % 2, &random, (uint32_t)(random_next(&random) % 300),
                       1);
        for (uint64_t n = 1 + random_next(&random) % 40; n > 0; n--)
            add_extra(&f, value_between(&random, 0, 40), 1);
        check_ranks(&f, plumb_ranks_scalar, &random);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2"))
            check_ranks(&f, plumb_ranks_avx2, &random);
#endif
        fixture_close(&f);
    }
}

static void values_at_the_ends_of_the_scheme_are_found(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f);
    add_extra(&f, 0, 3);
    add_extra(&f, UINT64_MAX, 3);
    check(&f);
    /* A wrapped bucket. */
    add_extra(&f, 1000, UINT64_C(5) << 32);
    check(&f);
    fixture_close(&f);
}

static void a_damaged_file_gives_figures_within_its_bounds(void **state)
{
    uint64_t random = 11;
    struct fixture f;
    (void)state;
    fixture_open(&f);
    fill_state(&f, 0, 0, &random, 500, 1);
    /* Bits beyond the last line, and samples that no bucket has. */
    f.c.lines[PLUMB_SKETCH_LINE_WORDS - 1] = UINT64_MAX;
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
        cmocka_unit_test(every_way_finds_the_same_buckets),
        cmocka_unit_test(values_at_the_ends_of_the_scheme_are_found),
        cmocka_unit_test(a_damaged_file_gives_figures_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
