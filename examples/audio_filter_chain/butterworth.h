/* Butterworth filters as sections of second order. */
#ifndef AUDIO_FILTER_CHAIN_BUTTERWORTH_H
#define AUDIO_FILTER_CHAIN_BUTTERWORTH_H

#include "iir.h"

#include <stdbool.h>

enum { BUTTERWORTH_ORDER_MAX = 10, BUTTERWORTH_SECTIONS_MAX = (BUTTERWORTH_ORDER_MAX + 1) / 2 };

enum butterworth_kind { BUTTERWORTH_LOWPASS, BUTTERWORTH_HIGHPASS };

/* Designs a filter of `order` 1 to 10 whose gain at `cutoff` Hz is -3 dB, by the bilinear transform
 * with the cutoff prewarped. sections: [(order + 1) / 2]; an odd order ends with a section of first
 * order. Returns the number of sections; 0 if the order, the rate or the cutoff (above 0, below
 * half the rate) cannot be had. */
size_t butterworth_design(struct iir_section *sections, enum butterworth_kind kind, int order,
                          double cutoff, double rate);

#endif
