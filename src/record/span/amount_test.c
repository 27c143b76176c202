/* Adding samples: the sums carry, and the set of lines follows the buckets. */
#include "record/span/amount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct plumb_live_state st; /* zero at the begin of a test */

static int clear(void **state)
{
    (void)state;
    memset(&st, 0, sizeof st);
    return 0;
}

static void squares_of_any_size_add_up(void **state)
{
    static const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
    uint64_t r = 88172645463325252u;
    plumb_u128 want = 0;
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t value = i < 5 ? edges[i] : r >> (r & 63);
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        /* Near the edge of the low half each second time. */
        if (i % 2)
            st.sq_lo |= UINT64_MAX << 20;
        want = plumb_u128_sum(plumb_u128_make(st.sq_lo, st.sq_hi), (plumb_u128)value * value);
        plumb_add_square(&st, value);
        assert_true(plumb_u128_make(st.sq_lo, st.sq_hi) == want);
    }
}

static void the_first_sample_of_a_line_puts_it_into_the_set(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < PLUMB_SKETCH_BUCKETS; index += 7) {
        uint64_t want[PLUMB_SKETCH_LINE_WORDS];
        memcpy(want, st.lines_used, sizeof want);
        plumb_sketch_use(want, index);
        plumb_add_bucket(&st, index);
        assert_memory_equal(st.lines_used, want, sizeof want);
        plumb_add_bucket(&st, index);
        assert_memory_equal(st.lines_used, want, sizeof want);
        assert_int_equal(st.buckets[index], 2);
    }
}

static void a_bucket_that_wraps_is_carried(void **state)
{
    uint64_t lines[PLUMB_SKETCH_LINE_WORDS];
    (void)state;
    plumb_add_bucket(&st, 100);
    memcpy(lines, st.lines_used, sizeof lines);
    for (uint32_t wraps = 1; wraps <= 3; wraps++) {
        st.buckets[100] = UINT32_MAX;
        plumb_add_bucket(&st, 100);
        assert_int_equal(st.buckets[100], 0);
        assert_int_equal(st.carry[0].index, 100);
        assert_int_equal(st.carry[0].wraps, wraps);
        plumb_add_bucket(&st, 100);
        assert_int_equal(st.buckets[100], 1);
        assert_memory_equal(st.lines_used, lines, sizeof lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(squares_of_any_size_add_up, clear),
        cmocka_unit_test_setup(the_first_sample_of_a_line_puts_it_into_the_set, clear),
        cmocka_unit_test_setup(a_bucket_that_wraps_is_carried, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
