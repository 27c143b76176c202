/* flame_svg.c: the flame graph as a picture: the layout of flame.h, the outermost places on top.
 *
 * The picture is complete without its script (a viewer may forbid it, an <img> always does): the
 * script only zooms. It reads the boxes from the picture itself, so nothing is written twice. */
#include <inttypes.h>

#include "base/error.h"
#include "report/picture/chart.h"
#include "report/picture/svg.h"
#include "report/run/flame.h"
#include "report/run/render.h"

enum {
    WIDTH = 1200,
    LEFT = 10,
    INNER = WIDTH - 2 * LEFT,
    ROW = 18,
    LINE = 17,
    NAME_PX = 1500 /* of a name in a hover text: some 200 characters */
};
static const double MIN_WIDTH_PX = 0.1;

struct picture {
    const struct plumb_render_input *in;
    struct plumb_flame flame;
    double min_px;
    struct plumb_buf *out;
    double y;
};

static const char script[] =
    "<script><![CDATA[\n"
    "(function () {\n"
    "  'use strict';\n"
    "  var here = document.currentScript;\n"
    "  var svg = here && here.ownerSVGElement || document.documentElement;\n"
    "  var left = 10, inner = 1180, near = 0.002, sections = [];\n"
    "  function each(list, f) { Array.prototype.forEach.call(list, f); }\n"
    "  function px(c) { return c.length == 1 && c < '\\x80' ? 7.32 : 15; }\n"
    "  function width(text) {\n"
    "    return Array.from(text).reduce(function (sum, c) { return sum + px(c); }, 0);\n"
    "  }\n"
    "  function label(line, room) {\n"
    "    var name = line.slice(0, line.lastIndexOf(': ')), cut = '', used = 15;\n"
    "    if (width(line) <= room) return line;\n"
    "    if (width(name) <= room) return name;\n"
    "    Array.from(name).every(function (c) {\n"
    "      used += px(c);\n"
    "      if (used <= room) cut += c;\n"
    "      return used <= room;\n"
    "    });\n"
    "    return Array.from(cut).length < 2 ? '' : cut + '\\u2026';\n"
    "  }\n"
    "  function show(box, x, w, shown, dim) {\n"
    "    box.g.style.display = shown ? '' : 'none';\n"
    "    box.g.style.opacity = dim ? 0.7 : 1;\n"
    "    if (!shown) return;\n"
    "    box.r.setAttribute('x', x);\n"
    "    box.r.setAttribute('width', w);\n"
    "    box.r.setAttribute('class', w >= 3 ? 'b' : '');\n"
    "    box.t.setAttribute('x', x + 3);\n"
    "    box.t.textContent = label(box.line, w - 6);\n"
    "  }\n"
    "  function zoom(boxes, to) {\n"
    "    boxes.forEach(function (b) {\n"
    "      var end = b.x + b.w, to_end = to.x + to.w;\n"
    "      var around = b.y < to.y && b.x <= to.x + near && end >= to_end - near;\n"
    "      var inside = b.y >= to.y && b.x >= to.x - near && end <= to_end + near;\n"
    "      if (around) show(b, left, inner, true, true);\n"
    "      else show(b, left + (b.x - to.x) / to.w * inner, b.w / to.w * inner, inside, false);\n"
    "    });\n"
    "  }\n"
    "  function reset() {\n"
    "    sections.forEach(function (boxes) {\n"
    "      boxes.forEach(function (b) { show(b, b.x, b.w, true, false); });\n"
    "    });\n"
    "  }\n"
    "  each(svg.querySelectorAll('g.s'), function (section) {\n"
    "    var boxes = [];\n"
    "    each(section.querySelectorAll('g.n'), function (g) {\n"
    "      var r = g.querySelector('rect'), t = g.querySelector('text');\n"
    "      if (!t) {\n"
    "        t = document.createElementNS('http://www.w3.org/2000/svg', 'text');\n"
    "        t.setAttribute('y', +r.getAttribute('y') + 13);\n"
    "        g.appendChild(t);\n"
    "      }\n"
    "      var b = {g: g, r: r, t: t, line: g.querySelector('title').textContent.split('\\n')[0],\n"
    "        x: +r.getAttribute('x'), y: +r.getAttribute('y'), w: +r.getAttribute('width')};\n"
    "      boxes.push(b);\n"
    "      g.addEventListener('click', function (e) { zoom(boxes, b); e.stopPropagation(); });\n"
    "    });\n"
    "    sections.push(boxes);\n"
    "  });\n"
    "  svg.addEventListener('click', reset);\n"
    "  document.addEventListener('keydown', function (e) { if (e.key == 'Escape') reset(); });\n"
    "  each(svg.querySelectorAll('.z'), function (hint) { hint.style.display = 'inline'; });\n"
    "})();\n"
    "]]></script>\n";

/* ---- Boxes ----------------------------------------------------------------------------------- */

static void put_percent(struct plumb_buf *out, double part, double whole)
{
    plumb_put_fixed(out, 100.0 * part / whole, 1, 0);
    plumb_buf_str(out, " %");
}

static void put_name(struct plumb_buf *out, const char *name)
{
    if (name[0])
        plumb_svg_cut(out, name, NAME_PX);
    else
        plumb_buf_str(out, "(no name)");
}

/* The first line of the hover text, from which the script makes labels too: "NAME: TIME". */
static void put_first_line(struct plumb_buf *out, const struct plumb_flame_box *box)
{
    if (box->place)
        put_name(out, box->node->name);
    else
        plumb_buf_printf(out, "(%zu smaller)", box->merged);
    plumb_buf_str(out, ": ");
    plumb_put_duration(out, box->total_ns);
}

static void put_shares(struct picture *p, const struct plumb_flame_box *box)
{
    const char *before = "\n";
    if (p->flame.whole_ns > 0) {
        plumb_buf_str(p->out, before);
        put_percent(p->out, box->total_ns, p->flame.whole_ns);
        plumb_buf_str(p->out, " of all");
        before = ", ";
    }
    if (box->root && box->root_ns > 0) {
        plumb_buf_str(p->out, before);
        put_percent(p->out, box->total_ns, box->root_ns);
        plumb_buf_str(p->out, " of its root ");
        put_name(p->out, box->root->name);
    }
}

static void put_facts(struct picture *p, const struct plumb_flame_box *box)
{
    struct plumb_buf *out = p->out;
    const struct plumb_timing_tree *place = box->place;
    plumb_buf_printf(out, "\n%" PRIu64 " %s, self ", place->count,
                     place->count == 1 ? "run" : "runs");
    if (place->async)
        plumb_buf_str(out, "- (async)");
    else
        plumb_put_duration(out, (double)place->self_ns);
    plumb_buf_str(out, box->node->stage ? ", stage\nphase " : "\nphase ");
    put_name(out, box->node->phase);
    plumb_buf_str(out, ", pipeline ");
    put_name(out, box->node->pipeline);
    if (box->below) {
        plumb_buf_str(out, "\nbelow ");
        put_name(out, box->below->name);
    }
    if (box->squeezed)
        plumb_buf_str(out, "\ndrawn narrower than its time: a place around it lost samples");
}

static void put_label(struct plumb_buf *out, const struct plumb_flame_box *box, double x, double y,
                      double room)
{
    struct plumb_buf line = {0};
    const char *name = box->place ? box->node->name : "";
    put_first_line(&line, box);
    plumb_buf_str(out, "<text");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
    /* The line is escaped, thus at least as long as what it shows. */
    if (line.data && plumb_svg_width(line.data) <= room)
        plumb_buf_append(out, line.data, line.len);
    else
        plumb_svg_cut(out, name, room);
    plumb_buf_str(out, "</text>");
    plumb_buf_fini(&line);
}

static uint32_t colour_of(const struct plumb_flame_box *box)
{
    enum plumb_svg_palette palette = box->place->async  ? PLUMB_SVG_FADED
                                     : box->node->stage ? PLUMB_SVG_COOL
                                                        : PLUMB_SVG_WARM;
    return plumb_svg_colour(box->node->name, palette);
}

static void put_box(struct picture *p, const struct plumb_flame_section *s,
                    const struct plumb_flame_box *box)
{
    struct plumb_buf *out = p->out;
    double x = LEFT + INNER * (box->begin_ns / s->width_ns);
    double y = p->y + ROW * (double)box->level;
    double width = INNER * (box->width_ns / s->width_ns);
    plumb_buf_str(out, "<g class=\"n\"><title>");
    put_first_line(out, box);
    put_shares(p, box);
    if (box->place)
        put_facts(p, box);
    plumb_buf_str(out, "</title><rect");
    if (width >= 3)
        plumb_buf_str(out, " class=\"b\"");
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_svg_attribute(out, "width", width);
    plumb_svg_attribute(out, "height", ROW - 1);
    if (box->place)
        plumb_buf_printf(out, " fill=\"#%06x\"/>", (unsigned)colour_of(box));
    else
        plumb_buf_str(out, " fill=\"" PLUMB_SVG_GREY "\"/>");
    if (width >= 20)
        put_label(out, box, x + 3, y + 13, width - 6);
    plumb_buf_str(out, "</g>\n");
}

/* ---- Sections -------------------------------------------------------------------------------- */

static const char *kind_note(enum plumb_flame_kind kind)
{
    switch (kind) {
    case PLUMB_FLAME_ASYNC:
        return "Async spans overlap each other and all other spans; they are in no sum.";
    case PLUMB_FLAME_APART:
        return "Not inside the runs of the place they hang below (worker threads that adopted it, "
               "or runs that left no sample): they overlap.";
    default:
        return NULL;
    }
}

static void put_section(struct picture *p, const struct plumb_flame_section *s)
{
    static const char *const kinds[] = {"", "apart, ", "async, "};
    struct plumb_buf *out = p->out;
    struct plumb_buf heading = {0};
    const char *note = kind_note(s->kind);
    plumb_buf_printf(&heading, "%sphase ", kinds[s->kind]);
    plumb_buf_str(&heading, s->phase);
    plumb_buf_str(&heading, ", pipeline ");
    plumb_buf_str(&heading, s->pipeline);
    p->y += LINE + 6;
    plumb_buf_str(out, "<g class=\"s\">\n<text class=\"h\"");
    plumb_svg_attribute(out, "x", LEFT);
    plumb_svg_attribute(out, "y", p->y);
    plumb_buf_char(out, '>');
    plumb_svg_cut(out, heading.data ? heading.data : "", INNER - 400);
    out->failed |= heading.failed;
    plumb_buf_str(out, "<tspan class=\"q\" font-weight=\"normal\">  full width is ");
    plumb_put_duration(out, s->width_ns);
    plumb_buf_str(out, "</tspan></text>\n");
    if (note) {
        p->y += LINE;
        plumb_svg_label(out, "q", LEFT, p->y, INNER, note);
    }
    p->y += 6;
    for (size_t i = s->first; i < s->first + s->count; i++)
        put_box(p, s, &p->flame.boxes[i]);
    plumb_buf_str(out, "</g>\n");
    p->y += ROW * (double)s->levels;
    plumb_buf_fini(&heading);
}

/* ---- Head ------------------------------------------------------------------------------------ */

static void put_line(struct picture *p, const char *text)
{
    p->y += LINE;
    plumb_svg_label(p->out, "q", LEFT, p->y, INNER, text);
}

static void put_run(struct picture *p)
{
    struct plumb_buf line = {0};
    plumb_put_run(&line, p->in->timing, p->in->options);
    p->out->failed |= line.failed;
    put_line(p, line.data ? line.data : "");
    plumb_buf_fini(&line);
}

static void put_legend(struct picture *p)
{
    const struct {
        uint32_t colour;
        const char *text;
    } keys[] = {{plumb_svg_colour("node", PLUMB_SVG_WARM), "node"},
                {plumb_svg_colour("stage", PLUMB_SVG_COOL), "stage"},
                {plumb_svg_colour("async", PLUMB_SVG_FADED), "async span"},
                {0xdddddd, "several small ones"}};
    double x = LEFT;
    p->y += LINE;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        plumb_buf_printf(p->out, "<rect height=\"11\" width=\"11\" fill=\"#%06x\"",
                         (unsigned)keys[i].colour);
        plumb_svg_attribute(p->out, "x", x);
        plumb_svg_attribute(p->out, "y", p->y - 10);
        plumb_buf_str(p->out, "/>\n");
        plumb_svg_label(p->out, "q", x + 16, p->y, INNER, keys[i].text);
        x += 36 + plumb_svg_width(keys[i].text);
    }
    plumb_buf_printf(p->out,
                     "<text class=\"q z\" style=\"display:none\" x=\"%d\" y=\"%d\">"
                     "Click a rectangle to zoom in, the ground or Esc to zoom out.</text>\n",
                     (int)x, (int)p->y);
}

static void put_places(struct plumb_buf *out, size_t n, const char *one, const char *several)
{
    plumb_buf_printf(out, "%zu %s %s", n, n == 1 ? "place" : "places", n == 1 ? one : several);
}

/* Appends the limits of the picture: merged, hidden and narrowed places. */
static void put_notes(struct picture *p)
{
    const struct plumb_flame *f = &p->flame;
    struct plumb_buf b = {0};
    if (f->merged > 0) {
        put_places(&b, f->merged, "shares a grey rectangle", "share the grey rectangles");
        plumb_buf_str(&b, ": narrower than ");
        plumb_put_fixed(&b, p->min_px, 2, 0);
        plumb_buf_str(&b, " px");
        if (f->too_deep)
            plumb_buf_printf(&b, ", deeper than %d levels", PLUMB_FLAME_LEVELS);
        if (p->in->options->summary.top > 0)
            plumb_buf_printf(&b, ", not among the %zu largest siblings",
                             p->in->options->summary.top);
        if (f->over_limit)
            plumb_buf_printf(&b, ", or smaller than the largest that the limit of %d allows",
                             PLUMB_FLAME_LIMIT);
        plumb_buf_str(&b, ".\n");
    }
    if (f->left_out > 0) {
        put_places(&b, f->left_out, "is not drawn", "are not drawn");
        plumb_buf_printf(&b, ": there are more than %d rows of phases.\n", PLUMB_FLAME_SECTIONS);
    }
    if (f->empty > 0) {
        put_places(&b, f->empty, "left no time", "left no time");
        plumb_buf_str(&b, " (skipped, failed): what ran below stands in its stead.\n");
    }
    if (f->squeezed > 0) {
        put_places(&b, f->squeezed, "is drawn narrower than its time",
                   "are drawn narrower than their time");
        plumb_buf_str(&b, ": some runs around them left no sample.\n");
    }
    if (f->deeper > 0) {
        put_places(&b, f->deeper, "is not drawn", "are not drawn");
        plumb_buf_printf(&b, ": deeper than --depth %u.\n",
                         (unsigned)p->in->options->summary.depth);
    }
    if (p->in->fold && p->in->fold->count > 0)
        plumb_buf_printf(&b,
                         "Nodes that differ in a number alone are one, with a star for it: %zu "
                         "such groups.\n",
                         p->in->fold->count);
    p->out->failed |= b.failed;
    for (char *line = b.data, *end; line && *line; line = end + 1) {
        for (end = line; *end != '\n'; end++)
            ;
        *end = '\0';
        put_line(p, line);
    }
    plumb_buf_fini(&b);
}

static void put_head(struct picture *p)
{
    const struct plumb_timing *t = p->in->timing;
    struct plumb_buf title = {0};
    plumb_buf_str(&title, t->pipeline ? t->pipeline : "");
    plumb_buf_str(&title, ": where the time went");
    p->out->failed |= title.failed;
    p->y = 26;
    plumb_svg_label(p->out, "t", LEFT, p->y, INNER * 0.7, title.data ? title.data : "");
    put_run(p);
    put_line(p, "Width is time: the total of all runs in that place, nested nodes included. The "
                "part that no child covers is the node's own. Threads add up.");
    put_legend(p);
    put_notes(p);
    plumb_buf_fini(&title);
}

/* ---- The picture ----------------------------------------------------------------------------- */

static void put_empty(struct picture *p)
{
    const struct plumb_summary_options *o = &p->in->options->summary;
    struct plumb_buf line = {0};
    plumb_buf_str(&line, p->in->timing->tree_count == 0 ? PLUMB_SUMMARY_EMPTY
                                                        : "No place of the call tree has any time");
    if (p->in->timing->tree_count > 0 && (o->phase || o->pipeline)) {
        plumb_buf_str(&line, o->phase ? " in phase " : " in pipeline ");
        plumb_buf_str(&line, o->phase ? o->phase : o->pipeline);
    }
    p->out->failed |= line.failed;
    p->y += 2 * LINE;
    plumb_svg_label(p->out, "h", LEFT, p->y, INNER, line.data ? line.data : "");
    plumb_buf_fini(&line);
}

static void put_body(struct picture *p)
{
    plumb_buf_str(p->out, "<style>\n.b{stroke:#fff;stroke-width:.5}\n"
                          ".n{cursor:pointer}\n.n:hover rect{stroke:#000;stroke-width:1}\n"
                          ".n text{pointer-events:none}\n</style>\n");
    put_head(p);
    if (p->flame.section_count == 0)
        put_empty(p);
    for (size_t i = 0; i < p->flame.section_count; i++)
        put_section(p, &p->flame.sections[i]);
    if (p->flame.section_count > 0)
        plumb_buf_str(p->out, script);
}

void plumb_render_flame_svg(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_buf body = {0}; /* the head states the height, which the body decides */
    struct picture p = {.in = in, .out = &body, .min_px = in->options->min_width_px};
    if (!(p.min_px > 0))
        p.min_px = MIN_WIDTH_PX;
    struct plumb_flame_options o = {in->options->summary, p.min_px / INNER, PLUMB_FLAME_LIMIT};
    if (plumb_flame_init(&p.flame, in->timing, &o, NULL) < 0) {
        out->failed = true;
        return;
    }
    put_body(&p);
    plumb_svg_open(out, WIDTH, p.y + LINE, "plumb: where the time went");
    out->failed |= body.failed;
    if (body.data)
        plumb_buf_append(out, body.data, body.len);
    plumb_svg_close(out);
    plumb_buf_fini(&body);
    plumb_flame_fini(&p.flame);
}
