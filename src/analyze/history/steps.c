/* steps.c: see steps.h.
 *
 * best[j] is the least cost of the first j values. The cost of a segment that begins at i is needed
 * for every end: the values are put one by one into two heaps, whose tops are the median, and the
 * sums of both halves give the deviations. */
#include "analyze/history/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { LEAST = 3, LEAST_LAST = 2 };

/* A change below this part of the level is not a step, however quiet the series is: it is as large
 * as the resolution of clocks and of rounded figures. */
static const double RESOLUTION = 0.002;
/* Of the criterion: a cut has a place and a level, and both are estimated. */
static const double PENALTY = 3;

/* ---- Running medians ------------------------------------------------------------------------- */

struct heap {
    double *at;
    size_t n;
    double sum, sign; /* sign -1: the smallest on top */
};

static void push(struct heap *h, double value)
{
    size_t i = h->n++;
    h->sum += value;
    while (i > 0 && h->sign * h->at[(i - 1) / 2] < h->sign * value) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = value;
}

static double pop(struct heap *h)
{
    double top = h->at[0], last = h->at[--h->n];
    size_t i = 0, child;
    h->sum -= top;
    while ((child = 2 * i + 1) < h->n) {
        if (child + 1 < h->n && h->sign * h->at[child + 1] > h->sign * h->at[child])
            child++;
        if (h->sign * h->at[child] <= h->sign * last)
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}

/* Adds a value and returns the sum of absolute deviations from the median. */
static double add(struct heap *low, struct heap *high, double value)
{
    if (low->n == 0 || value <= low->at[0])
        push(low, value);
    else
        push(high, value);
    if (low->n > high->n + 1)
        push(high, pop(low));
    else if (high->n > low->n)
        push(low, pop(high));
    double median = low->at[0];
    return (median * (double)low->n - low->sum) + (high->sum - median * (double)high->n);
}

/* ---- The noise of a series ------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `v` and returns its median. */
static double median_of(double *v, size_t n)
{
    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Noise is a part of the level: logarithms have it equal. Values that are not all above 0 stay, and
 * the result is false. */
static bool scale(double *out, const double *values, size_t n)
{
    bool positive = true;
    for (size_t i = 0; i < n; i++)
        positive &= values[i] > 0;
    for (size_t i = 0; i < n; i++)
        out[i] = positive ? log(values[i]) : values[i];
    return positive;
}

/* The mean absolute deviation that normal noise of the series has, from the median of the absolute
 * differences of neighbours; at least the resolution. `scratch` [n]. */
static double noise_of(const double *values, size_t n, bool logarithmic, double *scratch)
{
    static const double OF_DIFFERENCES = 0.6745 * 1.41421356; /* their median, for deviation 1 */
    static const double MEAN_DEVIATION = 0.79788456;
    for (size_t i = 1; i < n; i++)
        scratch[i - 1] = fabs(values[i] - values[i - 1]);
    double noise = median_of(scratch, n - 1) / OF_DIFFERENCES * MEAN_DEVIATION;
    memcpy(scratch, values, n * sizeof *scratch);
    double resolution = (logarithmic ? 1 : fabs(median_of(scratch, n))) * RESOLUTION;
    return noise > resolution ? noise : resolution;
}

/* ---- Segments -------------------------------------------------------------------------------- */

struct work {
    double *best, *low, *high, *scratch;
    double *scaled; /* the values on the scale on which their noise is the same at every level */
    size_t *from;   /* where the last segment of the best partition of the first j values begins */
};

static void partition(struct work *w, const double *values, size_t n, double penalty)
{
    w->best[0] = -penalty;
    for (size_t j = 1; j <= n; j++)
        w->best[j] = INFINITY;
    for (size_t i = 0; i + 1 < n || i == 0; i++) {
        struct heap low = {w->low, 0, 0, 1}, high = {w->high, 0, 0, -1};
        if (isinf(w->best[i]))
            continue;
        for (size_t j = i + 1; j <= n; j++) {
            double cost = w->best[i] + add(&low, &high, values[j - 1]) + penalty;
            size_t least = j == n && i > 0 ? LEAST_LAST : LEAST;
            if ((j - i >= least || (i == 0 && j == n)) && cost < w->best[j]) {
                w->best[j] = cost;
                w->from[j] = i;
            }
        }
    }
}

static struct plumb_level level_of(const double *values, size_t begin, size_t end, double *scratch)
{
    static const double OF_NORMAL = 1.4826, WITHIN_95 = 1.96;
    struct plumb_level level = {begin, end, 0, 0};
    size_t n = end - begin;
    memcpy(scratch, values + begin, n * sizeof *scratch);
    level.median = median_of(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(values[begin + i] - level.median);
    level.band = median_of(scratch, n) * OF_NORMAL * WITHIN_95;
    return level;
}

static int take_levels(struct plumb_level **out, size_t *count, struct work *w,
                       const double *values, size_t n, plumb_error *err)
{
    size_t segments = 0;
    for (size_t j = n; j > 0; j = w->from[j])
        segments++;
    struct plumb_level *levels = calloc(segments + 1, sizeof *levels);
    if (!levels)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the steps of a history");
    size_t at = segments;
    for (size_t j = n; j > 0; j = w->from[j])
        levels[--at] = level_of(values, w->from[j], j, w->scratch);
    *out = levels;
    *count = segments;
    return PLUMB_OK;
}

int plumb_levels_find(struct plumb_level **out, size_t *count, const double *values, size_t n,
                      plumb_error *err)
{
    struct work w = {NULL, NULL, NULL, NULL, NULL, NULL};
    int rc;
    if (n > PLUMB_STEPS_MOST)
        return plumb_fail(err, PLUMB_ERR_ARG, "a series has more than %d values", PLUMB_STEPS_MOST);
    w.best = calloc(5 * (n + 2), sizeof *w.best);
    w.from = calloc(n + 2, sizeof *w.from);
    if (!w.best || !w.from) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the steps of a history");
        goto out;
    }
    w.low = w.best + n + 2;
    w.high = w.low + n + 2;
    w.scratch = w.high + n + 2;
    w.scaled = w.scratch + n + 2;
    if (n > 0) {
        bool logarithmic = scale(w.scaled, values, n);
        double noise = noise_of(w.scaled, n, logarithmic, w.scratch);
        partition(&w, w.scaled, n, PENALTY * log((double)n + 1) * noise);
    }
    rc = take_levels(out, count, &w, values, n, err);
out:
    free(w.best);
    free(w.from);
    return rc;
}
