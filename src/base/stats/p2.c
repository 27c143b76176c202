/* p2.c: the P-square estimator of the median. One thread at a time per estimator.
 *
 * The order of the floating-point operations is that of the paper's formulas: whether a marker
 * moves by the parabola or by the line depends on their last digit. The desired positions need no
 * memory: they are 1 + (count - 1) * {0, 1/4, 1/2, 3/4, 1}. */
#include "base/stats/p2.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"

enum { MARKERS = 5 };

static void insert_sorted(double *sorted, size_t n, double x)
{
    while (n > 0 && sorted[n - 1] > x) {
        sorted[n] = sorted[n - 1];
        n--;
    }
    sorted[n] = x;
}

static void start_markers(struct plumb_p2 *p)
{
    double sorted[MARKERS];
    for (size_t i = 0; i < MARKERS; i++)
        insert_sorted(sorted, i, p->height[i]);
    for (size_t i = 0; i < MARKERS; i++) {
        p->height[i] = sorted[i];
        p->position[i] = (uint32_t)i + 1;
    }
}

/* The height of a marker at `h`, which is `below` and `above` places away from its neighbours at
 * `lower` and `upper`, when it moves by `step`. */
static PLUMB_ALWAYS_INLINE double moved(double lower, double h, double upper, double below,
                                        double above, double step)
{
    double height =
        h + step / (above + below) *
                ((below + step) * (upper - h) / above + (above - step) * (h - lower) / below);
    if (PLUMB_LIKELY(lower < height && height < upper))
        return height;
    return step > 0 ? h + (upper - h) / above : h - (lower - h) / -below;
}

/* Moves an inner marker (*h, *n) by one place when it is a place or more away from where it should
 * be. The gap is counted in quarters of a place: an integer, because the desired positions are. */
static PLUMB_ALWAYS_INLINE void adjust(int64_t gap, double lower, double *h, double upper,
                                       uint32_t before, uint32_t *n, uint32_t after)
{
    uint32_t below = *n - before, above = after - *n;
    bool up = gap > 0;
    if ((uint64_t)(gap + 3) <= 6 || PLUMB_UNLIKELY((up ? above : below) <= 1))
        return;
    /* Between equal neighbours both formulas give the height that is there: no divisions. */
    if (lower != upper)
        *h = moved(lower, *h, upper, (double)below, (double)above, up ? 1 : -1);
    *n += up ? 1 : UINT32_MAX;
}

/* `steps` is the count less one, with this sample. */
static PLUMB_ALWAYS_INLINE void add(double *h, uint32_t *n, int64_t steps, double x)
{
    if (x < h[0])
        h[0] = x;
    if (x > h[4])
        h[4] = x;
    /* Markers above the cell of x move on. Branches, because the predictor then knows more about
     * those of adjust() than it loses here [10 to 14 ns a sample; 13 to 15 with comparisons added
     * up]. */
    if (x < h[1]) {
        n[1]++;
        n[2]++;
        n[3]++;
    } else if (x < h[2]) {
        n[2]++;
        n[3]++;
    } else if (x < h[3]) {
        n[3]++;
    }
    n[4]++;
    adjust(4 + steps - 4 * (int64_t)n[1], h[0], &h[1], h[2], n[0], &n[1], n[2]);
    adjust(4 + 2 * steps - 4 * (int64_t)n[2], h[1], &h[2], h[3], n[1], &n[2], n[3]);
    adjust(4 + 3 * steps - 4 * (int64_t)n[3], h[2], &h[3], h[4], n[2], &n[3], n[4]);
}

/* Works in a copy, whose fields the compiler keeps in registers for a whole row: in memory each
 * step would wait for the stores of the previous one. */
static PLUMB_ALWAYS_INLINE void add_row(struct plumb_p2 *p, const double *x, size_t samples)
{
    struct plumb_p2 m = *p;
    for (size_t k = 0; k < samples; k++)
        add(m.height, m.position, (int64_t)m.count++, x[k]);
    *p = m;
}

void plumb_p2_add_row(struct plumb_p2 *p, const double *x, size_t samples)
{
    while (samples > 0 && p->count < MARKERS) {
        p->height[p->count++] = *x++;
        samples--;
        if (p->count == MARKERS)
            start_markers(p);
    }
    if (samples > UINT32_MAX - p->count)
        samples = UINT32_MAX - p->count;
    if (samples > 0)
        add_row(p, x, samples);
}

/* A single sample is added in place: few markers move, and copying all of them costs more. */
void plumb_p2_add(struct plumb_p2 *p, double x)
{
    if (PLUMB_UNLIKELY(p->count < MARKERS || p->count == UINT32_MAX))
        plumb_p2_add_row(p, &x, 1);
    else
        add(p->height, p->position, (int64_t)p->count++, x);
}

double plumb_p2_median(const struct plumb_p2 *p)
{
    double sorted[MARKERS];
    size_t n = (size_t)p->count;
    if (n == 0)
        return 0;
    if (n >= MARKERS)
        return p->height[2];
    for (size_t i = 0; i < n; i++)
        insert_sorted(sorted, i, p->height[i]);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
