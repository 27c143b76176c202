/* Motion: boxes lie round what changed and nothing else, also at the edges, in a fixed order; the
 * drawn boxes stay inside the picture. */
#include "motion.h"
#include "overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 100, HEIGHT = 76 }; /* cells at the right are 4 wide, at the bottom 4 high */

struct scene {
    struct frame_pool *pool;
    struct motion *motion;
    struct picture picture;
    struct box boxes[MOTION_MOST_BOXES];
};

static void clear(struct picture *p)
{
    memset(p->frame->data, 50, p->frame->bytes);
}

static void paint(struct picture *p, int x, int y, int width, int height, int luma)
{
    for (int j = y; j < y + height; j++)
        memset(p->plane[0] + j * p->stride[0] + x, luma, (size_t)width);
}

static int setup(void **state)
{
    static struct scene s;
    s.pool = frame_pool_open(4 << 20);
    s.motion = motion_open(s.pool, WIDTH, HEIGHT, 6, 2);
    assert_int_equal(picture_take(&s.picture, s.pool, WIDTH, HEIGHT), 0);
    clear(&s.picture);
    assert_int_equal(motion_find(s.motion, &s.picture, s.boxes), 0);
    *state = &s;
    return 0;
}

/* Every test releases its frames: the pool holds none at the end. */
static int teardown(void **state)
{
    struct scene *s = *state;
    motion_close(s->motion);
    frame_unref(s->picture.frame);
    return frame_pool_close(s->pool);
}

static void assert_box(const struct box *b, int x, int y, int width, int height, int cells)
{
    assert_int_equal(b->x, x);
    assert_int_equal(b->y, y);
    assert_int_equal(b->width, width);
    assert_int_equal(b->height, height);
    assert_int_equal(b->cells, cells);
}

static void what_stands_still_has_no_box(void **state)
{
    struct scene *s = *state;
    paint(&s->picture, 16, 16, 16, 16, 56); /* not more than the threshold */
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 0);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 0);
}

static void two_things_have_two_boxes(void **state)
{
    struct scene *s = *state;
    paint(&s->picture, 40, 24, 16, 8, 90);
    paint(&s->picture, 8, 48, 24, 16, 20);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 2);
    assert_box(&s->boxes[0], 40, 24, 16, 8, 2);
    assert_int_equal(s->boxes[0].difference, 40);
    assert_box(&s->boxes[1], 8, 48, 24, 16, 6);
    assert_int_equal(s->boxes[1].difference, 30);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 0);
    clear(&s->picture);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 2);
}

static void corners_touch_and_single_cells_do_not_count(void **state)
{
    struct scene *s = *state;
    paint(&s->picture, 32, 8, 8, 8, 90);
    paint(&s->picture, 24, 16, 8, 8, 90);
    paint(&s->picture, 40, 16, 8, 8, 90);
    paint(&s->picture, 64, 40, 8, 8, 90);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 1);
    assert_box(&s->boxes[0], 24, 8, 24, 16, 3);
}

static void the_whole_picture_is_one_box(void **state)
{
    struct scene *s = *state;
    paint(&s->picture, 0, 0, WIDTH, HEIGHT, 255);
    assert_int_equal(motion_find(s->motion, &s->picture, s->boxes), 1);
    assert_box(&s->boxes[0], 0, 0, WIDTH, HEIGHT, 13 * 10);
    assert_int_equal(s->boxes[0].difference, 205);
}

static void boxes_have_a_bound(void **state)
{
    struct scene *s = *state;
    struct motion *all = motion_open(s->pool, 320, 320, 0, 1);
    struct picture p;
    assert_int_equal(picture_take(&p, s->pool, 320, 320), 0);
    clear(&p);
    assert_int_equal(motion_find(all, &p, s->boxes), 0);
    for (int i = 0; i < 400; i++)
        paint(&p, i % 20 * 16, i / 20 * 16, 8, 8, 200);
    assert_int_equal(motion_find(all, &p, s->boxes), MOTION_MOST_BOXES);
    assert_box(&s->boxes[MOTION_MOST_BOXES - 1], 3 * 16, 3 * 16, 8, 8, 1);
    frame_unref(p.frame);
    motion_close(all);
}

static void drawn_boxes_stay_inside(void **state)
{
    struct scene *s = *state;
    const struct box boxes[] = {{.width = WIDTH, .height = HEIGHT},
                                {.x = 96, .y = 72, .width = 4, .height = 4}};
    const uint8_t *y = s->picture.plane[0], *u = s->picture.plane[1];
    const int stride = s->picture.stride[0], half = s->picture.stride[1];
    overlay_boxes(&s->picture, boxes, 2);
    for (int j = 0; j < HEIGHT; j++)
        for (int i = 0; i < stride; i++) {
            int edge = i < 2 || j < 2 || i >= WIDTH - 2 || j >= HEIGHT - 2;
            int second = i >= 96 && j >= 72;
            assert_int_equal(y[j * stride + i], i < WIDTH && (edge || second) ? 235 : 50);
        }
    assert_int_equal(u[0], 128);
    assert_int_equal(u[(HEIGHT / 2 - 1) * half + WIDTH / 2 - 1], 128);
    assert_int_equal(u[half + 1], 50);
    assert_int_equal(u[WIDTH / 2], 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_stands_still_has_no_box, setup, teardown),
        cmocka_unit_test_setup_teardown(two_things_have_two_boxes, setup, teardown),
        cmocka_unit_test_setup_teardown(corners_touch_and_single_cells_do_not_count, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_whole_picture_is_one_box, setup, teardown),
        cmocka_unit_test_setup_teardown(boxes_have_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(drawn_boxes_stay_inside, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
