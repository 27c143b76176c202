/* cmd_compare.c: plumb compare. Its exit status follows diff(1): 1 says that something is worse. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report.h"

enum {
    A_SIDE,
    B_SIDE,
    THRESHOLD,
    ALPHA,
    MIN_DELTA,
    FIGURE,
    SORT,
    TOP,
    WIDE,
    UNIT,
    NODE,
    DEPTH,
    FOLD,
    FORMAT,
    OUTPUT,
    ANY_MACHINE,
    ANY_PROGRAM,
    ANY_SKIP,
    ANY_END,
    FORCE,
    FILTER_A,
    FILTER_B,
    AGGREGATES
};

static const struct plumb_cli_option options[] = {
    [A_SIDE] = {"a", "RUN...", "runs of side A, the baseline: all that follow, up to --b", false},
    [B_SIDE] = {"b", "RUN...", "runs of side B: all that follow, up to --a", false},
    [THRESHOLD] = {"threshold", "PCT",
                   "mark differences of more than PCT percent (5; with 3 runs a side or more 2)",
                   false},
    [ALPHA] = {"alpha", "P",
               "with 3 runs a side or more, mark only if p table is at most P (0.015)", false},
    [MIN_DELTA] = {"min-delta", "MS", "never mark times that differ by less than MS ms (0)", false},
    [FIGURE] = {"by", "p50|min|mean|total|self|p95|device",
                "figure of a node that is compared (p50, the median)", false},
    [SORT] = {"sort", "seen|delta|percent|a|b",
              "order of the nodes: as first seen, or largest first (seen)", false},
    [TOP] = {"top", "N", "show the first N nodes; the others are compared too", false},
    [WIDE] = {"wide", NULL, "more columns: counts, p50 and p95 of both sides", false},
    [UNIT] = {"unit", "auto|ns|us|ms|s",
              "unit of times in tables for people (auto: one that fits each column)", false},
    [NODE] = {"node", "REGEX", "compare only nodes whose names match, and the whole run", false},
    [DEPTH] = {"depth", "N", "compare only nodes of the first N levels of the call tree", false},
    [FOLD] = {"fold", "on|off",
              "compare nodes whose names differ only in a number as one, layer.0 to layer.31 as "
              "layer.*; by default a table of more than 40 lines shows unmarked ones so",
              true},
    [FORMAT] = {"format", "text|json|csv|md", "form of the output (text)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [ANY_MACHINE] = {"any-machine", NULL, "compare runs of different machines", false},
    [ANY_PROGRAM] = {"any-program", NULL,
                     "compare programs without a common node, or with other pipeline names", false},
    [ANY_SKIP] = {"any-skip", NULL, "compare runs that skipped different numbers of samples",
                  false},
    [ANY_END] = {"any-end", NULL,
                 "compare runs that ended with runs that were killed or still record", false},
    [FORCE] = {"force", NULL, "all of these, and reports of different schemas", false},
    [FILTER_A] = {"filter-a", "REGEX",
                  "files of benchmarks: of A only names that match, with '.' in place of the match",
                  false},
    [FILTER_B] = {"filter-b", "REGEX", "the same of B: two families of benchmarks, side by side",
                  false},
    [AGGREGATES] = {"aggregates", NULL, "files of benchmarks: show only aggregates and tests",
                    false},
    {NULL, NULL, NULL, false},
};

struct request {
    plumb_compare_options compare;
    plumb_compare_view view;
    plumb_benchmarks_options benchmarks;
    uint32_t given; /* bit i: option i */
    const char *output;
    struct plumb_cli_list sides[2];
    struct plumb_cli_list bare; /* operands before any --a or --b */
    struct plumb_cli_list *now; /* where an operand goes */
};

/* ---- Command line ---------------------------------------------------------------------------- */

static bool take_word(const char *option, const char *const *words, size_t n, const char *text,
                      uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_compare, option, words, n, text);
}

static bool take_figure(struct request *r, const char *text)
{
    static const char *const words[] = {"mean", "total", "self", "p50", "p95", "device", "min"};
    return take_word("by", words, sizeof words / sizeof *words, text, &r->compare.figure);
}

static bool take_sort(struct request *r, const char *text)
{
    static const char *const words[] = {"seen", "delta", "percent", "a", "b"};
    return take_word("sort", words, sizeof words / sizeof *words, text, &r->view.sort);
}

static bool take_format(struct request *r, const char *text)
{
    static const char *const words[] = {"text", "json", "csv", "md"};
    uint32_t i = 0;
    if (!take_word("format", words, sizeof words / sizeof *words, text, &i))
        return false;
    r->view.format = words[i];
    return true;
}

static bool take_threshold(struct request *r, const char *text)
{
    if (!plumb_cli_decimal(&plumb_cmd_compare, "threshold", text, &r->compare.threshold_percent))
        return false;
    if (r->compare.threshold_percent == 0)
        r->compare.threshold_percent = -1; /* 0 would be the default */
    return true;
}

static bool take_alpha(struct request *r, const char *text)
{
    double *alpha = &r->compare.alpha;
    if (!plumb_cli_decimal(&plumb_cmd_compare, "alpha", text, alpha))
        return false;
    if (*alpha > 0 && *alpha < 1)
        return true;
    plumb_cli_usage(&plumb_cmd_compare, "--alpha lies between 0 and 1, as 0.05, not '%s'", text);
    return false;
}

static bool take_choice(struct request *r, int option, const char *value)
{
    switch (option) {
    case FIGURE:
        return take_figure(r, value);
    case SORT:
        return take_sort(r, value);
    case FORMAT:
        return take_format(r, value);
    case THRESHOLD:
        return take_threshold(r, value);
    case ALPHA:
        return take_alpha(r, value);
    case UNIT:
        return plumb_cli_unit(&plumb_cmd_compare, value, &r->view.unit);
    case FOLD:
        return plumb_cli_fold(&plumb_cmd_compare, value, &r->compare.fold);
    case DEPTH:
        return plumb_cli_depth(&plumb_cmd_compare, value, &r->compare.depth);
    case NODE:
        r->compare.node = value;
        return true;
    case MIN_DELTA:
        return plumb_cli_decimal(&plumb_cmd_compare, "min-delta", value, &r->compare.min_delta_ms);
    default:
        return plumb_cli_number(&plumb_cmd_compare, "top", value, &r->view.top);
    }
}

static uint32_t allowed_by(int option)
{
    switch (option) {
    case ANY_MACHINE:
        return PLUMB_ALLOW_MACHINE;
    case ANY_PROGRAM:
        return PLUMB_ALLOW_PROGRAM;
    case ANY_SKIP:
        return PLUMB_ALLOW_SKIP;
    case ANY_END:
        return PLUMB_ALLOW_STATE;
    case FORCE:
        return PLUMB_ALLOW_ALL;
    default:
        return 0;
    }
}

static void add_run(struct plumb_cli_list *side, const char *run)
{
    side->at[side->count++] = run;
}

static bool take(struct request *r, int option, const char *value)
{
    if (option != PLUMB_ARGS_OPERAND)
        r->given |= (uint32_t)1 << option;
    switch (option) {
    case FILTER_A:
        r->benchmarks.filter_a = value;
        return true;
    case FILTER_B:
        r->benchmarks.filter_b = value;
        return true;
    case AGGREGATES:
        r->benchmarks.aggregates = 1;
        return true;
    case PLUMB_ARGS_OPERAND:
        add_run(r->now, value);
        return true;
    case A_SIDE:
    case B_SIDE:
        r->now = &r->sides[option == A_SIDE ? PLUMB_SIDE_A : PLUMB_SIDE_B];
        add_run(r->now, value);
        return true;
    case WIDE:
        r->view.wide = 1;
        return true;
    case OUTPUT:
        r->output = value;
        return true;
    default:
        r->compare.allow |= allowed_by(option);
        return allowed_by(option) || take_choice(r, option, value);
    }
}

/* Two operands are the sides when no option named them. */
static bool settle(struct request *r)
{
    struct plumb_cli_list *a = &r->sides[PLUMB_SIDE_A];
    struct plumb_cli_list *b = &r->sides[PLUMB_SIDE_B];
    bool named = a->count + b->count > 0;
    if (named && r->bare.count > 0)
        plumb_cli_usage(&plumb_cmd_compare, "'%s' is on neither side: put it after --a or --b",
                        r->bare.at[0]);
    else if (named && (a->count == 0 || b->count == 0))
        plumb_cli_usage(&plumb_cmd_compare, "no run after --%s", a->count == 0 ? "a" : "b");
    else if (!named && r->bare.count != 2)
        plumb_cli_usage(&plumb_cmd_compare,
                        "wants two runs, the baseline first, not %zu; several runs of a side go "
                        "after --a and --b, or into a folder",
                        r->bare.count);
    else {
        if (!named) {
            add_run(a, r->bare.at[0]);
            add_run(b, r->bare.at[1]);
        }
        return true;
    }
    return false;
}

/* A trace is one run without a report, so it has no repeats and no medians. Other commands show its
 * spans. */
static bool has_no_trace(const struct request *r)
{
    for (int side = PLUMB_SIDE_A; side <= PLUMB_SIDE_B; side++)
        for (size_t i = 0; i < r->sides[side].count; i++) {
            const char *run = r->sides[side].at[i];
            if (!plumb_cli_is_trace(run))
                continue;
            plumb_cli_say(&plumb_cmd_compare,
                          "'%s' is a trace, one sample without repeats: compare takes runs of "
                          "'plumb record'; a trace is shown by 'plumb report trace', 'steps' "
                          "and 'slowest', and 'plumb export --format folded' has its stacks for "
                          "difffolded.pl",
                          run);
            return false;
        }
    return true;
}

/* Returns PLUMB_ARGS_END if the request is complete, otherwise a value for
 * plumb_cli_args_status(). */
static int read_arguments(struct request *r, int argc, char **argv)
{
    struct plumb_cli_args args;
    int option;
    r->now = &r->bare;
    plumb_cli_args_init(&args, &plumb_cmd_compare, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(r, option, args.value))
            return PLUMB_ARGS_WRONG;
    if (option != PLUMB_ARGS_END)
        return option;
    while (args.operand < argc)
        add_run(r->now, argv[args.operand++]);
    return settle(r) && has_no_trace(r) ? PLUMB_ARGS_END : PLUMB_ARGS_WRONG;
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* A slip in the command line must not overwrite a report that is compared. */
static bool is_a_report(const plumb_comparison *c, const char *output)
{
    const char *run;
    for (uint32_t side = PLUMB_SIDE_A; side <= PLUMB_SIDE_B; side++)
        for (size_t i = 0; (run = plumb_comparison_run(c, side, i)); i++)
            if (plumb_cli_is_run(run, output))
                return true;
    return false;
}

static bool put_text(const plumb_comparison *c, const char *output, const char *text)
{
    if (output && is_a_report(c, output)) {
        plumb_cli_say(&plumb_cmd_compare,
                      "'%s' is one of the reports compared: give --output another name", output);
        return false;
    }
    return plumb_cli_output(&plumb_cmd_compare, output, text);
}

/* CSV has no place for the notes that the other formats carry. */
static bool say_remarks(const plumb_comparison *c, const struct request *r, plumb_error *err)
{
    char *notes = NULL;
    char *remarks = NULL;
    bool csv = r->view.format && strcmp(r->view.format, "csv") == 0;
    bool done = plumb_comparison_notes(&notes, c, err) == 0 &&
                plumb_comparison_remarks(&remarks, c, err) == 0;
    if (done && csv)
        plumb_cli_say_lines(&plumb_cmd_compare, notes);
    if (done)
        plumb_cli_say_lines(&plumb_cmd_compare, remarks);
    plumb_read_free(notes);
    plumb_read_free(remarks);
    return done;
}

static int work(const struct request *r)
{
    const struct plumb_cli_list *a = &r->sides[PLUMB_SIDE_A];
    const struct plumb_cli_list *b = &r->sides[PLUMB_SIDE_B];
    plumb_comparison *c = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    plumb_compare_result result = {.size = sizeof result};
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_comparison_open(&c, a->at, a->count, b->at, b->count, &r->compare, &err) < 0 ||
        plumb_comparison_render(&text, c, &r->view, &err) < 0) {
        plumb_cli_say(&plumb_cmd_compare, "%s", err.message);
        goto out;
    }
    if (!put_text(c, r->output, text))
        goto out;
    if (!say_remarks(c, r, &err)) {
        plumb_cli_say(&plumb_cmd_compare, "%s", err.message);
        goto out;
    }
    plumb_comparison_result(&result, c);
    status = result.worse > 0 ? PLUMB_EXIT_FOUND : PLUMB_EXIT_OK;
out:
    plumb_read_free(text);
    plumb_comparison_close(c);
    return status;
}

/* ---- Files of benchmarks
 * ---------------------------------------------------------------------- */

#define BIT(option) ((uint32_t)1 << (option))
static const uint32_t of_benchmarks = BIT(FILTER_A) | BIT(FILTER_B) | BIT(AGGREGATES);
static const uint32_t of_both =
    BIT(A_SIDE) | BIT(B_SIDE) | BIT(THRESHOLD) | BIT(ALPHA) | BIT(FORMAT) | BIT(OUTPUT);

/* Whether every option that was given is one of `allowed`. */
static bool only(const struct request *r, uint32_t allowed, const char *why)
{
    for (int i = 0; i <= AGGREGATES; i++)
        if (r->given & BIT(i) & ~allowed) {
            plumb_cli_usage(&plumb_cmd_compare, "--%s is for %s", options[i].name, why);
            return false;
        }
    return true;
}

/* Whether the sides are files of benchmarks: 1 they are, 0 they are runs, -1 after a message. */
static int are_benchmarks(const struct request *r)
{
    size_t benchmarks = 0, all = 0;
    for (int side = PLUMB_SIDE_A; side <= PLUMB_SIDE_B; side++)
        for (size_t i = 0; i < r->sides[side].count; i++, all++)
            benchmarks += plumb_benchmarks_are(r->sides[side].at[i]) == 1;
    if (benchmarks == 0)
        return only(r, ~of_benchmarks, "files of benchmarks, not for runs") ? 0 : -1;
    if (benchmarks != all || all != 2)
        plumb_cli_usage(&plumb_cmd_compare,
                        "wants two files of benchmarks, or runs alone: %zu of %zu are files of "
                        "benchmarks",
                        benchmarks, all);
    else if (!r->benchmarks.filter_a != !r->benchmarks.filter_b)
        plumb_cli_usage(&plumb_cmd_compare, "--filter-a and --filter-b come together");
    else if (only(r, of_both | of_benchmarks, "runs, not for files of benchmarks"))
        return 1;
    return -1;
}

static bool is_input(const struct request *r)
{
    return r->output && (plumb_cli_is_run(r->sides[PLUMB_SIDE_A].at[0], r->output) ||
                         plumb_cli_is_run(r->sides[PLUMB_SIDE_B].at[0], r->output));
}

static int work_benchmarks(struct request *r)
{
    plumb_compare_result result = {.size = sizeof result};
    plumb_error err = {0, ""};
    char *text = NULL;
    r->benchmarks.format = r->view.format;
    r->benchmarks.threshold_percent = r->compare.threshold_percent;
    r->benchmarks.alpha = r->compare.alpha;
    if (is_input(r)) {
        plumb_cli_say(&plumb_cmd_compare,
                      "'%s' is one of the files compared: give --output another name", r->output);
        return PLUMB_EXIT_TROUBLE;
    }
    if (plumb_benchmarks_compare(&text, &result, r->sides[PLUMB_SIDE_A].at[0],
                                 r->sides[PLUMB_SIDE_B].at[0], &r->benchmarks, &err) < 0) {
        plumb_cli_say(&plumb_cmd_compare, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    bool done = plumb_cli_output(&plumb_cmd_compare, r->output, text);
    plumb_read_free(text);
    return !done ? PLUMB_EXIT_TROUBLE : result.worse > 0 ? PLUMB_EXIT_FOUND : PLUMB_EXIT_OK;
}

static int dispatch(struct request *r)
{
    switch (are_benchmarks(r)) {
    case 1:
        return work_benchmarks(r);
    case 0:
        return work(r);
    default:
        return PLUMB_EXIT_TROUBLE;
    }
}

static int run(int argc, char **argv)
{
    struct request r = {.compare = plumb_compare_options_default(),
                        .view = plumb_compare_view_default(),
                        .benchmarks = plumb_benchmarks_options_default()};
    struct plumb_cli_list *lists[] = {&r.sides[PLUMB_SIDE_A], &r.sides[PLUMB_SIDE_B], &r.bare,
                                      NULL};
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_cli_lists_make(&plumb_cmd_compare, lists, argc)) {
        int option = read_arguments(&r, argc, argv);
        status = option == PLUMB_ARGS_END ? dispatch(&r) : plumb_cli_args_status(option);
    }
    plumb_cli_lists_free(lists);
    return status;
}

const struct plumb_cli_command plumb_cmd_compare = {
    .name = "compare",
    .summary = "compare runs: what became slower, what faster",
    .synopsis = "[OPTION]... {A B | --a RUN... --b RUN...}",
    .description =
        "Compares run A, the baseline, with run B: wall clock, time of all stages, peak\n"
        "memory, and every node of either run. A row is 'worse' if B is above A by more\n"
        "than the threshold, 'better' if it is below by more than that. A node that only\n"
        "B has is 'new', one that only A has is 'gone'; neither counts as worse.\n"
        "\n"
        "A and B are run directories, timing.json files, names of runs below the output\n"
        "folder, or folders of runs. A folder stands for all its runs: they are repeats,\n"
        "and their median is compared. With 3 runs a side or more, a row is worse or\n"
        "better only if a test over the whole table also distinguishes it from noise\n"
        "(Holm's step-down by relabelling the runs); otherwise it is 'unclear'. With\n"
        "fewer runs the threshold alone decides, and the output says so.\n"
        "\n"
        "Two files of google/benchmark, as bench.json of plumb bench, are compared as its\n"
        "tools/compare.py does, with the rank test of Mann and Whitney; --threshold and\n"
        "--alpha (0.05) then say what is worse by the median of the real time.\n"
        "\n"
        "The programs may differ, as run_O2 and run_O3; a note names both. Runs that\n"
        "differ in machine, names of pipelines, skip_first_n or the way they ended are\n"
        "refused, unless --any-... allows it; the output then names the difference.",
    .examples = "plumb compare old new                     # two runs, or two folders of runs\n"
                "plumb compare --threshold 10 A B          # only differences above 10 %\n"
                "plumb compare --by self --sort delta A B  # which node costs more by itself?\n"
                "plumb compare old/bench.json new/bench.json\n"
                "plumb compare --fold --unit us A B        # layer.0 to layer.79 as layer.*\n"
                "plumb compare --node 'attn|rope' A B      # a change of these nodes only\n"
                "plumb compare --a old/* --b new/* --format md -o change.md",
    .status = "0 nothing is worse; 1 something is, beyond the threshold; 2 trouble: wrong\n"
              "usage, no such run, a report that cannot be read, runs that are not\n"
              "comparable.",
    .options = options,
    .in_order = true,
    .run = run,
};
