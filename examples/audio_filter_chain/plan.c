#include "plan.h"

#include <plumb/plumb.h>

#include <stdlib.h>
#include <string.h>

/* ---- Making a plan --------------------------------------------------------------------------- */

static bool is_iir(const struct effect *e)
{
    return e->kind != EFFECT_ECHO;
}

/* Returns how many of the effects, from the first on, one pass computes. A run without a filter is
 * not a cascade: its gains stay apart. */
static size_t run_length(const struct effect *effects, size_t count, bool fuse)
{
    bool filters = false;
    size_t n = 0;

    if (!fuse)
        return 1;
    for (; n < count && is_iir(&effects[n]); n++)
        filters |= effects[n].kind == EFFECT_FILTER;
    return filters ? n : 1;
}

/* Appends the sections of a run; a gain goes into the numerator of a section next to it. */
static int fill_cascade(struct plan_step *step, const struct effect *effects, size_t count)
{
    double gain = 1.0;

    step->sections = calloc(count * BUTTERWORTH_SECTIONS_MAX, sizeof(*step->sections));
    if (!step->sections)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (effects[i].kind == EFFECT_GAIN)
            gain *= effects[i].gain;
        memcpy(step->sections + step->count, effects[i].sections,
               effects[i].count * sizeof(*step->sections));
        step->count += effects[i].count;
    }
    step->sections[0].b0 *= gain;
    step->sections[0].b1 *= gain;
    step->sections[0].b2 *= gain;
    step->pass = step->count == 1 ? PLAN_BIQUAD : PLAN_SOS;
    return 0;
}

static int fill(struct plan_step *step, const struct effect *effects, size_t count,
                enum iir_type type, size_t channels)
{
    if (effects[0].kind == EFFECT_ECHO) {
        step->pass = PLAN_ECHO;
        step->delay = effects[0].delay;
        step->mix = effects[0].mix;
        step->state_bytes = channels * step->delay * iir_bytes(type);
    } else if (count == 1 && effects[0].kind == EFFECT_GAIN) {
        step->pass = PLAN_GAIN;
        step->gain = effects[0].gain;
        return 0;
    } else if (fill_cascade(step, effects, count) < 0) {
        return -1;
    } else {
        step->state_bytes = channels * step->count * sizeof(double[2]);
    }
    step->state = calloc(1, step->state_bytes);
    return step->state ? 0 : -1;
}

int plan_open(struct plan *p, const struct effect *effects, size_t count, bool fuse,
              enum iir_type type, size_t channels)
{
    memset(p, 0, sizeof(*p));
    p->type = type;
    p->steps = calloc(count ? count : 1, sizeof(*p->steps));
    if (!p->steps)
        return -1;
    for (size_t i = 0, n; i < count; i += n) {
        n = run_length(effects + i, count - i, fuse);
        if (fill(&p->steps[p->count++], effects + i, n, type, channels) < 0)
            return -1;
    }
    return 0;
}

void plan_close(struct plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->steps[i].sections);
        free(p->steps[i].state);
    }
    free(p->steps);
    memset(p, 0, sizeof(*p));
}

void plan_reset(struct plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->steps[i].position = 0;
        if (p->steps[i].state)
            memset(p->steps[i].state, 0, p->steps[i].state_bytes);
    }
}

/* ---- Running it ------------------------------------------------------------------------------ */

static void run_biquad(struct plan_step *step, const struct iir_signal *s)
{
    PLUMB_SPAN("biquad");
    plumb_dispatch("biquad");
    biquad_forward(step->sections, step->state, s);
}

static void run_sos(struct plan_step *step, const struct iir_signal *s)
{
    PLUMB_SPAN("sos");
    plumb_dispatch("sos");
    sos_forward(step->sections, step->count, step->state, s);
}

static void run_echo(struct plan_step *step, const struct iir_signal *s)
{
    PLUMB_SPAN("delay");
    plumb_dispatch("delay");
    delay_forward(step->delay, step->mix, step->state, &step->position, s);
}

static void run_gain(struct plan_step *step, const struct iir_signal *s)
{
    PLUMB_SPAN("gain");
    for (size_t ch = 0; ch < s->channels; ch++) {
        size_t at = ch * s->stride;
        if (s->type == IIR_F32)
            for (size_t n = 0; n < s->frames; n++)
                ((float *)s->out)[at + n] = (float)step->gain * ((const float *)s->in)[at + n];
        else
            for (size_t n = 0; n < s->frames; n++)
                ((double *)s->out)[at + n] = step->gain * ((const double *)s->in)[at + n];
    }
}

static void copy(const struct iir_signal *s)
{
    size_t bytes = iir_bytes(s->type);

    for (size_t ch = 0; s->in != s->out && ch < s->channels; ch++)
        memcpy((char *)s->out + ch * s->stride * bytes,
               (const char *)s->in + ch * s->stride * bytes, s->frames * bytes);
}

void plan_run(struct plan *p, const struct iir_signal *signal)
{
    static void (*const run[])(struct plan_step *,
                               const struct iir_signal *) = {[PLAN_BIQUAD] = run_biquad,
                                                             [PLAN_SOS] = run_sos,
                                                             [PLAN_GAIN] = run_gain,
                                                             [PLAN_ECHO] = run_echo};
    struct iir_signal s = *signal;

    if (p->count == 0)
        copy(&s);
    for (size_t i = 0; i < p->count; i++) {
        run[p->steps[i].pass](&p->steps[i], &s);
        s.in = s.out;
    }
}
