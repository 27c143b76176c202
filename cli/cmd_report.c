/* cmd_report.c: plumb report. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum {
    FORMAT,
    OUTPUT,
    PIPELINE,
    PHASE,
    SORT,
    TOP,
    FRAMES,
    TREE,
    WIDE,
    EXPLAIN,
    MEMORY,
    REQUESTS,
    SUMMARY,
    SIGNATURES,
    REQUEST,
    MIN_WIDTH,
    TRACE,
    GAPS,
    STEPS,
    SLOWEST,
    NODE,
    DEPTH,
    FOLD,
    UNIT
};

static const struct plumb_cli_option options[] = {
    [FORMAT] = {"format", "text|json|csv|md|svg",
                "form of the output (text); svg is a picture: a flame graph of the call tree, or "
                "with --memory the memory over time",
                false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [PIPELINE] = {"pipeline", "NAME", "only this pipeline", false},
    [PHASE] = {"phase", "NAME", "only this phase", false},
    [SORT] = {"sort", "total|self|mean|p95",
              "figure that orders the rows, largest first (total); of the tree all but p95", false},
    [TOP] = {"top", "N", "show the first N rows; sums are still over all", false},
    [FRAMES] = {"frames", "N",
                "frames of one phase: shown in the title, and the divisor of the "
                "average (less skip_first_n); not used in a table of several",
                false},
    [TREE] = {"tree", NULL, "the call tree instead of the table", false},
    [WIDE] = {"wide", NULL, "more columns: self time, share, percentiles, device time", false},
    [EXPLAIN] = {"explain", NULL, "what each column means, below the output", false},
    [MEMORY] = {"memory", NULL, "memory of stages, nodes and pools, and checkpoints", false},
    [REQUESTS] = {"requests", NULL, "the requests that were served; with --request its stages",
                  false},
    [SUMMARY] = {"summary", NULL,
                 "what the last request (else the run) cost, for people: time and memory of its "
                 "stages, checkpoints",
                 false},
    [SIGNATURES] = {"signatures", NULL,
                    "what went into each stage and came out, each different signature", false},
    [REQUEST] = {"request", "ID", "only this request: its stages and its time", false},
    [MIN_WIDTH] = {"min-width", "PX",
                   "svg: rectangles narrower than PX pixels share one (0.1); the picture is 1180 "
                   "wide",
                   false},
    [TRACE] = {"trace", NULL,
               "the trace of the run: each node on each thread, threads and gaps, steps", false},
    [GAPS] = {"gaps", NULL, "trace: the largest gaps between spans of a thread", false},
    [STEPS] = {"steps", NULL, "trace: each step of the nodes that run in steps", false},
    [SLOWEST] = {"slowest", "NODE",
                 "trace: the longest runs of the node, each with what ran inside (--top 10)",
                 false},
    [NODE] = {"node", "REGEX",
              "only nodes whose names match; in the tree and the flame graph with what is around "
              "and inside them",
              false},
    [DEPTH] = {"depth", "N", "the first N levels of the call tree only", false},
    [FOLD] = {"fold", "on|off",
              "nodes that differ in a number alone as one, layer.0 to layer.31 as layer.*, with "
              "the spread over them; by default where a table or a tree has more than 40 lines",
              true},
    [UNIT] = {"unit", "auto|ns|us|ms|s",
              "unit of times in tables for people (auto: one that fits each column)", false},
    {NULL, NULL, NULL, false},
};

struct wish { /* what the command line asks for */
    plumb_report_options options;
    plumb_trace_view view; /* where it is the trace that is asked for */
    bool trace;
    uint32_t given;     /* a bit for each option */
    const char *output; /* NULL: stdout */
};

static bool take_sort(plumb_report_options *o, const char *text)
{
    static const char *const names[] = {"total", "self", "mean", "p95"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            o->sort = i;
            return true;
        }
    plumb_cli_usage(&plumb_cmd_report, "--sort wants total, self, mean or p95, not '%s'", text);
    return false;
}

static bool take_format(plumb_report_options *o, const char *text)
{
    for (size_t i = 0; plumb_report_format(i); i++)
        if (strcmp(plumb_report_format(i), text) == 0) {
            o->format = text;
            return true;
        }
    plumb_cli_usage(&plumb_cmd_report, "--format wants text, json, csv, md or svg, not '%s'", text);
    return false;
}

/* The command's locale is C, whatever the user's is: a number has a point. */
static bool take_min_width(plumb_report_options *o, const char *text)
{
    char *end;
    double px = strtod(text, &end);
    if (end == text || *end || !(px > 0 && px <= 1180)) {
        plumb_cli_usage(&plumb_cmd_report,
                        "--min-width wants pixels above 0 and up to 1180, not '%s'", text);
        return false;
    }
    o->min_width = px;
    return true;
}

static bool take_trace(struct wish *w, uint32_t kind, const char *node)
{
    w->trace = true;
    w->view.kind = kind;
    w->view.node = node;
    return true;
}

static bool take(struct wish *w, int option, const char *value)
{
    plumb_report_options *o = &w->options;
    w->given |= 1u << option;
    switch (option) {
    case FORMAT:
        return take_format(o, value);
    case OUTPUT:
        w->output = value;
        return true;
    case MIN_WIDTH:
        return take_min_width(o, value);
    case MEMORY:
        o->view = PLUMB_VIEW_MEMORY;
        return true;
    case REQUESTS:
        o->view = PLUMB_VIEW_REQUESTS;
        return true;
    case SUMMARY:
        o->view = PLUMB_VIEW_SUMMARY;
        return true;
    case SIGNATURES:
        o->view = PLUMB_VIEW_SIGNATURES;
        return true;
    case REQUEST:
        o->request = value;
        return true;
    case SORT:
        return take_sort(o, value);
    case TOP:
        return plumb_cli_number(&plumb_cmd_report, "top", value, &o->top);
    case FRAMES:
        return plumb_cli_number(&plumb_cmd_report, "frames", value, &o->frames);
    case PIPELINE:
        o->pipeline = value;
        return true;
    case PHASE:
        o->phase = value;
        return true;
    case TRACE:
        w->trace = true;
        return true;
    case GAPS:
        return take_trace(w, PLUMB_TRACE_VIEW_GAPS, NULL);
    case STEPS:
        return take_trace(w, PLUMB_TRACE_VIEW_STEPS, NULL);
    case SLOWEST:
        return take_trace(w, PLUMB_TRACE_VIEW_SLOWEST, value);
    case NODE:
        o->node = value;
        return true;
    case DEPTH:
        return plumb_cli_depth(&plumb_cmd_report, value, &o->depth);
    case FOLD:
        return plumb_cli_fold(&plumb_cmd_report, value, &o->fold);
    case UNIT:
        return plumb_cli_unit(&plumb_cmd_report, value, &o->unit);
    case TREE:
        o->tree = 1;
        return true;
    case WIDE:
        o->wide = 1;
        return true;
    default:
        o->explain = 1;
        return true;
    }
}

/* `what`: the run, or the file that was read. */
static bool put_text(const struct wish *w, const char *what, const char *text)
{
    if (w->output && plumb_cli_is_run(what, w->output)) {
        plumb_cli_say(&plumb_cmd_report, "'%s' is the report itself: give --output another name",
                      w->output);
        return false;
    }
    return plumb_cli_output(&plumb_cmd_report, w->output, text);
}

/* A file of signatures has no run around it. PLUMB_ERR_FORMAT: it is none. */
static int read_signatures(const char *run, const struct wish *w, char **text, plumb_error *err)
{
    bool asked = run && w->options.view == PLUMB_VIEW_SIGNATURES;
    return asked ? plumb_signatures_render(run, &w->options, text, err) : PLUMB_ERR_NOT_FOUND;
}

/* ---- Traces -----------------------------------------------------------------------------------
 */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Whether the operand is a trace by itself, by its name or by what it begins with. */
static bool is_trace(const char *path)
{
    if (!path || ends_in(path, ".plumb"))
        return false;
    return ends_in(path, ".pftrace") || ends_in(path, ".perfetto-trace") ||
           plumb_trace_looks(path) == 1;
}

static int show_trace(const char *what, const struct wish *w)
{
    plumb_trace *trace = NULL;
    plumb_trace_view view = w->view;
    plumb_error err = {0, ""};
    char *text = NULL;
    char *remarks = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    view.format = w->options.format;
    view.top = w->options.top;
    view.explain = w->options.explain;
    if (plumb_trace_open(&trace, what, &err) < 0 ||
        plumb_trace_render(trace, &view, &text, &err) < 0 ||
        plumb_trace_remarks(trace, &remarks, &err) < 0) {
        plumb_cli_say(&plumb_cmd_report, "%s", err.message);
        goto out;
    }
    if (!put_text(w, plumb_trace_path(trace), text))
        goto out;
    plumb_cli_say_lines(&plumb_cmd_report, remarks);
    status = PLUMB_EXIT_OK;
out:
    plumb_read_free(remarks);
    plumb_read_free(text);
    plumb_trace_close(trace);
    return status;
}

/* ---- Reports ----------------------------------------------------------------------------------
 */

static int show(const char *run, const struct wish *w)
{
    plumb_report *report = NULL;
    plumb_error err = {0, ""};
    plumb_error other = {0, ""};
    char *text = NULL;
    char *remarks = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (read_signatures(run, w, &text, &other) == PLUMB_OK) {
        status = put_text(w, run, text) ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
        goto out;
    }
    if (plumb_report_open(&report, run, &err) < 0 ||
        plumb_report_render(report, &w->options, &text, &err) < 0 ||
        plumb_report_remarks(report, &remarks, &err) < 0) {
        bool same = !report && other.code == PLUMB_ERR_FORMAT && err.code == PLUMB_ERR_FORMAT;
        plumb_cli_say(&plumb_cmd_report, "%s", same ? other.message : err.message);
        goto out;
    }
    if (!put_text(w, plumb_report_path(report), text))
        goto out;
    plumb_cli_say_lines(&plumb_cmd_report, remarks);
    status = PLUMB_EXIT_OK;
out:
    plumb_read_free(remarks);
    plumb_read_free(text);
    plumb_report_close(report);
    return status;
}

/* ---- Which options go together ------------------------------------------------------------------
 */

enum { /* what a report can show: a bit each */
       SHOWS_TABLE = 1,
       SHOWS_TREE = 2,
       SHOWS_FLAME = 4,
       SHOWS_MEMORY = 8,
       SHOWS_MEMORY_SVG = 16,
       SHOWS_REQUESTS = 32,
       SHOWS_ONE_REQUEST = 64,
       SHOWS_SUMMARY = 128,
       SHOWS_SIGNATURES = 256,
       SHOWS_TRACE = 512,
       SHOWS_ANYTHING = 1023
};

/* Where an option changes what is shown. Everywhere else it is refused: who asks for something and
 * gets nothing of it would take the figures for those that were asked for. */
static const uint32_t has_effect[] = {
    [FORMAT] = SHOWS_ANYTHING,
    [OUTPUT] = SHOWS_ANYTHING,
    [PIPELINE] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME | SHOWS_MEMORY | SHOWS_MEMORY_SVG |
                 SHOWS_ONE_REQUEST,
    [PHASE] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME | SHOWS_MEMORY | SHOWS_MEMORY_SVG |
              SHOWS_ONE_REQUEST,
    [SORT] = SHOWS_TABLE | SHOWS_TREE,
    [TOP] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME | SHOWS_MEMORY | SHOWS_REQUESTS |
            SHOWS_SIGNATURES | SHOWS_TRACE,
    [FRAMES] = SHOWS_TABLE,
    [TREE] = SHOWS_TREE | SHOWS_FLAME,
    [WIDE] = SHOWS_TABLE,
    [EXPLAIN] = SHOWS_ANYTHING,
    [MEMORY] = SHOWS_MEMORY | SHOWS_MEMORY_SVG,
    [REQUESTS] = SHOWS_REQUESTS | SHOWS_ONE_REQUEST,
    [SUMMARY] = SHOWS_SUMMARY,
    [SIGNATURES] = SHOWS_SIGNATURES,
    [REQUEST] =
        SHOWS_MEMORY | SHOWS_MEMORY_SVG | SHOWS_ONE_REQUEST | SHOWS_SUMMARY | SHOWS_SIGNATURES,
    [MIN_WIDTH] = SHOWS_FLAME,
    [TRACE] = SHOWS_TRACE,
    [GAPS] = SHOWS_TRACE,
    [STEPS] = SHOWS_TRACE,
    [SLOWEST] = SHOWS_TRACE,
    [NODE] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME,
    [DEPTH] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME,
    [FOLD] = SHOWS_TABLE | SHOWS_TREE | SHOWS_FLAME,
    [UNIT] = SHOWS_TABLE | SHOWS_TREE,
};
enum { OPTION_COUNT = sizeof has_effect / sizeof *has_effect };

static bool is_format(const struct wish *w, const char *format)
{
    return w->options.format && strcmp(w->options.format, format) == 0;
}

/* JSON has the table as well as the tree. */
static uint32_t shown(const struct wish *w)
{
    bool svg = is_format(w, "svg");
    switch (w->options.view) {
    case PLUMB_VIEW_MEMORY:
        return svg ? SHOWS_MEMORY_SVG : SHOWS_MEMORY;
    case PLUMB_VIEW_REQUESTS:
        return w->options.request ? SHOWS_ONE_REQUEST : SHOWS_REQUESTS;
    case PLUMB_VIEW_SUMMARY:
        return SHOWS_SUMMARY;
    case PLUMB_VIEW_SIGNATURES:
        return SHOWS_SIGNATURES;
    default:
        if (svg)
            return SHOWS_FLAME;
        if (!w->options.tree)
            return SHOWS_TABLE;
        return SHOWS_TREE | (is_format(w, "json") ? SHOWS_TABLE : 0);
    }
}

/* What the user called that which is shown. */
static const char *name_of(uint32_t shows)
{
    if (shows & SHOWS_TREE)
        return "--tree";
    if (shows & SHOWS_FLAME)
        return "the flame graph";
    if (shows & SHOWS_MEMORY)
        return "--memory";
    if (shows & SHOWS_MEMORY_SVG)
        return "the picture of the memory";
    if (shows & SHOWS_REQUESTS)
        return "--requests without --request";
    if (shows & SHOWS_ONE_REQUEST)
        return "--requests";
    if (shows & SHOWS_SUMMARY)
        return "--summary";
    return shows & SHOWS_SIGNATURES ? "--signatures" : "the table of nodes";
}

static bool refuse(const struct wish *w, int option, uint32_t shows)
{
    if (shows & SHOWS_TRACE)
        plumb_cli_usage(&plumb_cmd_report, "--%s is of a run's figures, and this is a trace",
                        options[option].name);
    else if (option == REQUEST)
        plumb_cli_usage(&plumb_cmd_report,
                        "--request goes with --requests, --summary, --memory or --signatures");
    else if (option == MIN_WIDTH)
        plumb_cli_usage(&plumb_cmd_report, "--min-width goes with --format svg");
    else
        plumb_cli_usage(&plumb_cmd_report, "--%s changes nothing of %s", options[option].name,
                        name_of(shown(w)));
    return false;
}

/* Two of these at once ask for two reports. */
static bool asks_for_two(const struct wish *w)
{
    static const int views[] = {TREE, MEMORY, REQUESTS, SUMMARY, SIGNATURES, GAPS, STEPS, SLOWEST};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (!(w->given & 1u << views[i]))
            continue;
        if (first) {
            plumb_cli_usage(&plumb_cmd_report, "--%s and --%s are two reports: one at a time",
                            first, options[views[i]].name);
            return true;
        }
        first = options[views[i]].name;
    }
    return false;
}

static bool go_together(const struct wish *w, uint32_t shows)
{
    if (asks_for_two(w))
        return false;
    for (int i = 0; i < OPTION_COUNT; i++)
        if ((w->given & 1u << i) && !(has_effect[i] & shows))
            return refuse(w, i, shows);
    if ((w->given & 1u << SORT) && (shows & (SHOWS_TREE | SHOWS_TABLE)) == SHOWS_TREE &&
        w->options.sort == PLUMB_SORT_P95) {
        plumb_cli_usage(&plumb_cmd_report,
                        "--sort p95 is of the table: the tree has no percentiles of a place");
        return false;
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct wish w = {plumb_report_options_default(), plumb_trace_view_default(), false, 0, NULL};
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_report, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(&w, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand > 1)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_report, "one run at a time, not %d", argc - args.operand));
    const char *what = args.operand < argc ? argv[args.operand] : NULL;
    bool trace = w.trace || is_trace(what);
    if (!go_together(&w, trace ? SHOWS_TRACE : shown(&w)))
        return PLUMB_EXIT_TROUBLE;
    return trace ? show_trace(what, &w) : show(what, &w);
}

const struct plumb_cli_command plumb_cmd_report = {
    .name = "report",
    .summary = "show where the time of a run went",
    .synopsis = "[OPTION]... [RUN | timing.json | TRACE]",
    .description =
        "Prints a table of the nodes of a run, the longest total first. RUN is a run\n"
        "directory, a folder of runs (the newest of them is taken), or the name of a\n"
        "run below the output folder. Without RUN it is the newest run there\n"
        "(PLUMB_DIR, else plumb-out).\n"
        "\n"
        "A run that was killed is recovered first; one that still records is shown as\n"
        "it stands. What a reader of the figures must know (spans that were open,\n"
        "anything dropped, failures) goes to standard error.\n"
        "\n"
        "TOTAL and the average per frame add the time of outermost runs only, so that\n"
        "a node inside another is not counted twice. Without --frames there is an\n"
        "average where the outermost nodes are the body of a loop: all that ran more\n"
        "than once ran equally often.\n"
        "\n"
        "Times have the unit that fits their column, and three digits at least. A table\n"
        "or a tree of more than 40 lines shows the layers of a model as one, and says so\n"
        "(--fold=off shows each).\n"
        "\n"
        "With --trace, --gaps, --steps or --slowest it is the run's trace that is shown\n"
        "(there is one when the run was recorded with PLUMB_TRACE=1), as it is for a\n"
        "file TRACE in Perfetto's format (trace.pftrace) or in Chrome's JSON, whoever\n"
        "wrote it. Figures of a trace are exact, but what was dropped is not in them;\n"
        "those of the table are of all runs. --top is the number of rows of each table.\n"
        "\n"
        "With --format svg it is a picture of the call tree instead: --phase, --pipeline\n"
        "and --top choose what is in it. An option that changes nothing of what is shown\n"
        "is refused.",
    .examples = "plumb report                        # the newest run\n"
                "plumb report --frames 103 --wide    # more columns, average over 100 frames\n"
                "plumb report --tree --top 5 RUN     # five largest nodes of each level\n"
                "plumb report --tree --depth 3 --fold    # layer.0 to layer.79 as layer.*\n"
                "plumb report --node 'attn|rope' --unit us\n"
                "plumb report --format csv RUN >rows.csv\n"
                "plumb report --format svg -o flame.svg    # open it in a browser\n"
                "plumb report --trace                # the trace of the newest run\n"
                "plumb report --slowest denoise_step --top 3    # where its longest runs went\n"
                "plumb report --gaps trace.pftrace   # when its threads had nothing to do",
    .status = "0 success; 2 wrong usage, no such run, a report that cannot be read, a phase\n"
              "or pipeline that the run does not have, or output that cannot be written.",
    .options = options,
    .run = run,
};
