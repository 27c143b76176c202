/* cmd_export.c: plumb export. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "export_to.h"

enum { FORMAT, TO, OUTPUT };
static const struct plumb_cli_option options[] = {
    {"format", "chrome|perfetto|folded|speedscope|csv|otf2|prometheus|otlp",
     "form of the output (chrome)", false},
    {"to", "FORM", "the same", false},
    {"output", "FILE", "write there; '-' is standard output, a folder gets the default name",
     false},
    {NULL, NULL, NULL, false},
};

struct wish {
    plumb_export_options options;
    bool prometheus; /* metrics instead of the trace */
    bool otlp;       /* requests instead of the trace */
    bool to_stdout;
    int why;   /* errno of what could not be written there */
    int shown; /* percent on the terminal; -1: none */
};

static bool take_format(struct wish *w, const char *value)
{
    const char *names[16];
    const char *name;
    size_t n = 0;
    for (; n < 15 && (name = plumb_export_format_name(n)) != NULL; n++) {
        names[n] = name;
        if (strcmp(name, value) == 0) {
            w->options.format = value;
            w->prometheus = w->otlp = false;
            return true;
        }
    }
    names[n++] = "prometheus";
    names[n++] = "otlp";
    if (strcmp(value, "prometheus") == 0 || strcmp(value, "otlp") == 0) {
        w->otlp = strcmp(value, "otlp") == 0;
        w->prometheus = !w->otlp;
        return true;
    }
    if (strcmp(value, "otf2") == 0) {
        plumb_cli_say(&plumb_cmd_export, "this plumb was built without OTF2 (libotf2-trace-dev)");
        return false;
    }
    return plumb_cli_wants(&plumb_cmd_export, "format", names, n, value);
}

static int write_stdout(void *arg, const void *bytes, size_t n)
{
    struct wish *w = arg;
    if (fwrite(bytes, 1, n, stdout) == n && fflush(stdout) == 0)
        return 0;
    w->why = errno ? errno : EIO;
    return -1;
}

/* A bar of 40 places, redrawn when the percentage changes. */
static void show_progress(void *arg, uint64_t done, uint64_t all)
{
    static const char bar[] = "########################################";
    struct wish *w = arg;
    int percent = all ? (int)(100.0 * (double)done / (double)all) : 100;
    if (percent == w->shown)
        return;
    w->shown = percent;
    fprintf(stderr, "\r[%-40.*s] %3d%%", percent * 40 / 100, bar, percent);
    fflush(stderr);
}

static void clear_progress(const struct wish *w)
{
    if (w->shown >= 0)
        fprintf(stderr, "\r%48s\r", "");
}

/* "": known to those who asked for the form. */
static const char *opened_with(const char *format)
{
    if (!format || strcmp(format, "chrome") == 0)
        return "https://ui.perfetto.dev or chrome://tracing";
    if (strcmp(format, "perfetto") == 0)
        return "https://ui.perfetto.dev";
    if (strcmp(format, "speedscope") == 0)
        return "https://www.speedscope.app";
    return strcmp(format, "folded") == 0 ? "flamegraph.pl or https://www.speedscope.app" : "";
}

static int metrics_failed(const struct wish *w, const plumb_error *err)
{
    if (w->why)
        plumb_cli_stdout_failed(w->why);
    else
        plumb_cli_say(&plumb_cmd_export, "%s", err->message);
    return PLUMB_EXIT_TROUBLE;
}

static int metrics_to_stdout(const char *run, struct wish *w)
{
    plumb_error err = {0, ""};
    plumb_metrics *m = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int rc = plumb_metrics_open(&m, NULL, &err);
    if (rc == PLUMB_OK)
        rc = plumb_metrics_add(m, run, &err);
    if (rc == PLUMB_OK)
        rc = plumb_metrics_render(&text, &bytes, m, PLUMB_METRICS_PROMETHEUS, &err);
    if (rc == PLUMB_OK)
        rc = write_stdout(w, text, bytes);
    plumb_read_free(text);
    plumb_metrics_close(m);
    return rc < 0 ? metrics_failed(w, &err) : PLUMB_EXIT_OK;
}

/* A file for the textfile collector of Prometheus's node exporter. */
static int export_metrics(const char *run, struct wish *w)
{
    plumb_error err = {0, ""};
    char path[4096];
    if (w->to_stdout)
        return metrics_to_stdout(run, w);
    if (plumb_metrics_export(path, sizeof path, run, w->options.output, NULL, &err) < 0)
        return metrics_failed(w, &err);
    printf("%s\n", path);
    return PLUMB_EXIT_OK;
}

static int export(const char *run, struct wish *w)
{
    const char *opens = opened_with(w->options.format);
    plumb_exported made;
    plumb_error err = {0, ""};
    char size[32];
    w->shown = -1;
    w->options.arg = w;
    w->options.write = w->to_stdout ? write_stdout : NULL;
    w->options.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    int rc = plumb_export(&made, run, &w->options, &err);
    clear_progress(w);
    if (rc < 0) {
        if (w->why)
            plumb_cli_stdout_failed(w->why);
        else
            plumb_cli_say(&plumb_cmd_export, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    plumb_cli_say_lines(&plumb_cmd_export, made.remarks ? made.remarks : "");
    plumb_read_free(made.remarks);
    if (w->to_stdout)
        return PLUMB_EXIT_OK;
    if (made.replaced)
        plumb_cli_say(&plumb_cmd_export, "replaced '%s', which was there before", made.path);
    if (made.folder)
        plumb_cli_say(&plumb_cmd_export, "%" PRIu64 " spans", made.spans);
    else
        plumb_cli_say(&plumb_cmd_export, "%" PRIu64 " spans, %s%s%s", made.spans,
                      plumb_cli_bytes(size, made.bytes), *opens ? "; open it with " : "", opens);
    puts(made.path);
    return PLUMB_EXIT_OK;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct wish w = {.options = plumb_export_options_default()};
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_export, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if ((option == FORMAT || option == TO) && !take_format(&w, args.value))
            return PLUMB_EXIT_TROUBLE;
        if (option == OUTPUT)
            w.options.output = args.value;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > 1)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_export, "one trace at a time, not %d", argc - args.operand));
    if (w.otlp)
        return plumb_cli_export_otlp(args.operand < argc ? argv[args.operand] : NULL,
                                     w.options.output);
    if (w.options.output && strcmp(w.options.output, "-") == 0) {
        w.to_stdout = true;
        w.options.output = NULL;
    }
    const char *of = args.operand < argc ? argv[args.operand] : NULL;
    return w.prometheus ? export_metrics(of, &w) : export(of, &w);
}

const struct plumb_cli_command plumb_cmd_export = {
    .name = "export",
    .summary = "write the trace or the requests of a run for other tools",
    .synopsis = "[OPTION]... [RUN | FILE]",
    .description =
        "Writes the timeline of a run that was recorded with PLUMB_TRACE=1, or a trace\n"
        "file (Perfetto's format, Chrome JSON), as a file that other tools read, and\n"
        "prints its path. RUN is as for plumb report; without it, it is the newest run.\n"
        "\n"
        "  chrome      Chrome trace events as Kineto writes them, for ui.perfetto.dev,\n"
        "              chrome's DevTools, TensorBoard, HolisticTraceAnalysis, speedscope\n"
        "  perfetto    the trace itself, for ui.perfetto.dev; only of such a trace\n"
        "  folded      stacks with their self time in ns, for flamegraph.pl and others\n"
        "  speedscope  a timeline of each thread, for www.speedscope.app\n"
        "  csv         a line for each span, instant and counter value\n"
        "  otf2        an OTF2 archive (a folder), for Vampir and otf2-print\n"
        "  prometheus  metrics of any run, without a trace too: plumb.prom, for the\n"
        "              textfile collector of Prometheus's node exporter\n"
        "\n"
        "--to otlp writes the requests of a run, with their stages, as traces of\n"
        "OpenTelemetry (OTLP's JSON); it needs no trace. Requests that were given a\n"
        "traceparent are part of their caller's trace. OTEL_SERVICE_NAME is the name of\n"
        "the service. plumb serve --otlp sends the same to a collector.\n"
        "\n"
        "The file is written into the working directory. Its name is\n"
        "<host>_<pid>_rank<R>.<start in Unix ns> and the ending of the format, for chrome\n"
        ".pt.trace.json.gz. With --output it is compressed if the name ends in .gz. An\n"
        "existing file is replaced when the new one is complete, and a line says so; an\n"
        "existing folder is not replaced.\n"
        "\n"
        "Dropped spans, and spans that were open at the end, are reported on standard\n"
        "error.",
    .examples = "plumb export --to otlp RUN -o requests.json\n"
                "plumb export                                 # the newest run, for chrome\n"
                "plumb export RUN -o trace.json               # not compressed\n"
                "plumb export --format folded RUN -o - | flamegraph.pl >flame.svg\n"
                "plumb export --to prometheus -o /var/lib/node_exporter/job.prom\n"
                "plumb export --format otf2 RUN -o traces/    # a folder for all ranks",
    .status = "0 success; 2 wrong usage, no such run, a run without a trace, a file that is\n"
              "not a trace, or output that cannot be written.",
    .options = options,
    .run = run,
};
