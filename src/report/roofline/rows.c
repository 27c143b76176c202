/* rows.c: the tables of peaks and kernels, and the evidence of a verdict. */
#include <math.h>

#include "report/roofline/parts.h"
#include "summary/cells.h"

void plumb_roofline_fill_peaks(struct plumb_grid *g, const struct plumb_roofline_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"peak", "Peak", PLUMB_GRID_TEXT, "memory bandwidth, or arithmetic on an element type"},
        {"unit", "Unit", PLUMB_GRID_TEXT, "billions a second; a multiply-add is two operations"},
        {"one_core", "One core", PLUMB_GRID_FIGURE, "median of the runs on one thread"},
        {"one_core_spread_pct", "Spread%", PLUMB_GRID_PERCENT,
         "of the runs on one thread: fastest less slowest, of the median"},
        {"all_cores", "All cores", PLUMB_GRID_FIGURE, "with a thread for each processor"},
        {"all_cores_spread_pct", "Spread%", PLUMB_GRID_PERCENT, "of the runs on all processors"},
        {"loop", "Measured by", PLUMB_GRID_TEXT, "the fastest loop, on all cores"},
    };
    const struct plumb_peaks *peaks = p->v->peaks;
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (int row = 0; row <= PLUMB_PEAK_TYPES; row++) {
        const struct plumb_peak *peak = row ? peaks->compute[row - 1] : peaks->bandwidth;
        plumb_grid_text(g, row ? plumb_peak_type_name((enum plumb_peak_type)(row - 1)) : "memory");
        plumb_grid_text(g, row ? "GFLOP/s" : "GB/s");
        for (int i = 0; i < PLUMB_PEAK_SPANS; i++) {
            plumb_grid_real(g, peak[i].rate > 0 ? peak[i].rate * 1e-9 : (double)NAN);
            plumb_grid_real(g, peak[i].rate > 0 ? peak[i].spread * 100 : (double)NAN);
        }
        plumb_grid_text(g, peak[PLUMB_PEAK_ALL].rate > 0 ? peak[PLUMB_PEAK_ALL].how : "absent");
    }
}

void plumb_roofline_fill_kernels(struct plumb_grid *g, const struct plumb_roofline_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"kernel", "Kernel", PLUMB_GRID_TEXT, NULL},
        {"impl", "Implementation", PLUMB_GRID_TEXT, NULL},
        {"shapes", "Shapes", PLUMB_GRID_TEXT, NULL},
        {"dtypes", "Types", PLUMB_GRID_TEXT, "the first one that has a peak is compared with it"},
        {"count", "Count", PLUMB_GRID_COUNT, NULL},
        {"total_ns", "Total(ms)", PLUMB_GRID_NS, NULL},
        {"mean_ns", "Mean(us)", PLUMB_GRID_US, NULL},
        {"gflop_per_s", "GFLOP/s", PLUMB_GRID_FIGURE, "operations of the shapes, over the time"},
        {"compute_pct", "Peak%", PLUMB_GRID_PERCENT, "of the arithmetic peak of the type"},
        {"gb_per_s", "GB/s", PLUMB_GRID_FIGURE, "bytes of the tensors, each once, over the time"},
        {"memory_pct", "Memory%", PLUMB_GRID_PERCENT,
         "of the memory bandwidth; above 100: the bytes came from caches"},
        {"flop_per_byte", "FLOP/B", PLUMB_GRID_FIGURE, "operations for each byte"},
        {"ridge_flop_per_byte", "Ridge", PLUMB_GRID_FIGURE,
         "below this many operations a byte the memory limits, above it the arithmetic"},
        {"verdict", "Verdict", PLUMB_GRID_TEXT,
         "60 % of the nearer peak: bound by it; less: latency_bound"},
    };
    const struct plumb_table *t = p->v->t;
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->shown; i++) {
        const struct plumb_kernel_row *row = &p->kernels.rows[i];
        struct plumb_roof roof = plumb_roof_of(&row->of, p->v->peaks, p->v->span);
        uint32_t texts[] = {row->name, row->impl, row->shapes, row->dtypes};
        for (size_t k = 0; k < 4; k++)
            plumb_grid_text(g, texts[k] ? plumb_table_text(t, texts[k]) : NULL);
        plumb_grid_whole(g, row->of.count);
        plumb_grid_whole(g, row->of.total_ns);
        plumb_grid_whole(g, row->of.total_ns / row->of.count);
        plumb_grid_real(g, roof.flops_rate * 1e-9);
        plumb_grid_real(g, roof.compute_share * 100);
        plumb_grid_real(g, roof.bytes_rate * 1e-9);
        plumb_grid_real(g, roof.memory_share * 100);
        plumb_grid_real(g, roof.intensity);
        plumb_grid_real(g, roof.ridge);
        plumb_grid_text(g, plumb_roof_verdict_name(roof.verdict));
    }
}

/* ---- Evidence -------------------------------------------------------------------------------- */

static void put_share(struct plumb_buf *out, double share, const char *of, double peak,
                      const char *unit)
{
    plumb_put_fixed(out, share * 100, 1, 0);
    plumb_buf_printf(out, " %% of %s (", of);
    plumb_put_figure(out, peak * 1e-9);
    plumb_buf_printf(out, " %s)", unit);
}

static void put_why(struct plumb_buf *out, enum plumb_roof_why why)
{
    static const char *const texts[] = {
        [PLUMB_ROOF_NONE] = "",
        [PLUMB_ROOF_NO_BYTES] = "the bytes are not recorded, so the memory may limit or not",
        [PLUMB_ROOF_NO_FLOPS] = "the operations are not recorded, so arithmetic may limit or not",
        [PLUMB_ROOF_NO_TYPE] = "no element type is recorded: attach an argument named dtype",
        [PLUMB_ROOF_NO_PEAK] = "this machine has no measured peak for the type",
        [PLUMB_ROOF_CACHED] = ("faster than memory: the bytes came from caches, whose bandwidth is "
                               "not measured"),
        [PLUMB_ROOF_NO_TIME] = "its time is 0",
    };
    if (why != PLUMB_ROOF_NONE)
        plumb_buf_printf(out, "; %s", texts[why]);
}

void plumb_roofline_evidence(struct plumb_buf *out, const struct plumb_roof *r,
                             const struct plumb_roof_point *point)
{
    const char *type = plumb_peak_type_name(point->type);
    plumb_buf_printf(out, "%s: ", plumb_roof_verdict_name(r->verdict));
    if (!isnan(r->compute_share))
        put_share(out, r->compute_share, type, r->peak_flops, "GFLOP/s");
    if (!isnan(r->compute_share) && !isnan(r->memory_share))
        plumb_buf_str(out, ", ");
    if (!isnan(r->memory_share))
        put_share(out, r->memory_share, "memory bandwidth", r->peak_bytes, "GB/s");
    if (isnan(r->compute_share) && isnan(r->memory_share))
        plumb_buf_str(out, "no share of a peak is known");
    if (!isnan(r->intensity) && !isnan(r->ridge)) {
        plumb_buf_str(out, "; ");
        plumb_put_figure(out, r->intensity);
        plumb_buf_str(out, r->intensity < r->ridge ? " FLOP/B is below the ridge at "
                                                   : " FLOP/B is above the ridge at ");
        plumb_put_figure(out, r->ridge);
    }
    if (r->verdict == PLUMB_ROOF_LATENCY) {
        plumb_buf_str(out, "; neither peak explains a mean of ");
        plumb_put_figure(out, (double)point->total_ns * 1e-3 / (double)point->count);
        plumb_buf_str(out, " us");
    }
    put_why(out, r->why);
}
