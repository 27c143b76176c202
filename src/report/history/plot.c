/* plot.c: see plot.h.
 *
 * Records are drawn at equal distances, in their order in time: commits come in bursts, and on an
 * axis of time a burst is one blot. The dates of the first and the last stand below. */
#include "report/history/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "report/history/series.h"
#include "report/picture/svg.h"
#include "report/table/grid.h"

enum { WIDTH = 900, LEFT = 110, RIGHT = 30, PLOT = 150, HEAD = 46, FOOT = 34, PANEL = 240 };

static const double INNER = WIDTH - LEFT - RIGHT;

struct panel {
    struct plumb_buf *out;
    const struct plumb_series *s;
    double top, low, high;
};

static double x_of(const struct panel *p, double at)
{
    size_t n = p->s->count;
    return LEFT + (n > 1 ? at / (double)(n - 1) : 0.5) * INNER;
}

static double y_of(const struct panel *p, double value)
{
    return p->top + HEAD + (1 - (value - p->low) / (p->high - p->low)) * PLOT;
}

/* The range of the values and of the bands, with some space around. */
static void set_range(struct panel *p)
{
    p->low = INFINITY;
    p->high = -INFINITY;
    for (size_t i = 0; i < p->s->count; i++) {
        p->low = fmin(p->low, p->s->values[i]);
        p->high = fmax(p->high, p->s->values[i]);
    }
    for (size_t i = 0; i < p->s->level_count; i++) {
        p->low = fmin(p->low, p->s->levels[i].median - p->s->levels[i].band);
        p->high = fmax(p->high, p->s->levels[i].median + p->s->levels[i].band);
    }
    double space = 0.08 * (p->high - p->low);
    if (!(space > 0))
        space = p->high != 0 ? 0.1 * fabs(p->high) : 1;
    p->low -= space;
    p->high += space;
}

static void put_number(struct plumb_buf *out, double value, const char *unit)
{
    plumb_buf_printf(out, "%.4g%s%s", value, unit[0] ? " " : "", unit);
}

static void put_date(struct plumb_buf *out, const plumb_result *r)
{
    char text[PLUMB_TIME_TEXT];
    plumb_time_text(text, r->time_ns);
    plumb_buf_printf(out, "%.10s", text);
}

static void put_label(const struct panel *p, const char *style, double x, double y, double px,
                      const struct plumb_buf *text)
{
    if (text->data && !text->failed)
        plumb_svg_label(p->out, style, x, y, px, text->data);
    p->out->failed |= text->failed;
}

/* ---- Parts of a plot
 * -------------------------------------------------------------------------- */

static void put_title(const struct panel *p)
{
    const plumb_cohort *c = p->s->cohort;
    const plumb_result *last = p->s->records[p->s->count - 1];
    struct plumb_buf title = {0}, keys = {0};
    plumb_buf_printf(&title, "%s / %s: %s", c->workload ? c->workload : "?",
                     c->variant ? c->variant : "?", p->s->metric->name);
    plumb_buf_printf(&keys, "%zu records, version %s, recipe %.8s, %s, %s%s%s", p->s->count,
                     c->version ? c->version : "?", c->recipe ? c->recipe : "?",
                     c->hardware ? c->hardware : "?", c->software ? c->software : "?",
                     last->device ? ", " : "", last->device ? last->device : "");
    put_label(p, "b", 12, p->top + 18, WIDTH - 24, &title);
    put_label(p, "g", 12, p->top + 36, WIDTH - 24, &keys);
    plumb_buf_fini(&title);
    plumb_buf_fini(&keys);
}

static double round_step(double range, int ticks)
{
    double raw = range / ticks, power = pow(10, floor(log10(raw))), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static void put_axis(const struct panel *p)
{
    double step = round_step(p->high - p->low, 4);
    for (double tick = ceil(p->low / step) * step; tick <= p->high; tick += step) {
        struct plumb_buf text = {0};
        double y = y_of(p, tick);
        put_number(&text, fabs(tick) < step / 1e6 ? 0 : tick, p->s->metric->unit);
        plumb_buf_str(p->out, "<line class=\"grid\"");
        plumb_svg_attribute(p->out, "x1", LEFT);
        plumb_svg_attribute(p->out, "x2", WIDTH - RIGHT);
        plumb_svg_attribute(p->out, "y1", y);
        plumb_svg_attribute(p->out, "y2", y);
        plumb_buf_str(p->out, "/>\n");
        put_label(p, "g", 12, y + 4, LEFT - 20, &text);
        plumb_buf_fini(&text);
    }
}

static void put_dates(const struct panel *p)
{
    const struct plumb_series *s = p->s;
    struct plumb_buf first = {0}, last = {0};
    double y = p->top + HEAD + PLOT + 18;
    put_date(&first, s->records[0]);
    put_date(&last, s->records[s->count - 1]);
    put_label(p, "g", LEFT, y, 120, &first);
    if (s->count > 1)
        put_label(p, "g", WIDTH - RIGHT - 82, y, 120, &last);
    plumb_buf_fini(&first);
    plumb_buf_fini(&last);
}

static void put_level(const struct panel *p, const struct plumb_level *l)
{
    double from = x_of(p, (double)l->begin - (l->begin ? 0.5 : 0));
    double to = x_of(p, (double)l->end - (l->end < p->s->count ? 0.5 : 1));
    double y = y_of(p, l->median + l->band);
    struct plumb_buf hint = {0};
    if (p->s->count == 1) {
        from -= 20;
        to += 20;
    }
    plumb_buf_str(p->out, "<rect class=\"band\"");
    plumb_svg_attribute(p->out, "x", from);
    plumb_svg_attribute(p->out, "width", to - from);
    plumb_svg_attribute(p->out, "y", y);
    plumb_svg_attribute(p->out, "height", fmax(y_of(p, l->median - l->band) - y, 0));
    plumb_buf_str(p->out, "><title>");
    plumb_buf_str(&hint, "level ");
    put_number(&hint, l->median, p->s->metric->unit);
    plumb_buf_str(&hint, ", noise band +- ");
    put_number(&hint, l->band, p->s->metric->unit);
    plumb_svg_text(p->out, hint.data ? hint.data : "");
    plumb_buf_str(p->out, "</title></rect>\n<line class=\"level\"");
    plumb_svg_attribute(p->out, "x1", from);
    plumb_svg_attribute(p->out, "x2", to);
    plumb_svg_attribute(p->out, "y1", y_of(p, l->median));
    plumb_svg_attribute(p->out, "y2", y_of(p, l->median));
    plumb_buf_str(p->out, "/>\n");
    plumb_buf_fini(&hint);
}

/* "+30.1 %", above the line where the level changes. */
static void put_step(const struct panel *p, size_t i)
{
    const struct plumb_level *l = &p->s->levels[i];
    const plumb_result *r = p->s->records[l->begin];
    double before = p->s->levels[i - 1].median, step = plumb_series_step(p->s, i);
    double x = x_of(p, (double)l->begin - 0.5);
    const char *style = step > 0 ? "worse" : "better";
    struct plumb_buf text = {0}, hint = {0};
    if (before != 0)
        plumb_buf_printf(&text, "%+.1f %%", (l->median - before) / fabs(before) * 100);
    else
        plumb_buf_str(&text, "from 0");
    plumb_buf_printf(&hint, "step %s at ", text.data ? text.data : "");
    put_date(&hint, r);
    plumb_buf_printf(&hint, ", commit %.12s", r->commit ? r->commit : "unknown");
    plumb_buf_printf(p->out, "<line class=\"%s\"", style);
    plumb_svg_attribute(p->out, "x1", x);
    plumb_svg_attribute(p->out, "x2", x);
    plumb_svg_attribute(p->out, "y1", p->top + HEAD);
    plumb_svg_attribute(p->out, "y2", p->top + HEAD + PLOT);
    plumb_buf_str(p->out, "><title>");
    plumb_svg_text(p->out, hint.data ? hint.data : "");
    plumb_buf_str(p->out, "</title></line>\n");
    /* Two rows, because steps may be near each other. */
    put_label(p, step > 0 ? "w" : "i", x + 4, p->top + HEAD + (i % 2 ? 10 : 24), 90, &text);
    plumb_buf_fini(&text);
    plumb_buf_fini(&hint);
}

static void put_points(const struct panel *p)
{
    for (size_t i = 0; i < p->s->count; i++) {
        const plumb_result *r = p->s->records[i];
        struct plumb_buf hint = {0};
        put_number(&hint, p->s->values[i], p->s->metric->unit);
        plumb_buf_str(&hint, ", ");
        put_date(&hint, r);
        plumb_buf_printf(&hint, ", commit %.12s, record %lld", r->commit ? r->commit : "unknown",
                         (long long)r->id);
        plumb_buf_printf(p->out, "<circle class=\"%s\"", r->eligible ? "point base" : "point");
        plumb_svg_attribute(p->out, "cx", x_of(p, (double)i));
        plumb_svg_attribute(p->out, "cy", y_of(p, p->s->values[i]));
        plumb_buf_str(p->out, " r=\"3\"><title>");
        plumb_svg_text(p->out, hint.data ? hint.data : "");
        plumb_buf_str(p->out, "</title></circle>\n");
        p->out->failed |= hint.failed;
        plumb_buf_fini(&hint);
    }
}

static void put_panel(struct plumb_buf *out, const struct plumb_series *s, double top)
{
    struct panel p = {.out = out, .s = s, .top = top};
    set_range(&p);
    put_title(&p);
    put_axis(&p);
    for (size_t i = 0; i < s->level_count; i++)
        put_level(&p, &s->levels[i]);
    for (size_t i = 1; i < s->level_count; i++)
        put_step(&p, i);
    put_points(&p);
    put_dates(&p);
}

static const char style[] =
    "<style>.g{fill:#555}.b{font-weight:bold}.w{fill:#a11}.i{fill:#064}"
    ".grid{stroke:#ddd}.band{fill:#9ec5e8;fill-opacity:.45}.level{stroke:#1f5f99;stroke-width:2}"
    ".worse{stroke:#c22;stroke-dasharray:4 3}.better{stroke:#185;stroke-dasharray:4 3}"
    ".point{fill:#fff;stroke:#333}.base{fill:#333}</style>\n";

int plumb_history_svg(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                      const char *metric, plumb_error *err)
{
    struct plumb_series_list list;
    int rc = plumb_series_collect(&list, items, n, metric, err);
    if (rc < 0)
        return rc;
    if (list.count == 0) {
        plumb_series_fini(&list);
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "no record that is selected has %s%s%s: see 'plumb history list'",
                          metric ? "the metric '" : "a gated metric with a value",
                          metric ? metric : "", metric ? "'" : "");
    }
    size_t shown = list.count < PLUMB_HISTORY_PLOTS ? list.count : PLUMB_HISTORY_PLOTS;
    size_t more = list.count - shown;
    plumb_svg_open(out, WIDTH, (double)(shown * PANEL + FOOT), "history");
    plumb_buf_str(out, style);
    for (size_t i = 0; i < shown; i++)
        put_panel(out, &list.series[i], (double)(i * PANEL));
    struct plumb_buf foot = {0};
    plumb_buf_str(&foot, "line: median between two steps; band: 95 % of the noise; filled points "
                         "count for baselines");
    if (more > 0)
        plumb_buf_printf(&foot, "; %zu more series: choose with --workload and --metric", more);
    plumb_svg_label(out, "g", 12, (double)(shown * PANEL + 14), WIDTH - 24,
                    foot.data ? foot.data : "");
    out->failed |= foot.failed;
    plumb_buf_fini(&foot);
    plumb_svg_close(out);
    plumb_series_fini(&list);
    return PLUMB_OK;
}

/* ---- The table of steps
 * ----------------------------------------------------------------------- */

static const struct plumb_grid_column columns[] = {
    {"workload_id", "Workload", PLUMB_GRID_TEXT, NULL},
    {"variant_id", "Variant", PLUMB_GRID_TEXT, NULL},
    {"software_profile_id", "Software", PLUMB_GRID_TEXT, NULL},
    {"metric", "Metric", PLUMB_GRID_TEXT, NULL},
    {"date", "Date", PLUMB_GRID_TEXT, NULL},
    {"commit", "Commit", PLUMB_GRID_TEXT, NULL},
    {"id", "Record", PLUMB_GRID_COUNT, NULL},
    {"before", "Before", PLUMB_GRID_FIGURE, NULL},
    {"after", "After", PLUMB_GRID_FIGURE, NULL},
    {"unit", "Unit", PLUMB_GRID_TEXT, NULL},
    {"worse_percent", "Worse (%)", PLUMB_GRID_PERCENT, NULL},
};

static void put_row(struct plumb_grid *g, const struct plumb_series *s, size_t i)
{
    const plumb_result *r = s->records[s->levels[i].begin];
    double step = plumb_series_step(s, i);
    char text[PLUMB_TIME_TEXT], commit[13];
    plumb_time_text(text, r->time_ns);
    text[10] = '\0';
    snprintf(commit, sizeof commit, "%.12s", r->commit ? r->commit : "");
    plumb_grid_text(g, s->cohort->workload);
    plumb_grid_text(g, s->cohort->variant);
    plumb_grid_text(g, s->cohort->software);
    plumb_grid_text(g, s->metric->name);
    plumb_grid_copy(g, text);
    plumb_grid_copy(g, commit);
    plumb_grid_whole(g, (uint64_t)r->id);
    plumb_grid_real(g, s->levels[i - 1].median);
    plumb_grid_real(g, s->levels[i].median);
    plumb_grid_text(g, s->metric->unit);
    plumb_grid_real(g, isinf(step) ? NAN : step * 100);
}

static void put_json(struct plumb_buf *out, const struct plumb_series_list *list)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_array(&j, "steps");
    for (size_t k = 0; k < list->count; k++)
        for (size_t i = 1; i < list->series[k].level_count; i++) {
            const struct plumb_series *s = &list->series[k];
            const plumb_result *r = s->records[s->levels[i].begin];
            plumb_json_object(&j);
            plumb_put_text(&j, "workload_id", s->cohort->workload);
            plumb_put_text(&j, "variant_id", s->cohort->variant);
            plumb_put_text(&j, "software_profile_id", s->cohort->software);
            plumb_put_text(&j, "metric", s->metric->name);
            plumb_put_time(&j, "time", r->time_ns);
            plumb_put_text(&j, "commit", r->commit);
            plumb_put_i64(&j, "id", r->id);
            plumb_put_f64(&j, "before", s->levels[i - 1].median);
            plumb_put_f64(&j, "after", s->levels[i].median);
            plumb_put_f64(&j, "worse_relative", plumb_series_step(s, i));
            plumb_json_object_end(&j);
        }
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

int plumb_history_step_table(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                             const char *metric, const char *format, plumb_error *err)
{
    struct plumb_series_list list;
    struct plumb_grid g;
    bool csv = strcmp(format, "csv") == 0, md = strcmp(format, "md") == 0;
    bool json = strcmp(format, "json") == 0;
    if (!csv && !md && !json && strcmp(format, "text") != 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "steps have no format '%s'", format);
    int rc = plumb_series_collect(&list, items, n, metric, err);
    if (rc < 0)
        return rc;
    if (json) {
        put_json(out, &list);
    } else {
        plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
        for (size_t k = 0; k < list.count; k++)
            for (size_t i = 1; i < list.series[k].level_count; i++)
                put_row(&g, &list.series[k], i);
        if (plumb_grid_rows(&g) == 0 && !csv)
            plumb_buf_printf(out, "no steps in %zu series", list.count);
        else if (csv)
            plumb_grid_csv(&g, out);
        else if (md)
            plumb_grid_md(&g, out);
        else
            plumb_grid_write(&g, out);
        plumb_grid_fini(&g);
    }
    plumb_series_fini(&list);
    return PLUMB_OK;
}
