/* cmd_deep.c: plumb deep. */
#include <string.h>

#include "cli.h"

enum { FORMAT, OUTPUT, KERNEL, CORES, TOP, PEAKS, MEASURE, EXPLAIN };

static const struct plumb_cli_option options[] = {
    [FORMAT] = {"format", "text|json|csv|md", "form of the output (text)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [KERNEL] = {"kernel", "REGEX", "only kernels in whose name REGEX is found", false},
    [CORES] = {"cores", "all|one", "compare with the peaks of all cores, or of one (all)", false},
    [TOP] = {"top", "N", "show the first N kernels", false},
    [PEAKS] = {"peaks", NULL, "show the peaks of this machine, without a recording", false},
    [MEASURE] = {"measure", NULL, "measure the peaks again", false},
    [EXPLAIN] = {"explain", NULL, "explain the columns below the output", false},
    {NULL, NULL, NULL, false},
};

struct wanted {
    plumb_deep_options options;
    plumb_deep_view view;
    const char *output;
};

static bool take_cores(struct wanted *w, const char *value)
{
    static const char *const words[] = {"all", "one"};
    for (uint32_t i = 0; i < 2; i++) {
        if (strcmp(words[i], value) == 0) {
            w->view.cores = i;
            return true;
        }
    }
    return plumb_cli_wants(&plumb_cmd_deep, "cores", words, 2, value);
}

static bool take_format(struct wanted *w, const char *value)
{
    static const char *const words[] = {"text", "json", "csv", "md"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], value) == 0) {
            w->view.format = value;
            return true;
        }
    }
    return plumb_cli_wants(&plumb_cmd_deep, "format", words, sizeof words / sizeof *words, value);
}

static bool take(struct wanted *w, int option, const char *value)
{
    switch (option) {
    case FORMAT:
        return take_format(w, value);
    case OUTPUT:
        w->output = value;
        return true;
    case KERNEL:
        w->view.kernel = value;
        return true;
    case CORES:
        return take_cores(w, value);
    case TOP:
        return plumb_cli_number(&plumb_cmd_deep, "top", value, &w->view.top);
    case PEAKS:
        w->options.peaks_only = 1;
        return true;
    case MEASURE:
        w->options.measure = 1;
        return true;
    default:
        w->view.explain = 1;
        return true;
    }
}

static int show(const struct wanted *w, const char *path)
{
    plumb_deep *deep = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_deep_open(&deep, path, &w->options, &err) < 0) {
        plumb_cli_say(&plumb_cmd_deep, "%s", err.message);
        return status;
    }
    if (plumb_deep_get_remark(deep)[0])
        plumb_cli_say(&plumb_cmd_deep, "%s", plumb_deep_get_remark(deep));
    if (plumb_deep_render(&text, deep, &w->view, &err) < 0)
        plumb_cli_say(&plumb_cmd_deep, "%s", err.message);
    else if (path && w->output && plumb_cli_is_run(path, w->output))
        plumb_cli_say(&plumb_cmd_deep, "'%s' is what was recorded: choose another --output",
                      w->output);
    else if (plumb_cli_output(&plumb_cmd_deep, w->output, text))
        status = PLUMB_EXIT_OK;
    plumb_read_free(text);
    plumb_deep_close(deep);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct wanted w = {plumb_deep_options_default(), plumb_deep_view_default(), NULL};
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_deep, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(&w, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > (w.options.peaks_only ? 0 : 1))
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_deep,
            w.options.peaks_only ? "--peaks takes no recording" : "one recording at a time, not %d",
            argc - args.operand));
    return show(&w, args.operand < argc ? argv[args.operand] : NULL);
}

const struct plumb_cli_command plumb_cmd_deep = {
    .name = "deep",
    .summary = "compare kernels with the peaks of this machine: what limits them",
    .synopsis = "[--kernel REGEX] [RUN]",
    .description = "Reads the trace of a recording and prints a row for each kernel whose\n"
                   "operations or bytes were recorded (PLUMB_COLLECT=onednn, or spans with an\n"
                   "argument named flops, PLUMB_TRACE_FLOPS=1): achieved GFLOP/s and GB/s, their\n"
                   "shares of the peaks of this machine, and a verdict with its figures:\n"
                   "\n"
                   "  memory_bound   60 % of the memory bandwidth, which is the nearer peak\n"
                   "  compute_bound  60 % of the arithmetic peak of the element type\n"
                   "  latency_bound  less than 60 % of the nearer peak: neither explains the time\n"
                   "  unknown        a figure is missing, and the line names it\n"
                   "\n"
                   "RUN is a run directory, its name, or a trace file; without it the newest run.\n"
                   "The peaks are measured once, in seconds and on every core, and kept in\n"
                   "$XDG_CACHE_HOME/plumb/peaks.json (otherwise in ~/.cache).",
    .examples = "plumb deep                                # of the newest run\n"
                "plumb deep --kernel convolution --explain # the convolutions, and the columns\n"
                "plumb deep --cores one RUN                # of a program with one thread\n"
                "plumb deep --peaks --measure              # measure this machine again",
    .status = "0 success; 2 wrong usage, or a recording without kernels.",
    .options = options,
    .run = run,
};
