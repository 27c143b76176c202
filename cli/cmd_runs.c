/* cmd_runs.c: plumb runs. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

enum { DIR_OPTION, PRUNE };

static const struct plumb_cli_option options[] = {
    [DIR_OPTION] = {"dir", "DIR", "where to look (PLUMB_DIR, else plumb-out)", false},
    [PRUNE] = {"prune", "DAYS|SIZE",
               "remove runs older than DAYS (30, 30d), or the oldest beyond SIZE (500M, 2G)",
               false},
    {NULL, NULL, NULL, false},
};

/* "30" and "30d" are days, "500M" a size. */
static bool take_prune(plumb_prune_options *o, const char *text)
{
    static const char suffixes[] = "kmgt";
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    bool number = isdigit((unsigned char)*text) && errno == 0;
    const char *suffix = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
    if (number && n > 0 && n < 1000000 && (!*end || strcasecmp(end, "d") == 0)) {
        o->older_than_s = n * 86400;
        return true;
    }
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    if (number && n > 0 && suffix && !end[1] && n <= UINT64_MAX >> shift) {
        o->max_bytes = n << shift;
        return true;
    }
    plumb_cli_usage(&plumb_cmd_runs, "--prune wants days (30) or a size (500M), not '%s'", text);
    return false;
}

static int list_runs(const plumb_run_list *list)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    if (plumb_run_list_count(list) == 0)
        return PLUMB_EXIT_OK;
    if (plumb_run_list_render(&text, list, &err) < 0) {
        plumb_cli_say(&plumb_cmd_runs, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    bool done = plumb_cli_output(&plumb_cmd_runs, NULL, text);
    plumb_read_free(text);
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static int prune(const plumb_run_list *list, const plumb_prune_options *o)
{
    plumb_pruned_runs done;
    plumb_error err = {0, ""};
    char size[32];
    if (plumb_run_list_prune(&done, list, o, &err) < 0) {
        plumb_cli_say(&plumb_cmd_runs, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    printf("removed %" PRIu64 " of %zu runs, %s\n", done.runs, plumb_run_list_count(list),
           plumb_cli_bytes(size, done.bytes));
    return PLUMB_EXIT_OK;
}

static int work(const char *dir, const plumb_prune_options *o)
{
    char own_dir[4096];
    plumb_run_list *list = NULL;
    plumb_error err = {0, ""};
    int status = PLUMB_EXIT_OK;
    if ((!dir && plumb_runs_dir(own_dir, sizeof own_dir, &err) < 0) ||
        plumb_run_list_open(&list, dir ? dir : own_dir, &err) < 0) {
        plumb_cli_say(&plumb_cmd_runs, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    if (plumb_run_list_count(list) == 0)
        plumb_cli_say(&plumb_cmd_runs, "no runs in '%s'", dir ? dir : own_dir);
    if (o->older_than_s || o->max_bytes)
        status = prune(list, o);
    else
        status = list_runs(list);
    plumb_run_list_close(list);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    plumb_prune_options o = {sizeof o, 0, 0};
    const char *dir = NULL;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_runs, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == DIR_OPTION)
            dir = args.value;
        else if (!take_prune(&o, args.value))
            return PLUMB_EXIT_TROUBLE;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (args.operand < argc)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_runs, "unexpected '%s'", argv[args.operand]));
    return work(dir, &o);
}

const struct plumb_cli_command plumb_cmd_runs = {
    .name = "runs",
    .summary = "list recorded runs and remove old ones",
    .synopsis = "[--dir DIR] [--prune DAYS|SIZE]",
    .description =
        "Lists the runs below the output folder, the newest first. A run that has not\n"
        "ended still records, or was killed and is recovered by the next 'plumb report'.\n"
        "\n"
        "--prune removes old runs: those last written more than DAYS days ago, or the\n"
        "oldest until the rest takes at most SIZE. Runs that still record, and\n"
        "directories that plumb did not name itself, are never removed.",
    .examples = "plumb runs                  # list them\n"
                "plumb runs --prune 30       # remove what is older than 30 days\n"
                "plumb runs --prune 2G       # keep the newest 2 GiB",
    .status = "0 success (also when there are none); 2 wrong usage, or files that cannot be\n"
              "read or removed.",
    .options = options,
    .run = run,
};
