/* history_options.c: the options of plumb history. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"

const struct plumb_cli_option plumb_cli_history_options[OPTIONS + 1] = {
    [DB] = {"db", "FILE", "the history (.plumb/history.db)", false},
    [WAIT] = {"wait", "SECONDS", "wait so long for a process that has it locked (10)", false},
    [WORKLOAD] = {"workload", "NAME", "add: in place of the file's; otherwise: only these records",
                  false},
    [VARIANT] = {"variant", "NAME", "the same for the variant of the workload", false},
    [VERSION] = {"version", "TEXT", "the same for the version of the benchmark", false},
    [RECIPE] = {"recipe", "FILE|HASH", "the same for the recipe: a JSON file, or its SHA-256",
                false},
    [HARDWARE] = {"hardware", "FILE|ID", "the same for the hardware: facts in JSON, or hw-...",
                  false},
    [SOFTWARE] = {"software", "FILE|ID", "the same for the software: facts in JSON, or sw-...",
                  false},
    [CONFIG] = {"config", "FILE", "the configuration of the benchmark whose run is added", false},
    [BASELINE] = {"baseline", "auto|yes|no",
                  "what counts for baselines: passes of scheduled runs of main (auto), all, none",
                  false},
    [NO_COMPARE] = {"no-compare", NULL, "store without comparing: exit status 0", false},
    [DRY_RUN] = {"dry-run", NULL, "compare without storing", false},
    [FAILED] = {"failed", NULL, "the program that measured has failed (PERF_PYTEST_RC not 0)",
                false},
    [REPORT] = {"report", "PATH", "also write a Markdown report to this file, or into this folder",
                false},
    [RECORD] = {"record", "DIR", "with --config: write the raw record, perf_ID_TIME.json, into DIR",
                false},
    [METRIC] = {"metric", "NAME", "plot only this metric (all gated ones)", false},
    [BRANCH] = {"branch", "NAME", "only records of this branch", false},
    [SOURCE] = {"source", "pr|local|scheduled_main|unknown", "only records of such runs", false},
    [SINCE] = {"since", "DATE|DAYS", "only records measured then or later (2026-01-31, 30d)",
               false},
    [UNTIL] = {"until", "DATE|DAYS", "only records measured before; prune: remove these", false},
    [NEWEST] = {"newest", "N", "only the N newest records", false},
    [ELIGIBLE] = {"eligible", NULL, "only records that count for baselines", false},
    [KEEP] = {"keep", "N", "remove all but the N newest records of each cohort", false},
    [ID] = {"id", "N", "remove the record N", false},
    [FORMAT] = {"format", "text|json|csv|md|svg", "form of the output (text; plot: svg)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [OPTIONS] = {NULL, NULL, NULL, false},
};

/* "2026-01-31", with or without a time, in UTC; or "30d", so many days ago. */
static bool take_time(const char *option, const char *text, uint64_t *out)
{
    struct tm tm;
    char *end;
    memset(&tm, 0, sizeof tm);
    errno = 0;
    unsigned long long days = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && errno == 0 && (!*end || strcmp(end, "d") == 0) &&
        days < 100000) {
        uint64_t now = (uint64_t)time(NULL), ago = (uint64_t)days * 86400;
        *out = (now > ago ? now - ago : 1) * 1000000000u;
        return true;
    }
    const char *rest = strptime(text, "%Y-%m-%d", &tm);
    if (rest && *rest)
        rest = strptime(rest, *rest == 'T' ? "T%H:%M" : " %H:%M", &tm);
    if (rest && *rest == ':')
        rest = strptime(rest, ":%S", &tm);
    time_t seconds = rest && !*rest ? timegm(&tm) : -1;
    if (seconds > 0) {
        *out = (uint64_t)seconds * 1000000000u;
        return true;
    }
    plumb_cli_usage(&plumb_cmd_history,
                    "--%s wants a date (2026-01-31, 2026-01-31T14:00, in UTC) or days ago (30d), "
                    "not '%s'",
                    option, text);
    return false;
}

static bool take_word(const char *option, const char *const *words, size_t n, const char *text,
                      uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_history, option, words, n, text);
}

/* Options that add takes from the file, and the other verbs choose records by. */
static void take_key(struct plumb_cli_history *w, int option, const char *value)
{
    const char **const in_results[] = {&w->results.workload, &w->results.variant,
                                       &w->results.version,  &w->results.recipe,
                                       &w->results.hardware, &w->results.software};
    const char **const in_filter[] = {&w->filter.cohort.workload, &w->filter.cohort.variant,
                                      &w->filter.cohort.version,  &w->filter.cohort.recipe,
                                      &w->filter.cohort.hardware, &w->filter.cohort.software};
    *in_results[option - WORKLOAD] = value;
    *in_filter[option - WORKLOAD] = value;
}

static bool take_wait(struct plumb_cli_history *w, const char *value)
{
    double seconds;
    if (!plumb_cli_decimal(&plumb_cmd_history, "wait", value, &seconds))
        return false;
    w->file.wait_ms = seconds > 3600 ? 3600000 : seconds < 0.001 ? 1 : (uint32_t)(seconds * 1e3);
    return true;
}

static bool take_number(struct plumb_cli_history *w, int option, const char *value)
{
    uint64_t n;
    if (!plumb_cli_number(&plumb_cmd_history, plumb_cli_history_options[option].name, value, &n))
        return false;
    if (n == 0 || n > INT64_MAX) {
        plumb_cli_usage(&plumb_cmd_history, "--%s wants 1 or more, not '%s'",
                        plumb_cli_history_options[option].name, value);
        return false;
    }
    if (option == NEWEST)
        w->filter.newest = n;
    else if (option == KEEP)
        w->prune.keep = n;
    else
        w->prune.id = (int64_t)n;
    return true;
}

static bool take_choice(struct plumb_cli_history *w, int option, const char *value)
{
    static const char *const counts[] = {"auto", "yes", "no"};
    static const char *const formats[] = {"text", "json", "csv", "md", "svg"};
    static const char *const sources[] = {"pr", "local", "scheduled_main", "unknown"};
    uint32_t i = 0;
    switch (option) {
    case BASELINE:
        return take_word("baseline", counts, 3, value, &w->add.counts);
    case FORMAT:
        w->format = value;
        return take_word("format", formats, 5, value, &i);
    case SOURCE:
        w->filter.run_source = value;
        return take_word("source", sources, 4, value, &i);
    case SINCE:
        return take_time("since", value, &w->filter.since_ns);
    case UNTIL:
        return take_time("until", value, &w->filter.until_ns);
    case WAIT:
        return take_wait(w, value);
    default:
        return take_number(w, option, value);
    }
}

bool plumb_cli_history_take(struct plumb_cli_history *w, int option, const char *value)
{
    w->given |= BIT(option);
    if (option >= WORKLOAD && option <= SOFTWARE)
        take_key(w, option, value);
    else if (option == DB)
        w->db = value;
    else if (option == CONFIG)
        w->results.config = value;
    else if (option == REPORT)
        w->report = value;
    else if (option == RECORD)
        w->record = value;
    else if (option == METRIC)
        w->filter.metric = value;
    else if (option == BRANCH)
        w->filter.branch = value;
    else if (option == OUTPUT)
        w->output = value;
    else if (option == NO_COMPARE)
        w->add.no_compare = 1;
    else if (option == DRY_RUN)
        w->add.dry = 1;
    else if (option == FAILED)
        w->add.failed = 1;
    else if (option == ELIGIBLE)
        w->filter.eligible = 1;
    else
        return take_choice(w, option, value);
    return true;
}
