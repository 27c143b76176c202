/* svg_scale.c: logarithmic axes, and places for labels that overlap nothing. See svg_parts.h. */
#include <math.h>
#include <stdlib.h>

#include "report/roofline/svg_parts.h"

enum { LOWEST = -9, HIGHEST = 12, PLAIN_LOW = -4, PLAIN_HIGH = 5 };

/* ---- Scales ---------------------------------------------------------------------------------- */

void plumb_log_range_add(struct plumb_log_range *range, double value)
{
    if (!(value > 0) || isinf(value))
        return;
    range->least = range->least > 0 && range->least < value ? range->least : value;
    range->most = range->most > value ? range->most : value;
}

static int decade(double value, bool above)
{
    double d = log10(value);
    d = above ? ceil(d - 1e-9) : floor(d + 1e-9);
    return d < LOWEST ? LOWEST : d > HIGHEST ? HIGHEST : (int)d;
}

struct plumb_log_axis plumb_log_axis_of(const struct plumb_log_range *range, double from, double to)
{
    struct plumb_log_axis axis = {-1, 1, from, to};
    if (range->least > 0) {
        axis.low = decade(range->least, false);
        axis.high = decade(range->most, true);
    }
    while (axis.high - axis.low < 2) {
        if (axis.low > LOWEST)
            axis.low--;
        if (axis.high - axis.low < 2 && axis.high < HIGHEST)
            axis.high++;
    }
    return axis;
}

bool plumb_log_axis_has(const struct plumb_log_axis *axis, double value)
{
    double d = value > 0 ? log10(value) : -INFINITY;
    return d >= axis->low - 1e-9 && d <= axis->high + 1e-9;
}

double plumb_log_axis_px(const struct plumb_log_axis *axis, double value)
{
    double share = (log10(value) - axis->low) / (axis->high - axis->low);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return axis->from + share * (axis->to - axis->from);
}

void plumb_log_axis_label(struct plumb_buf *out, int d)
{
    if (d < PLAIN_LOW || d > PLAIN_HIGH) {
        plumb_buf_printf(out, "1e%d", d);
        return;
    }
    plumb_buf_str(out, d < 0 ? "0." : "1");
    for (int i = d; i < -1; i++)
        plumb_buf_char(out, '0');
    for (int i = 0; i < d; i++)
        plumb_buf_char(out, '0');
    if (d < 0)
        plumb_buf_char(out, '1');
}

int plumb_log_axis_every(const struct plumb_log_axis *axis, double px)
{
    double one = fabs(axis->to - axis->from) / (axis->high - axis->low);
    int every = 1;
    while (every * one < px)
        every++;
    return every;
}

/* ---- Places ---------------------------------------------------------------------------------- */

void plumb_boxes_add(struct plumb_boxes *boxes, struct plumb_box box)
{
    if (boxes->count == boxes->cap) {
        size_t cap = boxes->cap ? 2 * boxes->cap : 64;
        struct plumb_box *at = realloc(boxes->at, cap * sizeof *at);
        if (!at) {
            boxes->failed = true;
            return;
        }
        boxes->at = at;
        boxes->cap = cap;
    }
    boxes->at[boxes->count++] = box;
}

bool plumb_boxes_free(const struct plumb_boxes *boxes, const struct plumb_box *box)
{
    for (size_t i = 0; i < boxes->count; i++) {
        const struct plumb_box *other = &boxes->at[i];
        if (box->left < other->right && other->left < box->right && box->top < other->bottom &&
            other->top < box->bottom)
            return false;
    }
    return true;
}

bool plumb_boxes_place(struct plumb_box *out, struct plumb_boxes *boxes,
                       const struct plumb_box *inside, double x, double y, double radius,
                       double width, double height)
{
    /* right, left, above, below, then the corners */
    static const double sides[][2] = {{1, 0},  {-1, 0}, {0, -1},  {0, 1},
                                      {1, -1}, {1, 1},  {-1, -1}, {-1, 1}};
    static const double distances[] = {3, 12, 24, 40, 60, 90};
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            double away = radius + distances[d];
            double cx = x + sides[s][0] * (away + width / 2);
            double cy = y + sides[s][1] * (away + height / 2);
            struct plumb_box box = {cx - width / 2, cy - height / 2, cx + width / 2,
                                    cy + height / 2};
            if (box.left < inside->left || box.right > inside->right || box.top < inside->top ||
                box.bottom > inside->bottom || !plumb_boxes_free(boxes, &box))
                continue;
            plumb_boxes_add(boxes, box);
            *out = box;
            return true;
        }
    }
    return false;
}

void plumb_boxes_fini(struct plumb_boxes *boxes)
{
    free(boxes->at);
    *boxes = (struct plumb_boxes){.at = NULL};
}

void plumb_spread(double *at, size_t n, double apart, double low, double high)
{
    for (size_t i = 0; i < n; i++) {
        double least = i > 0 ? at[i - 1] + apart : low;
        at[i] = at[i] > least ? at[i] : least;
    }
    for (size_t i = n; i-- > 0;) {
        double most = i + 1 < n ? at[i + 1] - apart : high;
        at[i] = at[i] < most ? at[i] : most;
    }
}
