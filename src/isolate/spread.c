#include "isolate/spread.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

enum { SURE_FROM = 6 }; /* 1 - 2 / 2^6 = 0.969 is the first coverage above 0.95 */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double plumb_spread_quantile(const double *sorted, size_t n, double q)
{
    double at = (double)(n - 1) * q;
    size_t below = (size_t)at;
    return below + 1 < n
               ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below])
               : sorted[n - 1];
}

void plumb_spread_interval(double *low, double *high, const double *sorted, size_t n)
{
    double term, below = 0;
    size_t rank = 0;
    *low = *high = NAN;
    if (n < SURE_FROM)
        return;
    /* The largest rank with P(X <= rank - 1) <= 0.025 for X ~ B(n, 1/2). Logarithms: 2^-n is 0 from
     * 1075 on. */
    for (term = -(double)n * log(2.0); rank < n / 2; rank++) {
        below += exp(term);
        if (below > 0.025)
            break;
        term += log((double)(n - rank)) - log((double)(rank + 1));
    }
    *low = sorted[rank - 1];
    *high = sorted[n - rank];
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return plumb_spread_quantile(values, n, 0.5);
}

/* Of the last third over the first, in the order of time. */
static double drift_of(const double *in_order, size_t n, double *scratch)
{
    size_t third = n / 3;
    double first, last;
    if (n < SURE_FROM)
        return NAN;
    for (size_t i = 0; i < third; i++)
        scratch[i] = in_order[i];
    first = median(scratch, third);
    for (size_t i = 0; i < third; i++)
        scratch[i] = in_order[n - third + i];
    last = median(scratch, third);
    return first > 0 ? last / first : NAN;
}

static void fill_sorted(plumb_bench_result *r, const double *sorted, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    r->mean_ms = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - r->mean_ms) * (sorted[i] - r->mean_ms);
    r->std_ms = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    r->min_ms = sorted[0];
    r->max_ms = sorted[n - 1];
    r->p25_ms = plumb_spread_quantile(sorted, n, 0.25);
    r->median_ms = plumb_spread_quantile(sorted, n, 0.5);
    r->p75_ms = plumb_spread_quantile(sorted, n, 0.75);
    r->p95_ms = plumb_spread_quantile(sorted, n, 0.95);
    r->p99_ms = plumb_spread_quantile(sorted, n, 0.99);
    r->p999_ms = plumb_spread_quantile(sorted, n, 0.999);
    r->noise = n > 1 && r->median_ms > 0 ? (r->p75_ms - r->p25_ms) / r->median_ms : NAN;
    plumb_spread_interval(&r->low_ms, &r->high_ms, sorted, n);
}

static void fill_deadline(plumb_bench_result *r)
{
    if (!(r->deadline_ms > 0))
        return;
    for (uint32_t i = 0; i < r->runs; i++)
        r->overruns += (double)r->run_ns[i] / 1e6 > r->deadline_ms;
    r->budget_p99 = 1 - r->p99_ms / r->deadline_ms;
    r->budget_max = 1 - r->max_ms / r->deadline_ms;
}

int plumb_spread_fill(plumb_bench_result *r, plumb_error *err)
{
    size_t n = r->runs;
    double *values = malloc(2 * n * sizeof *values), *scratch = values + n;
    if (!values)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the figures of %zu runs", n);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)r->run_ns[i] / 1e6;
    r->drift = drift_of(values, n, scratch);
    qsort(values, n, sizeof *values, ascending);
    fill_sorted(r, values, n);
    fill_deadline(r);
    free(values);
    return PLUMB_OK;
}
