/* random.h: which random values stand for a recorded tensor. random_fill.h makes them. Pure; any
 * thread. */
#ifndef PLUMB_ISOLATE_RANDOM_H
#define PLUMB_ISOLATE_RANDOM_H

#include "isolate/random_fill.h"
#include "model/signature.h"
#include "tensor/dtype.h"

/* Sets the parameters of values of `type`, a scalar type of whole bytes; `out->seed` is 0, for the
 * caller to set. Of a complex type they are those of each half.
 *
 * With `stats` the values have the recorded mean and deviation (within 2^-30 of the range, and what
 * rounding to the element type changes) and lie within the recorded range; integers never leave
 * it. The shape follows from the three figures: nearly normal where six or three deviations fit
 * between the mean and the nearer bound, uniform where that fits, else uniform as far as the nearer
 * bound with as many values at the bounds themselves as the deviation asks for. NaN and infinities
 * are not made up, however many were recorded.
 *
 * Without (NULL, or of no finite value): floats and halves of complex numbers are standard normal,
 * uint8 is uniform over all 256 values, other integers are 0 or 1, which are legal indices of any
 * table of two rows, and bool is a fair coin.
 *   errors  PLUMB_ERR_ARG: an element type that has no random values (lanes, opaque, unknown);
 *           PLUMB_ERR_FORMAT: statistics that contradict each other. `out` is untouched. */
int plumb_random_of(struct plumb_random *out, struct plumb_dtype type,
                    const struct plumb_signature_stats *stats, plumb_error *err);

#endif
