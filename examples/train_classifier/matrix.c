/* Owns the inner loops, where nearly all of the arithmetic happens.
 *
 * Both products add multiples of rows of b to a row of out, so the innermost loop runs along
 * contiguous memory and the compiler can use vectors without changing the order in which any
 * element is summed: the result does not depend on the instruction set. Four rows of b at a time,
 * because a row of out would otherwise be loaded and stored for every product. */
#include "matrix.h"

#include <stddef.h>

enum { TOGETHER = 4 };

/* out += x[0] b[0] + ... + x[3] b[3], rows of n */
static void add_rows(real *restrict out, const real x[TOGETHER], const real *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] += x[0] * b[j] + x[1] * b[n + j] + x[2] * b[2 * n + j] + x[3] * b[3 * n + j];
}

static void add_row(real *restrict out, real x, const real *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] += x * b[j];
}

/* One row of out; the elements of a that belong to it lie `stride` apart. */
static void add_to_row(real *out, const real *a, size_t stride, const real *b, size_t k, size_t n)
{
    size_t i = 0;

    for (; i + TOGETHER <= k; i += TOGETHER) {
        const real *at = a + i * stride;
        const real x[TOGETHER] = {at[0], at[stride], at[2 * stride], at[3 * stride]};
        add_rows(out, x, b + i * n, n);
    }
    for (; i < k; i++)
        add_row(out, a[i * stride], b + i * n, n);
}

void matrix_add_product(real *out, const real *a, const real *b, int m, int k, int n)
{
    for (int i = 0; i < m; i++)
        add_to_row(out + (size_t)i * (size_t)n, a + (size_t)i * (size_t)k, 1, b, (size_t)k,
                   (size_t)n);
}

void matrix_add_transposed_product(real *out, const real *a, const real *b, int m, int k, int n)
{
    for (int i = 0; i < m; i++)
        add_to_row(out + (size_t)i * (size_t)n, a + i, (size_t)m, b, (size_t)k, (size_t)n);
}

void matrix_transpose(real *out, const real *a, int m, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            out[(size_t)j * (size_t)m + (size_t)i] = a[(size_t)i * (size_t)n + (size_t)j];
}
