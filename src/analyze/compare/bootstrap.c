/* bootstrap.c: the interval of a ratio of medians. A draw is stored as the number of times that
 * each value of the sorted sample was drawn, so that its median is found without sorting it. */
#include "analyze/compare/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/sample.h"
#include "base/error.h"

struct draw {
    double *sorted;
    uint32_t *times; /* how often sorted[i] was drawn */
    size_t n;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void draw_again(struct draw *d, uint64_t *state)
{
    memset(d->times, 0, d->n * sizeof *d->times);
    for (size_t i = 0; i < d->n; i++)
        d->times[(next_random(state) >> 32) * d->n >> 32]++;
}

/* The drawn value of rank `rank`, counted from 0. */
static double drawn(const struct draw *d, size_t rank)
{
    size_t i = 0;
    for (size_t below = d->times[0]; below <= rank; below += d->times[i])
        i++;
    return d->sorted[i];
}

static double drawn_median(const struct draw *d)
{
    double upper = drawn(d, d->n / 2);
    return d->n % 2 ? upper : drawn(d, d->n / 2 - 1) / 2 + upper / 2;
}

static bool start(struct draw *d, const double *values, size_t n)
{
    d->sorted = calloc(n, sizeof *d->sorted);
    d->times = calloc(n, sizeof *d->times);
    d->n = n;
    if (!d->sorted || !d->times)
        return false;
    memcpy(d->sorted, values, n * sizeof *values);
    plumb_sample_sort(d->sorted, n);
    return true;
}

static void finish(struct draw *d)
{
    free(d->sorted);
    free(d->times);
}

/* False when a median of `a` is 0, or so small that there is no ratio. */
static bool draw_ratios(double *ratios, struct draw *a, struct draw *b, uint64_t seed)
{
    for (size_t i = 0; i < PLUMB_BOOTSTRAP_RESAMPLES; i++) {
        draw_again(a, &seed);
        draw_again(b, &seed);
        double base = drawn_median(a);
        if (!(base > 0))
            return false;
        ratios[i] = drawn_median(b) / base;
        if (!isfinite(ratios[i]))
            return false;
    }
    return true;
}

int plumb_bootstrap_ratio_tails(struct plumb_interval *out, const double *a, size_t na,
                                const double *b, size_t nb, uint64_t seed, double outside,
                                plumb_error *err)
{
    size_t skip = (size_t)(PLUMB_BOOTSTRAP_RESAMPLES * outside + 0.5);
    struct draw of_a = {NULL, NULL, 0};
    struct draw of_b = {NULL, NULL, 0};
    double *ratios = NULL;
    int rc = PLUMB_OK;
    *out = (struct plumb_interval){.known = false};
    if (na == 0 || nb == 0)
        return PLUMB_OK;
    ratios = calloc(PLUMB_BOOTSTRAP_RESAMPLES, sizeof *ratios);
    if (!ratios || !start(&of_a, a, na) || !start(&of_b, b, nb)) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
        goto out;
    }
    if (!draw_ratios(ratios, &of_a, &of_b, seed))
        goto out;
    plumb_sample_sort(ratios, PLUMB_BOOTSTRAP_RESAMPLES);
    *out =
        (struct plumb_interval){true, ratios[skip], ratios[PLUMB_BOOTSTRAP_RESAMPLES - 1 - skip]};
out:
    finish(&of_a);
    finish(&of_b);
    free(ratios);
    return rc;
}

int plumb_bootstrap_ratio(struct plumb_interval *out, const double *a, size_t na, const double *b,
                          size_t nb, uint64_t seed, plumb_error *err)
{
    return plumb_bootstrap_ratio_tails(out, a, na, b, nb, seed, 0.025, err);
}
