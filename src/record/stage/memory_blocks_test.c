/* Blocks are found, deleted and listed as in a plain array of them, through growth and any order of
 * deletions. */
#include "record/runtime/runtime.h"
#include "record/stage/memory_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random.h"

enum { ADDRESSES = 3000, ROUNDS = 200000 };

static int setup(void **state)
{
    (void)state;
    plumb_rt.settings.max_state_bytes = 64 << 20;
    plumb_blocks_clear();
    return 0;
}

static void any_order_of_putting_and_taking(void **state)
{
    static uint64_t bytes_of[2][ADDRESSES]; /* 0: not there */
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t pool = (uint32_t)random_next(&seed) & 1,
                 at = (uint32_t)random_next(&seed) % ADDRESSES;
        uint64_t address = 0x1000 + (uint64_t)at * 64;
        struct plumb_block b;
        if (bytes_of[pool][at]) {
            assert_true(plumb_blocks_take(pool, address, &b));
            assert_int_equal(b.bytes, bytes_of[pool][at]);
            assert_false(plumb_blocks_take(pool, address, &b));
            bytes_of[pool][at] = 0;
        } else {
            b = (struct plumb_block){.address = address, .bytes = (uint64_t)i + 1, .pool = pool};
            assert_true(plumb_blocks_put(&b));
            bytes_of[pool][at] = b.bytes;
        }
    }
    for (uint32_t pool = 0; pool < 2; pool++) {
        for (uint32_t at = 0; at < ADDRESSES; at++) {
            struct plumb_block b;
            assert_int_equal(plumb_blocks_take(pool, 0x1000 + (uint64_t)at * 64, &b),
                             bytes_of[pool][at] != 0);
        }
    }
}

static void the_largest_come_first(void **state)
{
    static const uint64_t bytes[] = {5, 90, 7, 90, 1, 300, 2};
    struct plumb_block out[3];
    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_true(plumb_blocks_put(
            &(struct plumb_block){.address = 100 + i, .bytes = bytes[i], .pool = 1}));
    assert_true(plumb_blocks_put(&(struct plumb_block){.address = 100, .bytes = 1000, .pool = 2}));
    assert_int_equal(plumb_blocks_largest(1, out, 3), 3);
    assert_int_equal(out[0].bytes, 300);
    assert_int_equal(out[1].address, 101);
    assert_int_equal(out[2].address, 103);
    assert_int_equal(plumb_blocks_largest(3, out, 3), 0);
}

static void holes_are_what_no_block_covers(void **state)
{
    uint64_t free_bytes = 1, largest = 1;
    (void)state;
    plumb_blocks_holes(0, &free_bytes, &largest);
    assert_int_equal(free_bytes, 1); /* without segments the results are 0 */
    plumb_segments_put(0, 1000, 1000);
    plumb_segments_put(0, 5000, 100);
    plumb_segments_put(1, 1000, 1000);
    plumb_blocks_holes(0, &free_bytes, &largest);
    assert_int_equal(free_bytes, 1100);
    assert_int_equal(largest, 1000);
    plumb_blocks_put(&(struct plumb_block){.address = 1100, .bytes = 200, .pool = 0});
    plumb_blocks_put(&(struct plumb_block){.address = 1300, .bytes = 100, .pool = 0});
    plumb_blocks_put(&(struct plumb_block){.address = 1900, .bytes = 100, .pool = 0});
    plumb_blocks_put(&(struct plumb_block){.address = 5000, .bytes = 100, .pool = 0});
    plumb_blocks_put(
        &(struct plumb_block){.address = 1500, .bytes = 100, .pool = 1}); /* another pool's */
    plumb_blocks_holes(0, &free_bytes, &largest);
    assert_int_equal(free_bytes, 100 + 500);
    assert_int_equal(largest, 500);
    assert_int_equal(plumb_segments_take(0, 1000), 1000);
    assert_int_equal(plumb_segments_take(0, 1000), 0);
    plumb_blocks_holes(0, &free_bytes, &largest);
    assert_int_equal(free_bytes, 0);
}

static void beyond_the_bound_nothing_is_put(void **state)
{
    uint64_t i = 1;
    struct plumb_block b;
    (void)state;
    plumb_rt.settings.max_state_bytes = 1 << 20;
    while (plumb_blocks_put(&(struct plumb_block){.address = i, .bytes = i, .pool = 0}))
        i++;
    assert_in_range(i, 1000, (1 << 20) / 4 / sizeof b);
    assert_true(plumb_blocks_take(0, 1, &b));
    assert_true(plumb_blocks_put(&b));
    assert_false(plumb_blocks_take(0, i, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(any_order_of_putting_and_taking, setup),
        cmocka_unit_test_setup(the_largest_come_first, setup),
        cmocka_unit_test_setup(holes_are_what_no_block_covers, setup),
        cmocka_unit_test_setup(beyond_the_bound_nothing_is_put, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
