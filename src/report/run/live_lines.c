/* live_lines.c: see live_lines.h. */
#include "report/run/live_lines.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "report/table/grid.h"

static const struct plumb_grid_column columns[] = {
    {"node", "Node", PLUMB_GRID_TEXT, NULL},
    {"phase", "Phase", PLUMB_GRID_TEXT, NULL},
    {"pipeline", "Pipeline", PLUMB_GRID_TEXT, NULL},
    {"depth", "Depth", PLUMB_GRID_COUNT, NULL},
    {"runs_per_s", "Rate/s", PLUMB_GRID_FIGURE, NULL},
    {"mean_ns", "Mean (us)", PLUMB_GRID_US, NULL},
    {"p50_ns", "Median (us)", PLUMB_GRID_US, NULL},
    {"p95_ns", "p95 (us)", PLUMB_GRID_US, NULL},
    {"p99_ns", "p99 (us)", PLUMB_GRID_US, NULL},
    {"max_ns", "Max (us)", PLUMB_GRID_US, NULL},
    {"share_percent", "Share (%)", PLUMB_GRID_PERCENT, NULL},
    {"self_ns", "Self (ms)", PLUMB_GRID_NS, NULL},
    {"device_ns", "Device (ms)", PLUMB_GRID_NS, NULL},
    {"open", "Open", PLUMB_GRID_COUNT, NULL},
    {"open_ns", "Oldest (ms)", PLUMB_GRID_NS, NULL},
    {"memory_bytes", "Memory (MiB)", PLUMB_GRID_BYTES, NULL},
    {"count", "Count", PLUMB_GRID_COUNT, NULL},
    {"failures", "Failed", PLUMB_GRID_COUNT, NULL},
};

/* Whole nanoseconds: no source of time has more digits. */
static void put_time(struct plumb_grid *g, double ns)
{
    if (ns < 0)
        plumb_grid_none(g);
    else
        plumb_grid_whole(g, (uint64_t)llround(ns));
}

static void put_line(struct plumb_grid *g, const plumb_reading_line *l)
{
    plumb_grid_text(g, l->node);
    plumb_grid_text(g, l->phase);
    plumb_grid_text(g, l->pipeline);
    plumb_grid_whole(g, l->depth);
    plumb_grid_real(g, l->runs_per_s);
    put_time(g, l->mean_ns);
    put_time(g, l->p50_ns);
    put_time(g, l->p95_ns);
    put_time(g, l->p99_ns);
    put_time(g, l->max_ns);
    plumb_grid_real(g, l->share_percent);
    put_time(g, l->self_ns);
    put_time(g, l->device_ns);
    plumb_grid_whole(g, l->open);
    plumb_grid_whole(g, l->open_ns);
    plumb_grid_whole(g, l->memory_bytes);
    plumb_grid_whole(g, l->count);
    plumb_grid_whole(g, l->failures);
}

static void put_json_time(struct plumb_json *j, const char *key, double ns)
{
    if (ns < 0)
        plumb_put_null(j, key);
    else
        plumb_put_u64(j, key, (uint64_t)llround(ns));
}

static void put_json_line(struct plumb_json *j, const plumb_reading_line *l)
{
    plumb_json_object(j);
    plumb_put_text(j, "node", l->node);
    plumb_put_text(j, "phase", l->phase);
    plumb_put_text(j, "pipeline", l->pipeline);
    plumb_put_u64(j, "depth", l->depth);
    plumb_put_rounded(j, "runs_per_s", l->runs_per_s, 3);
    put_json_time(j, "mean_ns", l->mean_ns);
    put_json_time(j, "p50_ns", l->p50_ns);
    put_json_time(j, "p95_ns", l->p95_ns);
    put_json_time(j, "p99_ns", l->p99_ns);
    put_json_time(j, "max_ns", l->max_ns);
    plumb_put_rounded(j, "share_percent", l->share_percent, 3);
    put_json_time(j, "self_ns", l->self_ns);
    put_json_time(j, "device_ns", l->device_ns);
    plumb_put_u64(j, "open", l->open);
    plumb_put_u64(j, "open_ns", l->open_ns);
    plumb_put_u64(j, "memory_bytes", l->memory_bytes);
    plumb_put_u64(j, "count", l->count);
    plumb_put_u64(j, "failures", l->failures);
    plumb_json_object_end(j);
}

static void put_json(struct plumb_buf *out, const plumb_reading_facts *f,
                     const plumb_reading_line *lines, size_t n)
{
    static const char *const states[] = {"recording", "ended", "killed"};
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_u64(&j, "pid", f->pid);
    plumb_put_text(&j, "program", f->program);
    plumb_put_text(&j, "pipeline", f->pipeline);
    plumb_put_text(&j, "run_dir", f->run_dir);
    plumb_put_text(&j, "state", f->state < 3 ? states[f->state] : NULL);
    plumb_put_u64(&j, "covers_ns", f->elapsed_ns);
    plumb_put_array(&j, "nodes");
    for (size_t i = 0; i < n; i++)
        put_json_line(&j, &lines[i]);
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

int plumb_live_lines(struct plumb_buf *out, const plumb_reading_facts *facts,
                     const plumb_reading_line *lines, size_t n, const char *format,
                     plumb_error *err)
{
    struct plumb_grid g;
    bool csv = strcmp(format, "csv") == 0;
    if (strcmp(format, "json") == 0) {
        put_json(out, facts, lines, n);
    } else if (csv || strcmp(format, "md") == 0) {
        plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < n; i++)
            put_line(&g, &lines[i]);
        (csv ? plumb_grid_csv : plumb_grid_md)(&g, out);
        plumb_grid_fini(&g);
    } else {
        return plumb_fail(err, PLUMB_ERR_ARG, "a reading has no format '%s'", format);
    }
    return out->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a table") : PLUMB_OK;
}
