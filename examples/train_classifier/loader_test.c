/* The loader: order, equal bytes for any number of threads, passes cut short.
 * link: none
 */
#include "loader.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { COUNT = 83, BATCH = 8 }; /* the last batch has 3 */

struct all {
    real pixels[COUNT * DIGITS_PIXELS];
    int labels[COUNT];
};

static void read_pass(struct loader *l, const struct pass *pass, struct all *out)
{
    int batches = loader_begin(l, pass), n = 0;

    for (int i = 0; i < batches; i++) {
        const struct batch *b = loader_next(l);
        assert_int_equal(b->rows, n + BATCH <= pass->count ? BATCH : pass->count - n);
        memcpy(out->pixels + n * DIGITS_PIXELS, b->pixels,
               (size_t)b->rows * DIGITS_PIXELS * sizeof(real));
        memcpy(out->labels + n, b->labels, (size_t)b->rows * sizeof(int));
        n += b->rows;
    }
    assert_int_equal(n, pass->count);
    assert_null(loader_next(l));
    assert_null(loader_next(l));
}

static void any_number_of_threads_gives_the_same_pictures(void **state)
{
    static struct all expected, got;
    const struct pass pass = {.set = DIGITS_TRAIN, .seed = 5, .first = 100, .count = COUNT};
    (void)state;

    for (int i = 0; i < COUNT; i++)
        expected.labels[i] =
            digits_draw(expected.pixels + i * DIGITS_PIXELS, 5, DIGITS_TRAIN, 100 + i);
    for (int threads = 0; threads <= 4; threads++) {
        struct loader *l = loader_open(threads, BATCH);
        assert_non_null(l);
        for (int again = 0; again < 3; again++) {
            memset(&got, 0, sizeof got);
            read_pass(l, &pass, &got);
            assert_memory_equal(&got, &expected, sizeof got);
        }
        loader_close(l);
    }
}

static void a_random_order_has_every_picture_once_and_differs_by_index(void **state)
{
    int order[COUNT], other[COUNT], seen[COUNT] = {0};
    struct random r = random_of(1, RANDOM_SHUFFLE, 1), another = random_of(1, RANDOM_SHUFFLE, 2);
    (void)state;

    random_order(&r, order, COUNT);
    random_order(&another, other, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_in_range(order[i], 0, COUNT - 1);
        seen[order[i]]++;
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(seen[i], 1);
    assert_memory_not_equal(order, other, sizeof order);
}

static void an_order_is_followed(void **state)
{
    static struct all got;
    int order[COUNT];
    struct loader *l = loader_open(2, BATCH);
    const struct pass pass = {
        .set = DIGITS_VAL, .seed = 1, .first = 20, .count = COUNT, .order = order};
    (void)state;

    for (int i = 0; i < COUNT; i++)
        order[i] = COUNT - 1 - i;
    read_pass(l, &pass, &got);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(got.labels[i], (20 + order[i]) % DIGITS_CLASSES);
    loader_close(l);
}

static void pictures_differ_by_seed_set_and_index(void **state)
{
    static real a[DIGITS_PIXELS], b[DIGITS_PIXELS];
    (void)state;

    digits_draw(a, 1, DIGITS_TRAIN, 3);
    digits_draw(b, 1, DIGITS_TRAIN, 3);
    assert_memory_equal(a, b, sizeof a);
    digits_draw(b, 2, DIGITS_TRAIN, 3);
    assert_memory_not_equal(a, b, sizeof a);
    digits_draw(b, 1, DIGITS_VAL, 3);
    assert_memory_not_equal(a, b, sizeof a);
    digits_draw(b, 1, DIGITS_TRAIN, 13);
    assert_memory_not_equal(a, b, sizeof a);
}

static void a_pass_may_be_cut_short(void **state)
{
    const struct pass pass = {.set = DIGITS_TEST, .count = COUNT};
    (void)state;

    for (int read = 0; read < 4; read++) {
        struct loader *l = loader_open(3, BATCH);
        loader_begin(l, &pass);
        for (int i = 0; i < read; i++)
            assert_non_null(loader_next(l));
        loader_close(l);
    }
    loader_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_pictures),
        cmocka_unit_test(a_random_order_has_every_picture_once_and_differs_by_index),
        cmocka_unit_test(an_order_is_followed),
        cmocka_unit_test(pictures_differ_by_seed_set_and_index),
        cmocka_unit_test(a_pass_may_be_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
