/* A chain of effects as the passes over the samples that compute it.
 *
 * A fused plan runs adjacent filters, and the gains among them, as one cascade: one dispatch
 * instead of one each. An echo is not a recursive section and splits the run; a filter alone stays
 * what it is. An unfused plan has one pass for each effect, and is what the fused one is compared
 * with. */
#ifndef AUDIO_FILTER_CHAIN_PLAN_H
#define AUDIO_FILTER_CHAIN_PLAN_H

#include "effect.h"

enum plan_pass { PLAN_BIQUAD, PLAN_SOS, PLAN_GAIN, PLAN_ECHO };

struct plan_step {
    enum plan_pass pass;
    struct iir_section *sections;
    size_t count;
    double gain;
    size_t delay, position;
    double mix;
    void *state; /* of the filters, or the line of an echo */
    size_t state_bytes;
};

struct plan {
    enum iir_type type;
    struct plan_step *steps;
    size_t count;
};

/* Makes the plan for signals of that type and number of channels. Returns 0, or -1 without memory;
 * plan_close() is called in both cases. */
int plan_open(struct plan *p, const struct effect *effects, size_t count, bool fuse,
              enum iir_type type, size_t channels);
void plan_close(struct plan *p);

/* Computes the next frames; state carries on from the call before. Several blocks give the bytes
 * that one long signal gives. */
void plan_run(struct plan *p, const struct iir_signal *signal);

/* Forgets all samples that came before. */
void plan_reset(struct plan *p);

#endif
