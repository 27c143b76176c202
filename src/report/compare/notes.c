/* notes.c: the lines below a comparison, because a difference without them misleads. They say what
 * was compared in spite of a difference in the setup, whether the runs can tell a change from
 * noise, and what else differs between the runs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/compare/family.h"
#include "report/compare/view.h"
#include "summary/cells.h"

enum { MAX_NAMED = 5 };

/* ---- Repeats --------------------------------------------------------------------------------- */

/* Runs a side that the test needs at least. */
static size_t runs_wanted(double alpha)
{
    size_t n = PLUMB_COMPARE_REPEATS;
    while (n < 1000 && alpha >= 1.0 / PLUMB_FAMILY_WAYS && plumb_family_least_p(n, n) > alpha)
        n++;
    return n;
}

static void put_few(const struct plumb_compare *c, struct plumb_buf *out)
{
    plumb_buf_printf(out, "%zu runs a side can tell\n", runs_wanted(c->options.alpha));
}

/* "1 in 50 comparisons of unchanged code has a worse row" */
static void put_odds(double p, struct plumb_buf *out)
{
    plumb_buf_str(out, "1 in ");
    plumb_put_fixed(out, floor(1 / p + 0.5), 0, 0);
    plumb_buf_str(out, " comparisons of unchanged code has a worse row");
}

static void put_needed_p(const struct plumb_compare *c, struct plumb_buf *out)
{
    plumb_buf_str(out, "worse and better also need p table <= ");
    plumb_compare_put_number(out, c->options.alpha);
    plumb_buf_str(out, ", otherwise unclear: at most ");
    put_odds(c->options.alpha, out);
    plumb_buf_char(out, '\n');
}

/* So few runs that even complete separation may be chance. */
static void put_too_few(const struct plumb_compare *c, struct plumb_buf *out)
{
    plumb_buf_printf(out, "p table of %zu and %zu runs cannot fall below ", c->run_count[0],
                     c->run_count[1]);
    plumb_put_fixed(out, c->least_p, 4, 0);
    plumb_buf_str(out, ": worse and better need that, otherwise unclear, but up to ");
    put_odds(c->least_p, out);
    plumb_buf_str(out, "; ");
    put_few(c, out);
}

static void put_repeats(const struct plumb_compare *c, struct plumb_buf *out)
{
    size_t a = c->run_count[PLUMB_SIDE_A];
    size_t b = c->run_count[PLUMB_SIDE_B];
    if (a > 1 || b > 1)
        plumb_buf_str(out, "figures are medians of the runs; what a run lacks is 0\n");
    if (!c->tested) {
        if (a + b == 2)
            plumb_buf_str(out, "one run a side");
        else
            plumb_buf_printf(out, "%zu and %zu runs", a, b);
        plumb_buf_str(out, " cannot tell a change from noise: the threshold alone decides; ");
        put_few(c, out);
        return;
    }
    if (c->least_p > c->options.alpha)
        put_too_few(c, out);
    else
        put_needed_p(c, out);
    plumb_buf_printf(out,
                     "p table: Holm's step-down over all %zu rows, by relabelling the runs "
                     "(Westfall-Young); B/A: 95 %% bootstrap interval of the ratio of medians "
                     "(%d resamples, seed %d)\n",
                     c->tests, PLUMB_BOOTSTRAP_RESAMPLES, PLUMB_BOOTSTRAP_SEED);
}

/* ---- Drift ----------------------------------------------------------------------------------- */

static const double SURE_TREND = 0.01;

static void put_drift(const struct plumb_compare *c, struct plumb_buf *out)
{
    const struct plumb_compare_drift *d = &c->drift;
    if (d->apart) {
        plumb_buf_str(out, "the runs of A and B were recorded one side after the other: a machine "
                           "that became slower or faster in between looks like a change of the "
                           "code");
        if (d->middle > 0) {
            plumb_buf_str(out, " (the middle one of the nodes moved by ");
            plumb_compare_put_change(out, 100 * (d->middle - 1));
            plumb_buf_str(out, " %)");
        }
        plumb_buf_str(out, "; record A and B in turns\n");
    }
    if (d->p > SURE_TREND)
        return;
    plumb_buf_printf(out,
                     "drift: on both sides the stages took %s from run to run (Mann-Kendall, "
                     "p ",
                     d->trend > 0 ? "longer and longer" : "less and less time");
    plumb_put_fixed(out, d->p, 4, 0);
    plumb_buf_str(out, "): the machine changed while the runs were recorded\n");
}

/* ---- What differs ---------------------------------------------------------------------------- */

static void put_overridden(const struct plumb_compare *c, struct plumb_buf *out)
{
    struct plumb_buf differences = {0};
    if (!c->overridden)
        return;
    plumb_compare_differences(c, c->overridden, &differences);
    plumb_buf_str(out, "compared all the same: ");
    plumb_put_left(out, differences.data ? differences.data : "", 0);
    plumb_buf_char(out, '\n');
    out->failed |= differences.failed;
    plumb_buf_fini(&differences);
}

static const struct plumb_compare_run *
other_text(const struct plumb_compare *c, const char *(*get)(const struct plumb_compare_run *))
{
    for (size_t i = 1; i < c->added; i++)
        if (strcmp(get(&c->runs[0]), get(&c->runs[i])) != 0)
            return &c->runs[i];
    return NULL;
}

static const char *program_of(const struct plumb_compare_run *run)
{
    return run->program;
}

static const char *command_of(const struct plumb_compare_run *run)
{
    return run->command;
}

static const char *kernel_of(const struct plumb_compare_run *run)
{
    return run->kernel;
}

static const char *version_of(const struct plumb_compare_run *run)
{
    return run->version;
}

static void put_text_difference(const struct plumb_compare *c, const char *what,
                                const char *(*get)(const struct plumb_compare_run *),
                                struct plumb_buf *out)
{
    const struct plumb_compare_run *other = other_text(c, get);
    if (!other)
        return;
    plumb_buf_printf(out, "%s differ: '", what);
    plumb_put_left(out, get(&c->runs[0]), 0);
    plumb_buf_str(out, "' and '");
    plumb_put_left(out, get(other), 0);
    plumb_buf_str(out, "'\n");
}

static void put_ranks(const struct plumb_compare *c, struct plumb_buf *out)
{
    const struct plumb_compare_run *a = &c->runs[0];
    for (size_t i = 1; i < c->added; i++) {
        const struct plumb_compare_run *b = &c->runs[i];
        if (a->rank == b->rank && a->world_size == b->world_size)
            continue;
        plumb_buf_printf(out,
                         "ranks differ: %" PRId32 " of %" PRId32 " and %" PRId32 " of %" PRId32
                         " (-1: unknown)\n",
                         a->rank, a->world_size, b->rank, b->world_size);
        return;
    }
}

/* Variables that change where a run lies or what it says, not what it measures. */
static bool changes_nothing(const char *key)
{
    static const char *const keys[] = {
        "PLUMB",     "PLUMB_DIR",        "PLUMB_RUN_DIR",    "PLUMB_PIPELINE", "PLUMB_QUIET",
        "PLUMB_LOG", "PLUMB_RECORD_LOG", "PLUMB_RECORD_PID", "PLUMB_LIBRARY"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static const char *value_in(const struct plumb_compare_run *run, const char *key)
{
    for (size_t i = 0; i < run->env_count; i++)
        if (strcmp(run->env[i].key, key) == 0)
            return run->env[i].value;
    return NULL;
}

static void put_value(struct plumb_buf *out, const char *value)
{
    plumb_buf_str(out, value ? "'" : "");
    plumb_put_left(out, value ? value : "not set", 0);
    plumb_buf_str(out, value ? "'" : "");
}

/* Variables of `a` that differ in `b`. `swapped`: only those that `b` lacks, with the sides
 * exchanged. */
static void put_variables(const struct plumb_compare_run *a, const struct plumb_compare_run *b,
                          bool swapped, struct plumb_buf *out)
{
    for (size_t i = 0; i < a->env_count; i++) {
        const char *key = a->env[i].key;
        const char *value = value_in(b, key);
        bool told = swapped && value; /* the other way round already */
        if (changes_nothing(key) || told || (value && strcmp(a->env[i].value, value) == 0))
            continue;
        plumb_put_left(out, key, 0);
        plumb_buf_str(out, " differs: ");
        put_value(out, swapped ? value : a->env[i].value);
        plumb_buf_str(out, " and ");
        put_value(out, swapped ? a->env[i].value : value);
        plumb_buf_char(out, '\n');
    }
}

static bool same_variables(const struct plumb_compare_run *a, const struct plumb_compare_run *b)
{
    for (size_t i = 0; i < a->env_count; i++) {
        const char *value = value_in(b, a->env[i].key);
        if (!changes_nothing(a->env[i].key) && (!value || strcmp(a->env[i].value, value) != 0))
            return false;
    }
    return true;
}

static void put_environment(const struct plumb_compare *c, struct plumb_buf *out)
{
    for (size_t i = 1; i < c->added; i++) {
        const struct plumb_compare_run *a = &c->runs[0];
        const struct plumb_compare_run *b = &c->runs[i];
        if (same_variables(a, b) && same_variables(b, a))
            continue;
        put_variables(a, b, false, out);
        put_variables(b, a, true, out);
        return;
    }
}

/* ---- Runs and lines -------------------------------------------------------------------------- */

static void put_states(const struct plumb_compare *c, struct plumb_buf *out)
{
    const char *state = c->runs[0].state;
    if (strcmp(state, "ended") != 0 && !(c->overridden & PLUMB_ALLOW_STATE))
        plumb_buf_printf(out, "both sides are cut short (%s): sums end where the runs do\n", state);
}

static void put_same_run(const struct plumb_compare *c, struct plumb_buf *out)
{
    size_t a = c->run_count[PLUMB_SIDE_A];
    for (size_t i = 0; i < a; i++)
        for (size_t k = a; k < c->added; k++) {
            const struct plumb_compare_run *x = &c->runs[i];
            const struct plumb_compare_run *y = &c->runs[k];
            if (x->start_unix_ns != y->start_unix_ns || x->pid != y->pid ||
                strcmp(x->host, y->host) != 0)
                continue;
            plumb_buf_str(out, "the run '");
            plumb_put_left(out, x->path, 0);
            plumb_buf_str(out, "' stands on both sides\n");
            return;
        }
}

static void put_memory(const struct plumb_compare *c, struct plumb_buf *out)
{
    for (size_t i = 0; i < c->sums.count; i++) {
        const struct plumb_compare_line *line = &c->sums.lines[i];
        bool a = line->present[PLUMB_SIDE_A] < c->run_count[PLUMB_SIDE_A];
        bool b = line->present[PLUMB_SIDE_B] < c->run_count[PLUMB_SIDE_B];
        if (line->main.verdict == PLUMB_VERDICT_UNKNOWN)
            plumb_buf_printf(out, "peak memory is not in the reports of %s\n",
                             a && b ? "either side"
                             : a    ? "A"
                                    : "B");
    }
}

typedef bool (*line_test)(const struct plumb_compare *c, const struct plumb_compare_line *line);

static bool in_some_runs(const struct plumb_compare *c, const struct plumb_compare_line *line)
{
    for (int side = 0; side < 2; side++)
        if (line->present[side] > 0 && line->present[side] < c->run_count[side])
            return true;
    return false;
}

static bool in_other_numbers(const struct plumb_compare *c, const struct plumb_compare_line *line)
{
    (void)c;
    return plumb_compare_has(line, PLUMB_SIDE_A) && plumb_compare_has(line, PLUMB_SIDE_B) &&
           line->count[PLUMB_SIDE_A] != line->count[PLUMB_SIDE_B];
}

static void put_some_runs(const struct plumb_compare *c, const struct plumb_compare_line *line,
                          struct plumb_buf *out)
{
    plumb_put_left(out, line->name, 0);
    plumb_buf_printf(out, " (%zu of %zu in A, %zu of %zu in B)", line->present[0], c->run_count[0],
                     line->present[1], c->run_count[1]);
}

static void put_numbers(const struct plumb_compare *c, const struct plumb_compare_line *line,
                        struct plumb_buf *out)
{
    (void)c;
    plumb_put_left(out, line->name, 0);
    plumb_buf_str(out, " (");
    plumb_compare_put_number(out, line->count[PLUMB_SIDE_A]);
    plumb_buf_str(out, ", ");
    plumb_compare_put_number(out, line->count[PLUMB_SIDE_B]);
    plumb_buf_char(out, ')');
}

/* "what: x (3, 4), y (1, 2) and 7 more" */
static void put_nodes(const struct plumb_compare *c, const char *what, line_test test,
                      void (*put)(const struct plumb_compare *, const struct plumb_compare_line *,
                                  struct plumb_buf *),
                      struct plumb_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nodes.count; i++) {
        const struct plumb_compare_line *line = &c->nodes.lines[i];
        if (!test(c, line) || n++ >= MAX_NAMED)
            continue;
        plumb_buf_str(out, n == 1 ? what : ", ");
        put(c, line, out);
    }
    if (n > MAX_NAMED)
        plumb_buf_printf(out, " and %zu more", n - MAX_NAMED);
    if (n > 0)
        plumb_buf_char(out, '\n');
}

/* The options that restricted the comparison. */
static void put_choice(const struct plumb_compare *c, struct plumb_buf *out)
{
    const plumb_compare_options *o = &c->options;
    if (o->node) {
        plumb_buf_str(out, "only nodes that match '");
        plumb_put_left(out, o->node, 0);
        plumb_buf_str(out, "' are compared, and the whole run\n");
    }
    if (o->depth > 0)
        plumb_buf_printf(out,
                         "only nodes of the first %u level%s of the call tree are compared, and "
                         "the whole run\n",
                         o->depth, o->depth == 1 ? "" : "s");
    if (o->fold == PLUMB_FOLD_ON)
        plumb_buf_str(out, "nodes that differ in a number alone (layer.0, layer.1) are one row "
                           "(layer.*), compared and marked as one\n");
}

void plumb_compare_notes_write(const struct plumb_compare *c, struct plumb_buf *out)
{
    put_choice(c, out);
    put_overridden(c, out);
    put_repeats(c, out);
    put_drift(c, out);
    put_states(c, out);
    put_same_run(c, out);
    put_memory(c, out);
    put_text_difference(c, "programs", program_of, out);
    put_text_difference(c, "command lines", command_of, out);
    put_text_difference(c, "kernels", kernel_of, out);
    put_text_difference(c, "versions of plumb", version_of, out);
    put_ranks(c, out);
    put_environment(c, out);
    put_nodes(c, "nodes ran another number of times (A, B): ", in_other_numbers, put_numbers, out);
    put_nodes(c, "nodes ran in some of the runs only: ", in_some_runs, put_some_runs, out);
}
