/* crossover.c: see crossover.h. Each size is judged by itself against "B is faster"; sizes at which
 * that cannot be told make the interval that the threshold lies in. */
#include "analyze/gate/crossover.h"

#include <math.h>

/* Between two sizes the logarithm of the ratio is taken as linear in that of the size. */
static double where_equal(uint64_t size0, double ratio0, uint64_t size1, double ratio1)
{
    double x0 = log((double)size0), x1 = log((double)size1);
    double y0 = log(ratio0), y1 = log(ratio1);
    return exp(x0 + (x1 - x0) * y0 / (y0 - y1));
}

int plumb_gate_find_crossover(struct plumb_gate_crossing *out, const struct plumb_gate_size *points,
                              size_t n, plumb_error *err)
{
    const struct plumb_gate_bound faster = {.op = PLUMB_GATE_BELOW, .of_old = 1};
    struct plumb_gate_crossing c = {.estimate = NAN};
    double before = NAN;
    for (size_t i = 0; i < n; i++) {
        const struct plumb_gate_size *p = &points[i];
        const struct plumb_gate_times a = {p->a, p->count, p->resolution};
        const struct plumb_gate_times b = {p->b, p->count, p->resolution};
        struct plumb_gate_judgement j;
        int rc = plumb_gate_judge(&j, &a, &b, true, &faster, 0, err);
        if (rc < 0)
            return rc;
        if (!(j.ratio < 1)) {
            c.threshold = 0;
            c.estimate = NAN;
        } else if (c.threshold == 0) {
            c.threshold = p->size;
            if (i > 0 && isfinite(before))
                c.estimate = where_equal(points[i - 1].size, before, p->size, j.ratio);
        }
        if (j.answer == PLUMB_GATE_FAILS || i == 0)
            c.from = j.answer == PLUMB_GATE_FAILS ? (i + 1 < n ? points[i + 1].size : 0) : p->size;
        if (j.answer != PLUMB_GATE_MEETS)
            c.to = 0;
        else if (c.to == 0)
            c.to = p->size;
        before = j.ratio;
    }
    *out = c;
    return PLUMB_OK;
}
