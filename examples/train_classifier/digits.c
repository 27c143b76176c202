/* Owns the drawing of digits: ten shapes of straight strokes, the hand that bends them, and the pen
 * that turns strokes into pixels. */
#include "digits.h"

#include "random.h"

#include <math.h>

/* One line without lifting the pen, from point to point on a grid of ten by ten: "51" is x 5, y 1,
 * counted from the upper left. */
static const char *const shapes[DIGITS_CLASSES] = {
    "51 32 25 38 59 78 85 72 51", "33 51 59",          "23 31 61 73 65 29 79",
    "22 51 73 64 45 66 77 59 28", "61 26 86 66 64 69", "71 31 35 54 76 68 49 28",
    "71 42 25 38 59 78 76 55 36", "21 71 49",          "55 34 32 51 72 74 55 36 38 59 78 76 55",
    "74 55 34 32 51 72 74 67 59",
};
enum { MAX_POINTS = 13 };

struct point {
    float x, y;
};

/* How one picture's hand writes. */
struct hand {
    float slant, turn_sin, turn_cos, width, height, shift_x, shift_y, shake;
};

static float between(struct random *r, double least, double most)
{
    return (float)random_between(r, least, most);
}

static struct hand hand_of(struct random *r)
{
    float turn = between(r, -0.2, 0.2);

    return (struct hand){
        .slant = between(r, -0.3, 0.3),
        .turn_sin = sinf(turn),
        .turn_cos = cosf(turn),
        .width = between(r, 0.7, 1.1),
        .height = between(r, 0.7, 1.1),
        .shift_x = between(r, -0.08, 0.08),
        .shift_y = between(r, -0.08, 0.08),
        .shake = 0.03f,
    };
}

/* From the grid to pixels. */
static struct point bend(const struct hand *h, struct random *r, const char *at)
{
    float x = (float)(at[0] - '0') * 0.1f - 0.5f + between(r, -h->shake, h->shake);
    float y = (float)(at[1] - '0') * 0.1f - 0.5f + between(r, -h->shake, h->shake);

    x = h->width * (x - h->slant * y);
    y = h->height * y;
    return (struct point){
        .x = (float)DIGITS_SIDE * (0.5f + h->shift_x + h->turn_cos * x - h->turn_sin * y),
        .y = (float)DIGITS_SIDE * (0.5f + h->shift_y + h->turn_sin * x + h->turn_cos * y),
    };
}

static int bend_shape(struct point *points, int digit, struct random *r)
{
    const struct hand h = hand_of(r);
    int n = 0;

    for (const char *at = shapes[digit];; at += 3) {
        points[n++] = bend(&h, r, at);
        if (!at[2])
            return n;
    }
}

/* The square of the distance from p to the stroke between a and b. */
static float distance_squared(struct point p, struct point a, struct point b)
{
    float along_x = b.x - a.x, along_y = b.y - a.y, x = p.x - a.x, y = p.y - a.y;
    float length_squared = along_x * along_x + along_y * along_y;
    float t = length_squared > 0.0f ? (x * along_x + y * along_y) / length_squared : 0.0f;

    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    x -= t * along_x;
    y -= t * along_y;
    return x * x + y * y;
}

/* 1 within the pen's radius of a stroke, falling to 0 over the width of a pixel. */
static float ink_at(struct point p, const struct point *points, int n, float radius)
{
    float nearest = INFINITY, ink;

    for (int i = 0; i + 1 < n; i++)
        nearest = fminf(nearest, distance_squared(p, points[i], points[i + 1]));
    ink = radius + 0.5f - sqrtf(nearest);
    return ink < 0.0f ? 0.0f : ink > 1.0f ? 1.0f : ink;
}

int digits_draw(real *pixels, uint64_t seed, enum digits_set set, int index)
{
    struct random r = random_of(seed, RANDOM_DIGIT, (uint64_t)set << 32 | (uint32_t)index);
    struct point points[MAX_POINTS];
    int digit = index % DIGITS_CLASSES;
    int n = bend_shape(points, digit, &r);
    float radius = between(&r, 0.3, 1.2);

    for (int i = 0; i < DIGITS_PIXELS; i++) {
        struct point centre = {(float)(i % DIGITS_SIDE) + 0.5f, (float)(i / DIGITS_SIDE) + 0.5f};
        pixels[i] = (real)(ink_at(centre, points, n, radius) + between(&r, -.3, .3));
    }
    return digit;
}
