/* read_deep.c: peaks and kernels of the public interface: finds the kept peaks or measures them,
 * opens the trace, renders. Any thread. */
#include <plumb/read/deep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline/mfu.h"
#include "api/read_tables.h"
#include "api/take.h"
#include "base/error.h"
#include "codec/json_write.h"
#include "report/roofline/view.h"
#include "summary/cells.h"

enum { PATH_BYTES = 4096 };

struct plumb_deep {
    plumb_trace *trace; /* NULL: the peaks alone */
    struct plumb_peaks peaks;
    char path[PATH_BYTES]; /* of the kept peaks; "": not kept */
    char remark[PATH_BYTES + 256];
};

/* Whether the kept peaks are those of this machine. */
static bool is_ours(const struct plumb_peaks *peaks)
{
    char cpu[sizeof peaks->cpu];
    uint32_t cores;
    plumb_peaks_machine(cpu, &cores);
    return strcmp(cpu, peaks->cpu) == 0 && cores == peaks->cores;
}

static const char *why_measured(const struct plumb_deep *deep, bool wanted, int loaded)
{
    return wanted                          ? "as asked"
           : loaded == PLUMB_OK            ? "the kept ones are of another processor"
           : loaded == PLUMB_ERR_NOT_FOUND ? "for the first time"
           : deep->path[0]                 ? "the kept ones could not be read"
                                           : "there is no place to keep them";
}

static int find_peaks(struct plumb_deep *deep, bool measure, plumb_error *err)
{
    plumb_error why = {0, ""};
    int loaded = PLUMB_ERR_ABSENT, rc;
    if (!plumb_peaks_path(deep->path, sizeof deep->path))
        deep->path[0] = 0;
    else if (!measure)
        loaded = plumb_peaks_load(&deep->peaks, deep->path, &why);
    if (loaded == PLUMB_OK && is_ours(&deep->peaks))
        return PLUMB_OK;
    snprintf(deep->remark, sizeof deep->remark, "measured the peaks of this machine, %s",
             why_measured(deep, measure, loaded));
    if ((rc = plumb_peaks_measure(&deep->peaks, NULL, err)) < 0)
        return rc;
    if (deep->path[0] && plumb_peaks_save(&deep->peaks, deep->path, &why) < 0) {
        snprintf(deep->remark, sizeof deep->remark, "measured the peaks of this machine: %s",
                 why.message);
        deep->path[0] = 0;
    }
    return PLUMB_OK;
}

int plumb_deep_open(plumb_deep **out, const char *what, const plumb_deep_options *options,
                    plumb_error *err)
{
    plumb_deep_options given = plumb_deep_options_default();
    struct plumb_deep *deep = NULL;
    int rc = plumb_take(&given, sizeof given, options, err);
    if (rc < 0)
        return rc;
    if (!(deep = calloc(1, sizeof *deep)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the peaks of this machine");
    if (!given.peaks_only)
        rc = plumb_trace_open(&deep->trace, what, err);
    if (rc == PLUMB_OK)
        rc = find_peaks(deep, given.measure != 0, err);
    if (rc == PLUMB_OK) {
        *out = deep;
        deep = NULL;
    }
    plumb_deep_close(deep);
    return rc;
}

void plumb_deep_close(plumb_deep *deep)
{
    if (!deep)
        return;
    plumb_trace_close(deep->trace);
    free(deep);
}

const char *plumb_deep_get_remark(const plumb_deep *deep)
{
    return deep->remark;
}

int plumb_deep_render(char **out, const plumb_deep *deep, const plumb_deep_view *view,
                      plumb_error *err)
{
    plumb_deep_view given = plumb_deep_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&given, sizeof given, view, err);
    if (rc < 0)
        return rc;
    if (given.cores > PLUMB_DEEP_ONE_CORE)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown roofs: %u", (unsigned)given.cores);
    struct plumb_roofline_view v = {
        .t = deep->trace ? plumb_trace_table(deep->trace) : NULL,
        .path = deep->trace ? plumb_trace_path(deep->trace) : NULL,
        .peaks = &deep->peaks,
        .peaks_path = deep->path[0] ? deep->path : NULL,
        .span = given.cores == PLUMB_DEEP_ONE_CORE ? PLUMB_PEAK_ONE : PLUMB_PEAK_ALL,
        .format = given.format,
        .kernel = given.kernel,
        .top = given.top,
        .explain = given.explain != 0,
    };
    rc = plumb_roofline_render(&text, &v, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

/* ---- Utilisation ----------------------------------------------------------------------------- */

static void put_mfu(struct plumb_buf *out, const struct plumb_mfu *m)
{
    plumb_buf_str(out, "Per-Step MFU: ");
    plumb_put_fixed(out, plumb_mfu_percent(m), 4, 0);
    plumb_buf_str(out, "%\n  operations of a step: ");
    plumb_put_figure(out, plumb_mfu_step_flops(m) * 1e-12);
    plumb_buf_str(out, " TFLOP = ");
    plumb_put_figure(out, plumb_mfu_layer_flops(m) * 1e-12);
    plumb_buf_str(out, " TFLOP a layer x ");
    plumb_put_figure(out, m->num_layers);
    plumb_buf_str(out, " layers x batch ");
    plumb_put_figure(out, m->batch);
    plumb_buf_str(out, " x 4 x accumulation ");
    plumb_put_figure(out, m->grad_accum);
    plumb_buf_str(out, "\n  time of a step: ");
    plumb_put_figure(out, m->step_s);
    plumb_buf_str(out, " s");
    if (m->runs) {
        plumb_buf_str(out, ", the median of ");
        plumb_put_count(out, m->runs, 0);
        plumb_buf_str(out, " runs of ");
        plumb_put_left(out, m->step, 0);
    }
    plumb_buf_str(out, "\n  peak: ");
    plumb_put_figure(out, m->peak_flops * 1e-12);
    plumb_buf_str(out, " TFLOP/s x ");
    plumb_put_figure(out, m->world_size);
    plumb_buf_str(out, m->world_size == 1 ? " device" : " devices");
}

static void put_mfu_json(struct plumb_buf *out, const struct plumb_mfu *m)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"mfu_pct", plumb_mfu_percent(m)},
        {"step_flop", plumb_mfu_step_flops(m)},
        {"layer_flop", plumb_mfu_layer_flops(m)},
        {"dit_seq_len", m->dit_seq_len},
        {"context_len", m->context_len},
        {"hidden_dim", m->hidden_dim},
        {"num_layers", m->num_layers},
        {"ffn_dim", m->ffn_dim},
        {"batch", m->batch},
        {"grad_accum", m->grad_accum},
        {"world_size", m->world_size},
        {"step_s", m->step_s},
        {"peak_flop_per_s", m->peak_flops},
    };
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        plumb_json_key(&j, figures[i].key);
        plumb_json_f64(&j, figures[i].value);
    }
    plumb_json_object_end(&j);
}

static int take_peak(struct plumb_mfu *m, plumb_error *err)
{
    plumb_deep_options options = plumb_deep_options_default();
    plumb_deep *deep = NULL;
    options.peaks_only = 1;
    int rc = plumb_deep_open(&deep, NULL, &options, err);
    if (rc == PLUMB_OK)
        m->peak_flops = deep->peaks.compute[m->type][PLUMB_PEAK_ALL].rate;
    if (rc == PLUMB_OK && m->peak_flops == 0)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND, "this machine has no measured peak for %s",
                        plumb_peak_type_name(m->type));
    plumb_deep_close(deep);
    return rc;
}

static int take_step(struct plumb_mfu *m, const char *run, plumb_error *err)
{
    plumb_trace *trace = NULL;
    int rc = plumb_trace_open(&trace, run, err);
    if (rc == PLUMB_OK)
        rc = plumb_mfu_take_step(m, plumb_trace_table(trace), err);
    plumb_trace_close(trace);
    return rc;
}

int plumb_mfu_render(char **out, const char *model, const char *run, const char *format,
                     plumb_error *err)
{
    struct plumb_mfu m;
    struct plumb_buf text = {0};
    bool json = format && strcmp(format, "json") == 0;
    int rc = plumb_mfu_parse(&m, model, err);
    if (rc == PLUMB_OK && !json && format && strcmp(format, "text") != 0)
        rc = plumb_fail(err, PLUMB_ERR_ARG, "utilisation has no format '%s': text, json", format);
    if (rc == PLUMB_OK && m.step[0])
        rc = take_step(&m, run, err);
    if (rc == PLUMB_OK && m.peak_flops == 0)
        rc = take_peak(&m, err);
    if (rc < 0)
        return rc;
    if (json)
        put_mfu_json(&text, &m);
    else
        put_mfu(&text, &m);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing a utilisation");
    }
    *out = text.data;
    return PLUMB_OK;
}
