/* rows.c: a row for each kernel of an Nsight Compute report. */
#include <math.h>

#include "codec/json_write.h"
#include "report/deep/view.h"
#include "report/table/grid.h"

static const struct plumb_grid_column columns[] = {
    {"id", "ID", PLUMB_GRID_TEXT, NULL},
    {"kernel", "Kernel", PLUMB_GRID_TEXT, NULL},
    {"grid", "Grid", PLUMB_GRID_TEXT, NULL},
    {"block", "Block", PLUMB_GRID_TEXT, NULL},
    {"launches", "Launches", PLUMB_GRID_COUNT, NULL},
    {"duration_us", "us", PLUMB_GRID_FIGURE, NULL},
    {"dram_throughput_pct", "DRAM %", PLUMB_GRID_FIGURE, NULL},
    {"sm_throughput_pct", "SM %", PLUMB_GRID_FIGURE, NULL},
    {"occupancy_pct", "Occupancy %", PLUMB_GRID_FIGURE, NULL},
    {"bottleneck", "Verdict", PLUMB_GRID_TEXT, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void fill(struct plumb_grid *g, const struct plumb_deep_page *p)
{
    plumb_grid_init(g, columns, COLUMNS);
    for (size_t i = 0; i < p->shown; i++) {
        const struct plumb_ncu_kernel *k = &p->ncu->kernels[i];
        plumb_grid_text(g, k->id[0] ? k->id : NULL);
        plumb_grid_text(g, k->name);
        plumb_grid_text(g, k->grid[0] ? k->grid : NULL);
        plumb_grid_text(g, k->block[0] ? k->block : NULL);
        plumb_grid_whole(g, k->launches);
        plumb_grid_real(g, k->metric[PLUMB_NCU_DURATION] / 1e3);
        plumb_grid_real(g, k->metric[PLUMB_NCU_DRAM]);
        plumb_grid_real(g, k->metric[PLUMB_NCU_SM]);
        plumb_grid_real(g, k->metric[PLUMB_NCU_OCCUPANCY]);
        plumb_grid_text(g, plumb_ncu_bound_name(plumb_ncu_bound_of(k)));
    }
}

static void put(struct plumb_buf *out, const struct plumb_deep_page *p,
                void (*write)(const struct plumb_grid *g, struct plumb_buf *out))
{
    struct plumb_grid g;
    fill(&g, p);
    write(&g, out);
    plumb_grid_fini(&g);
}

/* Says which metrics a verdict lacks, so that unknown is never mistaken for a verdict. */
static void put_unknown(struct plumb_buf *out, const struct plumb_deep_page *p, const char *quote)
{
    size_t unknown = 0;
    size_t lacks[PLUMB_NCU_METRICS] = {0};
    for (size_t i = 0; i < p->ncu->count; i++) {
        const struct plumb_ncu_kernel *k = &p->ncu->kernels[i];
        if (plumb_ncu_bound_of(k) != PLUMB_NCU_UNKNOWN)
            continue;
        unknown++;
        for (unsigned m = 0; m < PLUMB_NCU_METRICS; m++)
            lacks[m] += isnan(k->metric[m]);
    }
    if (unknown == 0)
        return;
    plumb_buf_printf(out, "\n\n%zu kernel%s unknown. Missing:", unknown,
                     unknown == 1 ? " is" : "s are");
    for (unsigned m = PLUMB_NCU_DRAM; m <= PLUMB_NCU_SM; m++)
        if (lacks[m] > 0)
            plumb_buf_printf(out, " %s%s%s (%zu)", quote, plumb_ncu_metric_name(m), quote,
                             lacks[m]);
}

/* `quote`: put around names, which Markdown would take for bold. */
static void put_rest(struct plumb_buf *out, const struct plumb_deep_page *p, const char *quote)
{
    if (p->shown < p->ncu->count)
        plumb_buf_printf(out, "\n\n%zu more kernels are not shown (--top)",
                         p->ncu->count - p->shown);
    put_unknown(out, p, quote);
}

void plumb_deep_text(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    put(out, p, plumb_grid_write);
    put_rest(out, p, "");
}

void plumb_deep_md(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    put(out, p, plumb_grid_md);
    put_rest(out, p, "`");
}

void plumb_deep_csv(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    put(out, p, plumb_grid_csv);
}

static void key_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text[0] ? text : NULL);
}

static void kernel_json(struct plumb_json *j, const struct plumb_ncu_kernel *k)
{
    static const char *const keys[PLUMB_NCU_METRICS] = {
        [PLUMB_NCU_DURATION] = "duration_ns",
        [PLUMB_NCU_DRAM] = "dram_throughput_pct",
        [PLUMB_NCU_SM] = "sm_throughput_pct",
        [PLUMB_NCU_OCCUPANCY] = "occupancy_pct",
    };
    enum plumb_ncu_bound bound = plumb_ncu_bound_of(k);
    plumb_json_object(j);
    key_text(j, "name", k->name);
    key_text(j, "id", k->id);
    key_text(j, "process_id", k->process_id);
    key_text(j, "process", k->process);
    key_text(j, "grid", k->grid);
    key_text(j, "block", k->block);
    key_text(j, "device", k->device);
    key_text(j, "capability", k->capability);
    plumb_json_key(j, "launches");
    plumb_json_u64(j, k->launches);
    for (unsigned m = 0; m < PLUMB_NCU_METRICS; m++) {
        plumb_json_key(j, keys[m]);
        plumb_json_f64(j, k->metric[m]);
    }
    key_text(j, "bottleneck", plumb_ncu_bound_name(bound));
    key_text(j, "recommendation", plumb_ncu_bound_advice(bound));
    plumb_json_object_end(j);
}

void plumb_deep_json(struct plumb_buf *out, const struct plumb_deep_page *p)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    key_text(&j, "format", "plumb-ncu");
    plumb_json_key(&j, "schema");
    plumb_json_u64(&j, 1);
    key_text(&j, "source", p->path);
    plumb_json_key(&j, "lines_skipped");
    plumb_json_u64(&j, p->ncu->skipped);
    plumb_json_key(&j, "kernels");
    plumb_json_array(&j);
    for (size_t i = 0; i < p->shown; i++)
        kernel_json(&j, &p->ncu->kernels[i]);
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}
