/* Products of row-major matrices. One thread; nothing is allocated. */
#ifndef TRAIN_CLASSIFIER_MATRIX_H
#define TRAIN_CLASSIFIER_MATRIX_H

#include "real.h"

/* out[m][n] += a[m][k] b[k][n] */
void matrix_add_product(real *out, const real *a, const real *b, int m, int k, int n);

/* out[m][n] += transpose(a[k][m]) b[k][n] */
void matrix_add_transposed_product(real *out, const real *a, const real *b, int m, int k, int n);

/* out[n][m] = transpose(a[m][n]) */
void matrix_transpose(real *out, const real *a, int m, int n);

#endif
