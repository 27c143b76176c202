/* libiir: the kernels of recursive audio filters, in a shared library of their own.
 *
 * A call is a dispatch: one pass over the samples. Every kernel is reached through one of three
 * symbols, so that dispatches can be counted in a program that was not rebuilt:
 *
 *     plumb record --count 'libiir.so:*_forward' -- audio_filter_chain
 *
 * Samples are planar, each channel contiguous, of one of two types. Filters compute in double and
 * keep their state in it: a high-pass at 40 Hz would add audible noise in float.
 * `in` and `out` may be the same memory, and must not overlap otherwise. State of zeros is silence
 * before the first sample. Functions do not allocate, do not fail, and may be called from several
 * threads with states of their own. */
#ifndef AUDIO_FILTER_CHAIN_IIR_H
#define AUDIO_FILTER_CHAIN_IIR_H

#include <stddef.h>

enum iir_type { IIR_F32, IIR_F64 };

static inline size_t iir_bytes(enum iir_type type)
{
    return type == IIR_F32 ? sizeof(float) : sizeof(double);
}

/* A section of second order, H(z) = (b0 + b1/z + b2/z^2) / (1 + a1/z + a2/z^2). */
struct iir_section {
    double b0, b1, b2, a1, a2;
};

/* Samples to filter: `frames` of each channel, whose first ones lie `stride` apart. */
struct iir_signal {
    enum iir_type type;
    size_t channels, frames, stride;
    const void *in;
    void *out;
};

/* Filters with one section. state: [channels]. */
void biquad_forward(const struct iir_section *section, double (*state)[2],
                    const struct iir_signal *s);

/* Filters with `count` sections, one after the other, in one pass over memory.
 * state: [channels][count]. */
void sos_forward(const struct iir_section *sections, size_t count, double (*state)[2],
                 const struct iir_signal *s);

/* Adds an echo: y[n] = x[n] + mix * x[n - delay].
 * line: the last `delay` samples, [channels][delay], of the signal's type.
 * position: where in `line` the oldest sample is; kept from call to call. */
void delay_forward(size_t delay, double mix, void *line, size_t *position,
                   const struct iir_signal *s);

#endif
