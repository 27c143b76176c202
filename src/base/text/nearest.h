/* nearest.h: the word a misspelt one was probably meant to be.
 *
 *     struct plumb_nearest n = plumb_nearest_start("REGION");
 *     for (...)
 *         plumb_nearest_offer(&n, candidate);
 *     n.best       NULL when no candidate is near enough to be worth naming */
#ifndef PLUMB_BASE_TEXT_NEAREST_H
#define PLUMB_BASE_TEXT_NEAREST_H

#include <stddef.h>

struct plumb_nearest {
    const char *word; /* borrowed */
    const char *best; /* borrowed from the candidates; the first of equals */
    size_t distance;  /* of `best`; before one is found, one more than is near enough */
};

/* Begins a search. A candidate is near enough if it needs at most one edit in three characters, at
 * least one. */
struct plumb_nearest plumb_nearest_start(const char *word);
void plumb_nearest_offer(struct plumb_nearest *n, const char *candidate);

/* Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b` (optimal string alignment), ignoring the case of ASCII letters; limit + 1 when there are
 * more than `limit` or a word has more than 63 bytes. */
size_t plumb_edit_distance(const char *a, const char *b, size_t limit);

#endif
