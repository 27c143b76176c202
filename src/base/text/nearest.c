/* nearest.c: the edit distance, in three rows on the stack. No state; any thread. */
#include "base/text/nearest.h"

#include <string.h>

#include "base/text/ascii.h"

enum { MAX_WORD = 63 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Row `i` of the table of distances between prefixes, from the two rows before. */
static void fill_row(size_t *row, const size_t *up, const size_t *up2, const char *a, size_t i,
                     const char *b, size_t b_len)
{
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
        char ca = plumb_ascii_lower(a[i - 1]);
        char cb = plumb_ascii_lower(b[j - 1]);
        size_t best = smaller(up[j] + 1, row[j - 1] + 1);
        best = smaller(best, up[j - 1] + (ca != cb));
        if (i > 1 && j > 1 && ca == plumb_ascii_lower(b[j - 2]) &&
            plumb_ascii_lower(a[i - 2]) == cb)
            best = smaller(best, up2[j - 2] + 1);
        row[j] = best;
    }
}

size_t plumb_edit_distance(const char *a, const char *b, size_t limit)
{
    size_t rows[3][MAX_WORD + 1];
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len > MAX_WORD || b_len > MAX_WORD)
        return limit + 1;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++)
        fill_row(rows[i % 3], rows[(i + 2) % 3], rows[(i + 1) % 3], a, i, b, b_len);
    return smaller(rows[a_len % 3][b_len], limit + 1);
}

struct plumb_nearest plumb_nearest_start(const char *word)
{
    size_t near_enough = strlen(word) / 3;
    return (struct plumb_nearest){word, NULL, (near_enough ? near_enough : 1) + 1};
}

void plumb_nearest_offer(struct plumb_nearest *n, const char *candidate)
{
    if (!*candidate) /* which would be no help */
        return;
    size_t distance = plumb_edit_distance(n->word, candidate, n->distance - 1);
    if (distance >= n->distance)
        return;
    n->best = candidate;
    n->distance = distance;
}
