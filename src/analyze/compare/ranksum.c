/* ranksum.c: U from the ranks of the joined samples, and its p-value.
 *
 * The exact distribution comes from its generating function, the Gaussian binomial coefficient: the
 * product over i of (1 - x^(nb+i)) / (1 - x^i). Multiplied and divided in turn, every step but the
 * half ones is such a coefficient itself: whole numbers below 2^53, so doubles hold them exactly.
 * Why not the usual recursion over both sizes: it needs their product times as much memory. */
#include "analyze/compare/ranksum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { HALF = PLUMB_RANKSUM_EXACT / 2, PAIRS = HALF * HALF, SCIPY_EXACT = 8 };

struct ranked {
    double value;
    bool of_a;
};

static int ascending(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* The sum of the ranks of `a`, equal values sharing the mean of theirs, and of t^3 - t over the
 * groups of t equal values. */
static double rank_sum(const struct ranked *all, size_t n, double *ties)
{
    double sum = 0;
    size_t end;
    *ties = 0;
    for (size_t begin = 0; begin < n; begin = end) {
        size_t of_a = 0;
        for (end = begin; end < n && all[end].value == all[begin].value; end++)
            of_a += all[end].of_a;
        double t = (double)(end - begin);
        double rank = (double)begin + (t + 1) / 2;
        sum += (double)of_a * rank;
        *ties += t * t * t - t;
    }
    return sum;
}

/* counts[u]: in how many orders of `na` and `nb` distinct values U is u. */
static void count_orders(double *counts, size_t na, size_t nb)
{
    size_t most = na * nb;
    memset(counts, 0, (most + 1) * sizeof *counts);
    counts[0] = 1;
    for (size_t i = 1; i <= na; i++) {
        for (size_t u = most; u >= nb + i; u--)
            counts[u] -= counts[u - nb - i];
        for (size_t u = i; u <= most; u++)
            counts[u] += counts[u - i];
    }
}

static double exact_p(double u, size_t na, size_t nb)
{
    double counts[PAIRS + 1];
    double all = 0;
    double tail = 0;
    double pairs = (double)na * (double)nb;
    double nearer = u < pairs - u ? u : pairs - u;
    count_orders(counts, na, nb);
    for (size_t i = 0; i <= na * nb; i++) {
        all += counts[i];
        tail += (double)i <= nearer ? counts[i] : 0;
    }
    double p = 2 * tail / all;
    return p < 1 ? p : 1;
}

static double normal_p(double u, double na, double nb, double ties)
{
    double n = na + nb;
    double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
    double distance = fabs(u - na * nb / 2) - 0.5;
    if (!(variance > 0) || distance <= 0)
        return 1;
    return erfc(distance / sqrt(2 * variance));
}

static int ranksum(struct plumb_ranksum *out, const double *a, size_t na, const double *b,
                   size_t nb, bool countable, plumb_error *err)
{
    size_t n = na + nb;
    double ties;
    *out = (struct plumb_ranksum){.p = 1};
    if (na == 0 || nb == 0)
        return PLUMB_OK;
    struct ranked *all = calloc(n, sizeof *all);
    if (!all)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
    for (size_t i = 0; i < n; i++)
        all[i] = (struct ranked){i < na ? a[i] : b[i - na], i < na};
    qsort(all, n, sizeof *all, ascending);
    double sum = rank_sum(all, n, &ties);
    free(all);
    out->u = sum - (double)na * ((double)na + 1) / 2;
    out->exact = ties == 0 && countable;
    out->p = out->exact ? exact_p(out->u, na, nb) : normal_p(out->u, (double)na, (double)nb, ties);
    return PLUMB_OK;
}

int plumb_ranksum(struct plumb_ranksum *out, const double *a, size_t na, const double *b, size_t nb,
                  plumb_error *err)
{
    return ranksum(out, a, na, b, nb, na + nb <= PLUMB_RANKSUM_EXACT, err);
}

int plumb_ranksum_as_scipy(struct plumb_ranksum *out, const double *a, size_t na, const double *b,
                           size_t nb, plumb_error *err)
{
    size_t fewer = na < nb ? na : nb, more = na < nb ? nb : na;
    return ranksum(out, a, na, b, nb, fewer <= SCIPY_EXACT && more <= PAIRS / (fewer + !fewer),
                   err);
}

double plumb_ranksum_least_p(size_t na, size_t nb)
{
    double orders = 1;
    for (size_t i = 1; i <= na && orders < 1e300; i++)
        orders *= (double)(nb + i) / (double)i;
    return orders > 2 ? 2 / orders : 1;
}
