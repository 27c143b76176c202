/* main.c: the table of commands. */
#include <errno.h>
#include <string.h>

#include "cli.h"

static const struct plumb_cli_command *const commands[] = {
    &plumb_cmd_record,      &plumb_cmd_report, &plumb_cmd_compare, &plumb_cmd_diverge,
    &plumb_cmd_activations, &plumb_cmd_runs,   &plumb_cmd_recover, &plumb_cmd_export,
    &plumb_cmd_doctor,      &plumb_cmd_help,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const struct plumb_cli_command *plumb_cli_command(size_t i)
{
    return i < COMMANDS ? commands[i] : NULL;
}

const struct plumb_cli_command *plumb_cli_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *plumb_cli_nearest(const char *name)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    return plumb_word_nearest(name, names, COMMANDS);
}

static int unknown_command(const char *name)
{
    const char *best = plumb_cli_nearest(name);
    if (best)
        plumb_cli_say(NULL, "unknown command '%s': did you mean '%s'? (see 'plumb help')", name,
                      best);
    else
        plumb_cli_say(NULL, "unknown command '%s' (see 'plumb help')", name);
    return PLUMB_EXIT_TROUBLE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        plumb_cli_show_help(NULL, stderr);
        return PLUMB_EXIT_TROUBLE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        plumb_cli_show_help(NULL, stdout);
        return PLUMB_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("plumb %s\n", plumb_trace_version());
        return PLUMB_EXIT_OK;
    }
    const struct plumb_cli_command *command = plumb_cli_find(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        plumb_cli_stdout_failed(errno);
        if (status == PLUMB_EXIT_OK || status == PLUMB_EXIT_FOUND)
            status = PLUMB_EXIT_TROUBLE;
    }
    return status;
}
