/* cell.c: from the words of a metric's cell to its figures. In both libraries: the process reads
 * its own metrics by the same code as a reader of its mapping. */
#include "live/metric/cell.h"

#include <string.h>

static const uint32_t quantile_percent[PLUMB_METRIC_QUANTILES] = {50, 90, 95, 99};

/* Whole amounts are added up as such: beyond 2^53 each sum of two doubles would be rounded. */
void plumb_metric_sum(plumb_metric_value *out, const uint64_t *cell, uint32_t shards)
{
    uint32_t stride = plumb_metric_stride(out->type, out->bound_count);
    uint64_t wholes = 0;
    double parts = 0;
    for (uint32_t s = 0; s < shards; s++, cell += stride) {
        uint64_t whole = PLUMB_LOAD(cell[0]);
        double part = plumb_metric_real(PLUMB_LOAD(cell[1]));
        if (out->type == PLUMB_METRIC_COUNTER)
            wholes += whole, parts += part;
        else if (out->type == PLUMB_METRIC_GAUGE)
            out->value = part;
        else
            out->sum += part;
        if (out->type == PLUMB_METRIC_SUMMARY)
            out->count += whole;
        for (uint32_t b = 0; out->type == PLUMB_METRIC_HISTOGRAM && b <= out->bound_count; b++) {
            uint64_t n = PLUMB_LOAD(cell[PLUMB_METRIC_FIRST_BUCKET + b]);
            out->bucket[b] += n;
            out->count += n;
        }
    }
    if (out->type == PLUMB_METRIC_COUNTER)
        out->value += (double)wholes + parts;
}

uint32_t plumb_metric_samples(double *out, const uint64_t *cell)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < PLUMB_METRIC_SAMPLES; i++) {
        uint64_t word = PLUMB_LOAD(cell[PLUMB_METRIC_FIRST_SAMPLE + i]);
        if (word)
            out[n++] = plumb_metric_real(~word);
    }
    return n;
}

/* A heap sort: it may run on a thread of the program, and needs neither memory nor stack. */
static void sift(double *v, uint32_t at, uint32_t n)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        double swap = v[at];
        if (child + 1 < n && v[child + 1] > v[child])
            child++;
        if (!(v[child] > v[at]))
            return;
        v[at] = v[child];
        v[child] = swap;
    }
}

static void sort(double *v, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(v, i, n);
    for (uint32_t end = n; end > 1;) {
        double last = v[--end];
        v[end] = v[0];
        v[0] = last;
        sift(v, 0, end);
    }
}

void plumb_metric_quantiles(plumb_metric_value *out, double *samples, uint32_t n)
{
    sort(samples, n);
    for (int i = 0; i < PLUMB_METRIC_QUANTILES; i++)
        out->quantile[i] =
            n ? samples[(uint64_t)quantile_percent[i] * (n - 1) / 100] : __builtin_nan("");
}
