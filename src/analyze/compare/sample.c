/* sample.c: sorting and the median. */
#include "analyze/compare/sample.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

void plumb_sample_sort(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, ascending);
}

double plumb_sample_median(const double *sorted, size_t n)
{
    if (n == 0)
        return 0;
    return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}
