/* memory_marks.c: the marks in the picture of memory: the runs of stages, peaks, checkpoints. Any
 * thread; no state. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/run/memory_picture.h"

enum { ROW = 16, MOST_POOLS = 12, MOST_OWNERS = 10 }; /* of pools and owners: in one hover text */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void put_stage_title(struct plumb_memory_picture *p, const struct plumb_stage_row_run *r)
{
    const struct plumb_timing_stage_run *run = r->run;
    struct plumb_buf *out = p->out;
    plumb_buf_str(out, "<title>");
    plumb_memory_put_name(out, r->node->name);
    plumb_buf_str(out, ": ");
    plumb_put_duration(out, (double)run->duration_ns);
    plumb_buf_str(out, run->failed ? ", failed\nfrom " : "\nfrom ");
    plumb_put_duration(out, (double)run->begin_ns);
    plumb_buf_printf(out, ", thread %" PRIu32 ", phase ", run->tid);
    plumb_memory_put_name(out, r->node->phase);
    if (run->request < p->t->request_count) {
        plumb_buf_str(out, "\nrequest ");
        plumb_memory_put_name(out, p->t->requests[run->request].id);
    }
    if (run->rss > 0) {
        plumb_buf_str(out, "\nresident at its end ");
        plumb_put_bytes(out, (double)run->rss);
        plumb_buf_str(out, ", peak ");
        plumb_put_bytes(out, (double)run->peak_rss);
    }
    plumb_buf_str(out, "</title>");
}

static void put_stage(struct plumb_memory_picture *p, const struct plumb_stage_row_run *r)
{
    double begin = plumb_memory_x(p, (double)r->run->begin_ns);
    double width =
        plumb_memory_x(p, (double)r->run->begin_ns + (double)r->run->duration_ns) - begin;
    double y = p->y + ROW * (double)r->row;
    plumb_buf_str(p->out, "<g class=\"r\">");
    put_stage_title(p, r);
    plumb_buf_str(p->out, "<rect");
    plumb_svg_attribute(p->out, "x", begin);
    plumb_svg_attribute(p->out, "y", y);
    plumb_svg_attribute(p->out, "width", larger(width, 0.5));
    plumb_svg_attribute(p->out, "height", ROW - 1);
    plumb_buf_printf(p->out, " fill=\"#%06x\"%s/>",
                     (unsigned)plumb_svg_colour(r->node->name, PLUMB_SVG_COOL),
                     r->run->failed ? " stroke=\"#b91c1c\" stroke-width=\"2\"" : "");
    if (width >= 20) {
        plumb_buf_str(p->out, "<text");
        plumb_svg_attribute(p->out, "x", begin + 3);
        plumb_svg_attribute(p->out, "y", y + 12);
        plumb_buf_char(p->out, '>');
        plumb_svg_cut(p->out, r->node->name, width - 6);
        plumb_buf_str(p->out, "</text>");
    }
    plumb_buf_str(p->out, "</g>\n");
}

void plumb_memory_put_rows(struct plumb_memory_picture *p)
{
    if (p->rows.count == 0)
        return;
    p->y += PLUMB_MEMORY_LINE;
    plumb_svg_label(p->out, "q", PLUMB_MEMORY_MARGIN, p->y + 12,
                    PLUMB_MEMORY_LEFT - PLUMB_MEMORY_MARGIN, "stages");
    for (size_t i = 0; i < p->rows.count; i++)
        put_stage(p, &p->rows.runs[i]);
    p->y += ROW * (double)p->rows.rows;
}

void plumb_memory_put_shades(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot)
{
    plumb_buf_str(p->out, "<g opacity=\"0.3\" pointer-events=\"none\">\n");
    for (size_t i = 0; i < p->rows.count; i++) {
        const struct plumb_timing_stage_run *run = p->rows.runs[i].run;
        double begin = plumb_memory_x(p, (double)run->begin_ns);
        double width = plumb_memory_x(p, (double)run->begin_ns + (double)run->duration_ns) - begin;
        if (run->depth > 0 || width < 1)
            continue;
        plumb_buf_str(p->out, "<rect");
        plumb_svg_attribute(p->out, "x", begin);
        plumb_svg_attribute(p->out, "y", plot->top);
        plumb_svg_attribute(p->out, "width", width);
        plumb_svg_attribute(p->out, "height", plot->height);
        plumb_buf_printf(
            p->out, " fill=\"#%06x\" fill-opacity=\"0.8\" stroke=\"#888\" stroke-width=\"0.5\"/>\n",
            (unsigned)plumb_svg_colour(p->rows.runs[i].node->name, PLUMB_SVG_COOL));
    }
    plumb_buf_str(p->out, "</g>\n");
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static void open_mark(struct plumb_memory_picture *p, double x, double y, const char *colour,
                      bool filled)
{
    plumb_buf_str(p->out, "<circle r=\"4.5\" stroke-width=\"1.5\"");
    plumb_svg_attribute(p->out, "cx", x);
    plumb_svg_attribute(p->out, "cy", y);
    plumb_buf_printf(p->out, " stroke=\"%s\" fill=\"%s\"><title>", filled ? "#fff" : colour,
                     filled ? colour : "#fff");
}

static void close_mark(struct plumb_memory_picture *p)
{
    plumb_buf_str(p->out, "</title></circle>\n");
}

/* Puts "peak 300.0 MiB" next to a mark, on the side where it fits. */
static void put_peak_label(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot,
                           double x, double y, double bytes, const char *colour)
{
    bool left = x > PLUMB_MEMORY_LEFT + PLUMB_MEMORY_INNER - 140;
    plumb_buf_printf(p->out, "<text class=\"p\" text-anchor=\"%s\" style=\"fill:%s\"",
                     left ? "end" : "start", colour);
    plumb_svg_attribute(p->out, "x", left ? x - 8 : x + 8);
    plumb_svg_attribute(p->out, "y", y < plot->top + 12 ? y + 12 : y - 4);
    plumb_buf_str(p->out, ">peak ");
    plumb_put_bytes(p->out, bytes);
    plumb_buf_str(p->out, "</text>\n");
}

/* The innermost stages at that moment, as far as they are known. */
static void put_running(struct plumb_memory_picture *p, double ns)
{
    const char *before = "\nwhile running: ";
    size_t n = 0;
    for (size_t i = 0; i < p->rows.count && n < MOST_OWNERS; i++) {
        const struct plumb_timing_stage_run *run = p->rows.runs[i].run;
        if (ns < (double)run->begin_ns || ns > (double)run->begin_ns + (double)run->duration_ns)
            continue;
        plumb_buf_str(p->out, before);
        plumb_memory_put_name(p->out, p->rows.runs[i].node->name);
        before = ", ";
        n++;
    }
}

static int by_peak(const void *a, const void *b)
{
    const struct plumb_timing_owner *x = *(const struct plumb_timing_owner *const *)a;
    const struct plumb_timing_owner *y = *(const struct plumb_timing_owner *const *)b;
    if (x->at_peak != y->at_peak)
        return x->at_peak > y->at_peak ? -1 : 1;
    return (x > y) - (x < y);
}

/* The owners of a pool at its peak and their bytes, largest first. */
static void put_owners(struct plumb_memory_picture *p, const struct plumb_timing_pool *pool)
{
    size_t n = 0;
    const struct plumb_timing_owner **owners = calloc(pool->owner_count + 1, sizeof *owners);
    if (!owners) {
        p->out->failed = true;
        return;
    }
    for (size_t i = 0; i < pool->owner_count; i++)
        if (pool->owners[i].at_peak > 0)
            owners[n++] = &pool->owners[i];
    qsort(owners, n, sizeof *owners, by_peak);
    for (size_t i = 0; i < n && i < MOST_OWNERS; i++) {
        plumb_buf_str(p->out, i == 0 ? "\nheld then by:\n" : "\n");
        plumb_put_bytes(p->out, (double)owners[i]->at_peak);
        plumb_buf_char(p->out, ' ');
        if (owners[i]->node[0])
            plumb_memory_put_name(p->out, owners[i]->node);
        else
            plumb_buf_str(p->out, "(outside every node)");
    }
    if (n > MOST_OWNERS)
        plumb_buf_printf(p->out, "\nand %zu more", n - MOST_OWNERS);
    free(owners);
}

void plumb_memory_put_pool_peak(struct plumb_memory_picture *p,
                                const struct plumb_memory_plot *plot,
                                const struct plumb_timing_pool *pool, const char *colour)
{
    double ns = (double)pool->peak_at_ns;
    double x = plumb_memory_x(p, ns);
    double y = plumb_memory_y(plot, (double)pool->peak_allocated);
    open_mark(p, x, y, colour, true);
    plumb_memory_put_name(p->out, pool->pool);
    plumb_buf_str(p->out, ": peak allocated ");
    plumb_put_bytes(p->out, (double)pool->peak_allocated);
    plumb_buf_str(p->out, "\nat ");
    plumb_put_duration(p->out, ns);
    put_running(p, ns);
    put_owners(p, pool);
    close_mark(p);
    put_peak_label(p, plot, x, y, (double)pool->peak_allocated, colour);
}

void plumb_memory_put_rss_peak(struct plumb_memory_picture *p, const struct plumb_memory_plot *plot)
{
    double ns = p->time.from;
    double bytes = plumb_memory_highest(p, plumb_memory_series(p->t, PLUMB_TIMING_NONE), &ns);
    open_mark(p, plumb_memory_x(p, ns), plumb_memory_y(plot, bytes), PLUMB_MEMORY_RSS_COLOUR, true);
    plumb_buf_str(p->out, "resident set: the highest sample is ");
    plumb_put_bytes(p->out, bytes);
    plumb_buf_str(p->out, "\nat ");
    plumb_put_duration(p->out, ns);
    put_running(p, ns);
    if (p->t->memory.peak_rss > 0) {
        plumb_buf_str(p->out, "\npeak of the process ");
        plumb_put_bytes(p->out, (double)p->t->memory.peak_rss);
    }
    close_mark(p);
    put_peak_label(p, plot, plumb_memory_x(p, ns), plumb_memory_y(plot, bytes), bytes,
                   PLUMB_MEMORY_RSS_COLOUR);
}

static void put_checkpoint_title(struct plumb_memory_picture *p,
                                 const struct plumb_timing_checkpoint *c)
{
    plumb_memory_put_name(p->out, c->name);
    plumb_buf_str(p->out, c->baseline ? " (baseline)\nat " : "\nat ");
    plumb_put_duration(p->out, (double)c->at_ns);
    if (c->memory.samples > 0) {
        plumb_buf_str(p->out, "\nresident set ");
        plumb_put_bytes(p->out, (double)c->memory.rss);
        plumb_buf_str(p->out, ", peak ");
        plumb_put_bytes(p->out, (double)c->memory.peak_rss);
    }
    for (size_t i = 0; i < c->memory.use_count && i < MOST_POOLS; i++) {
        const struct plumb_timing_use *use = &c->memory.uses[i];
        if (use->pool >= p->t->memory.pool_count)
            continue;
        plumb_buf_char(p->out, '\n');
        plumb_memory_put_name(p->out, p->t->memory.pools[use->pool].device);
        plumb_buf_char(p->out, ' ');
        plumb_memory_put_name(p->out, p->t->memory.pools[use->pool].pool);
        plumb_buf_str(p->out, ": allocated ");
        plumb_put_bytes(p->out, (double)use->allocated);
        plumb_buf_str(p->out, ", reserved ");
        plumb_put_bytes(p->out, (double)use->reserved);
    }
}

/* The names of checkpoints, each cut where the next one begins. */
void plumb_memory_put_checkpoint_names(struct plumb_memory_picture *p)
{
    const struct plumb_timing_checkpoint *c = NULL;
    double end = PLUMB_MEMORY_WIDTH - PLUMB_MEMORY_MARGIN;
    for (size_t i = p->t->memory.checkpoint_count; i-- > 0;) {
        if (!plumb_memory_checkpoint_shown(p, &p->t->memory.checkpoints[i]))
            continue;
        if (!c) {
            p->y += PLUMB_MEMORY_LINE;
            plumb_svg_label(p->out, "q", PLUMB_MEMORY_MARGIN, p->y,
                            PLUMB_MEMORY_LEFT - PLUMB_MEMORY_MARGIN, "marks");
        }
        c = &p->t->memory.checkpoints[i];
        double x = plumb_memory_x(p, (double)c->at_ns);
        if (end - x > 30)
            plumb_svg_label(p->out, NULL, x, p->y, end - x - 6, c->name);
        end = x < end ? x : end;
    }
}

void plumb_memory_put_checkpoints(struct plumb_memory_picture *p,
                                  const struct plumb_memory_plot *plot)
{
    for (size_t i = 0; i < p->t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &p->t->memory.checkpoints[i];
        double bytes = plumb_memory_checkpoint(p, plot->panel, c);
        double x = plumb_memory_x(p, (double)c->at_ns);
        if (bytes < 0 || !plumb_memory_checkpoint_shown(p, c))
            continue;
        plumb_memory_put_rule(p, x, plot->top, x, plot->top + plot->height);
        open_mark(p, x, plumb_memory_y(plot, bytes), PLUMB_SVG_INK, false);
        put_checkpoint_title(p, c);
        close_mark(p);
    }
}
