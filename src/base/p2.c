/* p2.c: the P-square estimator of the median. One thread at a time per estimator.
 *
 * The order of the floating-point operations is that of the paper's formulas: whether a marker
 * moves by the parabola or by the line depends on their last digit. The desired positions need no
 * memory: they are 1 + (count - 1) * {0, 1/4, 1/2, 3/4, 1}. */
#include "base/p2.h"

#include <stdbool.h>
#include <stddef.h>

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

static double parabola(const struct plumb_p2 *p, size_t i, double step)
{
    const double *h = p->height;
    double below = (double)(p->position[i] - p->position[i - 1]);
    double above = (double)(p->position[i + 1] - p->position[i]);
    return h[i] + step / (above + below) *
                      ((below + step) * (h[i + 1] - h[i]) / above +
                       (above - step) * (h[i] - h[i - 1]) / below);
}

static double line(const struct plumb_p2 *p, size_t i, bool up)
{
    const double *h = p->height;
    if (up)
        return h[i] + (h[i + 1] - h[i]) / (double)(p->position[i + 1] - p->position[i]);
    return h[i] - (h[i - 1] - h[i]) / ((double)p->position[i - 1] - (double)p->position[i]);
}

/* Moves an inner marker by one place when it is a place or more away from where it should be. The
 * gap is counted in quarters of a place: an integer, because the desired positions are. */
static inline void adjust(struct plumb_p2 *p, size_t i)
{
    const double *h = p->height;
    int64_t gap = 4 + (int64_t)(i * (p->count - 1)) - 4 * (int64_t)p->position[i];
    bool up = gap >= 4 && p->position[i + 1] - p->position[i] > 1;
    bool down = gap <= -4 && p->position[i] - p->position[i - 1] > 1;
    if (!up && !down)
        return;
    /* Between equal neighbours both formulas give the height that is there: no divisions. */
    if (h[i - 1] != h[i + 1]) {
        double height = parabola(p, i, up ? 1 : -1);
        if (!(h[i - 1] < height && height < h[i + 1]))
            height = line(p, i, up);
        p->height[i] = height;
    }
    p->position[i] += up ? 1 : UINT32_MAX;
}

void plumb_p2_add(struct plumb_p2 *p, double x)
{
    if (p->count < MARKERS) {
        p->height[p->count++] = x;
        if (p->count == MARKERS)
            start_markers(p);
        return;
    }
    if (p->count == UINT32_MAX)
        return;
    p->count++;
    if (x < p->height[0])
        p->height[0] = x;
    if (x > p->height[4])
        p->height[4] = x;
    /* Markers above the cell of x move on. Branches, because the predictor then knows more about
     * those of adjust() than it loses here [5 to 16 ns a sample; 8 to 16 with comparisons added
     * up]. */
    if (x < p->height[1]) {
        p->position[1]++;
        p->position[2]++;
        p->position[3]++;
    } else if (x < p->height[2]) {
        p->position[2]++;
        p->position[3]++;
    } else if (x < p->height[3]) {
        p->position[3]++;
    }
    p->position[4]++;
    adjust(p, 1);
    adjust(p, 2);
    adjust(p, 3);
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
