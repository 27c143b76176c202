/* cmd_gate.c: plumb gate. Its exit status is that of the gate, for a step of CI. A check that
 * cannot be decided has status 3 and not 0: a step that goes on all the same says so itself. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "launch.h"

enum { OLD, RULE, HISTORY, RECIPE, COMMANDS, FACT, DIVERGENCE, ALSO, METRICS, FORMAT, OUTPUT };

static const struct plumb_cli_option options[] = {
    [OLD] = {"old", "RESULT", "compare with this result (repeatable: with several of them)", false},
    [RULE] = {"rule", "NAME", "apply one rule alone", false},
    [HISTORY] = {"history", "FILE", "history of rules with 'old = history' (.plumb/history.db)",
                 false},
    [RECIPE] = {"recipe", "FILE|HASH",
                "recipe of the results for 'old = history': a JSON file, or its SHA-256", false},
    [COMMANDS] = {"commands", NULL, "run the commands that rules name", false},
    [FACT] = {"fact", "KEY=TEXT", "report this too, unchecked (repeatable)", false},
    [DIVERGENCE] = {"divergence", "FILE",
                    "report the traces and the first divergent key of JSON of plumb diverge",
                    false},
    [ALSO] = {"also", "FORMAT=FILE", "write this format to FILE too (repeatable)", false},
    [METRICS] = {"metrics", NULL, "list the metrics that rules can name, and end", false},
    [FORMAT] = {"format", "text|json|md|csv|junit|github", "form of the output (text)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    {NULL, NULL, NULL, false},
};

static const char *const formats[] = {"text", "json", "md", "csv", "junit", "github"};
enum { FORMATS = sizeof formats / sizeof *formats };

struct request {
    const char *rules, *rule, *history, *recipe, *format, *output;
    struct plumb_cli_list fresh, old, facts, divergences, also;
    bool commands, metrics;
};

/* ---- Command line ---------------------------------------------------------------------------- */

static bool take_format(const char **out, const char *text)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i], text) == 0) {
            *out = formats[i];
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_gate, "format", formats, FORMATS, text);
}

static bool take_pair(struct plumb_cli_list *list, const char *option, const char *form,
                      const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals && equals != text && equals[1]) {
        list->at[list->count++] = text;
        return true;
    }
    plumb_cli_usage(&plumb_cmd_gate, "--%s takes %s, not '%s'", option, form, text);
    return false;
}

static bool take_operand(struct request *r, const char *text)
{
    if (!r->rules)
        r->rules = text;
    else
        r->fresh.at[r->fresh.count++] = text;
    return true;
}

static bool take(struct request *r, int option, const char *value)
{
    switch (option) {
    case PLUMB_ARGS_OPERAND:
        return take_operand(r, value);
    case OLD:
        r->old.at[r->old.count++] = value;
        return true;
    case RULE:
        r->rule = value;
        return true;
    case HISTORY:
        r->history = value;
        return true;
    case RECIPE:
        r->recipe = value;
        return true;
    case COMMANDS:
        r->commands = true;
        return true;
    case FACT:
        return take_pair(&r->facts, "fact", "KEY=TEXT", value);
    case DIVERGENCE:
        r->divergences.at[r->divergences.count++] = value;
        return true;
    case ALSO:
        return take_pair(&r->also, "also", "FORMAT=FILE, as junit=gate.xml", value);
    case METRICS:
        r->metrics = true;
        return true;
    case FORMAT:
        return take_format(&r->format, value);
    default:
        r->output = value;
        return true;
    }
}

/* The format of "junit=gate.xml"; NULL after a message. */
static const char *also_format(const char *pair)
{
    size_t n = strcspn(pair, "=");
    for (size_t i = 0; i < FORMATS; i++)
        if (strlen(formats[i]) == n && strncmp(formats[i], pair, n) == 0)
            return formats[i];
    plumb_cli_usage(&plumb_cmd_gate,
                    "--also: no format '%.*s'; there are text, json, md, csv, "
                    "junit, github",
                    (int)n, pair);
    return NULL;
}

/* The file of an --also is that of -o, or of an earlier one: the last to be written would stay. */
static bool is_written_twice(const struct request *r, size_t i)
{
    const char *file = strchr(r->also.at[i], '=') + 1;
    bool twice = r->output && strcmp(r->output, file) == 0;
    for (size_t k = 0; k < i; k++)
        twice |= strcmp(strchr(r->also.at[k], '=') + 1, file) == 0;
    if (twice)
        plumb_cli_usage(&plumb_cmd_gate, "'%s' is to be written twice", file);
    return twice;
}

static int read_arguments(struct request *r, int argc, char **argv)
{
    struct plumb_cli_args args;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_gate, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(r, option, args.value))
            return PLUMB_ARGS_WRONG;
    if (option != PLUMB_ARGS_END)
        return option;
    while (args.operand < argc)
        take_operand(r, argv[args.operand++]);
    for (size_t i = 0; i < r->also.count; i++)
        if (!also_format(r->also.at[i]) || is_written_twice(r, i))
            return PLUMB_ARGS_WRONG;
    if (r->metrics || r->rules)
        return PLUMB_ARGS_END;
    return plumb_cli_usage(&plumb_cmd_gate, "wants a file of rules, and results");
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Runs the commands of rules. Their output goes to standard error. */
static bool run_commands(plumb_gate_report *gate, bool allowed, plumb_error *err)
{
    plumb_gate_rule_info rule = {.size = sizeof rule};
    for (size_t i = 0; plumb_gate_rule_get(&rule, gate, i); i++) {
        char shell[] = "/bin/sh", flag[] = "-c";
        char *argv[] = {shell, flag, (char *)rule.command, NULL};
        struct plumb_launch how = {.argv = argv, .stdout_to_stderr = true, .whole = true};
        struct plumb_launched end = {0};
        const char *unknown = allowed ? NULL : "its command runs with --commands alone";
        if (!rule.command)
            continue;
        if (allowed && !plumb_cli_launch(&end, &how))
            unknown = "its command could not be started";
        if (plumb_gate_add_count(gate, "exit_status", rule.command, end.status, unknown, err) < 0)
            return false;
    }
    return true;
}

static bool needs_result(const plumb_gate_report *gate)
{
    plumb_gate_rule_info rule = {.size = sizeof rule};
    for (size_t i = 0; plumb_gate_rule_get(&rule, gate, i); i++)
        if (!rule.command)
            return true;
    return false;
}

static bool add_facts(plumb_gate_report *gate, const struct request *r, plumb_error *err)
{
    for (size_t i = 0; i < r->facts.count; i++) {
        const char *equals = strchr(r->facts.at[i], '=');
        char *key = strndup(r->facts.at[i], (size_t)(equals - r->facts.at[i]));
        int rc = key ? plumb_gate_add_fact(gate, key, equals + 1, err) : -1;
        if (!key)
            snprintf(err->message, sizeof err->message, "out of memory");
        free(key);
        if (rc < 0)
            return false;
    }
    for (size_t i = 0; i < r->divergences.count; i++)
        if (plumb_gate_add_divergence(gate, r->divergences.at[i], err) < 0)
            return false;
    return true;
}

static bool add_results(plumb_gate_report *gate, const struct request *r, plumb_error *err)
{
    for (size_t i = 0; i < r->old.count; i++)
        if (plumb_gate_add_result(gate, PLUMB_GATE_RESULT_OLD, r->old.at[i], err) < 0)
            return false;
    for (size_t i = 0; i < r->fresh.count; i++)
        if (plumb_gate_add_result(gate, PLUMB_GATE_RESULT_NEW, r->fresh.at[i], err) < 0)
            return false;
    if (r->fresh.count == 0 && needs_result(gate) &&
        plumb_gate_add_result(gate, PLUMB_GATE_RESULT_NEW, NULL, err) < 0)
        return false;
    return run_commands(gate, r->commands, err) && add_facts(gate, r, err);
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* A slip in the command line must not overwrite what is compared. */
static bool is_input(const struct request *r, const char *output)
{
    const struct plumb_cli_list *lists[] = {&r->fresh, &r->old, &r->divergences};
    bool found = plumb_cli_is_run(r->rules, output);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k]->count; i++)
            found |= plumb_cli_is_run(lists[k]->at[i], output);
    if (found)
        plumb_cli_say(&plumb_cmd_gate, "'%s' is an input: write to another file", output);
    return found;
}

static bool put(const plumb_gate_report *gate, const char *format, const char *output)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool done = plumb_gate_show(&text, gate, format, &err) == 0;
    if (!done)
        plumb_cli_say(&plumb_cmd_gate, "%s", err.message);
    done = done && plumb_cli_output(&plumb_cmd_gate, output, text);
    plumb_read_free(text);
    return done;
}

void plumb_cli_gate_summary(const struct plumb_cli_command *command, const plumb_gate_report *gate)
{
    const char *path = plumb_cli_step_summary();
    plumb_error err = {0, ""};
    char *text = NULL;
    if (!path)
        return;
    if (plumb_gate_show(&text, gate, "md", &err) < 0) {
        plumb_cli_say(command, "%s", err.message);
        return;
    }
    plumb_cli_append(command, path, text);
    plumb_read_free(text);
}

static int report(const plumb_gate_report *gate, const struct request *r,
                  const plumb_gate_result *result)
{
    bool done = put(gate, r->format, r->output);
    for (size_t i = 0; i < r->also.count; i++)
        done &= put(gate, also_format(r->also.at[i]), strchr(r->also.at[i], '=') + 1);
    plumb_cli_gate_summary(&plumb_cmd_gate, gate);
    return done ? (int)result->status : PLUMB_EXIT_TROUBLE;
}

static int work(const struct request *r)
{
    plumb_gate_report *gate = NULL;
    plumb_gate_result result = {.size = sizeof result};
    plumb_error err = {0, ""};
    int status = PLUMB_EXIT_TROUBLE;
    for (size_t i = 0; i < r->also.count; i++)
        if (is_input(r, strchr(r->also.at[i], '=') + 1))
            return status;
    if (r->output && is_input(r, r->output))
        return status;
    if (plumb_gate_open(&gate, r->rules, &err) < 0 ||
        (r->rule && plumb_gate_only(gate, r->rule, &err) < 0) ||
        plumb_gate_use_history(gate, r->history, &err) < 0 ||
        plumb_gate_use_recipe(gate, r->recipe, &err) < 0 || !add_results(gate, r, &err) ||
        plumb_gate_decide(&result, gate, &err) < 0)
        plumb_cli_say(&plumb_cmd_gate, "%s", err.message);
    else
        status = report(gate, r, &result);
    plumb_gate_close(gate);
    return status;
}

static int list_metrics(const struct request *r)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool done = plumb_gate_metrics(&text, &err) == 0;
    if (!done)
        plumb_cli_say(&plumb_cmd_gate, "%s", err.message);
    done = done && plumb_cli_output(&plumb_cmd_gate, r->output, text);
    plumb_read_free(text);
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static int run(int argc, char **argv)
{
    struct request r = {.format = "text"};
    struct plumb_cli_list *lists[] = {&r.fresh, &r.old, &r.facts, &r.divergences, &r.also, NULL};
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_cli_lists_make(&plumb_cmd_gate, lists, argc)) {
        int option = read_arguments(&r, argc, argv);
        status = option != PLUMB_ARGS_END ? plumb_cli_args_status(option)
                 : r.metrics              ? list_metrics(&r)
                                          : work(&r);
    }
    plumb_cli_lists_free(lists);
    return status;
}

const struct plumb_cli_command plumb_cmd_gate = {
    .name = "gate",
    .summary = "check results against the rules of a file",
    .synopsis = "[OPTION]... RULES [RESULT]...",
    .description =
        "Applies each rule of the file RULES to the results, and ends with a status that\n"
        "a step of continuous integration can use. A rule names a metric, a node, a\n"
        "limit and a reason; docs/gates.md has the syntax:\n"
        "\n"
        "  [one dispatch for the whole cascade]\n"
        "  metric = dispatches\n"
        "  node   = chain\n"
        "  per    = call\n"
        "  limit  = == 1\n"
        "  why    = fusion is the reason for this library\n"
        "\n"
        "RESULT is a recording (without one: the newest), or a JSON file of\n"
        "google/benchmark, pytest-benchmark, 'plumb bench', 'plumb ab' or 'plumb report\n"
        "counts'. Several results are repeats: each must meet rules on counts, and\n"
        "together they are the samples of rules on times.\n"
        "\n"
        "Counts and bytes are compared exactly. Times are judged by their medians, a\n"
        "98 % interval, a rank test and the noise of the samples themselves; where these\n"
        "cannot tell, the answer is 'inconclusive'. So is that of a rule that nothing in\n"
        "the results matches.\n"
        "\n"
        "With GITHUB_STEP_SUMMARY set, the report is appended to that file as Markdown.",
    .examples = "plumb gate gates.rules                      # the newest recording\n"
                "plumb gate gates.rules new --old main       # rules with 'old' too\n"
                "plumb gate gates.rules bench.json --also junit=gate.xml\n"
                "plumb gate gates.rules new --format github  # annotations of a pull request\n"
                "plumb gate handover.rules --commands --fact commit=8f3c2d1",
    .status = "0 every rule holds, or does not apply; 1 a regression; 2 trouble: wrong\n"
              "usage, a file that cannot be read, a wrong rule; 3 inconclusive: no\n"
              "regression, but a check that cannot be decided, or none that passed.",
    .options = options,
    .in_order = true,
    .run = run,
};
