#include "wave.h"

#include "plan.h"

#include <plumb/plumb.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int wave_open(struct wave *w, enum iir_type type, size_t channels, size_t frames, double rate)
{
    memset(w, 0, sizeof(*w));
    w->type = type;
    w->channels = channels;
    w->frames = frames;
    w->rate = rate;
    w->fuse = true;
    w->samples = calloc(channels * frames + 1, iir_bytes(type)); /* + 1: never 0 bytes */
    return w->samples ? 0 : -1;
}

void wave_close(struct wave *w)
{
    free(w->samples);
    w->samples = NULL;
}

int wave_pipe(struct wave *w, const struct effect *e)
{
    if (w->pending_count == EFFECTS_MAX)
        return -1;
    w->pending[w->pending_count++] = *e;
    return 0;
}

static void run_blocks(struct wave *w, struct plan *plan)
{
    size_t block = w->block && w->block < w->frames ? w->block : w->frames;
    size_t blocks = block ? (w->frames + block - 1) / block : 0;

    for (PLUMB_STEPS (i, blocks)) {
        size_t at = (size_t)i * block;
        char *samples = (char *)w->samples + at * iir_bytes(w->type);
        struct iir_signal s = {.type = w->type,
                               .channels = w->channels,
                               .frames = w->frames - at < block ? w->frames - at : block,
                               .stride = w->frames,
                               .in = samples,
                               .out = samples};
        plan_run(plan, &s);
    }
}

const void *wave_read(struct wave *w)
{
    struct plan plan;
    int rc;

    if (w->pending_count == 0)
        return w->samples;
    rc = plan_open(&plan, w->pending, w->pending_count, w->fuse, w->type, w->channels);
    if (rc == 0) {
        run_blocks(w, &plan);
        w->pending_count = 0;
    }
    plan_close(&plan);
    return rc == 0 ? w->samples : NULL;
}

/* The finalizer of splitmix64 over a counter. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void wave_noise(struct wave *w, unsigned long long seed)
{
    for (size_t ch = 0; ch < w->channels; ch++)
        for (size_t n = 0; n < w->frames; n++) {
            uint64_t bits = mixed((seed * 131 + ch) * 0x9e3779b97f4a7c15u + n + 1);
            wave_set(w, ch, n, (double)(bits >> 40) / (1 << 24) - 0.5);
        }
}

double wave_sample(const struct wave *w, size_t channel, size_t frame)
{
    size_t at = channel * w->frames + frame;
    return w->type == IIR_F32 ? (double)((const float *)w->samples)[at]
                              : ((const double *)w->samples)[at];
}

void wave_set(struct wave *w, size_t channel, size_t frame, double value)
{
    size_t at = channel * w->frames + frame;
    if (w->type == IIR_F32)
        ((float *)w->samples)[at] = (float)value;
    else
        ((double *)w->samples)[at] = value;
}
