/* read_mfu.c: model FLOPs utilisation of the public interface. Any thread. */
#include <string.h>

#include "analyze/roofline/mfu.h"
#include "api/read_deep.h"
#include "api/read_tables.h"
#include "base/error.h"
#include "codec/json_write.h"
#include "report/roofline/utilisation.h"
#include "summary/cells.h"

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
        m->peak_flops = plumb_deep_peaks(deep)->compute[m->type][m->span].rate;
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

/* Of all kernels. The peaks are looked up only where they are needed: measuring takes seconds. */
static int put_run(struct plumb_buf *out, const struct plumb_mfu *m, const char *run, bool json,
                   plumb_error *err)
{
    plumb_deep *deep = NULL;
    bool known = m->peak_flops > 0;
    int rc =
        known ? plumb_deep_open_trace(&deep, run, err) : plumb_deep_open(&deep, run, NULL, err);
    if (rc < 0)
        return rc;
    if (!plumb_deep_trace(deep)) { /* a run with counters alone opens too */
        plumb_deep_close(deep);
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "%s%s%s has no trace, so there are no operations to add up: record with "
                          "PLUMB_TRACE=1",
                          run ? "'" : "the newest run", run ? run : "", run ? "'" : "");
    }
    struct plumb_utilisation u = {.t = plumb_trace_table(plumb_deep_trace(deep)),
                                  .path = plumb_trace_path(plumb_deep_trace(deep)),
                                  .mfu = m,
                                  .peaks = known ? NULL : plumb_deep_peaks(deep),
                                  .json = json};
    u.of.stages = plumb_deep_stages(deep, &u.of.stage_count);
    rc = plumb_utilisation_render(out, &u, err);
    plumb_deep_close(deep);
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
    if (rc == PLUMB_OK && m.peak_flops == 0 && m.type < PLUMB_PEAK_TYPES)
        rc = take_peak(&m, err);
    if (rc == PLUMB_OK && m.whole)
        rc = put_run(&text, &m, run, json, err);
    else if (rc == PLUMB_OK && json)
        put_mfu_json(&text, &m);
    else if (rc == PLUMB_OK)
        put_mfu(&text, &m);
    if (rc < 0 || text.failed) {
        plumb_buf_fini(&text);
        return rc < 0
                   ? rc
                   : plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing a utilisation");
    }
    *out = text.data;
    return PLUMB_OK;
}
