/* sequence.c: the table of the alignment stores one byte a cell, the direction from which it was
 * reached; only two rows of the sums exist at a time. */
#include "analyze/diverge/sequence.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { DEFAULT_BUDGET = 1 << 22, LEAST_BAND = 64 };
enum { FROM_LEFT, FROM_ABOVE, FROM_BOTH };

struct table {
    const struct plumb_sequence *s;
    uint32_t width; /* cells of a row */
    uint8_t *way;   /* [a_count][width] */
    float *row;     /* [b_count + 1]: best sum of what lies before */
};

/* The first column of row `i`: the band follows the diagonal. */
static uint32_t band_begin(const struct table *t, uint32_t i)
{
    const struct plumb_sequence *s = t->s;
    uint64_t centre = (uint64_t)i * s->b_count / s->a_count;
    uint64_t half = t->width / 2;
    uint64_t last = s->b_count - t->width;
    uint64_t begin = centre > half ? centre - half : 0;
    return (uint32_t)(begin < last ? begin : last);
}

/* In place: row[j] holds the sum of the row above until it is replaced. To the right of the band of
 * the row above its last sum holds on, which is what a gap there is worth. */
static void fill_row(struct table *t, uint32_t i, uint32_t *filled)
{
    const struct plumb_sequence *s = t->s;
    uint32_t begin = band_begin(t, i);
    uint8_t *way = t->way + (size_t)i * t->width;
    float diagonal = t->row[begin];
    for (uint32_t j = begin; j < begin + t->width; j++) {
        while (*filled < j + 1) {
            t->row[*filled + 1] = t->row[*filled];
            ++*filled;
        }
        float above = t->row[j + 1];
        float left = t->row[j];
        float score = s->score(s->arg, s->a[i], s->b[j]);
        float best = above > left ? above : left;
        way[j - begin] = above > left ? FROM_ABOVE : FROM_LEFT;
        if (score > 0 && diagonal + score >= best) {
            best = diagonal + score;
            way[j - begin] = FROM_BOTH;
        }
        t->row[j + 1] = best;
        diagonal = above;
    }
}

static void trace_back(const struct table *t, uint32_t *partner)
{
    const struct plumb_sequence *s = t->s;
    uint32_t j = s->b_count;
    for (uint32_t i = s->a_count; i-- > 0;) {
        uint32_t begin = band_begin(t, i);
        const uint8_t *way = t->way + (size_t)i * t->width;
        partner[i] = PLUMB_SEQUENCE_NONE;
        if (j > begin + t->width)
            j = begin + t->width;
        while (j > begin && way[j - 1 - begin] == FROM_LEFT)
            j--;
        if (j > begin && way[j - 1 - begin] == FROM_BOTH)
            partner[i] = --j;
    }
}

int plumb_sequence_align(uint32_t *partner, const struct plumb_sequence *s, plumb_error *err)
{
    struct table t = {s, s->b_count, NULL, NULL};
    uint64_t budget = s->budget ? s->budget : DEFAULT_BUDGET;
    uint32_t filled = 0;
    int rc;
    for (uint32_t i = 0; i < s->a_count; i++)
        partner[i] = PLUMB_SEQUENCE_NONE;
    if (s->a_count == 0 || s->b_count == 0)
        return 1;
    if ((uint64_t)t.width * s->a_count > budget) {
        uint64_t width = budget / s->a_count;
        /* Wide enough that the bands of neighbouring rows overlap, or a path could not go on. */
        uint64_t least = LEAST_BAND + 2 * ((uint64_t)s->b_count / s->a_count);
        width = width < least ? least : width;
        t.width = width < s->b_count ? (uint32_t)width : s->b_count;
    }
    t.way = malloc((size_t)t.width * s->a_count);
    t.row = calloc((size_t)s->b_count + 1, sizeof *t.row);
    if (!t.way || !t.row) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the alignment of %u with %u",
                        s->a_count, s->b_count);
        goto out;
    }
    for (uint32_t i = 0; i < s->a_count; i++)
        fill_row(&t, i, &filled);
    trace_back(&t, partner);
    rc = t.width == s->b_count;
out:
    free(t.way);
    free(t.row);
    return rc;
}

/* ---- The longest rising run ------------------------------------------------------------------ */

/* The place in tail[n], whose values rise, of the first that is not below `value`. */
static uint32_t place_of(const uint32_t *tail, uint32_t n, const uint32_t *values, uint32_t value)
{
    uint32_t low = 0;
    while (low < n) {
        uint32_t middle = low + (n - low) / 2;
        if (values[tail[middle]] < value)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

int plumb_sequence_rising(uint8_t *keep, const uint32_t *value, uint32_t n, plumb_error *err)
{
    uint32_t *tail = malloc(((size_t)n + 1) * sizeof *tail);
    uint32_t *before = malloc(((size_t)n + 1) * sizeof *before);
    uint32_t length = 0;
    int rc = PLUMB_OK;
    if (!tail || !before) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the order of %u", n);
        goto out;
    }
    if (n > 0)
        memset(keep, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        if (value[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t at = place_of(tail, length, value, value[i]);
        before[i] = at > 0 ? tail[at - 1] : PLUMB_SEQUENCE_NONE;
        tail[at] = i;
        length += at == length;
    }
    for (uint32_t i = length > 0 ? tail[length - 1] : PLUMB_SEQUENCE_NONE; i != PLUMB_SEQUENCE_NONE;
         i = before[i])
        keep[i] = 1;
out:
    free(tail);
    free(before);
    return rc;
}
