/* view.c: see view.h. */
#include "report/roofline/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "config/pattern.h"
#include "report/roofline/parts.h"
#include "report/table/page.h"

enum { EVIDENCE_ROWS = 10 };

/* ---- Pages ----------------------------------------------------------------------------------- */

double plumb_roofline_spread(const struct plumb_peaks *p)
{
    double most = 0;
    for (int i = 0; i < PLUMB_PEAK_SPANS; i++) {
        most = p->bandwidth[i].spread > most ? p->bandwidth[i].spread : most;
        for (int k = 0; k < PLUMB_PEAK_TYPES; k++)
            most = p->compute[k][i].spread > most ? p->compute[k][i].spread : most;
    }
    return most;
}

static void put_machine(struct plumb_page *page, const struct plumb_roofline_view *v)
{
    const struct plumb_peaks *p = v->peaks;
    plumb_page_name(page, p->cpu);
    plumb_buf_printf(page->out,
                     ", %u cores, measured %s: medians of %u runs of %" PRIu64
                     " ms; bandwidth over %" PRIu64 " MiB",
                     (unsigned)p->cores, p->date, (unsigned)p->repeats, p->run_ns / 1000000,
                     p->array_bytes >> 20);
    if (p->cache_bytes)
        plumb_buf_printf(page->out, " (last-level cache: %" PRIu64 " MiB)", p->cache_bytes >> 20);
    plumb_page_item(page, v->peaks_path ? "kept in "
                                        : "not kept: neither XDG_CACHE_HOME nor HOME "
                                          "is set");
    if (v->peaks_path)
        plumb_page_name(page, v->peaks_path);
    if (plumb_roofline_spread(p) > PLUMB_ROOFLINE_NOISY) {
        plumb_page_item(page, "the runs differ by up to ");
        plumb_put_fixed(page->out, plumb_roofline_spread(p) * 100, 0, 0);
        plumb_buf_str(page->out, " %: the machine was busy, and the peaks are too low; measure "
                                 "again with --measure when it is idle");
    }
}

static void put_kernels(struct plumb_page *page, const struct plumb_roofline_page *p)
{
    struct plumb_grid g;
    plumb_page_title(page, p->v->span == PLUMB_PEAK_ALL ? "Kernels, against the peaks of all cores"
                                                        : "Kernels, against the peaks of one core");
    plumb_roofline_fill_kernels(&g, p);
    plumb_page_grid(page, &g);
    plumb_page_more(page, p->kernels.count - p->shown);
    plumb_page_title(page, "Evidence");
    for (size_t i = 0; i < p->shown && i < EVIDENCE_ROWS; i++) {
        const struct plumb_kernel_row *row = &p->kernels.rows[i];
        struct plumb_roof roof = plumb_roof_of(&row->of, p->v->peaks, p->v->span);
        plumb_page_item(page, "");
        plumb_page_name(page, plumb_table_text(p->v->t, row->name));
        plumb_buf_str(page->out, " ");
        if (row->shapes)
            plumb_page_name(page, plumb_table_text(p->v->t, row->shapes));
        plumb_buf_str(page->out, row->shapes ? " is " : "is ");
        plumb_roofline_evidence(page->out, &roof, &row->of);
        plumb_roofline_kernel_counters(page->out, p->v, plumb_table_text(p->v->t, row->name));
    }
    if (p->kernels.left_out)
        plumb_buf_printf(page->out, "\n\n%" PRIu64 " runs that failed or did not end are left out.",
                         p->kernels.left_out);
}

static void put_page(struct plumb_buf *out, const struct plumb_roofline_page *p, bool md)
{
    struct plumb_page page;
    struct plumb_grid g;
    plumb_page_begin(&page, NULL, out, md, p->v->explain);
    if (p->v->peaks) {
        plumb_page_title(&page, "Peaks of this machine");
        plumb_roofline_fill_peaks(&g, p);
        plumb_page_grid(&page, &g);
        plumb_page_paragraph(&page);
        put_machine(&page, p->v);
    }
    if (p->kernels.count)
        put_kernels(&page, p);
    if (plumb_roofline_has_counters(p->v))
        plumb_roofline_counters(&page, p->v);
    plumb_page_end(&page);
}

static void put_text(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    put_page(out, p, false);
}

static void put_md(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    put_page(out, p, true);
}

static void put_csv(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    struct plumb_grid g;
    if (!p->kernels.count && plumb_roofline_has_counters(p->v)) {
        plumb_roofline_counters_csv(out, p->v);
        return;
    }
    if (p->v->t)
        plumb_roofline_fill_kernels(&g, p);
    else
        plumb_roofline_fill_peaks(&g, p);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

/* ---- The view -------------------------------------------------------------------------------- */

/* Whether the view is of kernels alone. */
static bool draws(const struct plumb_roofline_view *v)
{
    return v->report || (v->format && strcmp(v->format, "svg") == 0);
}

static int choose(struct plumb_kernel_rows *rows, const struct plumb_roofline_view *v,
                  plumb_error *err)
{
    struct plumb_pattern wanted;
    size_t kept = 0;
    int rc;
    if (rows->count == 0 && !v->kernel && !draws(v) && plumb_roofline_has_counters(v))
        return PLUMB_OK;
    if (rows->count == 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "'%s' has no kernel with operations or bytes: record with PLUMB_TRACE=1 "
                          "and PLUMB_COLLECT=onednn, or PLUMB_TRACE_FLOPS=1 and an argument named "
                          "flops",
                          v->path);
    if ((rc = plumb_pattern_init(&wanted, v->kernel ? v->kernel : "", err)) < 0)
        return rc;
    for (size_t i = 0; i < rows->count; i++)
        if (plumb_pattern_matches(&wanted, plumb_table_text(v->t, rows->rows[i].name)))
            rows->rows[kept++] = rows->rows[i];
    plumb_pattern_fini(&wanted);
    rows->count = kept;
    if (kept == 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no kernel of '%s' has a name like '%s'",
                          v->path, v->kernel);
    return PLUMB_OK;
}

static int look_at_stages(struct plumb_roofline_page *page, plumb_error *err)
{
    const struct plumb_roofline_view *v = page->v;
    struct plumb_totals_of of = {v->stages, v->stage_count, page->kernels.rows};
    return plumb_work_totals_init(&page->totals, v->t, &of, err);
}

typedef void (*put_fn)(struct plumb_buf *out, const struct plumb_roofline_page *p);

/* NULL: there is no such format. */
static put_fn format_of(const struct plumb_roofline_view *view)
{
    static const struct {
        const char *name;
        put_fn put;
    } formats[] = {{"text", put_text},
                   {"json", plumb_roofline_json},
                   {"csv", put_csv},
                   {"md", put_md},
                   {"svg", plumb_roofline_svg}};
    const char *wanted = view->format ? view->format : "text";
    if (view->report)
        return strcmp(wanted, "md") == 0 ? plumb_roofline_report : NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, wanted) == 0)
            return formats[i].put;
    return NULL;
}

int plumb_roofline_render(struct plumb_buf *out, const struct plumb_roofline_view *view,
                          plumb_error *err)
{
    struct plumb_roofline_page page = {.v = view};
    put_fn put = format_of(view);
    int rc = PLUMB_OK;
    if (!put)
        return plumb_fail(err, PLUMB_ERR_ARG, "%s has no format '%s': %s",
                          view->report ? "the report on a kernel" : "a roofline",
                          view->format ? view->format : "text",
                          view->report ? "md" : "text, json, csv, md, svg");
    if (!view->t && view->report && !plumb_roofline_has_counters(view))
        return plumb_fail(err, PLUMB_ERR_ARG, "the report on a kernel needs a recording");
    if (!view->t && plumb_roofline_has_counters(view) && draws(view))
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "'%s' has no trace, so there are no kernels to show: record with "
                          "PLUMB_TRACE=1",
                          view->run);
    if (view->t && (rc = plumb_kernel_rows_init(&page.kernels, view->t, err)) < 0)
        return rc;
    if (view->t)
        rc = choose(&page.kernels, view, err);
    if (rc == PLUMB_OK && view->t && (put == plumb_roofline_svg || view->report))
        rc = look_at_stages(&page, err);
    page.shown = view->top && view->top < page.kernels.count ? view->top : page.kernels.count;
    if (rc == PLUMB_OK)
        put(out, &page);
    if (rc == PLUMB_OK && out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing a roofline");
    plumb_kernel_rows_fini(&page.kernels);
    plumb_work_totals_fini(&page.totals);
    return rc;
}
