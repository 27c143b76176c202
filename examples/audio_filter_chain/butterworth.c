#include "butterworth.h"

#include <math.h>

/* k is the prewarped cutoff, tan(pi cutoff / rate); damping is twice the cosine of the pole's angle
 * from the negative real axis. */
static struct iir_section second_order(enum butterworth_kind kind, double k, double damping)
{
    double scale = 1.0 / (1.0 + damping * k + k * k);
    double b = kind == BUTTERWORTH_LOWPASS ? k * k * scale : scale;

    return (struct iir_section){
        .b0 = b,
        .b1 = kind == BUTTERWORTH_LOWPASS ? 2.0 * b : -2.0 * b,
        .b2 = b,
        .a1 = 2.0 * (k * k - 1.0) * scale,
        .a2 = (1.0 - damping * k + k * k) * scale,
    };
}

static struct iir_section first_order(enum butterworth_kind kind, double k)
{
    double b = (kind == BUTTERWORTH_LOWPASS ? k : 1.0) / (1.0 + k);

    return (struct iir_section){
        .b0 = b,
        .b1 = kind == BUTTERWORTH_LOWPASS ? b : -b,
        .a1 = (k - 1.0) / (k + 1.0),
    };
}

size_t butterworth_design(struct iir_section *sections, enum butterworth_kind kind, int order,
                          double cutoff, double rate)
{
    size_t pairs = (size_t)order / 2;
    double k;

    if (order < 1 || order > BUTTERWORTH_ORDER_MAX || !(rate > 0.0) || !isfinite(rate) ||
        !(cutoff > 0.0) || !(cutoff < rate / 2.0))
        return 0;
    k = tan(M_PI * cutoff / rate);
    for (size_t i = 0; i < pairs; i++) {
        double angle = M_PI * (2.0 * (double)i + 1.0) / (2.0 * order);
        sections[i] = second_order(kind, k, 2.0 * sin(angle));
    }
    if (order % 2)
        sections[pairs] = first_order(kind, k);
    return pairs + (size_t)order % 2;
}
