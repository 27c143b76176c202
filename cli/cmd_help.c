/* cmd_help.c: plumb help. */
#include <string.h>

#include "cli.h"
#include "help.h"

enum { MAN, COMPLETION };

static const struct plumb_cli_option options[] = {
    [MAN] = {"man", NULL, "as a man page (troff), for packaging", false},
    [COMPLETION] = {"completion", NULL, "the completion for bash, for packaging", false},
    {NULL, NULL, NULL, false},
};

static int show_environment(void)
{
    char *text;
    plumb_error err = {0, ""};
    if (plumb_setting_help(&text, &err) < 0) {
        plumb_cli_say(&plumb_cmd_help, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    fputs(text, stdout);
    plumb_trace_free(text);
    return PLUMB_EXIT_OK;
}

static int no_topic(const char *topic)
{
    const char *best = plumb_cli_nearest(topic);
    return plumb_cli_args_status(
        best ? plumb_cli_usage(&plumb_cmd_help, "no help on '%s': did you mean '%s'?", topic, best)
             : plumb_cli_usage(&plumb_cmd_help, "no help on '%s'", topic));
}

static int show(const char *topic, bool man)
{
    const struct plumb_cli_command *command = topic ? plumb_cli_find(topic) : NULL;
    if (topic && !command && strcmp(topic, "environment") == 0 && !man)
        return show_environment();
    if (topic && !command)
        return no_topic(topic);
    if (man)
        plumb_cli_show_man(command, stdout);
    else
        plumb_cli_show_help(command, stdout);
    return PLUMB_EXIT_OK;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    bool man = false;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_help, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == COMPLETION) {
            plumb_cli_show_completion(stdout);
            return PLUMB_EXIT_OK;
        }
        man = true;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > 1)
        return plumb_cli_args_status(plumb_cli_usage(&plumb_cmd_help, "one topic at a time"));
    return show(args.operand < argc ? argv[args.operand] : NULL, man);
}

const struct plumb_cli_command plumb_cmd_help = {
    .name = "help",
    .summary = "explain a command or the environment variables",
    .synopsis = "[COMMAND | environment]",
    .description = "Without a topic: the list of commands. 'environment' lists the variables that\n"
                   "configure recording, with their defaults.",
    .examples = "plumb help record\n"
                "plumb help environment",
    .status = "0 success; 2 no such topic.",
    .options = options,
    .run = run,
};
