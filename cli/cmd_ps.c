/* cmd_ps.c: plumb ps. */
#include <string.h>
#include <time.h>

#include <plumb/control.h>

#include "cli.h"

/* Between the two readings that a rate is made of. */
enum { INTERVAL_MS = 250, FORMAT = 0 };

static const struct plumb_cli_option options[] = {
    [FORMAT] = {"format", "text|json", "how to print (text)", false},
    {NULL, NULL, NULL, false},
};

static const char *const formats[] = {"text", "json"};

static bool any_records(const plumb_process_list *list)
{
    for (size_t i = 0; i < plumb_process_list_count(list); i++)
        if (plumb_process_list_get(list, i)->recording)
            return true;
    return false;
}

static int show(const plumb_process_list *list, const plumb_process_list *before, uint32_t format)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    bool done;
    if (plumb_process_list_render(&text, list, before, format, &err) < 0) {
        plumb_cli_say(&plumb_cmd_ps, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    done = plumb_cli_output(&plumb_cmd_ps, NULL, text);
    plumb_read_free(text);
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static int list_processes(uint32_t format)
{
    const struct timespec interval = {0, INTERVAL_MS * 1000000L};
    plumb_process_list *before = NULL, *list = NULL;
    plumb_error err = {0, ""};
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_process_list_open(&list, &err) < 0) {
        plumb_cli_say(&plumb_cmd_ps, "%s", err.message);
        return status;
    }
    if (any_records(list)) {
        before = list;
        list = NULL;
        nanosleep(&interval, NULL);
        if (plumb_process_list_open(&list, &err) < 0) {
            plumb_cli_say(&plumb_cmd_ps, "%s", err.message);
            goto out;
        }
    }
    status = PLUMB_EXIT_OK;
    if (plumb_process_list_count(list) == 0)
        plumb_cli_say(&plumb_cmd_ps, "no process of this user can be controlled: a process takes "
                                     "part that is started with PLUMB_CONTROL=1");
    if (plumb_process_list_count(list) > 0 || format != PLUMB_PROCESSES_TEXT)
        status = show(list, before, format);
out:
    plumb_process_list_close(before);
    plumb_process_list_close(list);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    uint32_t format = PLUMB_PROCESSES_TEXT;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_ps, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (strcmp(args.value, "json") == 0)
            format = PLUMB_PROCESSES_JSON;
        else if (strcmp(args.value, "text") == 0)
            format = PLUMB_PROCESSES_TEXT;
        else if (!plumb_cli_wants(&plumb_cmd_ps, "format", formats, 2, args.value))
            return PLUMB_EXIT_TROUBLE;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (args.operand < argc)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_ps, "unexpected '%s'", argv[args.operand]));
    return list_processes(format);
}

const struct plumb_cli_command plumb_cmd_ps = {
    .name = "ps",
    .summary = "list running processes that can be controlled",
    .synopsis = "[--format text|json]",
    .description =
        "Lists the processes of this user that take part in control from outside: they\n"
        "were started with PLUMB_CONTROL=1, or have called plumb_control_open(). A\n"
        "process that does not answer within 0.2 s is listed as such: it is stopped, or\n"
        "its machine is very busy.\n"
        "\n"
        "Spans/s is measured over a quarter of a second. 'next span' is a run that was\n"
        "asked for and opens with the next span.",
    .examples = "plumb ps                    # a table\n"
                "plumb ps --format json      # for a script",
    .status = "0 success, also without such a process; 2 wrong usage, or a folder of sockets\n"
              "that is not safe to use.",
    .options = options,
    .run = run,
};
