/* gate.h: rules applied to results: which values a rule selects, whether they meet its limit, and
 * whether that can be known. Values are handed in; nothing is read here but the text of rules.
 *
 * Whole numbers (counts, bytes) are compared exactly, those of each result by themselves. Times are
 * judged by statistics (judge.h). A check that cannot be decided is INCONCLUSIVE and never PASS: a
 * rule that nothing matches, a value that is not a number, too few samples, a difference within the
 * noise.
 *
 * Strings and arrays live in the arenas of the gate and of its rules. One thread at a time. */
#ifndef PLUMB_ANALYZE_GATE_GATE_H
#define PLUMB_ANALYZE_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/gate/judge.h"
#include "analyze/gate/rules.h"
#include "base/arena.h"
#include <plumb/error.h>

enum { PLUMB_GATE_WHOLE_RUN = -1 }; /* in place of a step */

/* A value of a result. */
struct plumb_gate_value {
    const struct plumb_gate_metric *metric;
    const struct plumb_gate_rule *rule; /* for this rule alone; NULL: for every one */
    const char *pipeline;               /* "": the one of the program itself */
    const char *phase, *node, *name;
    int64_t step;    /* PLUMB_GATE_WHOLE_RUN: all steps and outside steps */
    bool of_run;     /* of the whole recording, and not of a node */
    int64_t exact;   /* of bytes and counts */
    uint64_t runs;   /* of the node; 0: not known */
    double *samples; /* [count] of times, ns, in the order in which they were measured */
    size_t count;
    double resolution; /* of each sample, relative; 0: exact */
    bool in_turn;      /* the old and the new samples of this pair were measured in turn */
    const char *wrong; /* why there is no value; NULL: there is one */
};

/* A result: a recording, a file of benchmarks, a file of counts. */
struct plumb_gate_source {
    const char *path;
    const char *machine; /* names of devices, processor, host; limits choose by it */
    const char *calls;   /* the list of `plumb record --count`; NULL: it is not known */
    bool partial;        /* single values that a caller measured, besides other results */
    struct plumb_gate_value *values;
    size_t count, cap;
};

enum plumb_gate_side {
    PLUMB_GATE_SIDE_OLD,
    PLUMB_GATE_SIDE_NEW,
    PLUMB_GATE_SIDE_HISTORY, /* baselines: the samples of a time are those of its records */
    PLUMB_GATE_SIDES
};

enum plumb_gate_verdict {
    PLUMB_GATE_PASS,
    PLUMB_GATE_SKIPPED, /* the rule says that it does not apply */
    PLUMB_GATE_INCONCLUSIVE,
    PLUMB_GATE_REGRESSION
};

/* A rule applied to one value: a row of the report. */
struct plumb_gate_check {
    const struct plumb_gate_rule *rule;
    const struct plumb_gate_limit *limit; /* NULL: none was chosen */
    const char *pipeline, *phase, *node, *name;
    int64_t step;
    const char *source; /* path of the result; NULL: several */
    enum plumb_gate_verdict verdict;
    bool has_old, has_new, timed; /* `timed`: `judged` holds */
    double old_value, new_value;  /* ns, bytes or a number */
    int64_t old_whole, new_whole; /* the same of bytes and counts, exactly */
    double change;                /* part of the old value by which it grew; NaN: none */
    struct plumb_gate_judgement judged;
    const char *detail; /* one line: why it is not a pass, or what limits it; NULL */
};

struct plumb_gate_case {
    struct plumb_arena arena;
    const struct plumb_gate_rules *rules;
    struct {
        struct plumb_gate_source *sources;
        size_t count, cap;
    } side[PLUMB_GATE_SIDES];
    struct plumb_gate_check *checks; /* in the order of the rules */
    size_t count, cap;
    size_t verdicts[PLUMB_GATE_REGRESSION + 1]; /* how many checks have each */
};

/* `rules` stay as long as the gate. */
void plumb_gate_init(struct plumb_gate_case *g, const struct plumb_gate_rules *rules);
void plumb_gate_fini(struct plumb_gate_case *g);
/* Adds a result to a side. Returns NULL: no memory. The pointer is good until the next one. */
struct plumb_gate_source *plumb_gate_add(struct plumb_gate_case *g, enum plumb_gate_side side,
                                         const char *path);
/* Adds a value, all zero but its metric, the texts "" and the step of the whole run. NULL: no
 * memory, or there is no such metric. */
struct plumb_gate_value *plumb_gate_put(struct plumb_gate_case *g, struct plumb_gate_source *source,
                                        const char *metric);
/* Appends a sample to a value. */
void plumb_gate_sample(struct plumb_gate_case *g, struct plumb_gate_value *value, double ns);

/* Applies every rule. Each rule has one check at least. PLUMB_ERR_MEMORY. */
int plumb_gate_evaluate(struct plumb_gate_case *g, plumb_error *err);

/* The verdict of all: REGRESSION if there is one; otherwise INCONCLUSIVE if there is one, or if
 * nothing passed; otherwise PASS. */
enum plumb_gate_verdict plumb_gate_verdict(const struct plumb_gate_case *g);
/* "pass", "skipped", "inconclusive", "regression" */
const char *plumb_gate_verdict_name(enum plumb_gate_verdict verdict);

/* whole.c: compares whole numbers. Whether `value` meets the bound against the lowest and highest
 * old value, times `runs` where the rule counts by call. */
bool plumb_gate_meets(const struct plumb_gate_bound *b, int64_t value, int64_t low, int64_t high,
                      double floor, uint64_t runs);

#endif
