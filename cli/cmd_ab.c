/* cmd_ab.c: plumb ab: two variants measured in turn, judged by rules or shown as a table. Ends
 * early when every rule has an answer: it looks three times at most, because each further look is
 * one more chance of a false alarm. */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ab.h"
#include "launch.h"
#include "target.h"

enum { RULE, ROUNDS, WARMUP, NODE, SWEEP, TYPES, OUT, NAME, HOST, FIELD, FORMAT, OUTPUT };

static const struct plumb_cli_option options[] = {
    [RULE] = {"rule", "FILE[:NAME]", "rules that decide, or one of them (wall_clock <= old + 5 %)",
              false},
    [ROUNDS] = {"rounds", "N", "measure both variants at most N times (60, or that of the rule)",
                false},
    [WARMUP] = {"warmup", "N", "runs of each variant before the measured ones (1)", false},
    [NODE] = {"node", "NAME", "record each run, and take the median time of this node", false},
    [SWEEP] = {"sweep", "NAME=N,N,...|FROM..TO",
               "run with each size in place of {NAME}; a range has 18 sizes", false},
    [TYPES] = {"types", "T,T,...", "run with each element type in place of {type}", false},
    [OUT] = {"out", "DIR", "write the samples to DIR/NAME-HOST.json, and a summary of DIR", false},
    [NAME] = {"name", "NAME", "begins the name of that file (ab)", false},
    [HOST] = {"host", "HOST", "ends it (this host)", false},
    [FIELD] = {"field", "KEY=TEXT", "put this into each entry of that file (repeatable)", false},
    [FORMAT] = {"format", "text|json|md|csv|junit|github", "form of the decision (text)", false},
    [OUTPUT] = {"output", "FILE", "write it to FILE instead of standard output", false},
    {NULL, NULL, NULL, false},
};

struct request {
    struct plumb_ab ab;
    const char *rule, *out, *name, *format, *output;
    char host[256];
    const char **fields;
    size_t field_count;
    uint64_t rounds;
    char rules[4200]; /* path of the file of rules */
    const char *only;
};

/* ---- Command line ---------------------------------------------------------------------------- */

static bool wrong(const char *what, const char *text)
{
    plumb_cli_usage(&plumb_cmd_ab, "%s, not '%s'", what, text);
    return false;
}

static bool take_format(struct request *r, const char *text)
{
    static const char *const words[] = {"text", "json", "md", "csv", "junit", "github"};
    r->format = text;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0)
            return true;
    return plumb_cli_wants(&plumb_cmd_ab, "format", words, sizeof words / sizeof *words, text);
}

/* Part of a file's name. */
static bool take_part(const char **out, const char *option, const char *text)
{
    *out = text;
    if (*text && !strchr(text, '/') && *text != '.')
        return true;
    plumb_cli_usage(&plumb_cmd_ab, "--%s is part of a file's name, not '%s'", option, text);
    return false;
}

static bool take_host(struct request *r, const char *text)
{
    const char *host;
    snprintf(r->host, sizeof r->host, "%s", text);
    return take_part(&host, "host", text);
}

static bool take_field(struct request *r, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return wrong("--field takes KEY=TEXT", text);
    r->fields[r->field_count++] = text;
    return true;
}

static bool take(struct request *r, int option, const char *value)
{
    const struct plumb_cli_command *us = &plumb_cmd_ab;
    switch (option) {
    case RULE:
        r->rule = value;
        return true;
    case ROUNDS:
        return plumb_cli_number(us, "rounds", value, &r->rounds) &&
               ((r->rounds >= 6 && r->rounds <= 100000) ||
                wrong("--rounds takes a number from 6 to 100000", value));
    case WARMUP:
        return plumb_cli_number(us, "warmup", value, &r->ab.warmup);
    case NODE:
        r->ab.node = value;
        return true;
    case SWEEP:
        return plumb_ab_take_sweep(&r->ab, value);
    case TYPES:
        return plumb_ab_take_types(&r->ab, (char *)value);
    case OUT:
        r->out = value;
        return true;
    case NAME:
        return take_part(&r->name, "name", value);
    case HOST:
        return take_host(r, value);
    case FIELD:
        return take_field(r, value);
    case FORMAT:
        return take_format(r, value);
    default:
        r->output = value;
        return true;
    }
}

/* "A... ::: B...", or one command whose two types are compared. */
static bool take_commands(struct request *r, char **argv)
{
    struct plumb_ab *ab = &r->ab;
    ab->argv[0] = ab->argv[1] = argv;
    while (*ab->argv[1] && strcmp(*ab->argv[1], ":::") != 0)
        ab->argv[1]++;
    bool two = *ab->argv[1] != NULL;
    if (two)
        *ab->argv[1]++ = NULL;
    if (!ab->argv[0][0] || (two && !ab->argv[1][0])) {
        plumb_cli_usage(&plumb_cmd_ab, "wants two commands: -- A... ::: B...");
        return false;
    }
    if (!two && ab->type_count != 2) {
        plumb_cli_usage(&plumb_cmd_ab,
                        "wants two commands, -- A... ::: B..., or one and two types to compare");
        return false;
    }
    return true;
}

static int read_arguments(struct request *r, int argc, char **argv)
{
    struct plumb_cli_args args;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_ab, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(r, option, args.value))
            return PLUMB_ARGS_WRONG;
    if (option != PLUMB_ARGS_END)
        return option;
    return take_commands(r, argv + args.operand) && plumb_ab_check_words(&r->ab) ? PLUMB_ARGS_END
                                                                                 : PLUMB_ARGS_WRONG;
}

/* ---- Preparation ----------------------------------------------------------------------------- */

static bool out_of_memory(void)
{
    plumb_cli_say(&plumb_cmd_ab, "out of memory");
    return false;
}

static bool make_folder(struct request *r)
{
    char library[4096];
    if (!plumb_cli_temporary(r->ab.folder, sizeof r->ab.folder, "plumb-ab") ||
        !mkdtemp(r->ab.folder)) {
        plumb_cli_say(&plumb_cmd_ab, "no temporary folder: %s", strerror(errno));
        r->ab.folder[0] = '\0';
        return false;
    }
    if (r->ab.record && !plumb_cli_library(library, sizeof library)) {
        plumb_cli_say(&plumb_cmd_ab, "libplumb is not at '%s', so nothing can be recorded",
                      library);
        return false;
    }
    return true;
}

/* FILE, or FILE:NAME where no file has that name. */
static void split_rule(struct request *r)
{
    char *colon;
    snprintf(r->rules, sizeof r->rules, "%s", r->rule);
    if (access(r->rules, F_OK) == 0)
        return;
    colon = strchr(r->rules, ':');
    if (colon) {
        *colon = '\0';
        r->only = r->rule + (colon - r->rules) + 1;
    }
}

/* The rule without --rule. */
static int open_default(plumb_gate_report **out, const struct request *r, plumb_error *err)
{
    const char *node = r->ab.node;
    char text[512];
    int n =
        snprintf(text, sizeof text, "[B against A]\nmetric = %s%s%.200s\nlimit = <= old + 5 %%\n",
                 node ? "time" : "wall_clock", node ? "\nnode = " : "", node ? node : "");
    return plumb_gate_open_text(out, text, (size_t)n, "built-in", err);
}

static plumb_gate_report *open_gate(const struct request *r)
{
    plumb_gate_report *gate = NULL;
    plumb_error err = {0, ""};
    int rc = r->rule ? plumb_gate_open(&gate, r->rules, &err) : open_default(&gate, r, &err);
    if (rc == 0 && (!r->only || plumb_gate_only(gate, r->only, &err) == 0))
        return gate;
    plumb_cli_say(&plumb_cmd_ab, "%s", err.message);
    plumb_gate_close(gate);
    return NULL;
}

/* Sets how often to measure, and whether the rules need recordings. */
static bool look_at_rules(struct request *r)
{
    plumb_gate_report *gate = open_gate(r);
    plumb_gate_rule_info rule = {.size = sizeof rule};
    uint64_t most = 0;
    r->ab.record = r->ab.node != NULL;
    if (!gate)
        return false;
    for (size_t i = 0; plumb_gate_rule_get(&rule, gate, i); i++) {
        bool process = strcmp(rule.metric, "wall_clock") == 0 ||
                       strcmp(rule.metric, "cpu_time") == 0 ||
                       strcmp(rule.metric, "crossover") == 0;
        r->ab.record |= !process && !rule.command && r->ab.pair_count == 1;
        most = rule.rounds > most ? rule.rounds : most;
    }
    plumb_gate_close(gate);
    if (!r->rounds)
        r->rounds = most ? most : PLUMB_AB_ROUNDS;
    r->ab.most_rounds = (size_t)r->rounds;
    return true;
}

/* ---- The decision ---------------------------------------------------------------------------- */

static void name_pair(char out[160], const struct plumb_ab *ab, const struct plumb_ab_pair *pair)
{
    int n = 0;
    out[0] = '\0';
    if (pair->size)
        n = snprintf(out, 160, "%.60s:%" PRIu64, ab->size_name, pair->size);
    if (pair->type[0])
        snprintf(out + n, 160 - (size_t)n, "%s%.60s", n ? "/" : "", pair->type);
}

/* Recordings have all that rules can name; without them there are the times of processes. */
static int add_recordings(plumb_gate_report *gate, const struct plumb_ab *ab, plumb_error *err)
{
    const struct plumb_ab_pair *pair = &ab->pairs[0];
    int rc = 0;
    for (size_t i = 0; i < pair->rounds && rc >= 0; i++)
        for (int side = 0; side < 2 && rc >= 0; side++) {
            char run[4200];
            if (plumb_ab_recording(run, ab, pair, side, i))
                rc = plumb_gate_add_result(gate, (uint32_t)side, run, err);
        }
    return rc < 0 ? rc : plumb_gate_in_turn(gate, err);
}

static int add_pair(plumb_gate_report *gate, const struct plumb_ab *ab,
                    const struct plumb_ab_pair *pair, plumb_error *err)
{
    const plumb_gate_point point = plumb_ab_point(ab, pair);
    bool alone = ab->pair_count == 1;
    char name[160];
    int rc = 0;
    name_pair(name, ab, pair);
    for (uint32_t side = 0; side < 2 && rc >= 0; side++) {
        if (!alone)
            rc = plumb_gate_add_times(gate, side, "time", name, side ? point.b : point.a,
                                      pair->rounds, point.resolution, 1, err);
        else if (!ab->record)
            rc = plumb_gate_add_times(gate, side, "wall_clock", NULL, pair->ns[side][PLUMB_AB_WALL],
                                      pair->rounds, 0, 1, err);
        if (rc >= 0 && alone)
            rc = plumb_gate_add_times(gate, side, "cpu_time", NULL, pair->ns[side][PLUMB_AB_CPU],
                                      pair->rounds, 0, 1, err);
    }
    return rc;
}

/* The crossover of each element type. */
static int add_crossovers(plumb_gate_report *gate, struct plumb_ab *ab, plumb_error *err)
{
    int rc = 0;
    for (size_t p = 0; ab->size_count > 0 && p < ab->pair_count && rc >= 0; p += ab->size_count) {
        plumb_gate_point points[PLUMB_AB_SIZES];
        plumb_gate_crossover_result found = {.size = sizeof found};
        for (size_t i = 0; i < ab->size_count; i++)
            points[i] = plumb_ab_point(ab, &ab->pairs[p + i]);
        rc = plumb_gate_crossover(&found, points, ab->size_count, err);
        for (size_t i = 0; i < ab->size_count; i++)
            ab->pairs[p + i].crossover = found;
        if (rc >= 0 && gate)
            rc = plumb_gate_add_crossover(gate, ab->pairs[p].type, &found, err);
    }
    return rc;
}

/* A gate with all samples so far, decided. NULL after a message. */
static plumb_gate_report *decide(struct request *r, plumb_gate_result *result)
{
    plumb_gate_report *gate = open_gate(r);
    plumb_error err = {0, ""};
    int rc = gate ? 0 : -1;
    if (gate && r->ab.record && r->ab.pair_count == 1)
        rc = add_recordings(gate, &r->ab, &err);
    for (size_t i = 0; i < r->ab.pair_count && rc >= 0; i++)
        rc = add_pair(gate, &r->ab, &r->ab.pairs[i], &err);
    if (rc >= 0 && (rc = add_crossovers(gate, &r->ab, &err)) >= 0)
        rc = plumb_gate_decide(result, gate, &err);
    if (rc >= 0)
        return gate;
    if (gate)
        plumb_cli_say(&plumb_cmd_ab, "%s", err.message);
    plumb_gate_close(gate);
    return NULL;
}

/* Measures one pair until its rules have an answer. NULL after a message. */
static plumb_gate_report *measure_one(struct request *r, plumb_gate_result *result)
{
    struct plumb_ab_pair *pair = &r->ab.pairs[0];
    enum { LOOKS = 3 };
    plumb_gate_report *gate = NULL;
    for (int look = 1; look <= LOOKS; look++) {
        size_t until = (size_t)r->rounds * (size_t)look / LOOKS;
        if (until < 18) /* fewer have no shortest of three */
            until = r->rounds < 18 ? (size_t)r->rounds : 18;
        if (until <= pair->rounds)
            continue;
        plumb_gate_close(gate);
        if (!plumb_ab_measure(&r->ab, pair, until - pair->rounds) || !(gate = decide(r, result)))
            return NULL;
        if (result->status != PLUMB_GATE_STATUS_INCONCLUSIVE)
            break;
    }
    return gate;
}

static plumb_gate_report *measure_all(struct request *r, plumb_gate_result *result)
{
    for (size_t i = 0; i < r->ab.pair_count; i++)
        if (!plumb_ab_measure(&r->ab, &r->ab.pairs[i], (size_t)r->rounds))
            return NULL;
    return decide(r, result);
}

/* ---- Output ---------------------------------------------------------------------------------- */

static bool show(const struct request *r, const plumb_gate_report *gate)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool table = strcmp(r->format, "text") == 0 && !r->output &&
                 (r->ab.pair_count > 1 || r->ab.type_count > 0);
    if (table && !plumb_ab_print(&r->ab))
        return false;
    if (table && !r->rule && r->ab.pair_count > 1)
        return true;
    bool done = plumb_gate_show(&text, gate, r->format, &err) == 0;
    if (!done)
        plumb_cli_say(&plumb_cmd_ab, "%s", err.message);
    done = done && plumb_cli_output(&plumb_cmd_ab, r->output, text);
    plumb_read_free(text);
    plumb_cli_gate_summary(&plumb_cmd_ab, gate);
    return done;
}

/* ---- Work ------------------------------------------------------------------------------------ */

/* The samples are written before the rules are applied to them for the last time. */
static int work(struct request *r)
{
    plumb_gate_result result = {.size = sizeof result};
    plumb_gate_report *gate;
    int status = PLUMB_EXIT_TROUBLE;
    if (!plumb_ab_make_pairs(&r->ab) || !make_folder(r))
        return status;
    if (r->rule)
        split_rule(r);
    if (!look_at_rules(r))
        return status;
    gate = r->ab.pair_count == 1 ? measure_one(r, &result) : measure_all(r, &result);
    if (!gate)
        return status;
    bool done =
        !r->out || plumb_ab_write(&r->ab, r->out, r->name, r->host, r->fields, r->field_count);
    if (show(r, gate) && done)
        status = !r->rule && r->ab.pair_count > 1 ? PLUMB_EXIT_OK : (int)result.status;
    plumb_gate_close(gate);
    return status;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clean_up(struct request *r)
{
    for (size_t p = 0; p < r->ab.pair_count; p++)
        for (int side = 0; side < 2; side++)
            for (int figure = 0; figure < PLUMB_AB_FIGURES; figure++)
                free(r->ab.pairs[p].ns[side][figure]);
    free(r->ab.pairs);
    free((void *)r->fields);
    if (r->ab.folder[0] && nftw(r->ab.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
        plumb_cli_say(&plumb_cmd_ab, "cannot remove '%s': %s", r->ab.folder, strerror(errno));
}

static int run(int argc, char **argv)
{
    struct request r = {.format = "text", .name = "ab"};
    int status = PLUMB_EXIT_TROUBLE;
    r.ab.command = &plumb_cmd_ab;
    snprintf(r.ab.size_name, sizeof r.ab.size_name, "n");
    r.ab.warmup = 1;
    r.fields = calloc((size_t)argc + 1, sizeof *r.fields);
    if (gethostname(r.host, sizeof r.host - 1) < 0 || !r.host[0])
        snprintf(r.host, sizeof r.host, "host");
    plumb_ab_catch();
    int option = r.fields ? read_arguments(&r, argc, argv) : PLUMB_ARGS_WRONG;
    if (!r.fields)
        out_of_memory();
    else if (option == PLUMB_ARGS_END)
        status = work(&r);
    else
        status = plumb_cli_args_status(option);
    clean_up(&r);
    if (plumb_ab_stopped) {
        signal(plumb_ab_stopped, SIG_DFL);
        raise(plumb_ab_stopped);
    }
    return status;
}

const struct plumb_cli_command plumb_cmd_ab = {
    .name = "ab",
    .summary = "measure two variants in turn, and decide by rules",
    .synopsis = "[OPTION]... -- A... ::: B...",
    .description =
        "Runs command A, the old variant, and command B, the new one, in turn, and checks\n"
        "the rules of a file against them (see 'plumb gate'): 'old' in a rule is A. Both\n"
        "see the same machine, so that its drift and its noise cancel. Measuring ends as\n"
        "soon as every rule has an answer, at the latest after --rounds.\n"
        "\n"
        "Rules about wall_clock and cpu_time need nothing of the commands. With other\n"
        "rules, or --node, each run is recorded, and rules can name whatever recordings\n"
        "have; wall_clock is then that of the recording.\n"
        "\n"
        "--sweep runs both variants at several sizes, which replace {NAME} in the\n"
        "commands, and reports from which size on B is faster. --types does the same for\n"
        "element types, which replace {type}; with one command and two types, the types\n"
        "are the variants. At several sizes or types the metric is 'time' of a node\n"
        "called as n:256/f32.\n"
        "\n"
        "The commands' standard output is discarded. If standard input is a file, each\n"
        "run reads it from the same place; otherwise there is nothing to read. A command\n"
        "that fails ends it all.",
    .examples = "plumb ab -- ./old in.wav ::: ./new in.wav   # is B slower by more than 5 %?\n"
                "plumb ab --rule gates.rules:chain -- ./old ::: ./new\n"
                "plumb ab --node chain -- ./old ::: ./new     # the time of one node\n"
                "plumb ab --sweep n=256..32768 -- ./scan seq {n} ::: ./scan par {n}\n"
                "plumb ab --types f64,f32 -- ./filter --type {type}\n"
                "plumb ab --out results --name cpu -- ./old ::: ./new",
    .status = "0 every rule holds; 1 a regression; 2 trouble: wrong usage, a command that\n"
              "failed, a wrong rule; 3 inconclusive. A sweep without --rule: 0.",
    .options = options,
    .stops = true,
    .run = run,
};
