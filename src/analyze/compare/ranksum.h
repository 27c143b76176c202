/* ranksum.h: the test of Mann and Whitney (1947): whether values of one sample tend to be larger
 * than those of the other. It looks at ranks only, so one outlier, as a machine with other work
 * makes them, counts as one value and not by its size. No state; any thread. */
#ifndef PLUMB_ANALYZE_COMPARE_RANKSUM_H
#define PLUMB_ANALYZE_COMPARE_RANKSUM_H

#include <stdbool.h>
#include <stddef.h>

#include <plumb/error.h>

enum { PLUMB_RANKSUM_EXACT = 50 }; /* values in all, up to which the distribution is counted out */

struct plumb_ranksum {
    double u;   /* pairs (x of a, y of b) with x > y; equal ones count one half */
    double p;   /* two-sided */
    bool exact; /* counted; false: the normal approximation */
};

/* Exact when no two values are equal and there are at most PLUMB_RANKSUM_EXACT; otherwise the
 * normal approximation, corrected for ties and for continuity. p is 1 when a sample is empty or all
 * values are equal. No value may be NaN. Costs n log n; exact: at most 25^3 steps more. Errors:
 * PLUMB_ERR_MEMORY. */
int plumb_ranksum(struct plumb_ranksum *out, const double *a, size_t na, const double *b, size_t nb,
                  plumb_error *err);

/* The same, but exact where mannwhitneyu() of scipy is: when a sample has at most 8 values and no
 * two are equal. From 626 pairs on it is the normal approximation all the same. */
int plumb_ranksum_as_scipy(struct plumb_ranksum *out, const double *a, size_t na, const double *b,
                           size_t nb, plumb_error *err);

/* The smallest p that samples of these sizes can have: all values of one below all of the other. If
 * it is above the required level, the test cannot reject anything. */
double plumb_ranksum_least_p(size_t na, size_t nb);

#endif
