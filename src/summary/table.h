/* table.h: the rows of a summary, chosen, ordered and added up, and the fixed-width table
 * made of them. Used by libplumb and by libplumb-read. Any thread, one summary at a time.
 *
 * Sums: a node that runs inside another must not be counted twice, so TOTAL adds only runs that lie
 * in no other run of the table's rows, and the average per frame only those that lie in no other
 * run of its phase. */
#ifndef PLUMB_SUMMARY_TABLE_H
#define PLUMB_SUMMARY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "config/pattern.h"
#include "model/timing.h"
#include "summary/cells.h"
#include "summary/unit.h"

#define PLUMB_SUMMARY_EMPTY "No profiling data collected."

enum plumb_summary_sort {
    PLUMB_SUMMARY_TOTAL = 0,
    PLUMB_SUMMARY_SELF = 1,
    PLUMB_SUMMARY_MEAN = 2,
    PLUMB_SUMMARY_P95 = 3
};

struct plumb_summary_row {
    const char *pipeline, *phase, *node;
    uint64_t count, skipped, failures;
    double mean_ms, median_ms, std_ms, min_ms, max_ms, last_ms, total_ms, self_ms;
    double p50_ms, p90_ms, p95_ms, p99_ms;
    double outermost_ms;  /* what TOTAL adds: runs that lie in no other run of the table */
    double phase_ms;      /* what the average of the phase adds: ... of the phase */
    uint64_t phase_count; /* runs that make up phase_ms */
    double own_ms;        /* plumb_timing_own_ns() */
    double percent;       /* own_ms of all rows of the pipeline */
    uint64_t device_count;
    double device_mean_ms, device_median_ms, device_total_ms;
    const char *device_times; /* plumb_timing_device_times() */
    double launched_ms, wait_ms;
    double on_cpu_ms, preempted_ms, blocked_ms;
    uint64_t switches, migrations;
    uint32_t threads;
    uint32_t median_estimator; /* enum plumb_median */
    uint32_t median_why;       /* enum plumb_timing_median_why */
    uint64_t skip_first_n;     /* of the pipeline */
    size_t seen;               /* place in first-seen order */
};

struct plumb_summary_options {
    const char *pipeline; /* NULL: all */
    const char *phase;    /* NULL: all */
    uint64_t frames;      /* 0: unknown; of a table of one phase, which is what they belong to */
    enum plumb_summary_sort sort;
    size_t top; /* rows shown for each pipeline, 0: all; sums always are over all */
    const struct plumb_pattern *node; /* searched for in names; NULL: all */
    enum plumb_unit_choice unit;      /* of times in tables for people */
    uint32_t depth;                   /* levels of the call tree that are shown, 0: all */
};

struct plumb_summary {
    struct plumb_summary_options options;
    struct plumb_summary_row *rows; /* by pipeline in first-seen order, then as sorted */
    size_t count;
};

/* One line for each phase of a pipeline that has frames. */
struct plumb_summary_average {
    const char *phase;
    double ms;
    double fps;
};

/* Rows of `t` that the options choose. The strings stay those of `t`, which must live as long.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_summary_init(struct plumb_summary *out, const struct plumb_timing *t,
                       const struct plumb_summary_options *o, plumb_error *err);
void plumb_summary_fini(struct plumb_summary *s);

/* The level of the call tree on which each node comes first, 0 outermost, into level[node_count]; a
 * node that is not in the tree is outermost. PLUMB_ERR_MEMORY, without a text. */
int plumb_summary_levels(const struct plumb_timing *t, uint32_t *level);

/* The rows [begin, end) of the pipeline that `begin` starts with; begin 0 is the first pipeline. */
size_t plumb_summary_group_end(const struct plumb_summary *s, size_t begin);
/* Rows of [begin, end) that are shown. */
size_t plumb_summary_shown(const struct plumb_summary *s, size_t begin, size_t end);
/* Frames that the rows [begin, end) are divided by; 0: unknown, or the rows are of several
 * phases. */
uint64_t plumb_summary_frames(const struct plumb_summary *s, size_t begin, size_t end);
double plumb_summary_total_ms(const struct plumb_summary *s, size_t begin, size_t end);
/* The `i`-th average of the rows [begin, end), phases in the order of the rows. False: there are
 * not so many. The divisor is frames minus skip when they are known and the rows are of one phase.
 * Otherwise it is how often the phase's outermost nodes ran, if all that ran more than once ran
 * equally often. These are the body of the loop; nodes that ran once are not part of it. When there
 * is no such loop, or the time is 0, the phase has no average. */
bool plumb_summary_average(const struct plumb_summary *s, size_t begin, size_t end, size_t i,
                           struct plumb_summary_average *out);

/* Appends what `put` makes of the rows [begin, end) of each pipeline, with its name where there are
 * several, or PLUMB_SUMMARY_EMPTY. */
typedef void plumb_summary_put_fn(struct plumb_buf *out, const struct plumb_summary *s,
                                  size_t begin, size_t end);
void plumb_summary_put_groups(struct plumb_buf *out, const struct plumb_summary *s,
                              plumb_summary_put_fn *put);
/* Appends the table, without a newline at its end; one table for each pipeline, or
 * PLUMB_SUMMARY_EMPTY. Byte for byte the layout that existing tools parse. */
void plumb_summary_write(const struct plumb_summary *s, struct plumb_buf *out);

/* Appends "Counts: tokens 1,234 (56.7/s)", with a newline before it: what the run has counted in
 * the pipeline of the options, and that over its wall clock. Then, for each node in which it was
 * counted, "Counts of token [decode]: tokens 1,000 (61.2/s of its time)", at most ten. Nothing when
 * nothing was counted. `t` is the run, not folded. */
void plumb_put_counts(struct plumb_buf *out, const struct plumb_timing *t,
                      const struct plumb_summary_options *o);

/* All in one: what plumb_summary_text() returns, and what `plumb report --fold=off` prints. */
int plumb_summary_table(struct plumb_buf *out, const struct plumb_timing *t,
                        const struct plumb_summary_options *o, plumb_error *err);

/* ---- Pieces that the other text renderers share ---------------------------------------------- */

/* Returns the unit of a column of the rows [begin, end); `offset` is that of a time in ms. */
const struct plumb_unit *plumb_summary_unit(const struct plumb_summary *s, size_t begin, size_t end,
                                            size_t offset, enum plumb_unit_choice usual);
/* "Profiling Summary (103 frames, skip_first_n=3)", parts as known, of the rows [begin, end). */
void plumb_put_title(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                     size_t end);
/* The sum of a table, ten characters wide, in the unit of its column of totals. */
void plumb_put_total(struct plumb_buf *out, const struct plumb_unit *unit, double total_ms);
/* Appends the lines of the averages, and of medians that are not from the requested estimator, each
 * with a newline before it. */
void plumb_put_averages(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                        size_t end);

#endif
