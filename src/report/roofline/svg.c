/* svg.c: the roofline as a picture. A point for each stage (a square, over the time that it was
 * open) and for each kernel (a circle) stands at its operations a byte and its operations a second;
 * above it are the roofs. Points have numbers, and names where there is a free place; the table
 * below the chart has all of them, and what has no place in it with the reason.
 *
 * The number of points is bounded, so that the picture stays one: the kernels with the largest
 * times are shown. Colours follow the viewer's scheme, light or dark. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/decimal.h"
#include "report/picture/svg.h"
#include "report/roofline/svg_parts.h"
#include "summary/cells.h"

enum {
    WIDTH = 1180,
    LEFT = 90,
    RIGHT = 940, /* labels of the roofs stand to the right of the plot */
    TOP = 62,
    BOTTOM = 522,
    LINE = 17,         /* of the table */
    MOST_KERNELS = 50, /* without --top */
    LIMIT_KERNELS = 200,
    MOST_STAGES = 30,
    NAMED = 16, /* up to so many points have their names in the plot, beyond that their numbers */
    NAME_PX = 170,
};
static const double LEAST_RADIUS = 4, RADIUS = 9;

static const char *const style =
    "<style>\n"
    ".g{stroke:#d8dee4}.m,.f{stroke:#8c959f;fill:none}\n"
    ".r{stroke-width:2}.o{stroke-dasharray:7 5}.u{opacity:.4}.e{fill:none;stroke-width:1}\n"
    ".w{stroke:#0550ae}.k0{stroke:#9a6700}.k1{stroke:#1a7f37}.k2{stroke:#8250df}"
    ".k3{stroke:#bf3989}.k4{stroke:#57606a}\n"
    ".v0{fill:#6e7781}.v1{fill:#0969da}.v2{fill:#cf222e}.v3{fill:#bf8700}\n"
    ".p{stroke:#fff;fill-opacity:.85}.d{stroke:#8c959f}\n"
    ".n,.l{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\n"
    "@media (prefers-color-scheme:dark){\n"
    "svg>rect:first-of-type{fill:#0d1117}text{fill:#e6edf3}.q{fill:#9aa4ae}\n"
    ".g{stroke:#21262d}.m,.f,.d{stroke:#6e7681}\n"
    ".w{stroke:#79c0ff}.k0{stroke:#d29922}.k1{stroke:#3fb950}.k2{stroke:#a371f7}"
    ".k3{stroke:#f778ba}.k4{stroke:#9aa4ae}\n"
    ".v0{fill:#9aa4ae}.v1{fill:#58a6ff}.v2{fill:#ff7b72}.v3{fill:#e3b341}\n"
    ".p,.n,.l{stroke:#0d1117}\n"
    "}\n</style>\n";

/* ---- Points ---------------------------------------------------------------------------------- */

static bool is_placed(const struct plumb_roof_chart *c, const struct plumb_roof_mark *m)
{
    return plumb_log_axis_has(&c->x, m->roof.intensity) &&
           plumb_log_axis_has(&c->y, m->roof.flops_rate * 1e-9);
}

static void add_mark(struct plumb_roof_chart *c, const char *name, const char *shapes, bool stage,
                     struct plumb_roof_point of)
{
    struct plumb_roof_mark *m = &c->marks[c->count++];
    *m = (struct plumb_roof_mark){.name = name, .shapes = shapes, .stage = stage, .of = of};
    m->roof = plumb_roof_of(&of, c->p->v->peaks, c->p->v->span);
    if (of.type < PLUMB_PEAK_TYPES)
        c->used[of.type] = true;
}

static size_t most_kernels(const struct plumb_roofline_page *p)
{
    size_t most = p->v->top ? LIMIT_KERNELS : MOST_KERNELS;
    return p->shown < most ? p->shown : most;
}

static bool find_marks(struct plumb_roof_chart *c)
{
    const struct plumb_roofline_page *p = c->p;
    size_t kernels = p->v->t ? most_kernels(p) : 0;
    size_t stages = p->totals.stage_count < MOST_STAGES ? p->totals.stage_count : MOST_STAGES;
    if (!(c->marks = calloc(kernels + stages + 1, sizeof *c->marks)))
        return false;
    for (size_t i = 0; i < stages; i++) {
        const struct plumb_stage_work *s = &p->totals.stages[i];
        add_mark(c, plumb_table_text(p->v->t, s->name), "", true,
                 plumb_work_point(&s->work, s->runs, s->wall_ns));
    }
    for (size_t i = 0; i < kernels; i++) {
        const struct plumb_kernel_row *k = &p->kernels.rows[i];
        add_mark(c, plumb_table_text(p->v->t, k->name), plumb_table_text(p->v->t, k->shapes), false,
                 k->of);
    }
    return true;
}

static void set_scales(struct plumb_roof_chart *c)
{
    struct plumb_log_range x = {0, 0}, y = {0, 0};
    const struct plumb_peaks *peaks = c->p->v->peaks;
    for (size_t i = 0; i < c->count; i++) {
        const struct plumb_roof *r = &c->marks[i].roof;
        if (!(r->intensity > 0) || !(r->flops_rate > 0))
            continue;
        plumb_log_range_add(&x, r->intensity);
        plumb_log_range_add(&y, r->flops_rate * 1e-9);
    }
    for (int s = 0; s < PLUMB_PEAK_SPANS; s++) {
        for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
            double rate = peaks->compute[i][s].rate, bytes = peaks->bandwidth[s].rate;
            plumb_log_range_add(&y, rate * 1e-9);
            if (bytes > 0)
                plumb_log_range_add(&x, rate / bytes);
        }
    }
    for (int i = 0; i < PLUMB_PEAK_TYPES && c->count == 0; i++)
        c->used[i] = true;
    if (c->count == 0) { /* a decade of slope */
        plumb_log_range_add(&x, 0.1);
        plumb_log_range_add(&y, 1);
    }
    c->plot = (struct plumb_box){LEFT, TOP, RIGHT, BOTTOM};
    c->x = plumb_log_axis_of(&x, LEFT, RIGHT);
    c->y = plumb_log_axis_of(&y, BOTTOM, TOP);
}

/* Those with a place first, otherwise in their order; then they get numbers. */
static bool sort_marks(struct plumb_roof_chart *c)
{
    struct plumb_roof_mark *sorted = calloc(c->count + 1, sizeof *sorted);
    size_t n = 0;
    uint64_t longest[2] = {1, 1};
    if (!sorted)
        return false;
    for (int placed = 1; placed >= 0; placed--) {
        for (size_t i = 0; i < c->count; i++)
            if (is_placed(c, &c->marks[i]) == (placed == 1))
                sorted[n++] = c->marks[i];
        c->placed = placed ? n : c->placed;
    }
    for (size_t i = 0; i < n; i++) {
        struct plumb_roof_mark *m = &sorted[i];
        m->number = i + 1;
        if (m->of.total_ns > longest[m->stage])
            longest[m->stage] = m->of.total_ns;
    }
    for (size_t i = 0; i < c->placed; i++) {
        struct plumb_roof_mark *m = &sorted[i];
        double share = (double)m->of.total_ns / (double)longest[m->stage];
        m->radius = LEAST_RADIUS + (RADIUS - LEAST_RADIUS) * sqrt(share);
        m->x = plumb_log_axis_px(&c->x, m->roof.intensity);
        m->y = plumb_log_axis_px(&c->y, m->roof.flops_rate * 1e-9);
    }
    free(c->marks);
    c->marks = sorted;
    return true;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static void put_shape(struct plumb_buf *out, const struct plumb_roof_mark *m, double x, double y,
                      double radius)
{
    plumb_buf_printf(out, m->stage ? "<rect class=\"p v%d\"" : "<circle class=\"p v%d\"",
                     (int)m->roof.verdict);
    plumb_svg_attribute(out, m->stage ? "x" : "cx", m->stage ? x - radius : x);
    plumb_svg_attribute(out, m->stage ? "y" : "cy", m->stage ? y - radius : y);
    plumb_svg_attribute(out, m->stage ? "width" : "r", m->stage ? 2 * radius : radius);
    if (m->stage)
        plumb_svg_attribute(out, "height", 2 * radius);
    plumb_buf_str(out, "/>");
}

static void put_mark(const struct plumb_roof_chart *c, const struct plumb_roof_mark *m)
{
    struct plumb_buf text = {0};
    plumb_buf_printf(&text, "%zu %s%s%s is ", m->number, m->name, *m->shapes ? " " : "", m->shapes);
    plumb_roofline_evidence(&text, &m->roof, &m->of);
    plumb_buf_str(c->out, "<g class=\"c\"><title>");
    plumb_svg_text(c->out, text.data ? text.data : "");
    plumb_buf_str(c->out, "</title>");
    put_shape(c->out, m, m->x, m->y, m->radius);
    plumb_buf_str(c->out, "</g>\n");
    c->out->failed |= text.failed;
    plumb_buf_fini(&text);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static void take_places(struct plumb_roof_chart *c)
{
    for (size_t i = 0; i < c->placed; i++) {
        const struct plumb_roof_mark *m = &c->marks[i];
        plumb_boxes_add(&c->taken, (struct plumb_box){m->x - m->radius, m->y - m->radius,
                                                      m->x + m->radius, m->y + m->radius});
    }
}

/* "3 softmax", or the number alone. */
static void put_words(struct plumb_buf *out, const struct plumb_roof_mark *m, bool named)
{
    plumb_buf_printf(out, "%zu", m->number);
    if (named && *m->name)
        plumb_buf_printf(out, " %s", m->name);
}

enum { BESIDE = 3 }; /* free pixels on both sides of a label */

static bool find_place(struct plumb_roof_chart *c, struct plumb_roof_mark *m, bool named)
{
    struct plumb_buf words = {0};
    put_words(&words, m, named);
    double width = plumb_svg_width(words.data ? words.data : "");
    width = width < NAME_PX ? width : NAME_PX;
    bool found = plumb_boxes_place(&m->label, &c->taken, &c->plot, m->x, m->y, m->radius,
                                   width + 2 * BESIDE, PLUMB_SVG_FONT_PX + 2);
    if (found)
        m->labelled = named ? PLUMB_LABEL_NAME : PLUMB_LABEL_NUMBER;
    c->out->failed |= words.failed;
    plumb_buf_fini(&words);
    return found;
}

/* A line from the point to its label, where that is not next to it. */
static void put_leader(const struct plumb_roof_chart *c, const struct plumb_roof_mark *m)
{
    const struct plumb_box *at = &m->label;
    double x = m->x < at->left ? at->left : m->x > at->right ? at->right : m->x;
    double y = m->y < at->top ? at->top : m->y > at->bottom ? at->bottom : m->y;
    double away = hypot(x - m->x, y - m->y);
    if (!m->labelled || away < m->radius + 10)
        return;
    plumb_buf_str(c->out, "<line class=\"d\"");
    plumb_svg_attribute(c->out, "x1", m->x + (x - m->x) * m->radius / away);
    plumb_svg_attribute(c->out, "y1", m->y + (y - m->y) * m->radius / away);
    plumb_svg_attribute(c->out, "x2", x);
    plumb_svg_attribute(c->out, "y2", y);
    plumb_buf_str(c->out, "/>\n");
}

static void put_label(const struct plumb_roof_chart *c, const struct plumb_roof_mark *m)
{
    struct plumb_buf words = {0};
    if (!m->labelled)
        return;
    put_words(&words, m, m->labelled == PLUMB_LABEL_NAME);
    plumb_svg_label(c->out, m->stage ? "n h" : "n", m->label.left + BESIDE, m->label.bottom - 4,
                    m->label.right - m->label.left - 2 * BESIDE + 1, words.data ? words.data : "");
    c->out->failed |= words.failed;
    plumb_buf_fini(&words);
}

/* Returns how many points have no label. */
static size_t put_marks(struct plumb_roof_chart *c)
{
    size_t hidden = 0;
    for (size_t i = 0; i < c->placed; i++) {
        struct plumb_roof_mark *m = &c->marks[i];
        bool named = m->stage || c->placed <= NAMED;
        hidden += !(named && find_place(c, m, true)) && !find_place(c, m, false);
    }
    for (size_t i = 0; i < c->placed; i++)
        put_leader(c, &c->marks[i]);
    /* The largest first, so that a small one in front of it can be seen. */
    for (size_t i = 0; i < c->placed; i++)
        put_mark(c, &c->marks[i]);
    for (size_t i = 0; i < c->placed; i++)
        put_label(c, &c->marks[i]);
    return hidden;
}

/* ---- Table ----------------------------------------------------------------------------------- */

/* "2.5e-07" */
static void put_power(struct plumb_buf *out, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.1e", value);
    plumb_decimal_point(text);
    plumb_buf_str(out, text);
}

static void put_cell(struct plumb_buf *out, double right, double y, double value, int decimals)
{
    plumb_buf_str(out, "<text text-anchor=\"end\"");
    plumb_svg_attribute(out, "x", right);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
    if (isnan(value) || isinf(value))
        plumb_buf_str(out, "-");
    else if (decimals < 0)
        plumb_buf_printf(out, "%.0f", value);
    else if (value != 0 && (value < 0.01 || value >= 1e7))
        put_power(out, value);
    else
        plumb_put_fixed(out, value, decimals, 0);
    plumb_buf_str(out, "</text>");
}

static void put_title(struct plumb_buf *out, double x, double y, const char *text, bool right)
{
    plumb_buf_printf(out, "<text class=\"h\"%s", right ? " text-anchor=\"end\"" : "");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_printf(out, ">%s</text>", text);
}

static const char *why_not(const struct plumb_roof_mark *m)
{
    if (m->of.total_ns == 0)
        return "not shown: no time";
    if (m->of.flops < 0)
        return "not shown: FLOPs unknown";
    if (m->of.flops == 0)
        return "not shown: no FLOPs";
    if (!(m->of.bytes > 0))
        return "not shown: bytes unknown";
    return "not shown: off the axes";
}

enum {
    NUMBER_X = 34,
    SHAPE_X = 46,
    NAME_X = 58,
    SHAPES_X = 360,
    MS_X = 735,
    FLOPS_X = 820,
    INTENSITY_X = 900,
    ROOF_X = 970,
    VERDICT_X = 985
};

static void put_row(const struct plumb_roof_chart *c, const struct plumb_roof_mark *m, double y,
                    bool placed)
{
    struct plumb_buf *out = c->out;
    double share = 100 * m->roof.flops_rate / m->roof.roof_flops;
    put_cell(out, NUMBER_X, y, placed ? (double)m->number : (double)NAN, -1);
    put_shape(out, m, SHAPE_X, y - 4, 5);
    plumb_svg_label(out, m->stage ? "h" : NULL, NAME_X, y, SHAPES_X - NAME_X - 8, m->name);
    plumb_svg_label(out, "q", SHAPES_X, y, MS_X - SHAPES_X - 80, m->stage ? "stage" : m->shapes);
    put_cell(out, MS_X, y, (double)m->of.total_ns * 1e-6, 2);
    put_cell(out, FLOPS_X, y, m->roof.flops_rate * 1e-9, 2);
    put_cell(out, INTENSITY_X, y, m->roof.intensity, 2);
    put_cell(out, ROOF_X, y, share, 1);
    plumb_svg_label(out, NULL, VERDICT_X, y, WIDTH - VERDICT_X - 4,
                    placed ? plumb_roof_verdict_name(m->roof.verdict) : why_not(m));
}

static double put_table(const struct plumb_roof_chart *c, double y)
{
    if (c->count == 0)
        return y;
    put_title(c->out, NAME_X, y, "Name", false);
    put_title(c->out, SHAPES_X, y, "Shapes", false);
    put_title(c->out, MS_X, y, "Total(ms)", true);
    put_title(c->out, FLOPS_X, y, "GFLOP/s", true);
    put_title(c->out, INTENSITY_X, y, "FLOP/B", true);
    put_title(c->out, ROOF_X, y, "Roof%", true);
    put_title(c->out, VERDICT_X, y, "Verdict", false);
    plumb_buf_char(c->out, '\n');
    for (size_t i = 0; i < c->count; i++)
        put_row(c, &c->marks[i], y += LINE, i < c->placed);
    return y + LINE;
}

/* ---- Notes ----------------------------------------------------------------------------------- */

/* The line is the caller's to end with "</text>\n". */
static void begin_note(struct plumb_buf *out, double y)
{
    plumb_buf_str(out, "<text class=\"q\"");
    plumb_svg_attribute(out, "x", 10);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
}

static void end_note(struct plumb_buf *out)
{
    plumb_buf_str(out, "</text>\n");
}

static bool put_absent(const struct plumb_roof_chart *c, double y)
{
    const struct plumb_peaks *p = c->p->v->peaks;
    const char *between = "";
    struct plumb_buf names = {0};
    if (!(p->bandwidth[PLUMB_PEAK_ALL].rate > 0)) {
        plumb_buf_str(&names, "memory");
        between = ", ";
    }
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++)
        if (!(p->compute[i][PLUMB_PEAK_ALL].rate > 0)) {
            plumb_buf_printf(&names, "%s%s", between,
                             plumb_peak_type_name((enum plumb_peak_type)i));
            between = ", ";
        }
    bool any = names.len > 0;
    if (any) {
        begin_note(c->out, y);
        plumb_buf_printf(c->out, "absent: this machine has no peak for %s", names.data);
        end_note(c->out);
    }
    c->out->failed |= names.failed;
    plumb_buf_fini(&names);
    return any;
}

static double put_notes(const struct plumb_roof_chart *c, double y, size_t hidden)
{
    const struct plumb_roofline_page *p = c->p;
    size_t more = p->v->t ? p->kernels.count - most_kernels(p) : 0;
    begin_note(c->out, y);
    plumb_buf_str(c->out, "roofs of all cores; dashed: of one core");
    if (c->count > 0)
        plumb_buf_printf(c->out,
                         "; pale: no kernel has the type. Roof%% and verdicts: of the peaks of %s",
                         p->v->span == PLUMB_PEAK_ALL ? "all cores" : "one core");
    end_note(c->out);
    y += LINE;
    if (plumb_roofline_spread(p->v->peaks) > PLUMB_ROOFLINE_NOISY) {
        begin_note(c->out, y);
        plumb_buf_printf(c->out,
                         "the runs that measured the peaks differ by up to %.0f %%: the machine "
                         "was busy, and the peaks are too low",
                         plumb_roofline_spread(p->v->peaks) * 100);
        end_note(c->out);
        y += LINE;
    }
    if (put_absent(c, y))
        y += LINE;
    if (more > 0) {
        begin_note(c->out, y);
        plumb_buf_printf(c->out, "%zu more kernels are not shown (--top)", more);
        end_note(c->out);
        y += LINE;
    }
    if (p->totals.stage_count > MOST_STAGES) {
        begin_note(c->out, y);
        plumb_buf_printf(c->out, "%zu more stages are not shown",
                         p->totals.stage_count - MOST_STAGES);
        end_note(c->out);
        y += LINE;
    }
    if (hidden > 0) {
        begin_note(c->out, y);
        plumb_buf_printf(c->out, "%zu points have no label: others are too near", hidden);
        end_note(c->out);
        y += LINE;
    }
    return y;
}

/* The meaning of the colours and shapes, in one line. */
static void put_key(const struct plumb_roof_chart *c, double y)
{
    static const struct {
        const char *text;
        int verdict;
        bool stage;
    } all[] = {{"stage", PLUMB_ROOF_UNKNOWN, true},
               {"kernel (larger: more time)", PLUMB_ROOF_UNKNOWN, false},
               {"memory_bound", PLUMB_ROOF_MEMORY, false},
               {"compute_bound", PLUMB_ROOF_COMPUTE, false},
               {"latency_bound", PLUMB_ROOF_LATENCY, false},
               {"unknown", PLUMB_ROOF_UNKNOWN, false}};
    double x = LEFT;
    for (size_t i = 0; i < sizeof all / sizeof *all && c->count > 0; i++) {
        struct plumb_roof_mark m = {.stage = all[i].stage};
        m.roof.verdict = (enum plumb_roof_verdict)all[i].verdict;
        put_shape(c->out, &m, x + 5, y - 4, 5);
        plumb_svg_label(c->out, NULL, x + 14, y, WIDTH, all[i].text);
        x += 14 + plumb_svg_width(all[i].text) + 16;
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put_head(const struct plumb_roof_chart *c)
{
    const struct plumb_roofline_view *v = c->p->v;
    struct plumb_buf line = {0};
    plumb_buf_printf(&line, "Roofline of %s", v->t ? v->path : "this machine");
    plumb_svg_label(c->out, "t", 10, 24, (WIDTH - 20) * 0.74, line.data ? line.data : "");
    line.len = 0;
    plumb_buf_printf(&line, "%s, %u cores, peaks measured %s", v->peaks->cpu,
                     (unsigned)v->peaks->cores, v->peaks->date);
    plumb_svg_label(c->out, "q", 10, 44, WIDTH - 20, line.data ? line.data : "");
    c->out->failed |= line.failed;
    plumb_buf_fini(&line);
}

/* Everything but the head, which needs the height. Returns that. */
static double put_body(struct plumb_roof_chart *c)
{
    put_head(c);
    take_places(c);
    plumb_roof_put_axes(c);
    plumb_roof_put_roofs(c);
    size_t hidden = put_marks(c);
    double y = BOTTOM + 62;
    put_key(c, y);
    y = put_table(c, y + (c->count ? 1.6 * LINE : 0));
    return put_notes(c, y + LINE * 0.5, hidden);
}

void plumb_roofline_svg(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    struct plumb_buf body = {0};
    struct plumb_roof_chart c = {.p = p, .out = &body};
    bool done = find_marks(&c);
    if (done) {
        set_scales(&c);
        done = sort_marks(&c);
    }
    if (done) {
        plumb_svg_open(out, WIDTH, put_body(&c), "Roofline");
        plumb_buf_str(out, style);
        plumb_buf_append(out, body.data, body.len);
        plumb_svg_close(out);
    }
    out->failed |= !done || c.taken.failed || body.failed;
    plumb_boxes_fini(&c.taken);
    plumb_buf_fini(&body);
    free(c.marks);
}
