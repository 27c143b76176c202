/* drift.c: whether the machine may explain a difference that the code is blamed for. Checks in
 * which order the runs of both sides were recorded, whether they grew slower as time went by, and
 * whether all nodes moved alike. No state.
 *
 * The trend is computed within each side and added up, so that a change from A to B does not count
 * as a trend. */
#include "analyze/compare/compare.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/compare/sample.h"
#include "base/error.h"

enum { LEAST_RUNS = 4, LEAST_NODES = 5 };

static bool earlier(const struct plumb_compare *c, size_t i, size_t k)
{
    return c->runs[i].start_unix_ns < c->runs[k].start_unix_ns;
}

/* Whether every run of `side` was recorded before all of the other side. */
static bool all_before(const struct plumb_compare *c, enum plumb_side side)
{
    for (size_t i = 0; i < c->added; i++)
        for (size_t k = 0; k < c->added; k++)
            if (plumb_compare_side(c, i) == side && plumb_compare_side(c, k) != side &&
                !earlier(c, i, k))
                return false;
    return true;
}

static const struct plumb_compare_line *stages_of(const struct plumb_compare *c)
{
    for (size_t i = 0; i < c->sums.count; i++)
        if (c->sums.lines[i].kind == PLUMB_COMPARE_STAGES)
            return &c->sums.lines[i];
    return NULL;
}

/* Mann (1945) and Kendall: pairs of runs of one side in which the later took longer, less those in
 * which it took less time. */
static void find_trend(struct plumb_compare *c, const struct plumb_compare_line *stages)
{
    double sum = 0;
    double variance = 0;
    for (size_t i = 0; i < c->added; i++)
        for (size_t k = 0; k < c->added; k++) {
            double a = stages->samples[i].figures[0];
            double b = stages->samples[k].figures[0];
            if (plumb_compare_side(c, i) == plumb_compare_side(c, k) && earlier(c, i, k))
                sum += (b > a) - (b < a);
        }
    for (int side = 0; side < 2; side++) {
        double n = (double)c->run_count[side];
        variance += n * (n - 1) * (2 * n + 5) / 18;
    }
    c->drift.trend = sum > 0 ? 1 : -1;
    c->drift.p = fabs(sum) > 1 ? erfc((fabs(sum) - 1) / sqrt(2 * variance)) : 1;
}

static int find_middle(struct plumb_compare *c, plumb_error *err)
{
    size_t n = 0;
    double *ratios = calloc(c->nodes.count + 1, sizeof *ratios);
    if (!ratios)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
    for (size_t i = 0; i < c->nodes.count; i++) {
        const struct plumb_contrast *x = &c->nodes.lines[i].main;
        if (x->a > 0 && x->b > 0)
            ratios[n++] = x->b / x->a;
    }
    plumb_sample_sort(ratios, n);
    c->drift.middle = n >= LEAST_NODES ? plumb_sample_median(ratios, n) : 0;
    free(ratios);
    return PLUMB_OK;
}

int plumb_compare_find_drift(struct plumb_compare *c, plumb_error *err)
{
    const struct plumb_compare_line *stages = stages_of(c);
    c->drift.p = 1;
    if (!c->tested)
        return PLUMB_OK;
    c->drift.apart = all_before(c, PLUMB_SIDE_A) || all_before(c, PLUMB_SIDE_B);
    if (stages && c->run_count[0] >= LEAST_RUNS && c->run_count[1] >= LEAST_RUNS)
        find_trend(c, stages);
    return find_middle(c, err);
}
