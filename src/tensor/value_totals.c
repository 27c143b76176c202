/* value_totals.c: a block of doubles, which stays in the first-level cache, is summed twice: once
 * for its mean, once for the squares round it; then it is merged into the totals.
 *
 * Blocks whose sums or squares would leave the range of double are summed in long double (where it
 * is not wider, they become infinite). Any thread. */
#include "tensor/value_totals.h"

#include <math.h>
#include <stdbool.h>

enum { PARTS = 8 };

static inline double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* Sums and bounds, in PARTS independent parts, which the compiler can keep in vectors. */
static double sums_and_bounds(const double *x, size_t n, struct plumb_totals *out)
{
    double sum[PARTS];
    double abs_sum[PARTS];
    double min[PARTS];
    double max[PARTS];
    size_t i = 0;
    for (int k = 0; k < PARTS; k++) {
        sum[k] = abs_sum[k] = 0;
        min[k] = max[k] = x[0];
    }
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            sum[k] += x[i + k];
            abs_sum[k] += magnitude(x[i + k]);
            min[k] = x[i + k] < min[k] ? x[i + k] : min[k];
            max[k] = x[i + k] > max[k] ? x[i + k] : max[k];
        }
    }
    for (int k = 0; i < n; i++, k++) {
        sum[k] += x[i];
        abs_sum[k] += magnitude(x[i]);
        min[k] = x[i] < min[k] ? x[i] : min[k];
        max[k] = x[i] > max[k] ? x[i] : max[k];
    }
    for (int k = 1; k < PARTS; k++) {
        sum[0] += sum[k];
        abs_sum[0] += abs_sum[k];
        min[0] = min[k] < min[0] ? min[k] : min[0];
        max[0] = max[k] > max[0] ? max[k] : max[0];
    }
    out->n = n;
    out->min = min[0];
    out->max = max[0];
    out->sum = sum[0];
    out->abs_sum = abs_sum[0];
    return sum[0];
}

/* Distances from `origin`, the mean but for rounding; their sum says what the rounding was. */
static void sum_squares(const double *x, size_t n, double origin, struct plumb_totals *out)
{
    double sum[PARTS] = {0};
    double squares[PARTS] = {0};
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            double d = x[i + k] - origin;
            sum[k] += d;
            squares[k] += d * d;
        }
    }
    for (int k = 0; i < n; i++, k++) {
        double d = x[i] - origin;
        sum[k] += d;
        squares[k] += d * d;
    }
    for (int k = 1; k < PARTS; k++) {
        sum[0] += sum[k];
        squares[0] += squares[k];
    }
    long double shift = (long double)sum[0] * sum[0] / n;
    out->origin = origin;
    out->rest = sum[0];
    out->squares = squares[0] > shift ? squares[0] - shift : 0;
}

/* Whether sums or squares of the block leave the range of double. */
static bool is_wide(const struct plumb_totals *t)
{
    double spread = t->max - t->min;
    return t->max > 0x1p500 || t->min < -0x1p500 || (spread > 0 && spread < 0x1p-480);
}

static void sum_wide(const double *x, size_t n, struct plumb_totals *out)
{
    long double origin = x[0];
    long double rest = 0;
    long double squares = 0;
    out->sum = out->abs_sum = 0;
    for (size_t i = 0; i < n; i++) {
        rest += x[i] - origin;
        out->sum += x[i];
        out->abs_sum += magnitude(x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        long double d = x[i] - origin - rest / n;
        squares += d * d;
    }
    out->origin = x[0];
    out->rest = rest;
    out->squares = squares;
}

void plumb_totals_merge(struct plumb_totals *all, const struct plumb_totals *block)
{
    all->sum += block->sum;
    all->abs_sum += block->abs_sum;
    all->zeros += block->zeros;
    if (all->n == 0) {
        all->n = block->n;
        all->min = block->min;
        all->max = block->max;
        all->origin = block->origin;
        all->rest = block->rest;
        all->squares = block->squares;
        return;
    }
    long double moved = (long double)block->origin - all->origin;
    long double delta = moved + block->rest / block->n - all->rest / all->n;
    uint64_t n = all->n + block->n;
    long double weight = (long double)all->n * block->n / n;
    all->squares += block->squares + delta * delta * weight;
    all->rest += moved * block->n + block->rest;
    all->min = block->min < all->min ? block->min : all->min;
    all->max = block->max > all->max ? block->max : all->max;
    all->n = n;
}

/* Counts the values that are not finite, and takes them out of the block; how many are left. */
static size_t take_out(struct plumb_totals *all, double *x, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        double v = x[i];
        all->nan += v != v;
        all->pos_inf += v == (double)INFINITY;
        all->neg_inf += v == -(double)INFINITY;
        if (v - v == 0)
            x[kept++] = v;
    }
    return kept;
}

void plumb_totals_add(struct plumb_totals *all, double *x, size_t n)
{
    struct plumb_totals block = {0};
    double sum;
    if (n == 0)
        return;
    sum = sums_and_bounds(x, n, &block);
    if (sum - sum != 0) {
        if ((n = take_out(all, x, n)) == 0)
            return;
        sum = sums_and_bounds(x, n, &block);
    }
    for (size_t i = 0; i < n; i++)
        block.zeros += x[i] == 0;
    if (is_wide(&block))
        sum_wide(x, n, &block);
    else
        sum_squares(x, n, sum / (double)n, &block);
    plumb_totals_merge(all, &block);
}
