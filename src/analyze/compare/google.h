/* google.h: two files of google/benchmark side by side, as tools/compare.py of that project has
 * them: a row for each benchmark of one name and time unit in both files, with the change of each
 * pair of repetitions and the rank test over all of them, and the geometric mean of each file. One
 * thread. */
#ifndef PLUMB_ANALYZE_COMPARE_GOOGLE_H
#define PLUMB_ANALYZE_COMPARE_GOOGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "read/json/tree.h"

/* Repetitions from which the test is worth its name, and at least. */
enum { PLUMB_GOOGLE_OPTIMAL = 9, PLUMB_GOOGLE_LEAST = 2 };

/* Of a whole benchmark, by its real time. UNCLEAR: beyond the threshold, but the test cannot tell
 * it from noise. */
enum plumb_google_verdict {
    PLUMB_GOOGLE_SAME,
    PLUMB_GOOGLE_WORSE,
    PLUMB_GOOGLE_BETTER,
    PLUMB_GOOGLE_UNCLEAR
};

/* A repetition of A against that of B; a change is a part of A. */
struct plumb_google_pair {
    double real[2], cpu[2];
    double real_change, cpu_change;
};

struct plumb_google_row {
    const char *name, *unit, *label;
    const char *aggregate;           /* "" : repetitions; "mean", ... */
    bool is_aggregate;               /* the first entry of A is one */
    struct plumb_google_pair *pairs; /* [pair_count]; 0: the geometric means, in seconds */
    size_t pair_count;
    size_t repetitions[2];
    bool tested;
    double real_p, cpu_p;
    double change; /* of the medians of the real time; NaN: only aggregates */
    enum plumb_google_verdict verdict;
};

struct plumb_google {
    struct plumb_arena arena;
    struct plumb_google_row *rows;
    size_t count;
    struct plumb_google_pair geomean;
    bool has_geomean;
    size_t worse, better, unclear;
};

/* filters: NULL, or an extended regular expression for each side: only benchmarks whose names
 * match, with '.' in place of what matches, so that two families of one file can be compared.
 * `threshold` is a part of A; `alpha` the greatest p of a change that counts, where the repetitions
 * can have so small a one. The roots must live as long as `out`, which plumb_google_fini() ends.
 *   errors  PLUMB_ERR_FORMAT: no benchmark is in both; PLUMB_ERR_ARG: a filter is not a regular
 *           expression; PLUMB_ERR_MEMORY */
int plumb_google_compare(struct plumb_google *out, const struct plumb_json_value *a,
                         const struct plumb_json_value *b, const char *const filters[2],
                         double threshold, double alpha, plumb_error *err);
void plumb_google_fini(struct plumb_google *g);

#endif
