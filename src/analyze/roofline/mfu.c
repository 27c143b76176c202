/* mfu.c: see mfu.h. */
#include "analyze/roofline/mfu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace/spans.h"
#include "base/error.h"
#include "read/json/number.h"
#include "read/json/scan.h"

double plumb_mfu_layer_flops(const struct plumb_mfu *m)
{
    double h = m->hidden_dim, s = m->dit_seq_len, c = m->context_len, f = m->ffn_dim;
    return 8 * h * h * s + 4 * h * h * (s + c) + 4 * h * f * s + 4 * s * s * h + 4 * s * c * h;
}

double plumb_mfu_step_flops(const struct plumb_mfu *m)
{
    return plumb_mfu_layer_flops(m) * m->num_layers * m->batch * 4 * m->grad_accum;
}

double plumb_mfu_percent(const struct plumb_mfu *m)
{
    return 100 * plumb_mfu_step_flops(m) / (m->step_s * m->peak_flops * m->world_size);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static const struct member {
    const char *name;
    size_t offset;
    double unit;
    bool shape;  /* must be given */
    bool of_run; /* goes with the utilisation of a run */
} members[] = {
    {"dit_seq_len", offsetof(struct plumb_mfu, dit_seq_len), 1, true, false},
    {"context_len", offsetof(struct plumb_mfu, context_len), 1, true, false},
    {"hidden_dim", offsetof(struct plumb_mfu, hidden_dim), 1, true, false},
    {"num_layers", offsetof(struct plumb_mfu, num_layers), 1, true, false},
    {"ffn_dim", offsetof(struct plumb_mfu, ffn_dim), 1, true, false},
    {"batch", offsetof(struct plumb_mfu, batch), 1, false, false},
    {"grad_accum", offsetof(struct plumb_mfu, grad_accum), 1, false, false},
    {"world_size", offsetof(struct plumb_mfu, world_size), 1, false, true},
    {"step_s", offsetof(struct plumb_mfu, step_s), 1, false, false},
    {"peak_tflops", offsetof(struct plumb_mfu, peak_flops), 1e12, false, true},
};
enum { MEMBERS = sizeof members / sizeof *members };

static double *at(struct plumb_mfu *m, const struct member *member)
{
    return (double *)(void *)((char *)m + member->offset);
}

static int take_number(double *out, const char *name, const char *value, double unit,
                       plumb_error *err)
{
    struct plumb_json_number n = {.kind = PLUMB_JSON_NUMBER_NONE};
    const char *end = plumb_json_take_number(value, &n);
    if (!end || *end || n.kind == PLUMB_JSON_NUMBER_RANGE || !(n.real > 0) || n.real > 1e18)
        return plumb_fail(err, PLUMB_ERR_ARG, "%s wants a number above 0, not '%s'", name, value);
    *out = n.real * unit;
    return PLUMB_OK;
}

/* Dense bf16, as the data sheets have it. */
static int take_device(struct plumb_mfu *m, const char *value, plumb_error *err)
{
    if (strcmp(value, "h100") == 0)
        m->peak_flops = 989e12;
    else if (strcmp(value, "a100") == 0)
        m->peak_flops = 312e12;
    else
        return plumb_fail(
            err, PLUMB_ERR_ARG,
            "the peak of '%s' is not known (h100, a100): give it as peak_tflops=", value);
    return PLUMB_OK;
}

/* Figures of a model mean nothing next to the operations of kernels. */
static bool fits_run(const char *name)
{
    bool fits = strcmp(name, "step") != 0;
    for (int i = 0; i < MEMBERS; i++)
        fits &= strcmp(members[i].name, name) != 0 || members[i].of_run;
    return fits;
}

static int take_word(struct plumb_mfu *m, const char *name, const char *value, plumb_error *err)
{
    if (m->whole && !fits_run(name))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "utilisation of a run has the operations and the time of the run: "
                          "leave %s= out",
                          name);
    if (strcmp(name, "device") == 0)
        return take_device(m, value, err);
    if (strcmp(name, "step") == 0) {
        if (!*value || strlen(value) >= sizeof m->step)
            return plumb_fail(err, PLUMB_ERR_ARG, "step wants the name of a node");
        snprintf(m->step, sizeof m->step, "%s", value);
        return PLUMB_OK;
    }
    if (strcmp(name, "dtype") == 0) {
        m->type = plumb_peak_type_of(value, strlen(value));
        return m->type < PLUMB_PEAK_TYPES
                   ? PLUMB_OK
                   : plumb_fail(err, PLUMB_ERR_ARG,
                                "dtype wants f64, f32, bf16, f16 or int8, not '%s'", value);
    }
    if (strcmp(name, "cores") == 0) {
        m->span = strcmp(value, "one") == 0 ? PLUMB_PEAK_ONE : PLUMB_PEAK_ALL;
        return m->span == PLUMB_PEAK_ONE || strcmp(value, "all") == 0
                   ? PLUMB_OK
                   : plumb_fail(err, PLUMB_ERR_ARG, "cores wants all or one, not '%s'", value);
    }
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(members[i].name, name) == 0)
            return take_number(at(m, &members[i]), name, value, members[i].unit, err);
    return plumb_fail(err, PLUMB_ERR_ARG, "utilisation has no figure '%s'", name);
}

static int check(struct plumb_mfu *m, plumb_error *err)
{
    if (m->whole)
        return PLUMB_OK;
    for (int i = 0; i < MEMBERS; i++)
        if (members[i].shape && *at(m, &members[i]) == 0)
            return plumb_fail(err, PLUMB_ERR_ARG, "utilisation needs %s=", members[i].name);
    if (m->step_s == 0 && !m->step[0])
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "utilisation needs the time of a step: step_s= or step=NODE");
    if (m->peak_flops == 0 && m->type == PLUMB_PEAK_TYPES)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "utilisation needs a peak: peak_tflops=, device= or dtype=");
    return PLUMB_OK;
}

int plumb_mfu_parse(struct plumb_mfu *out, const char *text, plumb_error *err)
{
    struct plumb_mfu m = {.batch = 1,
                          .grad_accum = 1,
                          .world_size = 1,
                          .type = PLUMB_PEAK_TYPES,
                          .span = PLUMB_PEAK_ALL};
    char part[128 + PLUMB_JSON_PADDING]; /* the reader of numbers looks ahead */
    int rc = PLUMB_OK;
    if (strncmp(text, "run", 3) == 0 && (text[3] == 0 || text[3] == ',')) {
        m.whole = true;
        text += 3 + (text[3] == ',');
    }
    while (rc == PLUMB_OK && *text) {
        size_t n = strcspn(text, ",");
        bool fits = n < sizeof part - PLUMB_JSON_PADDING;
        memset(part, 0, sizeof part);
        memcpy(part, text, fits ? n : 32);
        char *value = strchr(part, '=');
        if (!value || !fits)
            return plumb_fail(err, PLUMB_ERR_ARG, "utilisation wants run, or NAME=VALUE, not '%s'",
                              part);
        *value = 0;
        rc = take_word(&m, part, value + 1, err);
        text += n + (text[n] == ',');
    }
    if (rc == PLUMB_OK)
        rc = check(&m, err);
    if (rc == PLUMB_OK)
        *out = m;
    return rc;
}

int plumb_mfu_take_step(struct plumb_mfu *mfu, const struct plumb_table *t, plumb_error *err)
{
    struct plumb_span_rows rows;
    uint32_t name = plumb_strings_find(&t->strings, mfu->step);
    int rc = plumb_span_rows_init(&rows, t, false, err);
    if (rc < 0)
        return rc;
    mfu->runs = 0;
    for (size_t i = 0; i < rows.count && mfu->runs == 0; i++) {
        if (rows.rows[i].name == name && rows.rows[i].of.median_ns > 0) {
            mfu->runs = rows.rows[i].of.count;
            mfu->step_s = (double)rows.rows[i].of.median_ns * 1e-9;
        }
    }
    plumb_span_rows_fini(&rows);
    return mfu->runs
               ? PLUMB_OK
               : plumb_fail(err, PLUMB_ERR_NOT_FOUND, "the trace has no runs of '%s'", mfu->step);
}
