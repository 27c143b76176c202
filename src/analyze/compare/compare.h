/* compare.h: two sides of runs, A (the baseline) and B, compared line by line: the sums of the run,
 * then every (pipeline, phase, node) that either side has. A run's own pipeline, which has the
 * program's name unless the program sets another, counts as the same on both sides.
 *
 *     plumb_compare_init(&c, &options, a_count, b_count);
 *     for (...)
 *         plumb_compare_add(&c, side, &timing, live, path, err);      (all of A, then all of B)
 *     plumb_compare_finish(&c, err);
 *
 * The needed figures are copied, so a report may be freed as soon as it is added. Strings and
 * arrays live in `arena`. One thread at a time.
 *
 * The rules: each run of a side gives one value a line; a side's figure is the median of them. A
 * figure that a run lacks is 0. B is worse when it is more than the threshold above A, better when
 * as much below. From 3 runs a side on, the p of its line in the whole table must be small enough
 * as well: at most alpha. If so few runs cannot give such a p, the least that they can give will
 * do. */
#ifndef PLUMB_ANALYZE_COMPARE_COMPARE_H
#define PLUMB_ANALYZE_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/bootstrap.h"
#include "base/arena.h"
#include "base/map.h"
#include "model/timing.h"
#include <plumb/read/compare.h>

enum { PLUMB_COMPARE_FIGURES = PLUMB_FIGURE_MIN + 1, PLUMB_COMPARE_REPEATS = 3 };

enum plumb_verdict {
    PLUMB_VERDICT_SAME,
    PLUMB_VERDICT_WORSE,
    PLUMB_VERDICT_BETTER,
    PLUMB_VERDICT_UNCLEAR, /* beyond the threshold, but possibly noise */
    PLUMB_VERDICT_NEW,     /* A is 0: no percentage */
    PLUMB_VERDICT_GONE,    /* only in A */
    PLUMB_VERDICT_UNKNOWN  /* not measured on both sides */
};

/* One figure on both sides. */
struct plumb_contrast {
    double a, b; /* medians of the runs; ns or bytes */
    double delta;
    double percent; /* of a; NaN for what one side lacks; 0 where both are 0 */
    bool tested;    /* p, exact and p_table hold */
    bool exact;
    double p;       /* of this line alone: Mann-Whitney, two-sided */
    double p_table; /* of all lines together, in the direction of `delta`: plumb_family() */
    struct plumb_interval ratio; /* of b / a */
    enum plumb_verdict verdict;
};

enum plumb_compare_kind {
    PLUMB_COMPARE_WALL_CLOCK,
    PLUMB_COMPARE_STAGES, /* time of outermost spans */
    PLUMB_COMPARE_PEAK_RSS,
    PLUMB_COMPARE_PEAK_ALLOCATED, /* of a pool */
    PLUMB_COMPARE_PEAK_RESERVED,
    PLUMB_COMPARE_NODE
};

struct plumb_compare_sample { /* what one run says in one line */
    bool present;             /* it has samples */
    uint64_t count;
    double figures[PLUMB_COMPARE_FIGURES]; /* of a sum: the first */
};

struct plumb_compare_line {
    enum plumb_compare_kind kind;
    const char *pipeline, *phase, *name;  /* of a node; of a pool: "", device, pool; otherwise "" */
    bool own;                             /* the pipeline is that of the run itself */
    struct plumb_compare_sample *samples; /* runs of A, then runs of B */
    size_t next;                          /* line of the same hash, plus 1 */
    size_t taken;                         /* the run that was added last, plus 1 */
    size_t present[2];                    /* runs that have it */
    double count[2];                      /* median of its samples a run */
    struct plumb_contrast main;           /* by the figure of the options */
    struct plumb_contrast p50, p95;       /* of nodes; no verdict of theirs counts */
};

struct plumb_compare_lines {
    struct plumb_compare_line *lines;
    size_t count, cap;
    struct plumb_map by_hash; /* place plus 1 */
};

struct plumb_compare_run {
    const char *path;
    const char *host, *cpu, *kernel, *pipeline, *program, *command, *version;
    const char *named;                   /* the pipeline; "" when it has its program's name */
    const char *state;                   /* "ended", "recovered", "still recording" */
    uint64_t schema, cpus, skip_first_n; /* in addition to the texts: must agree */
    int32_t rank, world_size;            /* -1: unknown */
    uint64_t start_unix_ns, pid;         /* with the host: which run it is */
    struct plumb_timing_pair *env;       /* PLUMB_* variables */
    size_t env_count;
};

/* Facts from the order of the recordings (drift.c). */
struct plumb_compare_drift {
    bool apart;    /* every run of one side was recorded before every run of the other */
    double trend;  /* 1: the runs of each side took longer and longer, -1: shorter */
    double p;      /* of the trend: Mann-Kendall, two-sided; 1 with few runs */
    double middle; /* median of b / a over the nodes, 0: too few of them */
};

struct plumb_compare {
    plumb_compare_options options; /* no zeros: defaults are filled in */
    struct plumb_arena arena;
    struct plumb_compare_run *runs; /* of A, then of B */
    size_t run_count[2];
    size_t added;
    struct plumb_compare_lines sums;  /* the first three kinds, then pools as they are seen */
    struct plumb_compare_lines nodes; /* first-seen order, over A and then B */
    bool tested;                      /* 3 runs a side or more */
    size_t tests;                     /* lines that were tested together */
    double least_p;                   /* that the test can give */
    double needed_p;                  /* for a marker: alpha, or least_p where that is larger */
    struct plumb_compare_drift drift;
    uint32_t overridden; /* enum plumb_allow: what differs and was allowed */
    plumb_compare_result result;
};

/* PLUMB_ERR_ARG: an option is out of range or a side has no run; PLUMB_ERR_MEMORY. Ended with
 * plumb_compare_fini() in any case. */
int plumb_compare_init(struct plumb_compare *c, const plumb_compare_options *o, size_t a_count,
                       size_t b_count, plumb_error *err);
void plumb_compare_fini(struct plumb_compare *c);

/* Adds the next run: those of A first. `live`: it still records; `chosen`: which of its nodes are
 * compared, NULL: all. PLUMB_ERR_FORMAT: a row stands in the report twice, or it has no samples at
 * all. */
int plumb_compare_add(struct plumb_compare *c, const struct plumb_timing *t, bool live,
                      const char *path, const bool *chosen, plumb_error *err);

/* Checks that the runs can be compared and fills the contrasts. PLUMB_ERR_STATE: they cannot;
 * PLUMB_ERR_ARG: a side has one run twice; PLUMB_ERR_MEMORY. */
int plumb_compare_finish(struct plumb_compare *c, plumb_error *err);

/* The side of run `i`, counted over both. */
enum plumb_side plumb_compare_side(const struct plumb_compare *c, size_t i);
/* Whether a line, of a node or a pool, is on that side. */
bool plumb_compare_has(const struct plumb_compare_line *line, enum plumb_side side);

/* comparable.c: what differs between runs. */
/* The facts of class `allow` (enum plumb_allow) in which a run differs from the first: appends
 * "host 'x' and 'y', cpu ..." and returns how many. */
size_t plumb_compare_differences(const struct plumb_compare *c, uint32_t allow,
                                 struct plumb_buf *out);
int plumb_compare_check(struct plumb_compare *c, plumb_error *err);

/* drift.c: fills c->drift from contrasts that are complete. PLUMB_ERR_MEMORY. */
int plumb_compare_find_drift(struct plumb_compare *c, plumb_error *err);

#endif
