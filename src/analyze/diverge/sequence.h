/* sequence.h: aligns two sequences so that the pairs score highest: the weighted form of the edit
 * distance. Pairs never cross; an item without a partner costs nothing. Pure; any thread.
 *
 * Reference: Needleman, Wunsch, "A general method applicable to the search for similarities in the
 * amino acid sequence of two proteins", 1970, with a gap that costs nothing, in a band round the
 * diagonal (Ukkonen, "Algorithms for approximate string matching", 1985). */
#ifndef PLUMB_ANALYZE_DIVERGE_SEQUENCE_H
#define PLUMB_ANALYZE_DIVERGE_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

#define PLUMB_SEQUENCE_NONE UINT32_MAX

/* How well item `i` of A and `j` of B go together; 0 or less: not at all. */
typedef float (*plumb_sequence_score)(void *arg, uint32_t i, uint32_t j);

struct plumb_sequence {
    const uint32_t *a, *b; /* items, handed to `score` */
    uint32_t a_count, b_count;
    plumb_sequence_score score;
    void *arg;
    uint64_t budget; /* cells that may be scored; 0: 2^22 */
};

/* Fills partner[a_count]: the place in `b` of each of `a`, or PLUMB_SEQUENCE_NONE. Returns 1 when
 * the whole table was searched, 0 when the budget left a band of it only (at least 64 wide). Time
 * and memory: one score and one byte a cell. PLUMB_ERR_MEMORY. */
int plumb_sequence_align(uint32_t *partner, const struct plumb_sequence *s, plumb_error *err);

/* The longest rising run of `value[n]`, PLUMB_SEQUENCE_NONE left out: keep[i] says whether it is in
 * it. n log n; PLUMB_ERR_MEMORY. */
int plumb_sequence_rising(uint8_t *keep, const uint32_t *value, uint32_t n, plumb_error *err);

#endif
