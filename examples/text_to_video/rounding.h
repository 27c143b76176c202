/* Between the precision that activations are kept in and the float32 that is computed in where
 * oneDNN has nothing else (nn->rounds). */
#ifndef TEXT_TO_VIDEO_ROUNDING_H
#define TEXT_TO_VIDEO_ROUNDING_H

#include "nn.h"

/* Copies between equal shapes of any strides and types, rounding where the target is coarser. */
void rounding_copy(struct nn *nn, const struct tensor *from, const struct tensor *to);

/* `t` itself where it is float32, else a row-major copy that is, from the arena. */
struct tensor rounding_widen(struct nn *nn, const struct tensor *t);

/* The same without the values: where a result may be computed. */
struct tensor rounding_room(struct nn *nn, const struct tensor *t);

#endif
