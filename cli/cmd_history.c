/* cmd_history.c: plumb history. The first operand is what to do with the history; each verb is a
 * line of the table `verbs`, with the options that it takes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "history.h"

/* It could not be told whether something is worse. */
enum { PLUMB_EXIT_UNKNOWN = 3 };

#define KEYS                                                                                       \
    (BIT(WORKLOAD) | BIT(VARIANT) | BIT(VERSION) | BIT(RECIPE) | BIT(HARDWARE) | BIT(SOFTWARE))
#define FILE_OPTIONS (BIT(DB) | BIT(WAIT))
#define SHOWN (BIT(FORMAT) | BIT(OUTPUT))
#define CHOICE                                                                                     \
    (KEYS | BIT(BRANCH) | BIT(SOURCE) | BIT(SINCE) | BIT(UNTIL) | BIT(NEWEST) | BIT(ELIGIBLE))

struct verb {
    struct plumb_cli_view head;
    int (*run)(struct plumb_cli_history *w);
};

static int trouble(const plumb_error *err)
{
    plumb_cli_say(&plumb_cmd_history, "%s", err->message);
    return PLUMB_EXIT_TROUBLE;
}

static plumb_history *open_history(const struct plumb_cli_history *w, bool write)
{
    plumb_history *history = NULL;
    plumb_history_options o = w->file;
    plumb_error err = {0, ""};
    o.write = write;
    if (plumb_history_open(&history, w->db, &o, &err) < 0)
        trouble(&err);
    return history;
}

/* Writes a text of the library, and frees it. */
static int show(const struct plumb_cli_history *w, char *text)
{
    bool done = plumb_cli_output(&plumb_cmd_history, w->output, text);
    plumb_read_free(text);
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

/* ---- add ------------------------------------------------------------------------------------- */

static plumb_results *read_results(struct plumb_cli_history *w)
{
    plumb_results *results = NULL;
    plumb_error err = {0, ""};
    int rc = PLUMB_OK;
    for (size_t i = 0; i < w->count && rc == PLUMB_OK; i++)
        rc = results ? plumb_results_read(results, w->operands[i], &w->results, &err)
                     : plumb_results_open(&results, w->operands[i], &w->results, &err);
    if (rc == PLUMB_OK) {
        plumb_cli_say_lines(&plumb_cmd_history, plumb_results_remarks(results));
        return results;
    }
    trouble(&err);
    plumb_results_close(results);
    return NULL;
}

/* "perf_<commit>_<time>.md" in a folder. */
static void report_path(char *out, size_t size, const char *path, const plumb_results *results)
{
    struct stat st;
    const plumb_result *r = plumb_results_get(results, 0);
    char stamp[32] = "", commit[8] = "unknown";
    time_t now = time(NULL);
    struct tm tm;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        snprintf(out, size, "%s", path);
        return;
    }
    if (gmtime_r(&now, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &tm);
    for (size_t i = 0; r && r->commit && i < sizeof commit - 1; i++) {
        char c = r->commit[i];
        if (!c)
            break;
        commit[i] =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_';
        commit[i + 1] = '\0';
    }
    snprintf(out, size, "%s/perf_%s_%s.md", path, commit, stamp);
}

/* "perf_<benchmark>_<time>.json"; what a path cannot have becomes '_'. */
static void record_name(char *out, size_t size, const char *folder, const plumb_result *r)
{
    char name[128] = "", stamp[32] = "";
    time_t seconds = (time_t)(r->time_ns / 1000000000u);
    struct tm tm;
    size_t n = 0;
    const char *label = r->label ? r->label : "";
    if (!*label || *label == '.')
        name[n++] = '_';
    for (; *label && n < sizeof name - 1; label++)
        name[n++] = strchr("._-", *label) || (*label >= '0' && *label <= '9') ||
                            (*label >= 'a' && *label <= 'z') || (*label >= 'A' && *label <= 'Z')
                        ? *label
                        : '_';
    name[n] = '\0';
    if (gmtime_r(&seconds, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    snprintf(out, size, "%s/perf_%s_%s.json", folder, name, stamp);
}

static bool write_records(const struct plumb_cli_history *w, const plumb_results *results)
{
    char path[4096];
    for (size_t i = 0; w->record && i < plumb_results_count(results); i++) {
        const char *raw = plumb_results_raw(results, i);
        if (!raw)
            continue;
        record_name(path, sizeof path, w->record, plumb_results_get(results, i));
        if (!plumb_cli_output(&plumb_cmd_history, path, raw))
            return false;
    }
    return true;
}

static bool write_report(const struct plumb_cli_history *w, const plumb_results *results)
{
    const char *summary = plumb_cli_step_summary();
    char path[4096];
    char *text = NULL;
    plumb_error err = {0, ""};
    bool good = true;
    if (!w->report && !summary)
        return true;
    if (plumb_results_render(&text, results, "md", &err) < 0) {
        trouble(&err);
        return false;
    }
    if (w->report) {
        report_path(path, sizeof path, w->report, results);
        good = plumb_cli_output(&plumb_cmd_history, path, text);
    }
    if (summary)
        good = plumb_cli_append(&plumb_cmd_history, summary, text) && good;
    plumb_read_free(text);
    return good;
}

static void say_added(const struct plumb_cli_history *w, const plumb_history_added *added)
{
    if (w->add.dry)
        return;
    plumb_cli_say(&plumb_cmd_history, "added %" PRIu64 " record%s to '%s'%s", added->added,
                  added->added == 1 ? "" : "s", w->db ? w->db : PLUMB_HISTORY_PATH,
                  added->known ? "" : "");
    if (added->known)
        plumb_cli_say(&plumb_cmd_history, "%" PRIu64 " result%s in it already: not added again",
                      added->known, added->known == 1 ? " is" : "s are");
}

static int show_added(struct plumb_cli_history *w, plumb_results *results,
                      const plumb_history_added *added)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool compared = false;
    int status = (int)added->exit;
    for (size_t i = 0; i < plumb_results_count(results); i++)
        compared |= plumb_results_get(results, i)->status != PLUMB_HISTORY_NOT_COMPARED;
    say_added(w, added);
    if (!compared && !w->format)
        return status;
    if (plumb_results_render(&text, results, w->format, &err) < 0)
        return trouble(&err);
    if (show(w, text) != PLUMB_EXIT_OK || (compared && !write_report(w, results)))
        return PLUMB_EXIT_TROUBLE;
    return status;
}

static int run_add(struct plumb_cli_history *w)
{
    const char *rc_text = getenv("PERF_PYTEST_RC");
    plumb_history_added added = {.size = sizeof added};
    plumb_history *history = NULL;
    plumb_results *results;
    plumb_error err = {0, ""};
    int status = PLUMB_EXIT_TROUBLE;
    if (w->count == 0)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_history, "add wants the file or run to add"));
    if (rc_text && *rc_text && strcmp(rc_text, "0") != 0)
        w->add.failed = 1;
    if (!(results = read_results(w)))
        return status;
    if (plumb_results_count(results) == 0)
        status = PLUMB_EXIT_UNKNOWN; /* all were skipped: nothing is known */
    else if (write_records(w, results) && (history = open_history(w, true))) {
        if (plumb_history_add(&added, history, results, &w->add, &err) < 0)
            trouble(&err);
        else
            status = show_added(w, results, &added);
    }
    plumb_history_close(history);
    plumb_results_close(results);
    return status;
}

/* ---- list, show, prune, plot ----------------------------------------------------------------- */

static bool no_operands(const struct plumb_cli_history *w)
{
    if (w->count == 0)
        return true;
    plumb_cli_usage(&plumb_cmd_history, "unexpected '%s'", w->operands[0]);
    return false;
}

static int run_list(struct plumb_cli_history *w)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    if (!no_operands(w))
        return PLUMB_EXIT_TROUBLE;
    plumb_history *history = open_history(w, false);
    if (!history)
        return PLUMB_EXIT_TROUBLE;
    int rc = plumb_history_list(&text, history, &w->filter, w->format, &err);
    plumb_history_close(history);
    return rc < 0 ? trouble(&err) : show(w, text);
}

static int run_show(struct plumb_cli_history *w)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    uint64_t id;
    if (w->count != 1) {
        plumb_cli_usage(&plumb_cmd_history, "show wants the id of one record: see 'plumb history "
                                            "list'");
        return PLUMB_EXIT_TROUBLE;
    }
    if (!plumb_cli_number(&plumb_cmd_history, "id", w->operands[0], &id))
        return PLUMB_EXIT_TROUBLE;
    plumb_history *history = open_history(w, false);
    if (!history)
        return PLUMB_EXIT_TROUBLE;
    int rc = plumb_history_show(&text, history, id > INT64_MAX ? -1 : (int64_t)id, w->format, &err);
    plumb_history_close(history);
    return rc < 0 ? trouble(&err) : show(w, text);
}

static int run_prune(struct plumb_cli_history *w)
{
    plumb_error err = {0, ""};
    uint64_t removed = 0;
    w->prune.until_ns = w->filter.until_ns;
    if (!no_operands(w))
        return PLUMB_EXIT_TROUBLE;
    if (!(w->given & (BIT(KEEP) | BIT(UNTIL) | BIT(ID)))) {
        plumb_cli_usage(&plumb_cmd_history, "prune wants --keep N, --until DATE or --id N");
        return PLUMB_EXIT_TROUBLE;
    }
    plumb_history *history = open_history(w, false);
    if (!history)
        return PLUMB_EXIT_TROUBLE;
    int rc = plumb_history_prune(&removed, history, &w->prune, &err);
    plumb_history_close(history);
    if (rc < 0)
        return trouble(&err);
    printf("removed %" PRIu64 " record%s\n", removed, removed == 1 ? "" : "s");
    return PLUMB_EXIT_OK;
}

static int run_plot(struct plumb_cli_history *w)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool svg = !w->format || strcmp(w->format, "svg") == 0;
    if (!no_operands(w))
        return PLUMB_EXIT_TROUBLE;
    plumb_history *history = open_history(w, false);
    if (!history)
        return PLUMB_EXIT_TROUBLE;
    int rc = svg ? plumb_history_plot(&text, history, &w->filter, &err)
                 : plumb_history_steps(&text, history, &w->filter, w->format, &err);
    plumb_history_close(history);
    return rc < 0 ? trouble(&err) : show(w, text);
}

static const struct verb verbs[] = {
    {{"add", "FILE...", "compare results with their baselines, and keep them",
      FILE_OPTIONS | SHOWN | KEYS | BIT(CONFIG) | BIT(BASELINE) | BIT(NO_COMPARE) | BIT(DRY_RUN) |
          BIT(FAILED) | BIT(REPORT) | BIT(RECORD)},
     run_add},
    {{"list", NULL, "a row for each record, the oldest first", FILE_OPTIONS | SHOWN | CHOICE},
     run_list},
    {{"show", "ID", "one record with its metrics, their baselines and its identity",
      FILE_OPTIONS | SHOWN},
     run_show},
    {{"prune", NULL, "remove records; the last five of each baseline stay",
      FILE_OPTIONS | BIT(UNTIL) | BIT(KEEP) | BIT(ID)},
     run_prune},
    {{"plot", NULL, "an SVG with each metric over time, its noise band and its steps",
      FILE_OPTIONS | SHOWN | CHOICE | BIT(METRIC)},
     run_plot},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const struct plumb_cli_view *view_at(size_t i)
{
    return i < VERBS ? &verbs[i].head : NULL;
}

/* ---- The command line ------------------------------------------------------------------------ */

static const struct verb *find_verb(const struct plumb_cli_history *w)
{
    const char *names[VERBS];
    if (w->count == 0) {
        plumb_cli_usage(&plumb_cmd_history, "wants add, list, show, prune or plot");
        return NULL;
    }
    for (size_t i = 0; i < VERBS; i++) {
        names[i] = verbs[i].head.name;
        if (strcmp(names[i], w->operands[0]) == 0)
            return &verbs[i];
    }
    const char *best = plumb_word_nearest(w->operands[0], names, VERBS);
    plumb_cli_usage(&plumb_cmd_history, "'%s' is not add, list, show, prune or plot%s%s%s",
                    w->operands[0], best ? ": did you mean '" : "", best ? best : "",
                    best ? "'?" : "");
    return NULL;
}

static bool takes_options(const struct verb *verb, const struct plumb_cli_history *w)
{
    for (int i = 0; i < OPTIONS; i++)
        if ((w->given & BIT(i)) && !(verb->head.options & BIT(i))) {
            plumb_cli_usage(&plumb_cmd_history, "--%s is not an option of '%s'",
                            plumb_cli_history_options[i].name, verb->head.name);
            return false;
        }
    if (w->format && strcmp(w->format, "svg") == 0 && verb->run != run_plot) {
        plumb_cli_usage(&plumb_cmd_history, "--format svg is of 'plot'");
        return false;
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct plumb_cli_history w = {.file = plumb_history_options_default(),
                                  .results = plumb_results_options_default(),
                                  .add = plumb_history_add_options_default(),
                                  .filter = plumb_history_filter_default(),
                                  .prune = {.size = sizeof w.prune}};
    int option, status = PLUMB_EXIT_TROUBLE;
    w.operands = calloc((size_t)argc + 1, sizeof *w.operands);
    if (!w.operands) {
        plumb_cli_say(&plumb_cmd_history, "out of memory");
        return status;
    }
    plumb_cli_args_init(&args, &plumb_cmd_history, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == PLUMB_ARGS_OPERAND)
            w.operands[w.count++] = args.value;
        else if (!plumb_cli_history_take(&w, option, args.value))
            goto out;
    }
    if (option != PLUMB_ARGS_END) {
        status = plumb_cli_args_status(option);
        goto out;
    }
    for (int i = args.operand; i < argc; i++)
        w.operands[w.count++] = argv[i];
    const struct verb *verb = find_verb(&w);
    const char **all = w.operands;
    if (verb && takes_options(verb, &w)) {
        w.operands++;
        w.count--;
        status = verb->run(&w);
        w.operands = all;
    }
out:
    free(w.operands);
    return status;
}

const struct plumb_cli_command plumb_cmd_history = {
    .name = "history",
    .summary = "keep results over time, and compare new ones with their baseline",
    .synopsis = "add|list|show|prune|plot [OPTION]... [FILE... | ID]",
    .description =
        "Keeps results in a SQLite file. FILE is a run directory, bench.json of plumb\n"
        "bench, another file of google/benchmark, perf_*.json of FastVideo, or a folder\n"
        "of results of airspeed velocity, whose old results are stored and not compared.\n"
        "\n"
        "A result is comparable with those that equal it in workload, variant, version,\n"
        "recipe, hardware and software. add compares it with its baseline, the median of\n"
        "the last five records of them that count: a metric is worse if it changed by\n"
        "more than its relative and its absolute floor. The first result of a cohort has\n"
        "no baseline: its status is CALIBRATION_NEEDED, which is not a pass. By default\n"
        "only passes of scheduled runs of the branch main count; --baseline yes takes the\n"
        "results as they are.\n"
        "\n"
        "plot draws the records of each cohort in the order of time. Where the level\n"
        "changes, a step is marked; the band has 95 % of the noise between two steps.",
    .examples = "plumb history add bench.json             # compare, and keep it\n"
                "plumb history add --baseline yes RUN     # this is how fast it should be\n"
                "plumb history add --no-compare old/*.json\n"
                "plumb history add asv/results            # of airspeed velocity\n"
                "plumb history list --workload engine --since 30d\n"
                "plumb history show 12 --format json\n"
                "plumb history plot --metric latency -o latency.svg\n"
                "plumb history plot --format text         # the steps as a table\n"
                "plumb history prune --keep 100",
    .status = "add: 0 nothing is worse; 1 something is; 2 trouble: wrong usage, a file that\n"
              "cannot be read, a history that cannot be written, or INFRA_ERROR; 3 it could\n"
              "not be compared (CALIBRATION_NEEDED, RECIPE_MISMATCH). The others: 0 success,\n"
              "2 trouble.",
    .options = plumb_cli_history_options,
    .view = view_at,
    .in_order = true,
    .run = run,
};
