/* One effect of a chain: a filter, a gain or an echo. */
#ifndef AUDIO_FILTER_CHAIN_EFFECT_H
#define AUDIO_FILTER_CHAIN_EFFECT_H

#include "butterworth.h"

enum effect_kind { EFFECT_FILTER, EFFECT_GAIN, EFFECT_ECHO };

struct effect {
    enum effect_kind kind;
    struct iir_section sections[BUTTERWORTH_SECTIONS_MAX]; /* of a filter */
    size_t count;
    double gain;  /* a factor */
    size_t delay; /* of an echo, in frames */
    double mix;
};

enum { EFFECTS_MAX = 64, EFFECT_ERROR_BYTES = 160 };

/* Reads a chain such as "highpass:4:80,gain:-3,lowpass:2:12000,echo:0.25:0.3": filters with order
 * and cutoff in Hz, gains in dB, echoes with seconds and mix. Returns the number of effects, or -1
 * with `error` filled. */
int effects_parse(struct effect effects[EFFECTS_MAX], const char *text, double rate,
                  char error[EFFECT_ERROR_BYTES]);

/* Makes `depth` filters of second order, high- and low-passes in turn, to see what a chain of that
 * length costs, fused and not. Returns `depth`, or -1 if it is not 1 to EFFECTS_MAX. */
int effects_of_depth(struct effect effects[EFFECTS_MAX], int depth, double rate);

#endif
