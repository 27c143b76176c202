/* Every way to add up a row of pairs gives the same figures, to the last bit. */
#include "record/span/span_pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/stats/sketch.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void assert_same(const struct plumb_leaves *a, const struct plumb_leaves *b, uint32_t pairs)
{
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->min, b->min);
    assert_int_equal(a->max, b->max);
    assert_int_equal(a->last, b->last);
    assert_true(a->squares == b->squares);
    assert_memory_equal(a->index, b->index, pairs * sizeof a->index[0]);
}

/* Pairs that last less than 2^bits ticks; some end before they begin. */
static void make_pairs(uint64_t *words, uint32_t pairs, uint32_t bits)
{
    uint64_t most = (UINT64_C(1) << PLUMB_TICK_BITS) - 1;
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t d = random_next() & ((UINT64_C(1) << bits) - 1);
        uint64_t begin = (random_next() & most) % (most - d + 1), end = begin + d;
        uint64_t low = random_next() & ((UINT64_C(1) << (64 - PLUMB_TICK_BITS)) - 1);
        words[2 * i] = begin << (64 - PLUMB_TICK_BITS) | low;
        words[2 * i + 1] = end << (64 - PLUMB_TICK_BITS) | PLUMB_REC_END;
        if (random_next() % 16 == 0) {
            words[2 * i] = end << (64 - PLUMB_TICK_BITS) | low;
            words[2 * i + 1] = begin << (64 - PLUMB_TICK_BITS) | PLUMB_REC_END;
        }
    }
}

static void a_row_is_what_its_pairs_are(void **state)
{
    const uint64_t base = 1000;
    static const uint64_t lasted[4] = {7, 0, 200, 1u << 20};
    uint64_t words[8];
    struct plumb_leaves out;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        words[2 * i] = base << (64 - PLUMB_TICK_BITS) | 5 << 2 | PLUMB_REC_BEGIN;
        words[2 * i + 1] = (base + lasted[i]) << (64 - PLUMB_TICK_BITS) | PLUMB_REC_END;
    }
    plumb_leaves_pick()(&out, words, 4);
    assert_int_equal(out.total, 207 + (1u << 20));
    assert_int_equal(out.min, 0);
    assert_int_equal(out.max, 1u << 20);
    assert_int_equal(out.last, 1u << 20);
    assert_true(out.squares == 49 + 40000 + (UINT64_C(1) << 40));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(out.index[i], plumb_sketch_index(lasted[i]));
}

static void all_ways_agree(void **state)
{
    static plumb_leaves_fn *const ways[] = {
        plumb_leaves_scalar,
#if defined(__x86_64__)
        plumb_leaves_avx2,
#endif
    };
    uint64_t words[2 * PLUMB_LEAVES_MAX];
    struct plumb_leaves want, got;
    (void)state;
    for (size_t w = 1; w < sizeof ways / sizeof ways[0]; w++) {
#if defined(__x86_64__)
        if (ways[w] == plumb_leaves_avx2 && !__builtin_cpu_supports("avx2"))
            continue;
#endif
        for (uint32_t bits = 0; bits <= PLUMB_TICK_BITS; bits++) {
            for (uint32_t pairs = 0; pairs <= PLUMB_LEAVES_MAX; pairs++) {
                make_pairs(words, pairs, bits);
                plumb_leaves_scalar(&want, words, pairs);
                ways[w](&got, words, pairs);
                assert_same(&want, &got, pairs);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_what_its_pairs_are),
        cmocka_unit_test(all_ways_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
