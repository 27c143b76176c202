/* cmd_activations.c: plumb activations. */
#include <string.h>

#include "cli.h"

enum { FORMAT, OUTPUT, MODULE, STEPS, SUSPECTS, TOP, EXPLAIN };

static const struct plumb_cli_option options[] = {
    [FORMAT] = {"format", "text|json|csv|md", "form of the output (text)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [MODULE] = {"module", "REGEX", "only modules in whose name REGEX is found", false},
    [STEPS] = {"steps", NULL, "a row for each layer and step, with its change since the last",
               false},
    [SUSPECTS] = {"suspects", NULL, "show only the suspects, and all of them", false},
    [TOP] = {"top", "N", "show the first N rows of each table", false},
    [EXPLAIN] = {"explain", NULL, "explain the columns below the output", false},
    {NULL, NULL, NULL, false},
};

static bool take_format(plumb_activation_log_view *view, const char *text)
{
    static const char *const formats[] = {"text", "json", "csv", "md"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i], text) == 0) {
            view->format = text;
            return true;
        }
    }
    plumb_cli_usage(&plumb_cmd_activations, "--format wants text, json, csv or md, not '%s'", text);
    return false;
}

static bool take(plumb_activation_log_view *view, const char **output, int option,
                 const char *value)
{
    switch (option) {
    case FORMAT:
        return take_format(view, value);
    case OUTPUT:
        *output = value;
        return true;
    case MODULE:
        view->module = value;
        return true;
    case STEPS:
        view->kind = PLUMB_ACTIVATIONS_STEPS;
        return true;
    case SUSPECTS:
        view->kind = PLUMB_ACTIVATIONS_SUSPECTS;
        return true;
    case TOP:
        return plumb_cli_number(&plumb_cmd_activations, "top", value, &view->top);
    default:
        view->explain = 1;
        return true;
    }
}

int plumb_cli_show_activation_log(const struct plumb_cli_command *command, const char *path,
                                  const plumb_activation_log_view *view, const char *output)
{
    plumb_activation_log *log = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_activation_log_open(&log, path, &err) < 0 ||
        plumb_activation_log_render(&text, log, view, &err) < 0)
        plumb_cli_say(command, "%s", err.message);
    else if (path && output && plumb_cli_is_run(path, output))
        plumb_cli_say(command, "'%s' is what was recorded: choose another --output", output);
    else if (plumb_cli_output(command, output, text))
        status = PLUMB_EXIT_OK;
    plumb_read_free(text);
    plumb_activation_log_close(log);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    plumb_activation_log_view view = plumb_activation_log_view_default();
    const char *output = NULL;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_activations, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(&view, &output, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > 1)
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_activations, "one recording at a time, not %d", argc - args.operand));
    return plumb_cli_show_activation_log(
        &plumb_cmd_activations, args.operand < argc ? argv[args.operand] : NULL, &view, output);
}

const struct plumb_cli_command plumb_cmd_activations = {
    .name = "activations",
    .summary = "show the outputs of the layers of a model, and suspects",
    .synopsis = "[--steps|--suspects] [--module REGEX] [PATH]",
    .description =
        "Reads recorded activations and prints a row for each layer, and the suspect\n"
        "values: NaN, infinite values, values near the largest of their type, tensors\n"
        "in which all values are zero or equal. PATH is one of\n"
        "\n"
        "  a run of plumb        its activations.jsonl; without PATH the newest run\n"
        "  *.jsonl               of plumb or of FastVideo\n"
        "  dump.json             of msprobe, with construct.json and stack.json\n"
        "  *.npy, *.safetensors  whole tensors, whose statistics are computed\n"
        "  a folder              of these, of runs (the newest of them), or of a folder\n"
        "                        for each step (step0, step1)\n"
        "\n"
        "The format is detected from the contents. Texts may be packed by gzip.",
    .examples = "plumb activations                         # of the newest run\n"
                "plumb activations a.jsonl --suspects      # all suspects, nothing else\n"
                "plumb activations dump/ --steps --module '^blocks\\.[0-9]+$'\n"
                "plumb activations a.safetensors --format csv --output layers.csv",
    .status = "0 success; 2 wrong usage, or a file that is damaged or holds no activations.",
    .options = options,
    .run = run,
};
