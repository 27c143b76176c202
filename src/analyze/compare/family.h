/* family.h: one error level for all rows of a comparison: the step-down procedure of Holm (1979),
 * its p-values counted out over relabellings of the runs as by Westfall and Young (1993). No state;
 * any thread.
 *
 * Each row has one value a run, the runs of side A before those of B. If the sides do not differ,
 * every way to share the runs out between them is equally likely. p of a row is the share of those
 * ways in which any row that is not clearer than it would move as far in the same direction. So of
 * 100 tables of unchanged code at most 5 have a row with p <= 0.05, however many rows there are,
 * and however they depend on each other. */
#ifndef PLUMB_ANALYZE_COMPARE_FAMILY_H
#define PLUMB_ANALYZE_COMPARE_FAMILY_H

#include <stddef.h>

#include <plumb/error.h>

/* Up to this number all ways are counted; of more, this many are drawn, from a fixed seed. */
enum { PLUMB_FAMILY_WAYS = 10000 };

struct plumb_family_p {
    double up, down; /* that B lies above A by chance, and below */
};

/* Fills out[rows] from values[rows][na + nb], row-major. A row of equal values has p 1. Values are
 * finite; if all of a row are above 0, their logarithms are used. At either end of a row, a fifth
 * of a side's runs is clamped to the next value, so that one disturbed run hides nothing. A change
 * of less than `threshold` (0.02: 2 %) counts as no change, in every way to share the runs out: a
 * row that cannot show anything does not hide others. Costs at most rows * (na + nb) *
 * PLUMB_FAMILY_WAYS steps. Errors: PLUMB_ERR_MEMORY. */
int plumb_family(struct plumb_family_p *out, const double *values, size_t rows, size_t na,
                 size_t nb, double threshold, plumb_error *err);

/* The smallest p that sides of these sizes can have. */
double plumb_family_least_p(size_t na, size_t nb);

#endif
