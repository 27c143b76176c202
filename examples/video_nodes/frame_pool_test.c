/* The frame pool: free slots are used again, references count, the bound holds, and frames that
 * were not returned are reported. */
#include "frame_pool.h"
#include "picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_frame_goes_back_with_its_last_reference(void **state)
{
    struct frame_pool *pool = frame_pool_open(1 << 20);
    struct frame *first = frame_pool_take(pool, 1000), *second;
    (void)state;
    frame_ref(first);
    frame_unref(first);
    second = frame_pool_take(pool, 1000);
    assert_ptr_not_equal(first, second);
    assert_int_equal(frame_pool_usage(pool).held, 2);
    frame_unref(first);
    assert_int_equal(frame_pool_usage(pool).held, 1);
    assert_ptr_equal(frame_pool_take(pool, 1000), first);
    frame_unref(first);
    frame_unref(second);
    frame_unref(NULL);
    assert_int_equal(frame_pool_usage(pool).most_held, 2);
    assert_int_equal(frame_pool_usage(pool).taken, 3);
    assert_int_equal(frame_pool_close(pool), 0);
}

static void frames_are_aligned_and_apart(void **state)
{
    struct frame_pool *pool = frame_pool_open(1 << 20);
    struct frame *frames[2 * FRAME_POOL_SLOTS];
    (void)state;
    for (int i = 0; i < 2 * FRAME_POOL_SLOTS; i++) {
        frames[i] = frame_pool_take(pool, 100);
        assert_int_equal((uintptr_t)frames[i]->data % FRAME_POOL_ALIGNMENT, 0);
        memset(frames[i]->data, i, 100);
    }
    for (int i = 0; i < 2 * FRAME_POOL_SLOTS; i++) {
        for (int j = 0; j < 100; j++)
            assert_int_equal(frames[i]->data[j], i);
        frame_unref(frames[i]);
    }
    assert_int_equal(frame_pool_usage(pool).segments, 2);
    assert_int_equal(frame_pool_usage(pool).reserved_bytes, 2 * FRAME_POOL_SLOTS * 128);
    assert_int_equal(frame_pool_close(pool), 0);
}

static void sizes_have_segments_of_their_own(void **state)
{
    struct frame_pool *pool = frame_pool_open(1 << 20);
    struct frame *small = frame_pool_take(pool, 64), *large = frame_pool_take(pool, 4096);
    (void)state;
    frame_unref(small);
    frame_unref(large);
    assert_ptr_equal(frame_pool_take(pool, 4090), large);
    assert_ptr_equal(frame_pool_take(pool, 1), small);
    assert_int_equal(frame_pool_usage(pool).segments, 2);
    assert_int_equal(frame_pool_close(pool), 2);
}

static void the_bound_holds(void **state)
{
    struct frame_pool *pool = frame_pool_open(FRAME_POOL_SLOTS * 1024);
    (void)state;
    for (int i = 0; i < FRAME_POOL_SLOTS; i++)
        assert_non_null(frame_pool_take(pool, 1024));
    assert_null(frame_pool_take(pool, 1024));
    assert_null(frame_pool_take(pool, 1));
    assert_null(frame_pool_take(pool, 0));
    assert_null(frame_pool_take(pool, SIZE_MAX));
    assert_int_equal(frame_pool_close(pool), FRAME_POOL_SLOTS);
    assert_int_equal(frame_pool_close(NULL), 0);
}

static void the_planes_of_a_picture_fit_its_frame(void **state)
{
    struct frame_pool *pool = frame_pool_open(1 << 20);
    struct picture p;
    (void)state;
    assert_int_equal(picture_take(&p, pool, 50, 34), 0);
    assert_true(p.stride[0] >= 50 && p.stride[1] >= 25 && p.stride[1] == p.stride[2]);
    assert_true(p.plane[0] == p.frame->data);
    assert_true(p.plane[0] + 34 * p.stride[0] <= p.plane[1]);
    assert_true(p.plane[1] + 17 * p.stride[1] <= p.plane[2]);
    assert_true(p.plane[2] + 17 * p.stride[2] <= p.frame->data + p.frame->bytes);
    frame_unref(p.frame);
    assert_int_equal(picture_take(&p, pool, 4096, 4096), -1);
    assert_int_equal(frame_pool_close(pool), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_goes_back_with_its_last_reference),
        cmocka_unit_test(frames_are_aligned_and_apart),
        cmocka_unit_test(sizes_have_segments_of_their_own),
        cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(the_planes_of_a_picture_fit_its_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
