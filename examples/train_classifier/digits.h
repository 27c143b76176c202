/* The data: digits, drawn as if by many hands. Each picture is one of ten shapes, leaning, turned,
 * stretched and shaken, in a thin or a thick pen, on paper with noise. */
#ifndef TRAIN_CLASSIFIER_DIGITS_H
#define TRAIN_CLASSIFIER_DIGITS_H

#include "real.h"

#include <stdint.h>

enum { DIGITS_SIDE = 16, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

/* Pictures of different sets are different pictures. */
enum digits_set { DIGITS_TRAIN, DIGITS_VAL, DIGITS_TEST, DIGITS_NEW };

/* Draws picture `index` of a set, always the same for a seed: DIGITS_PIXELS values of -0.4
 * (paper) to about 1.5 (ink), row by row. Returns which digit it is. Every ten pictures in a row
 * hold each digit once. Any thread; some 20 us. */
int digits_draw(real *pixels, uint64_t seed, enum digits_set set, int index);

#endif
