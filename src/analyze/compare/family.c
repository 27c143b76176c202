/* family.c: the relabellings and the largest statistic of each.
 *
 * The statistic of a row is the sum of side B's standard scores. Over relabellings of the same runs
 * it orders them as Student's t does, but costs one addition a run. Ranks would be the more usual
 * choice; among many rows some relabelling separates the ranks of some row completely, so that few
 * runs could never tell anything. */
#include "analyze/compare/family.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/sample.h"
#include "base/error.h"

static const double ROUNDING = 1e-9; /* sums of the same scores in another order are equal */
enum { TRIMMED = 5 };                /* one in so many of the smaller side, at either end */

struct family {
    size_t rows, na, n;
    double *scores;   /* [rows][n] */
    double *least;    /* by row: a statistic that is the threshold */
    size_t *order;    /* rows, the clearest first */
    double *observed; /* by row: the statistic of the runs as they are */
    size_t *reached;  /* by place in `order` */
    size_t *runs;     /* a way: the first na are side A */
    double sign;      /* 1: B above A, -1: below */
    size_t ways;
};

struct clear_row {
    double statistic;
    size_t row;
};

/* ---- Scores ---------------------------------------------------------------------------------- */

static bool all_positive(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(values[i] > 0))
            return false;
    return true;
}

/* Returns their standard deviation, 0 where they are equal. */
static double standardize(double *scores, size_t n)
{
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += scores[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        scores[i] -= mean;
        squares += scores[i] * scores[i];
    }
    double deviation = sqrt(squares / (double)n);
    bool equal = deviation <= ROUNDING * fabs(mean);
    for (size_t i = 0; i < n; i++)
        scores[i] = equal ? 0 : scores[i] / deviation;
    return equal ? 0 : deviation;
}

/* Scores row `i`; `sorted` is scratch space for n values. */
static void score_row(struct family *f, size_t i, double *sorted, const double *values,
                      double threshold)
{
    double *scores = f->scores + i * f->n;
    size_t nb = f->n - f->na;
    size_t trim = (f->na < nb ? f->na : nb) / TRIMMED;
    bool logarithms = all_positive(values, f->n);
    memcpy(sorted, values, f->n * sizeof *values);
    plumb_sample_sort(sorted, f->n);
    double least = sorted[trim];
    double most = sorted[f->n - 1 - trim];
    for (size_t k = 0; k < f->n; k++) {
        double v = fmin(fmax(values[k], least), most);
        scores[k] = logarithms ? log(v) : v;
    }
    double deviation = standardize(scores, f->n);
    double apart = 1 / (double)f->na + 1 / (double)nb; /* means, for a statistic of 1 */
    f->least[i] = logarithms && deviation > 0 ? log1p(threshold) / (deviation * apart) : 0;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/* How many ways there are, infinity beyond doubles. */
static double ways_of(size_t na, size_t nb)
{
    double ways = 1;
    for (size_t i = 1; i <= na && ways < 1e300; i++)
        ways *= (double)(nb + i) / (double)i;
    return ways;
}

/* The next choice of side A in lexicographic order, in runs[0 .. na); false: that was the last. */
static bool next_choice(struct family *f)
{
    size_t i = f->na;
    while (i > 0 && f->runs[i - 1] == f->n - f->na + i - 1)
        i--;
    if (i == 0)
        return false;
    f->runs[i - 1]++;
    for (; i < f->na; i++)
        f->runs[i] = f->runs[i - 1] + 1;
    return true;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draws side A into runs[0 .. na), with the first steps of a shuffle of Fisher and Yates. */
static void draw(struct family *f, uint64_t *state)
{
    for (size_t i = 0; i < f->na; i++) {
        size_t k = i + (size_t)((next_random(state) >> 32) * (f->n - i) >> 32);
        size_t run = f->runs[k];
        f->runs[k] = f->runs[i];
        f->runs[i] = run;
    }
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Scores add up to 0, so side B has what A lacks. */
static double statistic(const struct family *f, size_t row)
{
    const double *scores = f->scores + row * f->n;
    double of_a = 0;
    for (size_t i = 0; i < f->na; i++)
        of_a += scores[f->runs[i]];
    double b_above = -f->sign * of_a;
    return b_above >= f->least[row] - ROUNDING ? b_above : -INFINITY;
}

/* Counts the way for every row that it reaches, the least clear row first: a row is measured by the
 * largest statistic among itself and those that are less clear. */
static void count_way(struct family *f)
{
    double largest = -INFINITY;
    for (size_t k = f->rows; k-- > 0;) {
        largest = fmax(largest, statistic(f, f->order[k]));
        f->reached[k] += largest >= f->observed[f->order[k]] - ROUNDING;
    }
    f->ways++;
}

static int clearest_first(const void *a, const void *b)
{
    const struct clear_row *x = a;
    const struct clear_row *y = b;
    if (x->statistic != y->statistic)
        return x->statistic > y->statistic ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool order_rows(struct family *f)
{
    struct clear_row *clear = calloc(f->rows, sizeof *clear);
    if (!clear)
        return false;
    for (size_t i = 0; i < f->rows; i++) {
        f->observed[i] = statistic(f, i);
        clear[i] = (struct clear_row){f->observed[i], i};
    }
    qsort(clear, f->rows, sizeof *clear, clearest_first);
    for (size_t k = 0; k < f->rows; k++)
        f->order[k] = clear[k].row;
    free(clear);
    return true;
}

static void start_runs(struct family *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->runs[i] = i;
}

/* The runs as they are count as a way too: p is never 0. */
static void count_ways(struct family *f)
{
    uint64_t state = 1;
    memset(f->reached, 0, f->rows * sizeof *f->reached);
    f->ways = 0;
    start_runs(f);
    count_way(f);
    if (ways_of(f->na, f->n - f->na) <= PLUMB_FAMILY_WAYS)
        while (next_choice(f))
            count_way(f);
    else
        while (f->ways < PLUMB_FAMILY_WAYS) {
            draw(f, &state);
            count_way(f);
        }
}

static bool count_direction(struct family *f, struct plumb_family_p *out, double sign)
{
    size_t most = 0;
    f->sign = sign;
    start_runs(f);
    if (!order_rows(f))
        return false;
    count_ways(f);
    for (size_t k = 0; k < f->rows; k++) {
        size_t row = f->order[k];
        most = f->reached[k] > most ? f->reached[k] : most;
        double p = f->observed[row] > ROUNDING ? (double)most / (double)f->ways : 1;
        if (sign > 0)
            out[row].up = p;
        else
            out[row].down = p;
    }
    return true;
}

int plumb_family(struct plumb_family_p *out, const double *values, size_t rows, size_t na,
                 size_t nb, double threshold, plumb_error *err)
{
    struct family f = {.rows = rows, .na = na, .n = na + nb};
    int rc = PLUMB_OK;
    if (rows == 0 || na == 0 || nb == 0)
        return PLUMB_OK;
    double *sorted = calloc(f.n, sizeof *sorted);
    f.scores = calloc(rows * f.n, sizeof *f.scores);
    f.least = calloc(rows, sizeof *f.least);
    f.order = calloc(rows, sizeof *f.order);
    f.observed = calloc(rows, sizeof *f.observed);
    f.reached = calloc(rows, sizeof *f.reached);
    f.runs = calloc(f.n, sizeof *f.runs);
    bool done = sorted && f.scores && f.least && f.order && f.observed && f.reached && f.runs;
    for (size_t i = 0; i < rows && done; i++)
        score_row(&f, i, sorted, values + i * f.n, threshold);
    done = done && count_direction(&f, out, 1) && count_direction(&f, out, -1);
    if (!done)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
    free(sorted);
    free(f.scores);
    free(f.least);
    free(f.order);
    free(f.observed);
    free(f.reached);
    free(f.runs);
    return rc;
}

double plumb_family_least_p(size_t na, size_t nb)
{
    double ways = ways_of(na, nb);
    return 1 / (ways < PLUMB_FAMILY_WAYS ? ways : PLUMB_FAMILY_WAYS);
}
