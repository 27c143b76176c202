/* compare.c: from the samples of the runs to contrasts and verdicts. No state.
 *
 * Why the median of the runs and not their mean: one run that the machine disturbed would move the
 * mean of a side. Why a threshold beside the test: enough repeats make any difference significant,
 * and nobody wants to hear of 0.1 %. */
#include "analyze/compare.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/ranksum.h"
#include "analyze/sample.h"
#include "base/error.h"

static const double NS_PER_MS = 1e6;
/* What is less is no time and no memory: dividing by it tells nothing. */
static const double NOTHING = 1e-3;
/* The least p and a p that reaches it are computed on different ways. */
static const double ROUNDING = 1e-9;

struct side_values {
    double *values;
    size_t n;
};

static double median_of(struct side_values *s)
{
    plumb_sample_sort(s->values, s->n);
    return plumb_sample_median(s->values, s->n);
}

static enum plumb_verdict verdict_of(const struct plumb_compare *c, const struct plumb_contrast *x,
                                     bool time)
{
    const plumb_compare_options *o = &c->options;
    bool beyond = fabs(x->percent) > o->threshold_percent &&
                  !(time && fabs(x->delta) < o->min_delta_ms * NS_PER_MS);
    if (x->a < NOTHING)
        return x->b < NOTHING ? PLUMB_VERDICT_SAME : PLUMB_VERDICT_NEW;
    if (!beyond)
        return PLUMB_VERDICT_SAME;
    if (x->tested && x->p > c->needed_p * (1 + ROUNDING))
        return PLUMB_VERDICT_UNCLEAR;
    return x->delta > 0 ? PLUMB_VERDICT_WORSE : PLUMB_VERDICT_BETTER;
}

/* `values` are the runs of A, then of B; sorted meanwhile. */
static int contrast(const struct plumb_compare *c, double *values, bool time, bool tested,
                    struct plumb_contrast *out, plumb_error *err)
{
    struct side_values a = {values, c->run_count[PLUMB_SIDE_A]};
    struct side_values b = {values + a.n, c->run_count[PLUMB_SIDE_B]};
    struct plumb_ranksum test;
    int rc;
    *out = (struct plumb_contrast){.a = median_of(&a), .b = median_of(&b), .p = 1};
    out->delta = out->b - out->a;
    out->percent = out->a < NOTHING ? 0 : 100 * out->delta / out->a;
    if (tested) {
        if ((rc = plumb_ranksum(&test, a.values, a.n, b.values, b.n, err)) < 0 ||
            (rc = plumb_bootstrap_ratio(&out->ratio, a.values, a.n, b.values, b.n,
                                        PLUMB_BOOTSTRAP_SEED, err)) < 0)
            return rc;
        out->tested = true;
        out->exact = test.exact;
        out->p = test.p;
    }
    out->verdict = verdict_of(c, out, time);
    return PLUMB_OK;
}

static int contrast_figure(const struct plumb_compare *c, const struct plumb_compare_line *line,
                           uint32_t figure, bool tested, double *values, struct plumb_contrast *out,
                           plumb_error *err)
{
    bool time = line->kind == PLUMB_COMPARE_NODE || line->kind == PLUMB_COMPARE_WALL_CLOCK ||
                line->kind == PLUMB_COMPARE_STAGES;
    for (size_t i = 0; i < c->added; i++)
        values[i] = line->samples[i].figures[figure];
    return contrast(c, values, time, tested, out, err);
}

static void count_runs(const struct plumb_compare *c, struct plumb_compare_line *line,
                       double *values)
{
    size_t begin = 0;
    for (int side = 0; side < 2; side++) {
        size_t n = c->run_count[side];
        for (size_t i = 0; i < n; i++) {
            line->present[side] += line->samples[begin + i].present;
            values[i] = (double)line->samples[begin + i].count;
        }
        struct side_values counts = {values, n};
        line->count[side] = median_of(&counts);
        begin += n;
    }
}

/* Unlike a node that did not run, memory that was not read is not 0. */
static void forget(struct plumb_contrast *x, bool a_known, bool b_known)
{
    *x = (struct plumb_contrast){.a = a_known ? x->a : (double)NAN,
                                 .b = b_known ? x->b : (double)NAN,
                                 .delta = (double)NAN,
                                 .percent = (double)NAN,
                                 .p = 1,
                                 .verdict = PLUMB_VERDICT_UNKNOWN};
}

static int finish_sum(const struct plumb_compare *c, struct plumb_compare_line *line,
                      double *values, plumb_error *err)
{
    int rc;
    count_runs(c, line, values);
    if ((rc = contrast_figure(c, line, 0, c->tested, values, &line->main, err)) < 0)
        return rc;
    bool a_known = line->present[PLUMB_SIDE_A] == c->run_count[PLUMB_SIDE_A];
    bool b_known = line->present[PLUMB_SIDE_B] == c->run_count[PLUMB_SIDE_B];
    if (line->kind == PLUMB_COMPARE_PEAK_RSS && !(a_known && b_known))
        forget(&line->main, a_known, b_known);
    return PLUMB_OK;
}

static int finish_node(const struct plumb_compare *c, struct plumb_compare_line *line,
                       double *values, plumb_error *err)
{
    int rc;
    count_runs(c, line, values);
    rc = contrast_figure(c, line, c->options.figure, c->tested, values, &line->main, err);
    if (rc < 0 ||
        (rc = contrast_figure(c, line, PLUMB_FIGURE_P50, false, values, &line->p50, err)) < 0)
        return rc;
    return contrast_figure(c, line, PLUMB_FIGURE_P95, false, values, &line->p95, err);
}

/* A node or pool that only A has is gone, whatever its figures say. */
static void tally(struct plumb_compare *c, struct plumb_compare_line *line)
{
    plumb_compare_result *r = &c->result;
    bool in_a = plumb_compare_has(line, PLUMB_SIDE_A);
    bool in_b = plumb_compare_has(line, PLUMB_SIDE_B);
    bool may_go = line->kind == PLUMB_COMPARE_NODE || line->kind == PLUMB_COMPARE_PEAK_ALLOCATED ||
                  line->kind == PLUMB_COMPARE_PEAK_RESERVED;
    if (may_go && in_a && !in_b)
        line->main.verdict = PLUMB_VERDICT_GONE;
    r->worse += line->main.verdict == PLUMB_VERDICT_WORSE;
    r->better += line->main.verdict == PLUMB_VERDICT_BETTER;
    r->unclear += line->main.verdict == PLUMB_VERDICT_UNCLEAR;
    if (line->kind != PLUMB_COMPARE_NODE)
        return;
    r->nodes += in_a || in_b;
    r->only_a += in_a && !in_b;
    r->only_b += in_b && !in_a;
}

static int finish_lines(struct plumb_compare *c, struct plumb_compare_lines *lines, double *values,
                        plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < lines->count && rc == PLUMB_OK; i++) {
        struct plumb_compare_line *line = &lines->lines[i];
        rc = line->kind == PLUMB_COMPARE_NODE ? finish_node(c, line, values, err)
                                              : finish_sum(c, line, values, err);
        if (rc == PLUMB_OK)
            tally(c, line);
    }
    return rc;
}

int plumb_compare_finish(struct plumb_compare *c, plumb_error *err)
{
    size_t a = c->run_count[PLUMB_SIDE_A];
    size_t b = c->run_count[PLUMB_SIDE_B];
    int rc = plumb_compare_check(c, err);
    if (rc < 0)
        return rc;
    double *values = calloc(c->added, sizeof *values);
    if (!values)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
    c->tested = a >= PLUMB_COMPARE_REPEATS && b >= PLUMB_COMPARE_REPEATS;
    c->least_p = plumb_ranksum_least_p(a, b);
    c->needed_p = fmax(c->options.alpha, c->least_p);
    rc = finish_lines(c, &c->sums, values, err);
    if (rc == PLUMB_OK)
        rc = finish_lines(c, &c->nodes, values, err);
    free(values);
    return rc;
}
