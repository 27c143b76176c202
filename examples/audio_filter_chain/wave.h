/* Samples to which effects are piped. Nothing is computed until the samples are read: only then is
 * it known which effects stand side by side and fuse. */
#ifndef AUDIO_FILTER_CHAIN_WAVE_H
#define AUDIO_FILTER_CHAIN_WAVE_H

#include "effect.h"

struct wave {
    enum iir_type type;
    size_t channels, frames;
    double rate;
    void *samples; /* planar, [channels][frames]; without the pending effects */
    struct effect pending[EFFECTS_MAX];
    size_t pending_count;
    bool fuse;    /* true when opened */
    size_t block; /* frames that are computed at a time; 0: all */
};

/* Makes a silent wave. Returns 0, or -1 without memory; wave_close() is called in both cases. */
int wave_open(struct wave *w, enum iir_type type, size_t channels, size_t frames, double rate);
void wave_close(struct wave *w);

/* Queues an effect. Returns 0, or -1 if EFFECTS_MAX effects wait already. */
int wave_pipe(struct wave *w, const struct effect *e);

/* Returns the samples, after the pending effects were run; NULL without memory. */
const void *wave_read(struct wave *w);

/* Sets the samples to seeded noise between -0.5 and 0.5, equal on every machine. */
void wave_noise(struct wave *w, unsigned long long seed);

/* Sample `frame` of a channel as it was last computed. */
double wave_sample(const struct wave *w, size_t channel, size_t frame);

/* Writes it. */
void wave_set(struct wave *w, size_t channel, size_t frame, double value);

#endif
