/* compare.c: from the samples of the runs to contrasts and verdicts. No state.
 *
 * Why the median of the runs and not their mean: one run that the machine disturbed would move the
 * mean of a side. Why a threshold next to the test: enough repeats make any difference significant,
 * and a change of 0.1 % is not worth a look. Why the threshold is lower where a test was made:
 * alone it is also the guard against noise; with a test it only says from where on a change
 * matters. */
#include "analyze/compare/compare.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/compare/family.h"
#include "analyze/compare/ranksum.h"
#include "analyze/compare/sample.h"
#include "base/error.h"

static const double NS_PER_MS = 1e6;
/* A value below this is not a measured time or size: dividing by it means nothing. */
static const double NOTHING = 1e-3;
/* The least p, and a p equal to it, are computed in different ways and may differ by this much. */
static const double ROUNDING = 1e-9;
static const double THRESHOLD_UNTESTED = 5;
static const double THRESHOLD_TESTED = 2;

struct side_values {
    double *values;
    size_t n;
};

static double median_of(struct side_values *s)
{
    plumb_sample_sort(s->values, s->n);
    return plumb_sample_median(s->values, s->n);
}

static bool is_time(const struct plumb_compare_line *line)
{
    return line->kind == PLUMB_COMPARE_NODE || line->kind == PLUMB_COMPARE_WALL_CLOCK ||
           line->kind == PLUMB_COMPARE_STAGES;
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
    if (x->tested && x->p_table > c->needed_p * (1 + ROUNDING))
        return PLUMB_VERDICT_UNCLEAR;
    return x->delta > 0 ? PLUMB_VERDICT_WORSE : PLUMB_VERDICT_BETTER;
}

/* `values` are the runs of A, then of B; sorted by this. */
static int contrast(const struct plumb_compare *c, double *values, bool tested,
                    struct plumb_contrast *out, plumb_error *err)
{
    struct side_values a = {values, c->run_count[PLUMB_SIDE_A]};
    struct side_values b = {values + a.n, c->run_count[PLUMB_SIDE_B]};
    struct plumb_ranksum test;
    int rc;
    *out = (struct plumb_contrast){.a = median_of(&a), .b = median_of(&b), .p = 1, .p_table = 1};
    out->delta = out->b - out->a;
    if (out->a >= NOTHING)
        out->percent = 100 * out->delta / out->a;
    else
        out->percent = out->b < NOTHING ? 0 : (double)NAN;
    if (tested) {
        if ((rc = plumb_ranksum(&test, a.values, a.n, b.values, b.n, err)) < 0 ||
            (rc = plumb_bootstrap_ratio(&out->ratio, a.values, a.n, b.values, b.n,
                                        PLUMB_BOOTSTRAP_SEED, err)) < 0)
            return rc;
        out->tested = true;
        out->exact = test.exact;
        out->p = test.p;
    }
    return PLUMB_OK;
}

static void take_values(const struct plumb_compare *c, const struct plumb_compare_line *line,
                        uint32_t figure, double *values)
{
    for (size_t i = 0; i < c->added; i++)
        values[i] = line->samples[i].figures[figure];
}

/* The figure by which the line is judged. */
static uint32_t figure_of(const struct plumb_compare *c, const struct plumb_compare_line *line)
{
    return line->kind == PLUMB_COMPARE_NODE ? c->options.figure : 0;
}

static int contrast_figure(const struct plumb_compare *c, const struct plumb_compare_line *line,
                           uint32_t figure, bool tested, double *values, struct plumb_contrast *out,
                           plumb_error *err)
{
    take_values(c, line, figure, values);
    return contrast(c, values, tested, out, err);
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

/* ---- The whole table ------------------------------------------------------------------------- */

/* A node or pool that only A has is gone, whatever its figures say. */
static bool is_gone(const struct plumb_compare_line *line)
{
    bool may_go = line->kind == PLUMB_COMPARE_NODE || line->kind == PLUMB_COMPARE_PEAK_ALLOCATED ||
                  line->kind == PLUMB_COMPARE_PEAK_RESERVED;
    return may_go && plumb_compare_has(line, PLUMB_SIDE_A) &&
           !plumb_compare_has(line, PLUMB_SIDE_B);
}

static void judge(struct plumb_compare *c, struct plumb_compare_line *line)
{
    plumb_compare_result *r = &c->result;
    bool in_a = plumb_compare_has(line, PLUMB_SIDE_A);
    bool in_b = plumb_compare_has(line, PLUMB_SIDE_B);
    if (line->main.verdict != PLUMB_VERDICT_UNKNOWN)
        line->main.verdict = verdict_of(c, &line->main, is_time(line));
    if (is_gone(line)) {
        line->main.verdict = PLUMB_VERDICT_GONE;
        line->main.percent = line->p50.percent = line->p95.percent = (double)NAN;
    }
    r->worse += line->main.verdict == PLUMB_VERDICT_WORSE;
    r->better += line->main.verdict == PLUMB_VERDICT_BETTER;
    r->unclear += line->main.verdict == PLUMB_VERDICT_UNCLEAR;
    if (line->kind != PLUMB_COMPARE_NODE)
        return;
    r->nodes += in_a || in_b;
    r->only_a += in_a && !in_b;
    r->only_b += in_b && !in_a;
}

static int contrast_lines(struct plumb_compare *c, struct plumb_compare_lines *lines,
                          double *values, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < lines->count && rc == PLUMB_OK; i++) {
        struct plumb_compare_line *line = &lines->lines[i];
        rc = line->kind == PLUMB_COMPARE_NODE ? finish_node(c, line, values, err)
                                              : finish_sum(c, line, values, err);
    }
    return rc;
}

static void judge_lines(struct plumb_compare *c, struct plumb_compare_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        judge(c, &lines->lines[i]);
}

/* A line that only one side has is not tested. */
static bool belongs(const struct plumb_compare_line *line)
{
    return line->main.tested && line->main.a >= NOTHING && line->main.b >= NOTHING;
}

/* Appends the lines of the table that are tested, and their values. */
static void gather(struct plumb_compare *c, struct plumb_compare_lines *lines,
                   struct plumb_compare_line **out, double *values)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct plumb_compare_line *line = &lines->lines[i];
        if (!belongs(line))
            continue;
        take_values(c, line, figure_of(c, line), values + c->tests * c->added);
        out[c->tests++] = line;
    }
}

/* One error level for all lines of the table. */
static int test_table(struct plumb_compare *c, plumb_error *err)
{
    size_t most = c->sums.count + c->nodes.count;
    int rc = PLUMB_OK;
    struct plumb_compare_line **lines = calloc(most + 1, sizeof(struct plumb_compare_line *));
    struct plumb_family_p *p = calloc(most + 1, sizeof *p);
    double *values = calloc(most + 1, c->added * sizeof *values);
    if (!lines || !p || !values) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
        goto out;
    }
    gather(c, &c->sums, lines, values);
    gather(c, &c->nodes, lines, values);
    rc = plumb_family(p, values, c->tests, c->run_count[PLUMB_SIDE_A], c->run_count[PLUMB_SIDE_B],
                      c->options.threshold_percent / 100, err);
    for (size_t i = 0; i < c->tests && rc == PLUMB_OK; i++)
        lines[i]->main.p_table = lines[i]->main.delta > 0 ? p[i].up : p[i].down;
out:
    free((void *)lines);
    free(p);
    free(values);
    return rc;
}

static void settle_rules(struct plumb_compare *c)
{
    size_t a = c->run_count[PLUMB_SIDE_A];
    size_t b = c->run_count[PLUMB_SIDE_B];
    c->tested = a >= PLUMB_COMPARE_REPEATS && b >= PLUMB_COMPARE_REPEATS;
    c->least_p = plumb_family_least_p(a, b);
    c->needed_p = fmax(c->options.alpha, c->least_p);
    if (c->options.threshold_percent == 0)
        c->options.threshold_percent = c->tested ? THRESHOLD_TESTED : THRESHOLD_UNTESTED;
    else if (!(c->options.threshold_percent > 0))
        c->options.threshold_percent = 0;
}

int plumb_compare_finish(struct plumb_compare *c, plumb_error *err)
{
    int rc = plumb_compare_check(c, err);
    if (rc < 0)
        return rc;
    double *values = calloc(c->added, sizeof *values);
    if (!values)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
    settle_rules(c);
    if ((rc = contrast_lines(c, &c->sums, values, err)) == PLUMB_OK &&
        (rc = contrast_lines(c, &c->nodes, values, err)) == PLUMB_OK &&
        (rc = test_table(c, err)) == PLUMB_OK) {
        judge_lines(c, &c->sums);
        judge_lines(c, &c->nodes);
        rc = plumb_compare_find_drift(c, err);
    }
    free(values);
    return rc;
}
