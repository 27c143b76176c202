/* memory_svg.c: memory over time as a picture: a panel for the host and one for each device. A line
 * is the resident set, or a pool's allocated or reserved bytes. Runs of stages are drawn above and
 * as shades, checkpoints and peaks as marks with hover texts.
 *
 * Samples are steps: between two of them nothing is known. Points of one pixel column are drawn as
 * one stroke from the lowest to the highest, so that the size of the picture is bounded and no peak
 * is lost. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/run/memory_picture.h"

enum {
    PANEL_FIRST = 260,
    PANEL = 200,
    MOST_POOLS = 12, /* of one panel */
    NAME_PX = 1500   /* in a hover text */
};

static const char *const line_colours[] = {"#c2410c", "#15803d", "#7e22ce", "#b91c1c",
                                           "#0e7490", "#a16207", "#be185d", "#4d7c0f"};
enum { LINE_COLOURS = sizeof line_colours / sizeof *line_colours };

double plumb_memory_x(const struct plumb_memory_picture *p, double ns)
{
    double part = (ns - p->time.from) / (p->time.to - p->time.from);
    return PLUMB_MEMORY_LEFT + PLUMB_MEMORY_INNER * (part < 0 ? 0 : part > 1 ? 1 : part);
}

double plumb_memory_y(const struct plumb_memory_plot *plot, double bytes)
{
    double part = bytes / plot->axis.to;
    return plot->top + plot->height * (1 - (part < 0 ? 0 : part > 1 ? 1 : part));
}

void plumb_memory_put_name(struct plumb_buf *out, const char *name)
{
    if (name[0])
        plumb_svg_cut(out, name, NAME_PX);
    else
        plumb_buf_str(out, "(no name)");
}

/* ---- What there is --------------------------------------------------------------------------- */

static bool on_host(const char *device)
{
    return !device[0] || strcmp(device, "host") == 0 || strcmp(device, "cpu") == 0;
}

const struct plumb_timing_series *plumb_memory_series(const struct plumb_timing *t, uint32_t pool)
{
    for (size_t i = 0; i < t->memory.series_count; i++)
        if (t->memory.series[i].pool == pool)
            return &t->memory.series[i];
    return NULL;
}

bool plumb_memory_in_panel(const struct plumb_memory_panel *panel,
                           const struct plumb_timing_pool *pool)
{
    if (!panel->device)
        return on_host(pool->device);
    return !on_host(pool->device) && strcmp(panel->device, pool->device) == 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The highest of a series in the range that is shown; `b` too. */
double plumb_memory_highest(const struct plumb_memory_picture *p,
                            const struct plumb_timing_series *s, double *at_ns)
{
    double most = 0;
    double before = 0;
    for (size_t i = 0; s && i < s->point_count; i++) {
        double ns = (double)s->points[i].at_ns;
        double bytes = larger((double)s->points[i].a, (double)s->points[i].b);
        if (ns < p->time.from)
            before = bytes;
        else if (ns <= p->time.to && bytes > most) {
            most = bytes;
            if (at_ns)
                *at_ns = ns;
        }
    }
    return larger(most, before);
}

bool plumb_memory_peak_shown(const struct plumb_memory_picture *p,
                             const struct plumb_timing_pool *pool)
{
    double ns = (double)pool->peak_at_ns;
    return pool->peak_allocated > 0 && ns >= p->time.from && ns <= p->time.to;
}

double plumb_memory_checkpoint(const struct plumb_memory_picture *p,
                               const struct plumb_memory_panel *panel,
                               const struct plumb_timing_checkpoint *c)
{
    double sum = -1;
    if (!panel->device && c->memory.samples > 0)
        return (double)c->memory.rss;
    for (size_t i = 0; i < c->memory.use_count; i++) {
        const struct plumb_timing_use *use = &c->memory.uses[i];
        if (use->pool < p->t->memory.pool_count &&
            plumb_memory_in_panel(panel, &p->t->memory.pools[use->pool]))
            sum = larger(sum, 0) + larger((double)use->allocated, (double)use->reserved);
    }
    return sum;
}

bool plumb_memory_checkpoint_shown(const struct plumb_memory_picture *p,
                                   const struct plumb_timing_checkpoint *c)
{
    double ns = (double)c->at_ns;
    return ns >= p->time.from && ns <= p->time.to &&
           (p->request == PLUMB_TIMING_NONE || c->request == p->request);
}

static void measure_panel(struct plumb_memory_picture *p, struct plumb_memory_panel *panel)
{
    panel->most = panel->device
                      ? 0
                      : plumb_memory_highest(p, plumb_memory_series(p->t, PLUMB_TIMING_NONE), NULL);
    for (size_t i = 0; i < p->t->memory.pool_count; i++) {
        const struct plumb_timing_pool *pool = &p->t->memory.pools[i];
        if (!plumb_memory_in_panel(panel, pool))
            continue;
        panel->most = larger(panel->most,
                             plumb_memory_highest(p, plumb_memory_series(p->t, (uint32_t)i), NULL));
        if (plumb_memory_peak_shown(p, pool))
            panel->most = larger(panel->most, (double)pool->peak_allocated);
    }
    for (size_t i = 0; i < p->t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &p->t->memory.checkpoints[i];
        if (plumb_memory_checkpoint_shown(p, c))
            panel->most = larger(panel->most, plumb_memory_checkpoint(p, panel, c));
    }
}

/* The host first, then the devices in order of first sight. */
static void find_panels(struct plumb_memory_picture *p)
{
    const struct plumb_timing *t = p->t;
    bool host = plumb_memory_series(t, PLUMB_TIMING_NONE) != NULL;
    for (size_t i = 0; i < t->memory.pool_count; i++)
        host |= on_host(t->memory.pools[i].device);
    if (host)
        p->panels[p->panel_count++].device = NULL;
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *pool = &t->memory.pools[i];
        bool known = on_host(pool->device);
        for (size_t k = 0; k < p->panel_count && !known; k++)
            known = plumb_memory_in_panel(&p->panels[k], pool);
        if (!known && p->panel_count < PLUMB_MEMORY_PANELS)
            p->panels[p->panel_count++].device = pool->device;
        else if (!known)
            p->left_out++;
    }
    for (size_t i = 0; i < p->panel_count; i++)
        measure_panel(p, &p->panels[i]);
}

/* The whole run, or one request of it. */
static void find_range(struct plumb_memory_picture *p)
{
    const struct plumb_timing *t = p->t;
    double to_ns = (double)t->wall_clock_ns;
    if (p->request != PLUMB_TIMING_NONE) {
        const struct plumb_timing_request *r = &t->requests[p->request];
        double from_ns = (double)r->begin_unix_ns - (double)t->start_unix_ns;
        from_ns = from_ns > 0 ? from_ns : 0;
        p->time = plumb_chart_time(from_ns, from_ns + (double)r->wall_ns, 12);
        return;
    }
    for (size_t i = 0; i < t->memory.series_count; i++)
        if (t->memory.series[i].point_count > 0)
            to_ns = larger(
                to_ns,
                (double)t->memory.series[i].points[t->memory.series[i].point_count - 1].at_ns);
    for (size_t i = 0; i < p->rows.count; i++)
        to_ns = larger(to_ns, (double)p->rows.runs[i].run->begin_ns +
                                  (double)p->rows.runs[i].run->duration_ns);
    p->time = plumb_chart_time(0, to_ns, 12);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

void plumb_memory_put_rule(struct plumb_memory_picture *p, double x1, double y1, double x2,
                           double y2)
{
    plumb_buf_str(p->out, "<line stroke=\"#ccc\"");
    plumb_svg_attribute(p->out, "x1", x1);
    plumb_svg_attribute(p->out, "y1", y1);
    plumb_svg_attribute(p->out, "x2", x2);
    plumb_svg_attribute(p->out, "y2", y2);
    plumb_buf_str(p->out, "/>\n");
}

static void put_tick(struct plumb_memory_picture *p, const struct plumb_chart_axis *axis,
                     double tick, double x, double y, const char *anchor, bool unit)
{
    plumb_buf_printf(p->out, "<text class=\"q\" text-anchor=\"%s\"", anchor);
    plumb_svg_attribute(p->out, "x", x);
    plumb_svg_attribute(p->out, "y", y);
    plumb_buf_char(p->out, '>');
    plumb_chart_label(p->out, axis, tick);
    if (unit) {
        plumb_buf_char(p->out, ' ');
        plumb_buf_str(p->out, axis->name);
    }
    plumb_buf_str(p->out, "</text>\n");
}

static void put_axes(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot)
{
    double bottom = plot->top + plot->height;
    double last = plumb_chart_first(&p->time);
    for (double tick = 0; tick <= plot->axis.to * (1 + 1e-9); tick += plot->axis.step) {
        plumb_memory_put_rule(p, PLUMB_MEMORY_LEFT, plumb_memory_y(plot, tick),
                              PLUMB_MEMORY_LEFT + PLUMB_MEMORY_INNER, plumb_memory_y(plot, tick));
        put_tick(p, &plot->axis, tick, PLUMB_MEMORY_LEFT - 6, plumb_memory_y(plot, tick) + 4, "end",
                 true);
    }
    while (last + p->time.step <= p->time.to)
        last += p->time.step;
    for (double tick = plumb_chart_first(&p->time); tick <= last; tick += p->time.step) {
        double x = plumb_memory_x(p, tick);
        plumb_memory_put_rule(p, x, bottom, x, bottom + 4);
        put_tick(p, &p->time, tick, x, bottom + 17,
                 x > PLUMB_MEMORY_LEFT + PLUMB_MEMORY_INNER - 40 ? "end" : "middle",
                 tick + p->time.step > last);
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

struct stroke { /* a path that is being written */
    struct plumb_buf *out;
    double x, lowest, highest, last; /* of the current column; y grows downwards */
    bool begun;
};

static void put_coordinate(struct plumb_buf *out, const char *command, double value)
{
    plumb_buf_str(out, command);
    plumb_put_fixed(out, value, 1, 0);
}

static void end_column(struct stroke *s)
{
    if (s->lowest < s->last)
        put_coordinate(s->out, "V", s->lowest);
    if (s->highest > s->last)
        put_coordinate(s->out, "V", s->highest);
    if (s->lowest < s->last || s->highest > s->last)
        put_coordinate(s->out, "V", s->last);
}

static void step_to(struct stroke *s, double x, double y)
{
    if (!s->begun) {
        put_coordinate(s->out, "M", x);
        put_coordinate(s->out, " ", y);
        *s = (struct stroke){s->out, x, y, y, y, true};
        return;
    }
    if (x - s->x < 0.5) {
        s->lowest = fmin(s->lowest, y);
        s->highest = fmax(s->highest, y);
        s->last = y;
        return;
    }
    end_column(s);
    put_coordinate(s->out, "H", x);
    if (y != s->last)
        put_coordinate(s->out, "V", y);
    *s = (struct stroke){s->out, x, y, y, y, true};
}

static void put_line(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot,
                     const struct plumb_timing_series *s, bool b, const char *colour)
{
    struct stroke stroke = {.out = p->out};
    double before = -1;
    plumb_buf_printf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s d=\"",
                     colour, b ? " stroke-dasharray=\"5 3\"" : "");
    for (size_t i = 0; i < s->point_count; i++) {
        double ns = (double)s->points[i].at_ns;
        double y = plumb_memory_y(plot, (double)(b ? s->points[i].b : s->points[i].a));
        if (ns < p->time.from) {
            before = y;
            continue;
        }
        if (ns > p->time.to)
            break;
        if (before >= 0)
            step_to(&stroke, PLUMB_MEMORY_LEFT, before);
        before = -1;
        step_to(&stroke, plumb_memory_x(p, ns), y);
    }
    if (before >= 0) /* nothing was sampled in the range */
        step_to(&stroke, PLUMB_MEMORY_LEFT, before);
    end_column(&stroke);
    if (!stroke.begun)
        plumb_buf_str(p->out, "M0 0");
    plumb_buf_str(p->out, "\"/>\n");
}

static bool has_reserved(const struct plumb_timing_series *s)
{
    for (size_t i = 0; i < s->point_count; i++)
        if (s->points[i].b > 0)
            return true;
    return false;
}

/* ---- Panels ---------------------------------------------------------------------------------- */

struct legend { /* a line of what the colours mean */
    struct plumb_memory_picture *p;
    double x, y;
};

static void put_key(struct legend *l, const char *colour, bool dashed, const char *text)
{
    double width = plumb_svg_width(text);
    if (l->x + width + 40 > PLUMB_MEMORY_WIDTH) {
        l->x = PLUMB_MEMORY_LEFT;
        l->y += PLUMB_MEMORY_LINE;
    }
    plumb_buf_printf(l->p->out, "<line stroke=\"%s\" stroke-width=\"2\"%s", colour,
                     dashed ? " stroke-dasharray=\"5 3\"" : "");
    plumb_svg_attribute(l->p->out, "x1", l->x);
    plumb_svg_attribute(l->p->out, "x2", l->x + 20);
    plumb_svg_attribute(l->p->out, "y1", l->y - 4);
    plumb_svg_attribute(l->p->out, "y2", l->y - 4);
    plumb_buf_str(l->p->out, "/>\n");
    plumb_svg_label(l->p->out, "q", l->x + 25, l->y, 300, text);
    l->x += 45 + (width < 300 ? width : 300);
}

static void put_pool_keys(struct legend *l, const struct plumb_timing_pool *pool,
                          const struct plumb_timing_series *s, const char *colour)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, pool->pool[0] ? pool->pool : "(no name)");
    plumb_buf_str(&text, s ? " allocated" : " (only its peak is known)");
    l->p->out->failed |= text.failed;
    put_key(l, colour, false, text.data ? text.data : "");
    if (s && has_reserved(s))
        put_key(l, colour, true, "reserved");
    plumb_buf_fini(&text);
}

/* The pools of the panel, each with its colour: keys, or lines and peaks. */
static void each_pool(struct plumb_memory_picture *p, const struct plumb_memory_panel *panel,
                      struct legend *l, const struct plumb_memory_plot *plot)
{
    size_t n = 0;
    for (size_t i = 0; i < p->t->memory.pool_count && n < MOST_POOLS; i++) {
        const struct plumb_timing_pool *pool = &p->t->memory.pools[i];
        const struct plumb_timing_series *s = plumb_memory_series(p->t, (uint32_t)i);
        const char *colour = line_colours[n % LINE_COLOURS];
        if (!plumb_memory_in_panel(panel, pool))
            continue;
        n++;
        if (l) {
            put_pool_keys(l, pool, s, colour);
            continue;
        }
        if (s && has_reserved(s))
            put_line(p, plot, s, true, colour);
        if (s)
            put_line(p, plot, s, false, colour);
        if (plumb_memory_peak_shown(p, pool))
            plumb_memory_put_pool_peak(p, plot, pool, colour);
    }
}

static void put_heading(struct plumb_memory_picture *p, const struct plumb_memory_panel *panel)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, panel->device ? "memory of " : "memory of the host");
    plumb_buf_str(&text, panel->device ? panel->device : "");
    p->out->failed |= text.failed;
    plumb_svg_label(p->out, "h", PLUMB_MEMORY_MARGIN, p->y, 400, text.data ? text.data : "");
    plumb_buf_fini(&text);
}

static void put_panel(struct plumb_memory_picture *p, const struct plumb_memory_panel *panel)
{
    const struct plumb_timing_series *rss =
        panel->device ? NULL : plumb_memory_series(p->t, PLUMB_TIMING_NONE);
    struct plumb_memory_plot plot = {.panel = panel,
                                     .axis = plumb_chart_bytes(panel->most, 6),
                                     .height = p->panel_count == 1 ? PANEL_FIRST : PANEL};
    p->y += 2 * PLUMB_MEMORY_LINE;
    put_heading(p, panel);
    struct legend l = {p, PLUMB_MEMORY_LEFT, p->y + PLUMB_MEMORY_LINE};
    if (rss)
        put_key(&l, PLUMB_MEMORY_RSS_COLOUR, false, "resident set of the process");
    each_pool(p, panel, &l, NULL);
    plot.top = l.y + 14;
    plumb_memory_put_shades(p, &plot);
    put_axes(p, &plot);
    if (rss)
        put_line(p, &plot, rss, false, PLUMB_MEMORY_RSS_COLOUR);
    each_pool(p, panel, NULL, &plot);
    plumb_memory_put_checkpoints(p, &plot);
    if (rss)
        plumb_memory_put_rss_peak(p, &plot);
    p->y = plot.top + plot.height + PLUMB_MEMORY_LINE;
}

/* ---- The picture ----------------------------------------------------------------------------- */

static void put_text(struct plumb_memory_picture *p, const char *style, struct plumb_buf *line)
{
    p->y += PLUMB_MEMORY_LINE;
    p->out->failed |= line->failed;
    plumb_svg_label(p->out, style, PLUMB_MEMORY_MARGIN, p->y,
                    PLUMB_MEMORY_WIDTH - 2 * PLUMB_MEMORY_MARGIN, line->data ? line->data : "");
    plumb_buf_fini(line);
}

static void put_head(struct plumb_memory_picture *p)
{
    const struct plumb_timing *t = p->t;
    struct plumb_buf b = {0};
    plumb_buf_str(&b, t->pipeline ? t->pipeline : "");
    plumb_buf_str(&b, ": memory over time");
    p->y = 26;
    plumb_svg_label(p->out, "t", PLUMB_MEMORY_MARGIN, p->y, PLUMB_MEMORY_WIDTH * 0.7,
                    b.data ? b.data : "");
    plumb_buf_fini(&b);
    plumb_put_run(&b, t, p->options);
    put_text(p, "q", &b);
    plumb_buf_str(&b, "Lines are steps from sample to sample; where samples were thinned out, the "
                      "highest stayed. Peaks of pools are exact. Rings are checkpoints.");
    put_text(p, "q", &b);
    if (p->request != PLUMB_TIMING_NONE) {
        plumb_buf_str(&b, "Only the time of request ");
        plumb_buf_str(&b, t->requests[p->request].id);
        put_text(p, "q", &b);
    }
    if (p->rows.left_out + t->stage_runs_lost > 0) {
        plumb_buf_printf(&b,
                         "%zu runs of stages are not drawn: there is no row left for them, or "
                         "newer ones took their place.",
                         p->rows.left_out + (size_t)t->stage_runs_lost);
        put_text(p, "q", &b);
    }
    if (p->left_out > 0) {
        plumb_buf_printf(&b, "%zu pools are not drawn: there are more than %d devices.",
                         p->left_out, PLUMB_MEMORY_PANELS);
        put_text(p, "q", &b);
    }
}

static void put_empty(struct plumb_memory_picture *p)
{
    struct plumb_buf b = {0};
    p->y += PLUMB_MEMORY_LINE;
    plumb_buf_str(&b, PLUMB_MEMORY_EMPTY);
    put_text(p, "h", &b);
}

static void put_body(struct plumb_memory_picture *p)
{
    plumb_buf_str(p->out, "<style>\n.r:hover rect{stroke:#000;stroke-width:1}\n"
                          ".r text{pointer-events:none}\n"
                          ".p{paint-order:stroke;stroke:#fff;stroke-width:3}\n</style>\n");
    put_head(p);
    plumb_memory_put_rows(p);
    plumb_memory_put_checkpoint_names(p);
    if (p->panel_count == 0)
        put_empty(p);
    for (size_t i = 0; i < p->panel_count; i++)
        put_panel(p, &p->panels[i]);
}

void plumb_render_memory_svg(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_buf body = {0}; /* the head states the height, which the body decides */
    struct plumb_memory_picture p = {
        .t = in->timing, .options = in->options, .out = &body, .request = in->request};
    if (plumb_stage_rows_init(&p.rows, p.t, &in->options->summary, p.request, NULL) < 0) {
        out->failed = true;
        return;
    }
    find_range(&p);
    find_panels(&p);
    put_body(&p);
    plumb_svg_open(out, PLUMB_MEMORY_WIDTH, p.y + PLUMB_MEMORY_LINE, "plumb: memory over time");
    out->failed |= body.failed;
    if (body.data)
        plumb_buf_append(out, body.data, body.len);
    plumb_svg_close(out);
    plumb_buf_fini(&body);
    plumb_stage_rows_fini(&p.rows);
}
