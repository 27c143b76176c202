/* cmd_record.c: plumb record. Owns the promise that a recording is never empty in silence: when no
 * node was seen, it says why and what to do. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli.h"
#include "launch.h"
#include "target.h"

static const struct plumb_cli_option options[] = {{NULL, NULL, NULL, false}};

struct record {
    char *const *argv; /* of the program */
    struct plumb_cli_target target;
    char library[4096];
    bool has_library;
    bool preload;
    bool forbidden; /* PLUMB=0 */
    struct plumb_cli_log log;
};

/* ---- Before ---------------------------------------------------------------------------------- */

static bool set_setting(size_t i, const char *value)
{
    struct plumb_cli_option option;
    plumb_setting_info info;
    plumb_error err = {0, ""};
    if (!plumb_cli_setting(i, &option, &info))
        return false;
    if (!value)
        value = "1";
    if (plumb_setting_check(info.variable, value, &err) < 0) {
        plumb_cli_usage(&plumb_cmd_record, "--%s: %s", option.name, err.message);
        return false;
    }
    if (setenv(info.variable, value, 1) < 0) {
        plumb_cli_say(&plumb_cmd_record, "cannot set %s: %s", info.variable, strerror(errno));
        return false;
    }
    return true;
}

static bool says_no(const char *text)
{
    static const char *const words[] = {"0", "false", "no", "off"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* The reason why libplumb cannot be put into the program, NULL when it can or need not. */
static const char *obstacle(const struct record *r)
{
    const struct plumb_cli_target *t = &r->target;
    if (t->links_plumb || t->holds_plumb)
        return NULL;
    if (t->foreign)
        return "is built for another processor or word size than this libplumb";
    if (t->known && t->is_static)
        return "is statically linked, so that nothing can be preloaded";
    if (t->privileged)
        return "changes the user or gains capabilities, so that the loader ignores LD_PRELOAD";
    return NULL;
}

static const char *obstacle_cure(const struct record *r)
{
    if (r->target.foreign)
        return "use the plumb that was built for it";
    if (r->target.known && r->target.is_static)
        return "link it with libplumb.a";
    return "link it with libplumb, or record a copy without these rights";
}

static void prepare_library(struct record *r)
{
    const char *why = obstacle(r);
    if (r->forbidden || r->target.links_plumb || r->target.holds_plumb || r->target.error)
        return;
    if (why) {
        plumb_cli_say(&plumb_cmd_record, "'%s' %s: %s; running it anyway", r->argv[0], why,
                      obstacle_cure(r));
        return;
    }
    r->has_library = plumb_cli_library(r->library, sizeof r->library);
    if (!r->has_library)
        plumb_cli_say(&plumb_cmd_record,
                      "libplumb is not at '%s': set PLUMB_LIBRARY to "
                      "libplumb.so.0; running without it",
                      r->library);
    r->preload = r->has_library;
    if (r->preload && strpbrk(r->library, " :")) {
        plumb_cli_say(&plumb_cmd_record,
                      "'%s' cannot be preloaded: LD_PRELOAD takes no path with "
                      "a space or a colon; running without it",
                      r->library);
        r->preload = false;
    }
}

static bool prepare(struct record *r)
{
    plumb_cli_target_find(&r->target, r->argv[0]);
    r->forbidden = says_no(getenv("PLUMB"));
    if (!r->forbidden && setenv("PLUMB", "1", 1) < 0) {
        plumb_cli_say(&plumb_cmd_record, "cannot set PLUMB: %s", strerror(errno));
        return false;
    }
    prepare_library(r);
    if (!plumb_cli_log_open(&r->log))
        plumb_cli_say(&plumb_cmd_record,
                      "no temporary file (%s): cannot tell afterwards what was "
                      "recorded",
                      strerror(errno));
    return true;
}

/* ---- After ----------------------------------------------------------------------------------- */

/* Whether the name of a run directory ends in "-PID" or "-PID-rankR". */
static bool is_of(const char *name, uint64_t pid)
{
    char tail[32];
    char with_rank[48];
    size_t n = strlen(name);
    int k = snprintf(tail, sizeof tail, "-%" PRIu64, pid);
    snprintf(with_rank, sizeof with_rank, "%s-rank", tail);
    return (n > (size_t)k && strcmp(name + n - (size_t)k, tail) == 0) || strstr(name, with_rank);
}

static bool recover_run(const char *path)
{
    plumb_recovered facts;
    plumb_error err = {0, ""};
    int rc = plumb_recover(path, &facts, &err);
    if (rc == 0 || err.code == PLUMB_ERR_STATE) /* whole already, or still at work */
        return rc == 0 && facts.nodes > 0;
    if (rc < 0) {
        plumb_cli_say(&plumb_cmd_record, "%s", err.message);
        return false;
    }
    plumb_cli_say(&plumb_cmd_record,
                  "recovered %" PRIu64 " samples of %" PRIu64 " nodes (open spans: %" PRIu64
                  "): %s",
                  facts.samples, facts.nodes, facts.open_spans, path);
    return facts.nodes > 0;
}

/* Runs of processes that loaded libplumb and never told their end: killed, most likely. True when
 * one of them holds nodes. */
static bool recover_missing(const struct record *r)
{
    const char *own = getenv("PLUMB_RUN_DIR");
    plumb_run_list *list = NULL;
    const plumb_run_info *run;
    uint64_t pid;
    bool found = false;
    if (plumb_cli_log_missing(&r->log, 0) == 0)
        return false;
    struct stat st;
    if (own && *own && stat(own, &st) == 0)
        return recover_run(own);
    if (plumb_run_list_open(&list, NULL, NULL) < 0)
        return false;
    for (size_t i = 0; (run = plumb_run_list_get(list, i)); i++)
        for (size_t k = 0; (pid = plumb_cli_log_missing(&r->log, k)); k++)
            if (run->state == PLUMB_RUN_OPEN && is_of(run->name, pid))
                found |= recover_run(run->path);
    plumb_run_list_close(list);
    return found;
}

static void say_nothing_seen(const struct record *r)
{
    const char *name = r->argv[0];
    const struct plumb_cli_command *us = &plumb_cmd_record;
    if (r->forbidden)
        plumb_cli_say(us, "nothing was recorded: PLUMB=%s forbids it; unset PLUMB",
                      getenv("PLUMB"));
    else if (r->log.loads > 0)
        plumb_cli_say(us, "nothing was recorded: libplumb was there, but no trace point ran while "
                          "recording was on; mark nodes with PLUMB_SPAN(\"name\"); marks are "
                          "compiled out by -DPLUMB_DISABLE and switched off by plumb_configure()");
    else if (obstacle(r)) /* the cure stands there already */
        plumb_cli_say(us, "nothing was recorded: '%s' %s", name, obstacle(r));
    else if (!r->preload && !r->target.links_plumb && !r->target.holds_plumb)
        plumb_cli_say(us,
                      "nothing was recorded: libplumb could not be preloaded: see 'plumb "
                      "doctor -- %s'",
                      name);
    else
        plumb_cli_say(us,
                      "nothing was recorded: no process loaded libplumb; something on the way "
                      "clears LD_PRELOAD or the environment (sudo, env -i), or it ended before "
                      "its libraries were loaded: see 'plumb doctor -- %s'",
                      name);
}

static void say_end(const struct record *r, const struct plumb_launched *end)
{
    if (end->exec_error)
        plumb_cli_say(&plumb_cmd_record, "cannot run '%s': %s", r->argv[0],
                      strerror(end->exec_error));
    else if (end->signal)
        plumb_cli_say(&plumb_cmd_record, "'%s' was ended by signal %d (%s)", r->argv[0],
                      end->signal, strsignal(end->signal));
}

static int record(char *const *argv)
{
    struct plumb_launched end;
    int status = PLUMB_LAUNCH_OWN;
    struct record *r = calloc(1, sizeof *r);
    if (!r) {
        plumb_cli_say(&plumb_cmd_record, "out of memory");
        return status;
    }
    r->argv = argv;
    if (!prepare(r))
        goto out;
    struct plumb_launch how = {
        .argv = argv,
        .library = r->preload ? r->library : NULL,
        .log = r->log.path[0] ? r->log.path : NULL,
    };
    if (!plumb_cli_launch(&end, &how)) {
        plumb_cli_say(&plumb_cmd_record, "cannot start a process: %s", strerror(errno));
        goto out;
    }
    status = end.status;
    say_end(r, &end);
    if (end.exec_error || !how.log)
        goto out;
    plumb_cli_log_read(&r->log);
    if (!recover_missing(r) && r->log.runs == 0)
        say_nothing_seen(r);
out:
    plumb_cli_log_close(&r->log);
    free(r);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_record, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!set_setting((size_t)(option - PLUMB_ARGS_SETTING), args.value))
            return PLUMB_LAUNCH_OWN;
    if (option == PLUMB_ARGS_HELP)
        return PLUMB_EXIT_OK;
    if (option == PLUMB_ARGS_END && args.operand == argc)
        option = plumb_cli_usage(&plumb_cmd_record, "no program to run");
    if (option != PLUMB_ARGS_END)
        return PLUMB_LAUNCH_OWN;
    return record(argv + args.operand);
}

const struct plumb_cli_command plumb_cmd_record = {
    .name = "record",
    .summary = "run a program and record where its time goes",
    .synopsis = "[OPTION]... -- CMD [ARG]...",
    .description =
        "Runs CMD with recording on. The run is written to a directory of its own,\n"
        "plumb-out/<pipeline>/<time>-<host>-<pid>, which the program names on standard\n"
        "error at its end. libplumb is preloaded when the program does not link it, so\n"
        "that libraries which only carry marks are recorded too.\n"
        "\n"
        "Each option sets the variable of the same name (--skip-first is\n"
        "PLUMB_SKIP_FIRST) and wins over it; 'plumb help environment' lists them. PLUMB=0\n"
        "in the environment forbids recording and wins over everything.\n"
        "\n"
        "SIGTERM and SIGHUP are passed on to the program; SIGINT and SIGQUIT reach it\n"
        "from the terminal. A run that was killed is recovered. When nothing was\n"
        "recorded, the reason and the cure are told on standard error.",
    .examples = "plumb record -- ./prog --steps 20\n"
                "plumb record --skip-first 3 --pipeline decoder -- ./prog\n"
                "plumb record --run-dir out/run1 -- python3 pipeline.py",
    .status = "that of the program; 128 + N when signal N ended it; 125 when plumb itself\n"
              "failed, 126 when the program cannot be run, 127 when there is none.",
    .options = options,
    .settings = true,
    .stops = true,
    .run = run,
};
