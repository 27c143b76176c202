/* cmd_deep.c: plumb deep: kernels of a trace against the peaks of this machine; those of NVIDIA
 * GPUs through deep_ncu.c. */
#include <string.h>

#include "deep.h"

enum {
    FORMAT,
    OUTPUT,
    KERNEL,
    CORES,
    TOP,
    PEAKS,
    MEASURE,
    EXPLAIN,
    NCU,
    STAGE,
    SKIP,
    COUNT,
    METRICS,
    CSV,
    PRINT,
    REPORT,
    RUN,
    MFU
};

static const struct plumb_cli_option options[] = {
    [FORMAT] = {"format", "text|json|csv|md|svg", "form of the output (text); svg: a picture",
                false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [KERNEL] = {"kernel", "REGEX",
                "only kernels in whose name REGEX is found; with --ncu its --kernel-name: a whole "
                "name, or regex:EXPRESSION",
                false},
    [CORES] = {"cores", "all|one", "compare with the peaks of all cores, or of one (all)", false},
    [TOP] = {"top", "N", "show the first N kernels", false},
    [PEAKS] = {"peaks", NULL, "show the peaks of this machine, without a recording", false},
    [MEASURE] = {"measure", NULL, "measure the peaks again", false},
    [EXPLAIN] = {"explain", NULL, "explain the columns below the output", false},
    [NCU] = {"ncu", NULL, "run the program under Nsight Compute", false},
    [STAGE] = {"stage", "NAME", "with --ncu: only kernels that are launched inside the stage",
               false},
    [SKIP] = {"launch-skip", "N", "with --ncu: pass over N launches first (0)", false},
    [COUNT] = {"launch-count", "N", "with --ncu: profile N launches (1)", false},
    [METRICS] = {"metrics", "LIST", "with --ncu: collect these metrics too, by raw name", false},
    [CSV] = {"csv", "FILE", "with --ncu: where it writes its CSV (plumb-ncu.csv)", false},
    [PRINT] = {"print", NULL, "with --ncu: print the command, and do not run it", false},
    [REPORT] = {"report", "md", "the report on one kernel, from workload to next experiment",
                false},
    [RUN] = {"run", "RUN",
             "with --report: the run whose workload and stage times it has (that of the trace)",
             false},
    [MFU] = {"mfu", "run|NAME=VALUE,...", "model FLOPs utilisation of a run, or of a training step",
             false},
    {NULL, NULL, NULL, false},
};

struct wanted {
    plumb_deep_options options;
    plumb_deep_view view;
    const char *output;
    struct plumb_cli_ncu ncu;
    const char *needs_ncu; /* an option that --ncu goes with; NULL: none */
    bool use_ncu;
    const char *model; /* of --mfu; NULL: kernels */
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
    static const char *const words[] = {"text", "json", "csv", "md", "svg"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], value) == 0) {
            w->view.format = value;
            return true;
        }
    }
    return plumb_cli_wants(&plumb_cmd_deep, "format", words, sizeof words / sizeof *words, value);
}

/* Options of Nsight Compute alone. */
static bool take_ncu(struct wanted *w, int option, const char *value)
{
    struct plumb_cli_ncu *n = &w->ncu;
    w->needs_ncu = options[option].name;
    switch (option) {
    case STAGE:
        n->stage = value;
        return true;
    case SKIP:
        return plumb_cli_number(&plumb_cmd_deep, "launch-skip", value, &n->skip);
    case COUNT:
        return plumb_cli_number(&plumb_cmd_deep, "launch-count", value, &n->count);
    case METRICS:
        n->metrics = value;
        return true;
    case CSV:
        n->csv = value;
        return true;
    default:
        n->print = true;
        return true;
    }
}

static bool take_report(struct wanted *w, const char *value)
{
    static const char *const words[] = {"md"};
    w->ncu.view.report = 1;
    w->view.format = "md";
    return strcmp(value, "md") == 0 || plumb_cli_wants(&plumb_cmd_deep, "report", words, 1, value);
}

static bool take(struct wanted *w, int option, const char *value)
{
    switch (option) {
    case NCU:
        w->use_ncu = true;
        return true;
    case REPORT:
        return take_report(w, value);
    case RUN:
        w->ncu.view.run = value;
        return true;
    case STAGE:
    case SKIP:
    case COUNT:
    case METRICS:
    case CSV:
    case PRINT:
        return take_ncu(w, option, value);
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
    case MFU:
        w->model = value;
        return true;
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

static int show_mfu(const struct wanted *w, const char *path)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (plumb_mfu_render(&text, w->model, path, w->view.format, &err) < 0)
        plumb_cli_say(&plumb_cmd_deep, "%s", err.message);
    else if (plumb_cli_output(&plumb_cmd_deep, w->output, text))
        status = PLUMB_EXIT_OK;
    plumb_read_free(text);
    return status;
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

/* Passes on the options that both kinds of kernels have. */
static void settle_ncu(struct wanted *w)
{
    w->ncu.kernel = w->view.kernel;
    w->ncu.view.format = w->view.format;
    w->ncu.view.top = w->view.top;
    w->ncu.output = w->output;
}

static int run_ncu(struct wanted *w, const struct plumb_cli_args *args)
{
    if (args->operand == args->argc)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_deep, "--ncu wants a program: plumb deep --ncu -- PROGRAM"));
    settle_ncu(w);
    return plumb_cli_ncu_run(&w->ncu, args->argv + args->operand);
}

static int show_ncu(struct wanted *w, const char *path)
{
    if (w->view.kernel)
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_deep, "a report of ncu is shown whole: --kernel goes with --ncu"));
    settle_ncu(w);
    return plumb_cli_ncu_show(&w->ncu, path);
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct wanted w = {.options = plumb_deep_options_default(),
                       .view = plumb_deep_view_default(),
                       .ncu = {.view = plumb_ncu_report_view_default()}};
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_deep, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(&w, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (w.use_ncu)
        return run_ncu(&w, &args);
    if (w.needs_ncu)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_deep, "--%s goes with --ncu", w.needs_ncu));
    if (argc - args.operand > (w.options.peaks_only ? 0 : 1))
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_deep,
            w.options.peaks_only ? "--peaks takes no recording" : "one recording at a time, not %d",
            argc - args.operand));
    const char *path = args.operand < argc ? argv[args.operand] : NULL;
    if (w.model)
        return show_mfu(&w, path);
    if (plumb_cli_is_ncu(path))
        return show_ncu(&w, path);
    if (w.ncu.view.report && w.options.peaks_only)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_deep, "--report takes a recording, not --peaks"));
    w.view.report = w.ncu.view.report;
    w.view.run = w.ncu.view.run;
    return show(&w, path);
}

const struct plumb_cli_command plumb_cmd_deep = {
    .name = "deep",
    .summary = "compare kernels with the peaks of this machine: what limits them",
    .synopsis = "[OPTION...] [RUN | REPORT.csv | --ncu -- PROGRAM...]",
    .description =
        "Reads the trace of a recording and prints a row for each kernel whose\n"
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
        "$XDG_CACHE_HOME/plumb/peaks.json (otherwise in ~/.cache).\n"
        "\n"
        "With PLUMB_COLLECT=perf it also prints what each stage, and each kernel on the\n"
        "thread that called it, did: processor time, page faults, context switches, and\n"
        "where the machine has them instructions, IPC, cache and branch misses.\n"
        "\n"
        "With --ncu, runs PROGRAM under NVIDIA Nsight Compute, for the kernel, stage and\n"
        "launches that the options choose, and prints a row for each launch. REPORT.csv\n"
        "is such a report, or one that 'ncu --csv --page raw' or '--page details' wrote.\n"
        "The verdict there: memory_bound if the memory reaches more than 80 % of its\n"
        "peak, otherwise compute_bound above 60 % of the multiprocessors' peak,\n"
        "otherwise latency_bound, and unknown if one of the two figures is missing.\n"
        "\n"
        "--report md writes the report on the kernel with the largest total time.\n"
        "\n"
        "--mfu run prints the operations of all kernels of RUN, over those that the\n"
        "machine could do in that time: each type at its measured peak, or with\n"
        "dtype, peak_tflops or device all at that one (--mfu run,dtype=f32).\n"
        "\n"
        "--mfu with shapes prints the operations that a step of a diffusion transformer\n"
        "needs, over those that its devices can do in that time. It takes dit_seq_len,\n"
        "context_len, hidden_dim, num_layers and ffn_dim; step_s, or step=NODE for the\n"
        "median run of a node of RUN; peak_tflops, device=h100|a100, or dtype for the\n"
        "measured peak; and batch, grad_accum and world_size, which are 1 unless given.",
    .examples = "plumb deep                                # of the newest run\n"
                "plumb deep --kernel convolution --explain # the convolutions, and the columns\n"
                "plumb deep --cores one RUN                # of a program with one thread\n"
                "plumb deep --peaks --measure              # measure this machine again\n"
                "plumb deep --ncu --stage denoise -- ./app # the stage's first kernel, on a GPU\n"
                "plumb deep --format svg -o roofline.svg   # the picture\n"
                "plumb deep --report md RUN                # the report on the slowest kernel\n"
                "plumb deep --mfu run RUN                  # how much of the machine RUN used\n"
                "plumb deep --report md --run RUN ncu.csv  # the report on one kernel of a GPU",
    .status = "0 success; 2 wrong usage, or a recording without kernels. With --ncu: the\n"
              "status of ncu, which passes on that of the program; 127 without ncu.",
    .options = options,
    .run = run,
};
