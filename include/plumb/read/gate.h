/* gate.h: rules of a text file, and whether results meet them. Part of libplumb-read; plumb/read.h
 * has the rules of all its headers.
 *
 *     plumb_gate_report *gate;
 *     plumb_gate_result result = {sizeof result};
 *     char *text;
 *     if (plumb_gate_open(&gate, "gates.rules", &err) < 0 ||
 *         plumb_gate_add_result(gate, PLUMB_GATE_RESULT_NEW, "runs/latest", &err) < 0 ||
 *         plumb_gate_decide(&result, gate, &err) < 0 ||
 *         plumb_gate_show(&text, gate, "text", &err) < 0)
 *         return fail(err.message);
 *     puts(text);
 *     plumb_read_free(text);
 *     plumb_gate_close(gate);
 *     return result.status;
 *
 * docs/gates.md has the syntax of rules. */
#ifndef PLUMB_READ_GATE_H
#define PLUMB_READ_GATE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a gate ends: the exit status of `plumb gate`. */
enum plumb_gate_status {
    PLUMB_GATE_STATUS_PASS = 0,
    PLUMB_GATE_STATUS_REGRESSION = 1,  /* a check at least */
    PLUMB_GATE_STATUS_TROUBLE = 2,     /* never returned here: an error says it */
    PLUMB_GATE_STATUS_INCONCLUSIVE = 3 /* no regression, but a check that cannot be decided, or no
                                          check that passed */
};

/* The side of a comparison that a result is on. */
enum plumb_gate_result_side {
    PLUMB_GATE_RESULT_OLD = 0, /* for rules that compare with "old" */
    PLUMB_GATE_RESULT_NEW = 1
};

typedef struct plumb_gate_report plumb_gate_report;

/* A rule, as far as its values come from the caller. Texts live as long as the gate. */
typedef struct plumb_gate_rule_info {
    size_t size; /* sizeof(plumb_gate_rule_info), set by the caller */
    const char *name;
    const char *metric;
    const char *node;    /* NULL: the whole run */
    const char *command; /* whose exit status is wanted; NULL: none */
    uint32_t line;
    uint32_t rounds;   /* that plumb ab measures at most; 0: its default */
    uint32_t is_time;  /* 1: the metric is a time */
    uint32_t compares; /* 1: with an old value */
    uint32_t history;  /* 1: which is the baseline of the history */
} plumb_gate_rule_info;

typedef struct plumb_gate_result {
    size_t size;     /* sizeof(plumb_gate_result), set by the caller */
    uint32_t status; /* enum plumb_gate_status */
    uint32_t reserved;
    uint64_t checks, passed, skipped, inconclusive, regressions;
} plumb_gate_result;

/* Reads the file of rules at `path`.
 *   errors  PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO: it cannot be read; PLUMB_ERR_FORMAT: a rule is
 *   wrong,
 *           "PATH:LINE: ..." */
PLUMB_API int plumb_gate_open(plumb_gate_report **out, const char *path, plumb_error *err);
/* Reads rules from `text` [size]; `name` is what errors and reports call it. Errors as
 * plumb_gate_open(). */
PLUMB_API int plumb_gate_open_text(plumb_gate_report **out, const char *text, size_t size,
                                   const char *name, plumb_error *err);
/* Frees the gate. */
PLUMB_API void plumb_gate_close(plumb_gate_report *gate);
/* Drops all rules but `name`. PLUMB_ERR_NOT_FOUND: no rule has that name; the message lists
 * the existing ones. */
PLUMB_API int plumb_gate_only(plumb_gate_report *gate, const char *name, plumb_error *err);
/* Fills as much of `out` as its `size` says with rule `i`. Returns 1, or 0 beyond the last. */
PLUMB_API int plumb_gate_rule_get(plumb_gate_rule_info *out, const plumb_gate_report *gate,
                                  size_t i);

/* Adds a result: a recording (as plumb_report_open() takes it; NULL: the newest), or a JSON file of
 * google/benchmark, pytest-benchmark, plumb bench, plumb ab or plumb report counts. Results of one
 * side are repeats. A file of plumb ab has both sides.
 *   errors  those of plumb_report_open(); PLUMB_ERR_FORMAT: the file has no values; PLUMB_ERR_ARG:
 *           the side has this result already */
PLUMB_API int plumb_gate_add_result(plumb_gate_report *gate, uint32_t side, const char *path,
                                    plumb_error *err);
/* Sets the history that rules with "old = history" compare with; NULL: PLUMB_HISTORY_PATH. It is
 * opened when the gate is decided, if a rule needs it. */
PLUMB_API int plumb_gate_use_history(plumb_gate_report *gate, const char *path, plumb_error *err);
/* Sets the recipe of the results for that comparison: the path of a JSON file, or 64 hex digits;
 * NULL: that of each result. A wrong one is an error of plumb_gate_decide(). */
PLUMB_API int plumb_gate_use_recipe(plumb_gate_report *gate, const char *recipe, plumb_error *err);
/* Adds times in ns [n] that the caller measured, in their order, as samples of `metric` of `node`
 * (NULL: of the whole run). `resolution` is the relative error of each, 0 where they are exact.
 * `in_turn`: 1 if sample i of the old and of the new side were measured one after the other.
 * PLUMB_ERR_ARG: the metric is not a time. */
PLUMB_API int plumb_gate_add_times(plumb_gate_report *gate, uint32_t side, const char *metric,
                                   const char *node, const double *ns, size_t n, double resolution,
                                   uint32_t in_turn, plumb_error *err);
/* Adds a whole number that the caller measured, on the new side: the exit status of the command of
 * a rule (`name` is the command).
 * `unknown`: why there is no value; NULL: there is one. PLUMB_ERR_ARG: no such metric. */
PLUMB_API int plumb_gate_add_count(plumb_gate_report *gate, const char *metric, const char *name,
                                   int64_t value, const char *unknown, plumb_error *err);
/* Marks the results as measured in turn: result i of the old side and of the new side one after the
 * other. Drift of the machine then cancels. PLUMB_ERR_ARG: the sides differ in their number. */
PLUMB_API int plumb_gate_in_turn(plumb_gate_report *gate, plumb_error *err);

/* One size of a sweep: `count` times in ns of both variants, measured in turn. */
typedef struct plumb_gate_point {
    uint64_t size;
    const double *a, *b;
    size_t count;
    double resolution; /* the relative error of each time; 0: exact */
} plumb_gate_point;

/* The size from which on variant B is faster than A. */
typedef struct plumb_gate_crossover_result {
    size_t size; /* sizeof(plumb_gate_crossover_result), set by the caller */
    uint64_t
        threshold;     /* the least size at which, and at all larger ones, B has the smaller median;
                           0: there is none */
    double estimate;   /* where the medians would be equal, between two sizes; NaN: not known */
    uint64_t from, to; /* in view of the noise the threshold lies between them, both included;
                           `to` 0: B is not faster for certain at the largest size */
} plumb_gate_crossover_result;

/* Finds the crossover of `points` [n], which rise in size, and fills as much of `out` as its `size`
 * says. */
PLUMB_API int plumb_gate_crossover(plumb_gate_crossover_result *out, const plumb_gate_point *points,
                                   size_t n, plumb_error *err);
/* Adds a crossover for rules of metric "crossover"; `name` is the element type, or "". */
PLUMB_API int plumb_gate_add_crossover(plumb_gate_report *gate, const char *name,
                                       const plumb_gate_crossover_result *crossover,
                                       plumb_error *err);

/* Two variants, compared without a rule. */
typedef struct plumb_gate_pair_result {
    size_t size;       /* sizeof(plumb_gate_pair_result), set by the caller */
    double a_ns, b_ns; /* medians */
    double ratio;      /* of B to A */
    double low, high;  /* its 98 % interval; NaN: fewer than 6 samples */
    double noise;      /* the noise floor, relative */
    int32_t faster;    /* 1: B is faster, -1: A is, 0: that cannot be told */
    uint32_t reserved;
} plumb_gate_pair_result;

/* Compares the times of both variants at one size, and fills as much of `out` as its `size`
 * says. */
PLUMB_API int plumb_gate_pair(plumb_gate_pair_result *out, const plumb_gate_point *point,
                              plumb_error *err);
/* Reads the median time of `node` in the recording `run`, in the first phase that has one, and the
 * relative error of that median. Returns 1, or 0 where the recording has no such time. Errors:
 * those of plumb_report_open(). */
PLUMB_API int plumb_gate_read_time(double *ns, double *resolution, const char *run,
                                   const char *node, plumb_error *err);

/* Adds a fact that is reported with the checks and not checked: the path of a trace, a commit.
 * PLUMB_ERR_ARG: there is one of this key already. */
PLUMB_API int plumb_gate_add_fact(plumb_gate_report *gate, const char *key, const char *value,
                                  plumb_error *err);
/* Adds the facts of the file `path`, JSON of plumb diverge: both traces, tolerances, the first
 * divergent record and its drift. PLUMB_ERR_FORMAT: it is not one. */
PLUMB_API int plumb_gate_add_divergence(plumb_gate_report *gate, const char *path,
                                        plumb_error *err);

/* Compares the results with the rules, once, and fills as much of `out` as its `size` says. Nothing
 * can be added afterwards. Rules on times cost 2000 steps for each sample. PLUMB_ERR_STATE: it was
 * decided before; errors of the history, if a rule compares with it. */
PLUMB_API int plumb_gate_decide(plumb_gate_result *out, plumb_gate_report *gate, plumb_error *err);
/* Renders the decided gate, without a newline at its end, as "text", "md", "csv", "json", "junit"
 * or "github". PLUMB_ERR_ARG: another format; PLUMB_ERR_STATE: not decided. */
PLUMB_API int plumb_gate_show(char **out, const plumb_gate_report *gate, const char *format,
                              plumb_error *err);
/* Returns the metrics that rules can name, a line each with what it means. */
PLUMB_API int plumb_gate_metrics(char **out, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
