/* cmd_recover.c: plumb recover. */
#include <inttypes.h>

#include "cli.h"

static const struct plumb_cli_option options[] = {{NULL, NULL, NULL, false}};

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    plumb_recovered facts;
    plumb_error err = {0, ""};
    plumb_cli_args_init(&args, &plumb_cmd_recover, argc, argv);
    int option = plumb_cli_next(&args);
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > 1)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_recover, "one run at a time, not %d", argc - args.operand));
    int rc = plumb_recover(&facts, args.operand < argc ? argv[args.operand] : NULL, &err);
    if (rc < 0) {
        plumb_cli_say(&plumb_cmd_recover, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    if (rc == 0)
        plumb_cli_say(&plumb_cmd_recover, "nothing to recover, the run has its report");
    else
        plumb_cli_say(&plumb_cmd_recover,
                      "recovered %" PRIu64 " sample%s of %" PRIu64 " node%s (open spans: %" PRIu64
                      ")",
                      facts.samples, facts.samples == 1 ? "" : "s", facts.nodes,
                      facts.nodes == 1 ? "" : "s", facts.open_spans);
    if (err.code < 0)
        plumb_cli_say(&plumb_cmd_recover, "%s; timing.json has the same figures", err.message);
    puts(facts.path);
    return PLUMB_EXIT_OK;
}

const struct plumb_cli_command plumb_cmd_recover = {
    .name = "recover",
    .summary = "make the report of a run that was killed",
    .synopsis = "[RUN]",
    .description = "A run that ended by kill -9, a crash or _exit leaves its statistics in the\n"
                   "file live.plumb of the run directory. This command makes timing.json from it,\n"
                   "with exact counts and sums and the spans that were open, and prints its\n"
                   "path. It also writes the summary of the rank. The live file remains. Without\n"
                   "RUN it recovers the newest run.\n"
                   "\n"
                   "Every command that reads a run does this by itself.",
    .examples = "plumb recover plumb-out/prog/20260102-030405-box-4711",
    .status = "0 the report exists; 2 it could not be made, for example because the\n"
              "process still records.",
    .options = options,
    .run = run,
};
