/* devices.c: see devices.h. Any thread; no state. */
#include "report/run/devices.h"

#include <inttypes.h>
#include <string.h>

#include "report/run/render.h"
#include "report/table/page.h"

enum { WAITS_SHOWN = 3 };

static const struct plumb_grid_column columns[] = {
    {"node", "Node", PLUMB_GRID_TEXT, NULL},
    {"phase", "Stage", PLUMB_GRID_TEXT, NULL},
    {"count", "Count", PLUMB_GRID_COUNT, "runs that ended"},
    {"host_ns", "Host(ms)", PLUMB_GRID_NS, "time on the host, of all runs"},
    {"device_ns", "Device(ms)", PLUMB_GRID_NS, "time on devices of the work that it launched"},
    {"works", "Works", PLUMB_GRID_COUNT, "pieces of that work"},
    {"wait_ns", "Waited(ms)", PLUMB_GRID_NS, "time on the host that it waited for work"},
    {"note", "Note", PLUMB_GRID_TEXT,
     "whose work that was; or that its times are those of launches alone"},
};

static bool is_launch_only(const struct plumb_timing_node *n)
{
    return strcmp(plumb_timing_device_times(n), "launch") == 0;
}

static bool has_any(const struct plumb_timing_node *n)
{
    return n->use.works || n->use.wait_count || n->device.ns.count || is_launch_only(n);
}

bool plumb_devices_any(const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->node_count; i++) {
        if (has_any(&t->nodes[i]))
            return true;
    }
    return false;
}

const char *plumb_devices_waits(struct plumb_arena *a, const struct plumb_timing *t,
                                const struct plumb_timing_device_use *use)
{
    const char *text = NULL;
    size_t shown = use->waited_for < WAITS_SHOWN ? use->waited_for : WAITS_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const char *name = t->nodes[use->waits[i].node].name;
        const char *before = text ? text : "waiting for ";
        const char *comma = i > 0 ? ", " : "";
        if (use->waited_for > 1 && use->wait_ns > 0)
            text = plumb_arena_printf(a, "%s%s%s (%.0f %%)", before, comma, name,
                                      100 * (double)use->waits[i].ns / (double)use->wait_ns);
        else
            text = plumb_arena_printf(a, "%s%s%s", before, comma, name);
    }
    if (text && shown < use->waited_for)
        text = plumb_arena_printf(a, "%s, ...", text);
    return text;
}

static void add_row(struct plumb_grid *g, const struct plumb_timing *t,
                    const struct plumb_timing_node *n)
{
    plumb_grid_text(g, n->name);
    plumb_grid_text(g, n->phase);
    plumb_grid_whole(g, n->host.ns.count);
    plumb_grid_whole(g, n->host.ns.total);
    if (is_launch_only(n))
        plumb_grid_none(g);
    else
        plumb_grid_whole(g, n->use.works ? n->use.device_ns : n->device.ns.total);
    plumb_grid_whole(g, n->use.works ? n->use.works : n->device.ns.count);
    plumb_grid_whole(g, n->use.wait_ns);
    plumb_grid_text(g, is_launch_only(n) ? "launch times only"
                                         : plumb_devices_waits(&g->copies, t, &n->use));
}

void plumb_devices_write(const struct plumb_render_input *in, struct plumb_buf *out, bool md)
{
    const struct plumb_timing *t = in->whole;
    struct plumb_page page;
    struct plumb_grid g;
    if (!plumb_devices_any(t))
        return;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_summary_options *o = &in->options->summary;
        const struct plumb_timing_node *n = &t->nodes[i];
        if (has_any(n) && (!o->phase || strcmp(o->phase, n->phase) == 0) &&
            (!o->pipeline || strcmp(o->pipeline, n->pipeline) == 0))
            add_row(&g, t, n);
    }
    plumb_page_begin(&page, in, out, md, in->options->explain);
    plumb_page_title(&page, "Host and device");
    plumb_page_grid(&page, &g);
    plumb_page_end(&page);
}
