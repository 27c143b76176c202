/* svg_roofs.c: the axes of the chart, and the roofs: a slope for the memory bandwidth, a level for
 * the arithmetic of each type, of all cores and of one. Labels of levels stand to the right of the
 * plot, moved apart where peaks lie close to each other, with a line to what they name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/decimal.h"
#include "report/picture/svg.h"
#include "report/roofline/svg_parts.h"
#include "summary/cells.h"

enum { LINE = 15 }; /* of text */

void plumb_roof_put_px(struct plumb_buf *out, double px)
{
    char number[40];
    snprintf(number, sizeof number, "%.1f", px);
    plumb_decimal_point(number);
    plumb_buf_str(out, number);
}

static void put_line(struct plumb_buf *out, const char *style, double x1, double y1, double x2,
                     double y2)
{
    plumb_buf_printf(out, "<line class=\"%s\"", style);
    plumb_svg_attribute(out, "x1", x1);
    plumb_svg_attribute(out, "y1", y1);
    plumb_svg_attribute(out, "x2", x2);
    plumb_svg_attribute(out, "y2", y2);
    plumb_buf_str(out, "/>\n");
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static void begin_tick(struct plumb_buf *out, double x, double y, const char *anchor)
{
    plumb_buf_printf(out, "<text class=\"q\" text-anchor=\"%s\"", anchor);
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
}

static void end_tick(struct plumb_buf *out, int decade)
{
    plumb_log_axis_label(out, decade);
    plumb_buf_str(out, "</text>\n");
}

static void put_minor(const struct plumb_roof_chart *c, const struct plumb_log_axis *axis, int d,
                      bool upright)
{
    for (int i = 2; i < 10 && d < axis->high; i++) {
        double px = plumb_log_axis_px(axis, i * pow(10, d));
        if (upright)
            put_line(c->out, "m", px, c->plot.bottom, px, c->plot.bottom - 4);
        else
            put_line(c->out, "m", c->plot.left, px, c->plot.left + 4, px);
    }
}

void plumb_roof_put_axes(const struct plumb_roof_chart *c)
{
    int every = plumb_log_axis_every(&c->x, 60);
    for (int d = c->x.low; d <= c->x.high; d++) {
        double px = plumb_log_axis_px(&c->x, pow(10, d));
        put_line(c->out, "g", px, c->plot.top, px, c->plot.bottom);
        put_minor(c, &c->x, d, true);
        if ((d - c->x.low) % every)
            continue;
        begin_tick(c->out, px, c->plot.bottom + LINE, "middle");
        end_tick(c->out, d);
    }
    every = plumb_log_axis_every(&c->y, 24);
    for (int d = c->y.low; d <= c->y.high; d++) {
        double px = plumb_log_axis_px(&c->y, pow(10, d));
        put_line(c->out, "g", c->plot.left, px, c->plot.right, px);
        put_minor(c, &c->y, d, false);
        if ((d - c->y.low) % every)
            continue;
        begin_tick(c->out, c->plot.left - 6, px + 4, "end");
        end_tick(c->out, d);
    }
    plumb_buf_str(c->out, "<rect class=\"f\"");
    plumb_svg_attribute(c->out, "x", c->plot.left);
    plumb_svg_attribute(c->out, "y", c->plot.top);
    plumb_svg_attribute(c->out, "width", c->plot.right - c->plot.left);
    plumb_svg_attribute(c->out, "height", c->plot.bottom - c->plot.top);
    plumb_buf_str(c->out, "/>\n<text class=\"h\" text-anchor=\"middle\"");
    plumb_svg_attribute(c->out, "x", (c->plot.left + c->plot.right) / 2);
    plumb_svg_attribute(c->out, "y", c->plot.bottom + 2.4 * LINE);
    plumb_buf_str(c->out, ">intensity (FLOP/B)</text>\n<text class=\"h\" text-anchor=\"middle\""
                          " transform=\"translate(20 ");
    plumb_roof_put_px(c->out, (c->plot.top + c->plot.bottom) / 2);
    plumb_buf_str(c->out, ") rotate(-90)\">achieved (GFLOP/s)</text>\n");
}

/* ---- Roofs ----------------------------------------------------------------------------------- */

struct level {
    enum plumb_peak_type type;
    enum plumb_peak_span span;
    double rate, y, label; /* GFLOP/s, px, px */
};

/* The intensity from which on the level is below the slope; 0: there is no slope. */
static double ridge_of(const struct plumb_roof_chart *c, double rate, enum plumb_peak_span span)
{
    double bytes = c->p->v->peaks->bandwidth[span].rate * 1e-9;
    return bytes > 0 ? rate / bytes : 0;
}

static int by_label(const void *a, const void *b)
{
    const struct level *x = a, *y = b;
    if (x->y < y->y || x->y > y->y)
        return x->y < y->y ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->span > y->span ? -1 : x->span < y->span;
}

static size_t find_levels(struct level *levels, const struct plumb_roof_chart *c)
{
    size_t n = 0;
    double at[2 * PLUMB_PEAK_TYPES];
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
        for (int s = 0; s < PLUMB_PEAK_SPANS; s++) {
            double rate = c->p->v->peaks->compute[i][s].rate * 1e-9;
            if (plumb_log_axis_has(&c->y, rate))
                levels[n++] = (struct level){(enum plumb_peak_type)i, (enum plumb_peak_span)s, rate,
                                             plumb_log_axis_px(&c->y, rate), 0};
        }
    }
    qsort(levels, n, sizeof *levels, by_label);
    for (size_t i = 0; i < n; i++)
        at[i] = levels[i].y;
    plumb_spread(at, n, LINE, c->plot.top, c->plot.bottom);
    for (size_t i = 0; i < n; i++)
        levels[i].label = at[i];
    return n;
}

static const char *span_name(enum plumb_peak_span span)
{
    return span == PLUMB_PEAK_ALL ? "all cores" : "one core";
}

static void put_rate(struct plumb_buf *out, double rate, const char *unit)
{
    plumb_put_fixed(out, rate, rate < 10 ? 2 : rate < 100 ? 1 : 0, 0);
    plumb_buf_printf(out, " %s", unit);
}

static void put_level(const struct plumb_roof_chart *c, const struct level *l)
{
    double ridge = ridge_of(c, l->rate, l->span);
    double from = ridge > 0 ? plumb_log_axis_px(&c->x, ridge) : c->plot.left;
    char style[16];
    snprintf(style, sizeof style, "r k%d%s%s", (int)l->type, l->span == PLUMB_PEAK_ONE ? " o" : "",
             c->used[l->type] ? "" : " u");
    put_line(c->out, style, from, l->y, c->plot.right, l->y);
    plumb_buf_printf(c->out, "<path class=\"e k%d\" d=\"M", (int)l->type);
    plumb_roof_put_px(c->out, c->plot.right);
    plumb_buf_char(c->out, ' ');
    plumb_roof_put_px(c->out, l->y);
    plumb_buf_char(c->out, 'L');
    plumb_roof_put_px(c->out, c->plot.right + 14);
    plumb_buf_char(c->out, ' ');
    plumb_roof_put_px(c->out, l->label);
    plumb_buf_printf(c->out, "\"/>\n<text class=\"l%s\"", c->used[l->type] ? "" : " q");
    plumb_svg_attribute(c->out, "x", c->plot.right + 18);
    plumb_svg_attribute(c->out, "y", l->label + 4);
    plumb_buf_printf(c->out, ">%s, %s: ", plumb_peak_type_name(l->type), span_name(l->span));
    put_rate(c->out, l->rate, "GFLOP/s");
    plumb_buf_str(c->out, "</text>\n");
}

/* A text along a slope, from its left end on. */
struct slanted {
    double x, y, angle, off, width; /* px, radians; `off` below the slope */
};

/* The box of a part of it, as it stands askew. */
static struct plumb_box part_of(const struct slanted *t, double at)
{
    double middle = t->off < 0 ? t->off - 4 : t->off - 6;
    double x = t->x + at * cos(t->angle) - middle * sin(t->angle);
    double y = t->y + at * sin(t->angle) + middle * cos(t->angle);
    return (struct plumb_box){x - 8, y - 9, x + 8, y + 9};
}

enum { PART = 12 };

static bool is_free(const struct plumb_roof_chart *c, const struct slanted *t)
{
    for (double at = 0; at < t->width + PART; at += PART) {
        struct plumb_box box = part_of(t, at);
        if (!plumb_boxes_free(&c->taken, &box))
            return false;
    }
    return true;
}

/* The first free place, from the upper end of the slope down; the upper end if all are taken. */
static struct slanted place_label(const struct plumb_roof_chart *c, const struct plumb_box *slope,
                                  double width, double off)
{
    double angle = atan2(slope->top - slope->bottom, slope->right - slope->left);
    double length = hypot(slope->top - slope->bottom, slope->right - slope->left);
    struct slanted first = {0, 0, angle, off, width};
    for (double at = length - width - 10; at >= 4 || at == length - width - 10; at -= PART) {
        struct slanted t = first;
        t.x = slope->left + (at > 0 ? at : 0) * cos(angle);
        t.y = slope->bottom + (at > 0 ? at : 0) * sin(angle);
        if (is_free(c, &t))
            return t;
        if (at == length - width - 10)
            first.x = t.x, first.y = t.y;
    }
    return first;
}

static void put_slope_label(struct plumb_roof_chart *c, enum plumb_peak_span span, double bytes,
                            const struct plumb_box *slope)
{
    struct plumb_buf text = {0};
    plumb_buf_printf(&text, "memory, %s: ", span_name(span));
    put_rate(&text, bytes, "GB/s");
    const char *words = text.data ? text.data : "";
    /* one core below its line, all cores above */
    struct slanted t =
        place_label(c, slope, plumb_svg_width(words), span == PLUMB_PEAK_ALL ? -5 : 14);
    plumb_buf_str(c->out, "<text class=\"l\" transform=\"translate(");
    plumb_roof_put_px(c->out, t.x);
    plumb_buf_char(c->out, ' ');
    plumb_roof_put_px(c->out, t.y);
    plumb_buf_str(c->out, ") rotate(");
    plumb_roof_put_px(c->out, t.angle * 57.29577951308232);
    plumb_buf_str(c->out, ")\"");
    plumb_svg_attribute(c->out, "dy", t.off);
    plumb_buf_char(c->out, '>');
    plumb_svg_text(c->out, words);
    plumb_buf_str(c->out, "</text>\n");
    for (double at = 0; at < t.width + PART; at += PART)
        plumb_boxes_add(&c->taken, part_of(&t, at));
    c->out->failed |= text.failed;
    plumb_buf_fini(&text);
}

/* From the lower left edge of the plot up to the highest level. */
static void put_slope(struct plumb_roof_chart *c, enum plumb_peak_span span)
{
    double bytes = c->p->v->peaks->bandwidth[span].rate * 1e-9;
    double top = 0, x1 = pow(10, c->x.low), y1 = bytes * x1;
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
        double rate = c->p->v->peaks->compute[i][span].rate * 1e-9;
        top = rate > top ? rate : top;
    }
    if (!(bytes > 0))
        return;
    if (y1 < pow(10, c->y.low)) {
        y1 = pow(10, c->y.low);
        x1 = y1 / bytes;
    }
    double x2 = top > 0 ? top / bytes : pow(10, c->x.high);
    x2 = x2 < pow(10, c->x.high) ? x2 : pow(10, c->x.high);
    double y2 = x2 * bytes;
    if (y2 > pow(10, c->y.high)) {
        y2 = pow(10, c->y.high);
        x2 = y2 / bytes;
    }
    if (!(x1 < x2) || y1 > pow(10, c->y.high))
        return;
    struct plumb_box slope = {plumb_log_axis_px(&c->x, x1), plumb_log_axis_px(&c->y, y2),
                              plumb_log_axis_px(&c->x, x2), plumb_log_axis_px(&c->y, y1)};
    put_line(c->out, span == PLUMB_PEAK_ONE ? "r w o" : "r w", slope.left, slope.bottom,
             slope.right, slope.top);
    put_slope_label(c, span, bytes, &slope);
}

void plumb_roof_put_roofs(struct plumb_roof_chart *c)
{
    struct level levels[2 * PLUMB_PEAK_TYPES];
    size_t n = find_levels(levels, c);
    for (size_t i = 0; i < n; i++) {
        put_level(c, &levels[i]);
        double from = plumb_log_axis_px(&c->x, ridge_of(c, levels[i].rate, levels[i].span));
        struct plumb_box line = {from, levels[i].y - 2, c->plot.right, levels[i].y + 2};
        if (c->used[levels[i].type])
            plumb_boxes_add(&c->taken, line);
    }
    put_slope(c, PLUMB_PEAK_ALL);
    put_slope(c, PLUMB_PEAK_ONE);
}
