/* svg.c: relative drift over layers and steps as a picture. Above, the drift of each output of a
 * layer, gradients too, on a logarithmic axis: the highest of all steps as a band, that of the
 * culprit's step as a line, the tolerance, the culprit. Below, if there are several steps, a field
 * of colours: layers to the right, steps downwards. Each phase, and its gradients, has a heading.
 *
 * Layers and steps that do not fit share a column or a row, which shows the highest of them, so
 * that the size of the picture is bounded and no peak is lost. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diverge/view.h"
#include "report/picture/svg.h"
#include "summary/cells.h"

enum {
    WIDTH = 1200,
    LEFT = 150, /* names that stand askew end here */
    INNER = 1030,
    LINE = 16,      /* of text */
    MOST_LINES = 4, /* of the title */
    HEAD = 50,      /* legend and headings of phases */
    PLOT = 240,
    NAMES = 130, /* height of the names of layers */
    MOST_COLUMNS = 340,
    MOST_ROWS = 64,
    ROW = 9,
    MOST_LABELS = 24,
    LOW = -9, /* decades of the axis */
    HIGH = 1,
    NAME_PX = 1500
};

struct picture {
    const struct plumb_diverge_sheet *s;
    struct plumb_buf *out;
    uint32_t *column_of; /* [site_count] of A; PLUMB_DIVERGE_NONE: no output with a partner */
    uint32_t *site_at;   /* [columns]: the first site of each */
    uint32_t sites, columns;
    int64_t *steps; /* sorted */
    size_t step_count;
    size_t rows;
    float *field;   /* [rows][columns]: highest drift; below 0: no value */
    float *highest; /* [columns] */
    float *chosen;  /* [columns]: of the culprit's step */
    size_t chosen_step;
    double top;       /* of the plot */
    double allowed;   /* the tolerance at the culprit */
    uint32_t culprit; /* its column, or PLUMB_DIVERGE_NONE */
};

/* ---- What is shown --------------------------------------------------------------------------- */

static const struct plumb_diverge_side *side_a(const struct picture *p)
{
    return &p->s->d->sides[PLUMB_DIVERGE_A];
}

static int64_t step_of(const struct picture *p, uint32_t a)
{
    const struct plumb_activations *t = side_a(p)->t;
    if (!plumb_activations_has(t, a, PLUMB_ACT_STEP))
        return -1;
    return t->step ? t->step[a] : 0;
}

static int by_step(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x;
    int64_t b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static bool find_steps(struct picture *p)
{
    const struct plumb_activations *t = side_a(p)->t;
    size_t n = 0;
    p->steps = malloc(t->count * sizeof *p->steps);
    if (!p->steps)
        return false;
    /* Runs of one step are kept once, so that there is little to sort. */
    for (uint32_t i = 0; i < t->count; i++)
        if (n == 0 || step_of(p, i) != p->steps[n - 1])
            p->steps[n++] = step_of(p, i);
    qsort(p->steps, n, sizeof *p->steps, by_step);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || p->steps[i] != p->steps[p->step_count - 1])
            p->steps[p->step_count++] = p->steps[i];
    p->rows = p->step_count < MOST_ROWS ? p->step_count : MOST_ROWS;
    return true;
}

static size_t place_of_step(const struct picture *p, int64_t step)
{
    const int64_t *at = bsearch(&step, p->steps, p->step_count, sizeof *at, by_step);
    return at ? (size_t)(at - p->steps) : 0;
}

static bool find_columns(struct picture *p)
{
    const struct plumb_diverge_side *a = side_a(p);
    p->column_of = malloc((size_t)a->site_count * sizeof *p->column_of);
    if (!p->column_of)
        return false;
    uint32_t culprit = p->s->d->culprit.a;
    uint32_t own = culprit == PLUMB_DIVERGE_NONE ? culprit : a->site_of[culprit];
    for (uint32_t k = 0; k < a->site_count; k++) {
        bool shown =
            (a->sites[k].io == PLUMB_ACT_OUT || a->sites[k].io == PLUMB_ACT_GRAD || k == own) &&
            a->sites[k].partner != PLUMB_DIVERGE_NONE;
        p->column_of[k] = shown ? p->sites++ : PLUMB_DIVERGE_NONE;
    }
    p->columns = p->sites < MOST_COLUMNS ? p->sites : MOST_COLUMNS;
    p->site_at = malloc(((size_t)p->columns + 1) * sizeof *p->site_at);
    if (!p->site_at)
        return false;
    for (uint32_t k = a->site_count; k-- > 0;) {
        if (p->column_of[k] == PLUMB_DIVERGE_NONE)
            continue;
        p->column_of[k] = (uint32_t)((uint64_t)p->column_of[k] * p->columns / p->sites);
        p->site_at[p->column_of[k]] = k;
    }
    return true;
}

static void keep_highest(float *at, float value)
{
    if (value > *at)
        *at = value;
}

static bool fill(struct picture *p)
{
    const struct plumb_diverge *d = p->s->d;
    size_t cells = p->rows * p->columns;
    uint32_t culprit = d->culprit.a;
    p->field = malloc((cells + 1) * sizeof *p->field);
    p->highest = malloc(((size_t)p->columns + 1) * sizeof *p->highest);
    p->chosen = malloc(((size_t)p->columns + 1) * sizeof *p->chosen);
    if (!p->field || !p->highest || !p->chosen)
        return false;
    for (size_t i = 0; i < cells; i++)
        p->field[i] = -1;
    for (uint32_t i = 0; i < p->columns; i++)
        p->highest[i] = p->chosen[i] = -1;
    p->chosen_step = culprit == PLUMB_DIVERGE_NONE ? 0 : place_of_step(p, step_of(p, culprit));
    for (uint32_t i = 0; i < side_a(p)->t->count; i++) {
        uint32_t column = p->column_of[side_a(p)->site_of[i]];
        if (column == PLUMB_DIVERGE_NONE || d->cells[i].verdict == PLUMB_SAID_NOTHING)
            continue;
        size_t step = place_of_step(p, step_of(p, i));
        keep_highest(&p->field[step * p->rows / p->step_count * p->columns + column],
                     d->cells[i].drift);
        keep_highest(&p->highest[column], d->cells[i].drift);
        if (step == p->chosen_step)
            keep_highest(&p->chosen[column], d->cells[i].drift);
    }
    p->culprit =
        culprit == PLUMB_DIVERGE_NONE ? culprit : p->column_of[side_a(p)->site_of[culprit]];
    uint32_t any = culprit != PLUMB_DIVERGE_NONE ? culprit : d->widest;
    p->allowed = any == PLUMB_DIVERGE_NONE || side_a(p)->partner[any] == PLUMB_DIVERGE_NONE
                     ? 0
                     : plumb_diverge_tolerance(p->s->d, any, side_a(p)->partner[any]).relative;
    return true;
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static double x_of(const struct picture *p, double column)
{
    return LEFT + INNER * column / (p->columns > 0 ? p->columns : 1);
}

static double y_of(const struct picture *p, double drift)
{
    double decade = drift > 0 ? log10(drift) : LOW;
    decade = decade < LOW ? LOW : decade > HIGH ? HIGH : decade;
    return p->top + PLOT * (HIGH - decade) / (HIGH - LOW);
}

static void put_rect(struct plumb_buf *out, double x, double y, double width, double height,
                     const char *fill)
{
    plumb_buf_str(out, "<rect");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_svg_attribute(out, "width", width);
    plumb_svg_attribute(out, "height", height);
    plumb_buf_printf(out, " fill=\"%s\"", fill);
}

static void put_line(struct plumb_buf *out, double x1, double y1, double x2, double y2,
                     const char *style)
{
    plumb_buf_str(out, "<line");
    plumb_svg_attribute(out, "x1", x1);
    plumb_svg_attribute(out, "y1", y1);
    plumb_svg_attribute(out, "x2", x2);
    plumb_svg_attribute(out, "y2", y2);
    plumb_buf_printf(out, " %s/>\n", style);
}

/* 10 to the decade, in percent. */
static const char *label_of(int decade)
{
    switch (decade) {
    case LOW:
        return "equal";
    case -7:
        return "10\xe2\x81\xbb\xe2\x81\xb5";
    case -5:
        return "10\xe2\x81\xbb\xc2\xb3";
    case -3:
        return "10\xe2\x81\xbb\xc2\xb9";
    case -1:
        return "10\xc2\xb9";
    default:
        return "10\xc2\xb3";
    }
}

static void put_right(struct plumb_buf *out, double x, double y, const char *text)
{
    plumb_buf_str(out, "<text text-anchor=\"end\"");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
    plumb_svg_text(out, text);
    plumb_buf_str(out, "</text>\n");
}

static void put_upwards(struct plumb_buf *out, double x, double y, const char *text)
{
    plumb_buf_str(out, "<text text-anchor=\"middle\"");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_str(out, " transform=\"rotate(-90 ");
    plumb_put_fixed(out, x, 1, 0);
    plumb_buf_char(out, ' ');
    plumb_put_fixed(out, y, 1, 0);
    plumb_buf_str(out, ")\">");
    plumb_svg_text(out, text);
    plumb_buf_str(out, "</text>\n");
}

static void put_axis(struct picture *p)
{
    for (int decade = LOW; decade <= HIGH; decade += 2) {
        double y = y_of(p, pow(10, decade));
        put_line(p->out, LEFT, y, LEFT + INNER, y, "stroke=\"#e2e2e2\"");
        put_right(p->out, LEFT - 8, y + 4, label_of(decade));
    }
    put_upwards(p->out, LEFT - 70, p->top + PLOT / 2.0, "relative drift, %");
    if (p->allowed > 0) {
        double y = y_of(p, p->allowed);
        put_line(p->out, LEFT, y, LEFT + INNER, y, "stroke=\"#15803d\" stroke-dasharray=\"6 4\"");
    }
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static bool same_group(const struct picture *p, uint32_t x, uint32_t y)
{
    const struct plumb_diverge_site *a = &side_a(p)->sites[p->site_at[x]];
    const struct plumb_diverge_site *b = &side_a(p)->sites[p->site_at[y]];
    return a->phase == b->phase && (a->io == PLUMB_ACT_GRAD) == (b->io == PLUMB_ACT_GRAD);
}

/* Columns from `begin` on that are of one phase, and not of both values and gradients. */
static uint32_t end_of_group(const struct picture *p, uint32_t begin)
{
    uint32_t end = begin + 1;
    while (end < p->columns && same_group(p, begin, end))
        end++;
    return end;
}

/* Heads each group of columns, unless there is only one and it has no name. */
static void put_groups(struct picture *p, double bottom)
{
    for (uint32_t i = 0, end; i < p->columns; i = end) {
        const struct plumb_diverge_site *site = &side_a(p)->sites[p->site_at[i]];
        const char *phase = plumb_activations_text(side_a(p)->t, site->phase);
        struct plumb_buf text = {0};
        end = end_of_group(p, i);
        plumb_buf_str(&text, phase);
        if (site->io == PLUMB_ACT_GRAD)
            plumb_buf_str(&text, phase[0] ? ", gradients" : "gradients");
        if (text.len > 0)
            plumb_svg_label(p->out, NULL, x_of(p, i) + 3, p->top - 5, x_of(p, end) - x_of(p, i) - 6,
                            text.data);
        if (i > 0)
            put_line(p->out, x_of(p, i), p->top - LINE, x_of(p, i), bottom,
                     "stroke=\"#9a9a9a\" stroke-dasharray=\"2 3\"");
        p->out->failed |= text.failed;
        plumb_buf_fini(&text);
    }
}

static const char *name_of(const struct picture *p, uint32_t column)
{
    const struct plumb_diverge_side *a = side_a(p);
    return plumb_activations_text(a->t, a->sites[p->site_at[column]].module);
}

/* As much of the end of a name as fits, cut at a dot: the beginning is the same for all names. */
static void put_name(struct picture *p, uint32_t column, double px)
{
    const char *name = name_of(p, column);
    const char *end = name;
    for (const char *dot; plumb_svg_width(end) > px && (dot = strchr(end, '.'));)
        end = dot + 1;
    if (end != name)
        plumb_buf_str(p->out, "\xe2\x80\xa6");
    plumb_svg_cut(p->out, end, px);
}

static void put_names(struct picture *p, double y)
{
    uint32_t each = (p->columns + MOST_LABELS - 1) / MOST_LABELS;
    for (uint32_t i = 0; i < p->columns; i++) {
        bool culprit = i == p->culprit;
        /* Its neighbours give way to its name. */
        bool crowded = p->culprit != PLUMB_DIVERGE_NONE && i != p->culprit && each > 1 &&
                       (i > p->culprit ? i - p->culprit : p->culprit - i) * 2 < each;
        if ((each > 0 && i % each != 0 && !culprit) || crowded)
            continue;
        double x = x_of(p, i + 0.5);
        plumb_buf_str(p->out, "<text");
        plumb_svg_attribute(p->out, "x", x);
        plumb_svg_attribute(p->out, "y", y);
        plumb_buf_str(p->out, " text-anchor=\"end\" transform=\"rotate(-40 ");
        plumb_put_fixed(p->out, x, 1, 0);
        plumb_buf_char(p->out, ' ');
        plumb_put_fixed(p->out, y, 1, 0);
        plumb_buf_printf(p->out, ")\"%s>", culprit ? " font-weight=\"bold\"" : "");
        put_name(p, i, NAMES + 30);
        plumb_buf_str(p->out, "</text>\n");
    }
}

/* ---- Drift over layers ----------------------------------------------------------------------- */

static void put_band(struct picture *p)
{
    for (uint32_t i = 0; i < p->columns; i++) {
        if (p->highest[i] < 0)
            continue;
        double y = y_of(p, (double)p->highest[i]);
        put_rect(p->out, x_of(p, i), y, INNER / (double)p->columns, p->top + PLOT - y + 0.5,
                 i == p->culprit ? "#f6b7a1" : "#dbe4f0");
        plumb_buf_str(p->out, "><title>");
        plumb_svg_cut(p->out, name_of(p, i), NAME_PX);
        plumb_buf_str(p->out, ": at most ");
        plumb_put_figure(p->out, 100 * (double)p->highest[i]);
        plumb_buf_str(p->out, " %</title></rect>\n");
    }
}

static void put_curve(struct picture *p)
{
    bool open = false;
    plumb_buf_str(p->out, "<path fill=\"none\" stroke=\"#1d4ed8\" stroke-width=\"1.8\" d=\"");
    for (uint32_t i = 0; i < p->columns; i++) {
        if (p->chosen[i] < 0)
            continue;
        plumb_buf_char(p->out, open ? 'L' : 'M');
        plumb_put_fixed(p->out, x_of(p, i + 0.5), 1, 0);
        plumb_buf_char(p->out, ' ');
        plumb_put_fixed(p->out, y_of(p, (double)p->chosen[i]), 1, 0);
        open = true;
    }
    plumb_buf_str(p->out, open ? "\"/>\n" : "M0 0\"/>\n");
    if (p->culprit == PLUMB_DIVERGE_NONE)
        return;
    plumb_buf_str(p->out, "<circle");
    plumb_svg_attribute(p->out, "cx", x_of(p, p->culprit + 0.5));
    plumb_svg_attribute(p->out, "cy", y_of(p, (double)p->chosen[p->culprit]));
    plumb_buf_str(p->out, " r=\"5\" fill=\"#b91c1c\"/>\n");
}

/* ---- Layers and steps ------------------------------------------------------------------------ */

/* White where all is equal, over yellow, to dark red at 100 %. */
static void put_colour(char out[8], float drift)
{
    static const struct {
        double at;
        int red, green, blue;
    } stops[] = {{0, 247, 250, 252}, {0.45, 253, 230, 138}, {0.75, 239, 108, 60}, {1, 127, 16, 32}};
    double decade = drift > 0 ? log10((double)drift) : LOW;
    double at = (decade - LOW) / (0 - LOW);
    size_t i = 0;
    at = at < 0 ? 0 : at > 1 ? 1 : at;
    while (i + 2 < sizeof stops / sizeof *stops && at > stops[i + 1].at)
        i++;
    double part = (at - stops[i].at) / (stops[i + 1].at - stops[i].at);
    snprintf(out, 8, "#%02x%02x%02x",
             (unsigned)(stops[i].red + part * (stops[i + 1].red - stops[i].red)) & 255U,
             (unsigned)(stops[i].green + part * (stops[i + 1].green - stops[i].green)) & 255U,
             (unsigned)(stops[i].blue + part * (stops[i + 1].blue - stops[i].blue)) & 255U);
}

static void put_step(struct plumb_buf *out, int64_t step)
{
    if (step < 0)
        plumb_buf_str(out, "no step");
    else
        plumb_buf_printf(out, "step %" PRId64, step);
}

static void put_cell(struct picture *p, size_t row, uint32_t column, double y)
{
    char colour[8];
    float drift = p->field[row * p->columns + column];
    size_t step = (row * p->step_count + p->rows - 1) / p->rows;
    if (drift < 0)
        return;
    put_colour(colour, drift);
    put_rect(p->out, x_of(p, column), y, INNER / (double)p->columns + 0.3, ROW, colour);
    plumb_buf_str(p->out, "><title>");
    plumb_svg_cut(p->out, name_of(p, column), NAME_PX);
    plumb_buf_char(p->out, ' ');
    put_step(p->out, p->steps[step]);
    plumb_buf_str(p->out, ": ");
    plumb_put_figure(p->out, 100 * (double)drift);
    plumb_buf_str(p->out, " %</title></rect>\n");
}

static void put_field(struct picture *p, double top)
{
    size_t each = 2; /* of 9 pixels: a label is higher */
    put_upwards(p->out, LEFT - 70, top + (double)p->rows * ROW / 2, "step");
    for (size_t row = 0; row < p->rows; row++) {
        double y = top + (double)row * ROW;
        size_t step = (row * p->step_count + p->rows - 1) / p->rows;
        char label[32];
        if (p->steps[step] < 0)
            snprintf(label, sizeof label, "none");
        else
            snprintf(label, sizeof label, "%" PRId64, p->steps[step]);
        if (row % each == 0)
            put_right(p->out, LEFT - 8, y + ROW, label);
        for (uint32_t column = 0; column < p->columns; column++)
            put_cell(p, row, column, y);
    }
    if (p->culprit == PLUMB_DIVERGE_NONE)
        return;
    double row = (double)(p->chosen_step * p->rows / p->step_count);
    put_rect(p->out, x_of(p, p->culprit) - 1, top + row * ROW - 1, INNER / (double)p->columns + 2,
             ROW + 2, "none");
    plumb_buf_str(p->out, " stroke=\"#111111\" stroke-width=\"1.5\"/>\n");
}

/* ---- Title and legend ------------------------------------------------------------------------ */

/* Puts the title in as many lines as it takes; the last is cut. Returns the bottom. */
static double put_title(struct picture *p, const char *title)
{
    double y = 20;
    struct plumb_buf line = {0};
    for (int n = 1; *title; n++, y += LINE) {
        size_t fits = 0;
        size_t size = strlen(title);
        for (size_t i = 1; i <= size && n < MOST_LINES; i++) {
            if (title[i] && title[i] != ' ')
                continue;
            line.len = 0;
            plumb_buf_append(&line, title, i);
            if (line.failed || plumb_svg_width(line.data) > WIDTH - 16)
                break;
            fits = i;
        }
        line.len = 0;
        plumb_buf_append(&line, title, fits ? fits : size);
        plumb_svg_label(p->out, NULL, 8, y, WIDTH - 16, line.data ? line.data : "");
        title += fits ? fits : size;
        title += *title == ' ';
    }
    p->out->failed |= line.failed;
    plumb_buf_fini(&line);
    return y - LINE;
}

/* Draws a symbol at x, then its meaning. Returns where the next one may begin. */
static double put_key(struct picture *p, double x, double y, const char *sign, const char *text)
{
    plumb_buf_str(p->out, sign);
    plumb_svg_label(p->out, NULL, x + 26, y, 400, text);
    return x + 26 + plumb_svg_width(text) + 24;
}

static void put_legend(struct picture *p, double y)
{
    char sign[256];
    char text[64];
    double x = LEFT;
    snprintf(sign, sizeof sign,
             "<rect x=\"%d\" y=\"%d\" width=\"20\" height=\"10\" fill=\"#dbe4f0\"/>", (int)x,
             (int)y - 9);
    x = put_key(p, x, y, sign, p->step_count > 1 ? "highest of all steps" : "drift");
    snprintf(sign, sizeof sign, "<path d=\"M%d %dh20\" stroke=\"#1d4ed8\" stroke-width=\"1.8\"/>",
             (int)x, (int)y - 4);
    if (p->steps[p->chosen_step] >= 0)
        snprintf(text, sizeof text, "step %" PRId64, p->steps[p->chosen_step]);
    else
        snprintf(text, sizeof text, "drift");
    x = put_key(p, x, y, sign, text);
    if (p->allowed > 0) {
        snprintf(sign, sizeof sign,
                 "<path d=\"M%d %dh20\" stroke=\"#15803d\" stroke-dasharray=\"6 4\"/>", (int)x,
                 (int)y - 4);
        x = put_key(p, x, y, sign, "tolerance");
    }
    if (p->culprit != PLUMB_DIVERGE_NONE) {
        snprintf(sign, sizeof sign,
                 "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" rx=\"5\" fill=\"#b91c1c\"/>",
                 (int)x + 6, (int)y - 9);
        x = put_key(p, x, y, sign, "first difference");
    }
    if (p->rows < 2)
        return;
    static const float drifts[] = {0, 1e-6F, 1e-3F, 1};
    for (int i = 0; i < 4; i++, x += 20) {
        char colour[8];
        put_colour(colour, drifts[i]);
        put_rect(p->out, x, y - 9, 20, 10, colour);
        plumb_buf_str(p->out, "/>");
    }
    plumb_svg_label(p->out, NULL, x + 6, y, 300, "below: equal to 100 %");
}

static void draw(struct picture *p)
{
    struct plumb_buf sentence = {0};
    plumb_diverge_put_sentence(&sentence, p->s);
    const char *title = sentence.data ? sentence.data : "";
    struct plumb_buf body = {0};
    struct plumb_buf *out = p->out;
    p->out = &body; /* the height of the title decides where the rest begins */
    double legend = put_title(p, title) + LINE + 6;
    p->top = legend + HEAD - 20;
    double field = p->top + PLOT + 12;
    double bottom = field + (p->rows > 1 ? (double)p->rows * ROW : 0);
    put_legend(p, legend);
    put_band(p);
    put_axis(p);
    put_curve(p);
    if (p->rows > 1)
        put_field(p, field);
    put_groups(p, bottom);
    put_names(p, bottom + 14);
    plumb_svg_label(p->out, NULL, LEFT + INNER - 260, bottom + NAMES + 10, 268,
                    "layers in the order of execution");
    p->out = out;
    plumb_svg_open(out, WIDTH, bottom + 14 + NAMES, title);
    plumb_buf_str(out, body.data ? body.data : "");
    plumb_svg_close(out);
    out->failed |= sentence.failed | body.failed;
    plumb_buf_fini(&body);
    plumb_buf_fini(&sentence);
}

void plumb_diverge_svg(const struct plumb_diverge_sheet *s, struct plumb_buf *out)
{
    struct picture p = {.s = s, .out = out, .culprit = PLUMB_DIVERGE_NONE};
    if (find_steps(&p) && find_columns(&p) && fill(&p))
        draw(&p);
    else
        out->failed = true;
    free(p.column_of);
    free(p.site_at);
    free(p.steps);
    free(p.field);
    free(p.highest);
    free(p.chosen);
}
