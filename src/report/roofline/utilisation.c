/* utilisation.c: see utilisation.h. Each type of operations is compared with its own peak, so the
 * figure is the time that the operations need at their peaks, over the time of the run. */
#include "report/roofline/utilisation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "report/table/grid.h"
#include "summary/cells.h"

struct figures {
    struct plumb_work_totals totals;
    double ideal_s, without; /* of the run; operations that no peak is known for */
};

/* The time that the work needs at the peak; operations without one are added to `*without`. */
static double ideal_s(const struct plumb_utilisation *u, const struct plumb_work *w,
                      double *without)
{
    const struct plumb_mfu *m = u->mfu;
    *without = 0;
    if (m->peak_flops > 0)
        return w->flops / (m->peak_flops * m->world_size);
    return plumb_work_ideal_s(w, u->peaks, m->span, without) / m->world_size;
}

static double percent(double ideal, uint64_t wall_ns)
{
    return wall_ns ? 100 * ideal / ((double)wall_ns * 1e-9) : (double)NAN;
}

static uint64_t lost(const struct plumb_table *t)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < t->drop_count; i++)
        n += t->drops[i].count ? t->drops[i].count : 1;
    return n;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_types(struct plumb_buf *out, const struct plumb_work *w)
{
    const char *between = ": ";
    for (int i = 0; i <= PLUMB_PEAK_TYPES; i++) {
        if (!(w->by_type[i] > 0))
            continue;
        plumb_buf_str(out, between);
        plumb_put_figure(out, w->by_type[i] * 1e-12);
        plumb_buf_printf(out, " of %s",
                         i < PLUMB_PEAK_TYPES ? plumb_peak_type_name((enum plumb_peak_type)i)
                                              : "other types");
        between = ", ";
    }
}

static void put_peak(struct plumb_buf *out, const struct plumb_utilisation *u,
                     const struct plumb_work *w)
{
    const char *between = "";
    plumb_buf_str(out, "\n  peak: ");
    if (u->mfu->peak_flops > 0) {
        plumb_put_figure(out, u->mfu->peak_flops * 1e-12);
        plumb_buf_str(out, " TFLOP/s");
    } else {
        for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
            double rate = u->peaks->compute[i][u->mfu->span].rate;
            if (!(w->by_type[i] > 0) || !(rate > 0))
                continue;
            plumb_buf_str(out, between);
            plumb_put_figure(out, rate * 1e-12);
            plumb_buf_printf(out, " TFLOP/s of %s", plumb_peak_type_name((enum plumb_peak_type)i));
            between = ", ";
        }
        plumb_buf_printf(out, ", %s of this machine",
                         u->mfu->span == PLUMB_PEAK_ALL ? "all cores" : "one core");
    }
    if (u->mfu->world_size != 1) {
        plumb_buf_str(out, " x ");
        plumb_put_figure(out, u->mfu->world_size);
        plumb_buf_str(out, " devices");
    }
}

static void put_stages(struct plumb_buf *out, const struct plumb_utilisation *u,
                       const struct figures *f)
{
    static const struct plumb_grid_column columns[] = {
        {"stage", "Stage", PLUMB_GRID_TEXT, NULL},   {"mfu_pct", "MFU%", PLUMB_GRID_PERCENT, NULL},
        {"runs", "Runs", PLUMB_GRID_COUNT, NULL},    {"wall_ns", "Time(ms)", PLUMB_GRID_NS, NULL},
        {"tflop", "TFLOP", PLUMB_GRID_FIGURE, NULL},
    };
    struct plumb_grid g;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < f->totals.stage_count; i++) {
        const struct plumb_stage_work *s = &f->totals.stages[i];
        double without;
        plumb_grid_text(&g, plumb_table_text(u->t, s->name));
        plumb_grid_real(&g, percent(ideal_s(u, &s->work, &without), s->wall_ns));
        plumb_grid_whole(&g, s->runs);
        plumb_grid_whole(&g, s->wall_ns);
        plumb_grid_real(&g, s->work.flops * 1e-12);
    }
    if (plumb_grid_rows(&g) > 0) {
        plumb_buf_str(out, "\n\n");
        plumb_grid_write(&g, out);
    }
    plumb_grid_fini(&g);
}

static void put_text(struct plumb_buf *out, const struct plumb_utilisation *u,
                     const struct figures *f)
{
    const struct plumb_work *w = &f->totals.work;
    plumb_buf_str(out, "Run MFU: ");
    plumb_put_fixed(out, percent(f->ideal_s, f->totals.wall_ns), 4, 0);
    plumb_buf_str(out, "%\n  operations of the run: ");
    plumb_put_figure(out, w->flops * 1e-12);
    plumb_buf_printf(out, " TFLOP in %" PRIu64 " runs of kernels", w->kernels);
    put_types(out, w);
    plumb_buf_str(out, "\n  time of the run: ");
    plumb_put_figure(out, (double)f->totals.wall_ns * 1e-9);
    plumb_buf_str(out, " s, from its first span to its last");
    put_peak(out, u, w);
    if (f->without > 0) {
        plumb_buf_str(out, "\n  left out: ");
        plumb_put_figure(out, f->without * 1e-12);
        plumb_buf_str(out, " TFLOP of types without a peak (give one: dtype=, peak_tflops=)");
    }
    if (w->no_flops)
        plumb_buf_printf(out, "\n  %" PRIu64 " runs of kernels have no known operations",
                         w->no_flops);
    if (f->totals.left_out)
        plumb_buf_printf(out,
                         "\n  left out: %" PRIu64 " runs of kernels that failed or did not end",
                         f->totals.left_out);
    if (lost(u->t))
        plumb_buf_printf(out, "\n  %" PRIu64 " events are not in the trace: the figure is too low",
                         lost(u->t));
    put_stages(out, u, f);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_real(struct plumb_json *j, const char *key, double value)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, value);
}

static void put_count(struct plumb_json *j, const char *key, uint64_t value)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, value);
}

static void put_json(struct plumb_buf *out, const struct plumb_utilisation *u,
                     const struct figures *f)
{
    const struct plumb_work *w = &f->totals.work;
    struct plumb_json j;
    double without;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    put_real(&j, "mfu_pct", percent(f->ideal_s, f->totals.wall_ns));
    put_real(&j, "run_flop", w->flops);
    put_real(&j, "run_s", (double)f->totals.wall_ns * 1e-9);
    put_real(&j, "ideal_s", f->ideal_s);
    put_real(&j, "flop_without_peak", f->without);
    put_real(&j, "peak_flop_per_s", u->mfu->peak_flops > 0 ? u->mfu->peak_flops : (double)NAN);
    put_real(&j, "world_size", u->mfu->world_size);
    put_count(&j, "kernels", w->kernels);
    put_count(&j, "kernels_without_flop", w->no_flops);
    put_count(&j, "left_out", f->totals.left_out);
    put_count(&j, "lost_events", lost(u->t));
    plumb_json_key(&j, "flop_by_type");
    plumb_json_object_inline(&j);
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++)
        put_real(&j, plumb_peak_type_name((enum plumb_peak_type)i), w->by_type[i]);
    put_real(&j, "other", w->by_type[PLUMB_PEAK_TYPES]);
    plumb_json_object_end(&j);
    plumb_json_key(&j, "stages");
    plumb_json_array(&j);
    for (size_t i = 0; i < f->totals.stage_count; i++) {
        const struct plumb_stage_work *s = &f->totals.stages[i];
        plumb_json_object_inline(&j);
        plumb_json_key(&j, "stage");
        plumb_json_str(&j, plumb_table_text(u->t, s->name));
        put_real(&j, "mfu_pct", percent(ideal_s(u, &s->work, &without), s->wall_ns));
        put_real(&j, "flop", s->work.flops);
        put_count(&j, "runs", s->runs);
        put_count(&j, "wall_ns", s->wall_ns);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

int plumb_utilisation_render(struct plumb_buf *out, const struct plumb_utilisation *u,
                             plumb_error *err)
{
    struct figures f = {.ideal_s = 0};
    int rc = plumb_work_totals_init(&f.totals, u->t, &u->of, err);
    if (rc < 0)
        return rc;
    f.ideal_s = ideal_s(u, &f.totals.work, &f.without);
    if (!(f.totals.work.flops > 0))
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "'%s' has no kernel with operations: record with PLUMB_TRACE=1 and "
                        "PLUMB_COLLECT=onednn, or PLUMB_TRACE_FLOPS=1 and an argument named flops",
                        u->path);
    else if (!(f.ideal_s > 0))
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "no peak is measured for the types of the kernels of '%s': give dtype= or "
                        "peak_tflops=",
                        u->path);
    else if (u->json)
        put_json(out, u, &f);
    else
        put_text(out, u, &f);
    plumb_work_totals_fini(&f.totals);
    return rc;
}
