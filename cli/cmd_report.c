/* cmd_report.c: plumb report. The first operand chooses a view; a view is one const struct in the
 * table `views`. */
#include <string.h>

#include "report.h"
#include "report_options.h"

/* ---- The views ------------------------------------------------------------------------------- */

enum {
    ALL = BIT(FORMAT) | BIT(OUTPUT) | BIT(EXPLAIN),
    PART = BIT(PIPELINE) | BIT(PHASE), /* of a run */
    OF_NODES = PART | BIT(SORT) | BIT(TOP) | BIT(NODE) | BIT(DEPTH) | BIT(FOLD) | BIT(UNIT) |
               BIT(MIN_WIDTH),
    OF_TABLE = BIT(FRAMES) | BIT(WIDE),
};

/* Options whose effect depends on another one: `only` have an effect with it alone, `never` have
 * none with it. */
struct condition {
    uint32_t only, never;
};

struct plumb_cli_report_view {
    struct plumb_cli_view head;
    int old;         /* the option that chose it before it had a name */
    uint32_t kind;   /* enum plumb_report_view or plumb_trace_view_kind */
    bool of_a_trace; /* a trace file alone, without a run around it, has this view */
    int (*show)(const struct plumb_cli_wish *w);
    uint32_t json; /* taken with --format json too, which has the table of nodes as well */
    struct condition svg, request;
};

static const struct plumb_cli_report_view views[] = {
    {.head = {"nodes", NULL, "a row for each node; the view without a name",
              ALL | OF_NODES | OF_TABLE},
     .old = -1,
     .kind = PLUMB_VIEW_NODES,
     .show = plumb_cli_show_report,
     .svg = {BIT(MIN_WIDTH), BIT(SORT) | BIT(UNIT) | OF_TABLE}},
    {.head = {"tree", NULL, "the call tree: a line for each place of a node", ALL | OF_NODES},
     .old = OLD_TREE,
     .kind = PLUMB_VIEW_NODES,
     .show = plumb_cli_show_report,
     .json = OF_TABLE,
     .svg = {BIT(MIN_WIDTH), BIT(SORT) | BIT(UNIT)}},
    {.head = {"summary", NULL, "time and memory of the last request, or of the run, on one page",
              ALL | BIT(REQUEST)},
     .old = OLD_SUMMARY,
     .kind = PLUMB_VIEW_SUMMARY,
     .show = plumb_cli_show_report},
    {.head = {"memory", NULL, "memory of stages, nodes and pools, and checkpoints",
              ALL | PART | BIT(TOP) | BIT(REQUEST)},
     .old = OLD_MEMORY,
     .kind = PLUMB_VIEW_MEMORY,
     .show = plumb_cli_show_report,
     .svg = {0, BIT(TOP)}},
    {.head = {"requests", NULL, "the requests that were served, or the stages of one",
              ALL | PART | BIT(TOP) | BIT(REQUEST)},
     .old = OLD_REQUESTS,
     .kind = PLUMB_VIEW_REQUESTS,
     .show = plumb_cli_show_report,
     .request = {PART, BIT(TOP)}},
    {.head = {"signatures", NULL, "each different signature of inputs and outputs of each stage",
              ALL | BIT(TOP) | BIT(REQUEST)},
     .old = OLD_SIGNATURES,
     .kind = PLUMB_VIEW_SIGNATURES,
     .show = plumb_cli_show_report},
    {.head = {"counts", NULL,
              "exact counts: dispatches, launches, copies, allocations, and the program's own",
              ALL | PART | BIT(TOP) | BIT(NODE) | BIT(BY)},
     .old = -1,
     .kind = PLUMB_VIEW_COUNTS,
     .show = plumb_cli_show_report},
    {.head = {"streams", NULL,
              "streams by sequence: why stages were idle, latencies of controls and outputs",
              ALL | BIT(TOP)},
     .old = OLD_STREAMS,
     .kind = PLUMB_VIEW_STREAMS,
     .show = plumb_cli_show_report},
    {.head = {"activations", NULL,
              "outputs of the layers of a model, as plumb activations shows them",
              ALL | BIT(TOP) | BIT(MODULE) | BIT(SUSPECTS) | BIT(BY_STEP)},
     .old = -1,
     .show = plumb_cli_show_activations},
    {.head = {"trace", NULL, "timeline: nodes by thread, threads, gaps, steps", ALL | BIT(TOP)},
     .old = OLD_TRACE,
     .kind = PLUMB_TRACE_VIEW_OVERVIEW,
     .of_a_trace = true,
     .show = plumb_cli_show_trace},
    {.head = {"gaps", NULL, "timeline: the largest gaps between spans of a thread", ALL | BIT(TOP)},
     .old = OLD_GAPS,
     .kind = PLUMB_TRACE_VIEW_GAPS,
     .of_a_trace = true,
     .show = plumb_cli_show_trace},
    {.head = {"steps", NULL, "timeline: each step of the nodes that run in steps", ALL | BIT(TOP)},
     .old = OLD_STEPS,
     .kind = PLUMB_TRACE_VIEW_STEPS,
     .of_a_trace = true,
     .show = plumb_cli_show_trace},
    {.head = {"slowest", "NODE",
              "timeline: the longest runs of NODE, each with what ran inside (--top 10)",
              ALL | BIT(TOP)},
     .old = OLD_SLOWEST,
     .kind = PLUMB_TRACE_VIEW_SLOWEST,
     .of_a_trace = true,
     .show = plumb_cli_show_trace},
    {.head = {"kernels", NULL, "timeline: kernels, and operators on the host, by their own time",
              ALL | BIT(TOP) | BIT(BY)},
     .old = -1,
     .kind = PLUMB_TRACE_VIEW_KERNELS,
     .of_a_trace = true,
     .show = plumb_cli_show_trace},
};
enum { VIEWS = sizeof views / sizeof *views };

static const struct plumb_cli_view *view_at(size_t i)
{
    return i < VIEWS ? &views[i].head : NULL;
}

static const struct plumb_cli_report_view *find_view(const char *name)
{
    for (size_t i = 0; i < VIEWS; i++)
        if (strcmp(views[i].head.name, name) == 0)
            return &views[i];
    return NULL;
}

static const char *nearest_view(const char *word)
{
    const char *names[VIEWS];
    for (size_t i = 0; i < VIEWS; i++)
        names[i] = views[i].head.name;
    return plumb_word_nearest(word, names, VIEWS);
}

/* Writes the names of the views that take `option`, or with a negative one of those that show a
 * trace file: "a, b and c". Returns how many they are. */
static size_t list_views(char *out, size_t size, int option)
{
    size_t count = 0, used = 0;
    const char *last = NULL;
    out[0] = '\0';
    for (size_t i = 0; i < VIEWS; i++) {
        if (option < 0 ? !views[i].of_a_trace : !(views[i].head.options & BIT(option)))
            continue;
        if (last && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", count > 1 ? ", " : "", last);
        last = views[i].head.name;
        count++;
    }
    if (last && used < size)
        snprintf(out + used, size - used, "%s%s", count > 1 ? " and " : "", last);
    return count;
}

/* ---- Which options a view takes -------------------------------------------------------------- */

static bool refuse(const struct plumb_cli_report_view *view, int option)
{
    char takers[256];
    size_t n = list_views(takers, sizeof takers, option);
    plumb_cli_usage(&plumb_cmd_report, "--%s is an option of the view%s %s, not of '%s'",
                    plumb_cli_report_options[option].name, n == 1 ? "" : "s", takers,
                    view->head.name);
    return false;
}

static bool refuse_by(const struct plumb_cli_report_view *view, int option, const char *with,
                      const char *other)
{
    plumb_cli_usage(&plumb_cmd_report, "--%s changes nothing of the view '%s' %s --%s",
                    plumb_cli_report_options[option].name, view->head.name, with, other);
    return false;
}

static bool fits_condition(const struct plumb_cli_report_view *view, const struct condition *c,
                           int option, bool given, const char *other)
{
    if (!given && (c->only & BIT(option)))
        return refuse_by(view, option, "without", other);
    if (given && (c->never & BIT(option)))
        return refuse_by(view, option, "with", other);
    return true;
}

static bool is_format(const struct plumb_cli_wish *w, const char *format)
{
    return w->options.format && strcmp(w->options.format, format) == 0;
}

/* An option that changes nothing is refused: its user would take the figures for those that they
 * asked for. */
static bool takes_options(const struct plumb_cli_report_view *view, const struct plumb_cli_wish *w)
{
    bool svg = is_format(w, "svg");
    uint32_t taken = view->head.options | (is_format(w, "json") ? view->json : 0);
    for (int i = 0; i < OLD_TREE; i++) {
        if (!(w->given & BIT(i)))
            continue;
        if (!(taken & BIT(i)))
            return refuse(view, i);
        if (!fits_condition(view, &view->svg, i, svg, "format svg") ||
            !fits_condition(view, &view->request, i, w->options.request != NULL, "request"))
            return false;
    }
    if (w->options.sort == PLUMB_SORT_P95 && view->old == OLD_TREE && !is_format(w, "json")) {
        plumb_cli_usage(&plumb_cmd_report,
                        "--sort p95 is of the view nodes: the tree has no percentiles of a place");
        return false;
    }
    return true;
}

/* ---- Which view is meant --------------------------------------------------------------------- */

/* --trace goes with the other views of the timeline. */
static bool is_part_of(const struct plumb_cli_report_view *general,
                       const struct plumb_cli_report_view *view)
{
    return general == view || (general->old == OLD_TRACE && view->of_a_trace);
}

/* Adds the request of an old spelling to the view of the wish. */
static bool add_view(struct plumb_cli_wish *w, const struct plumb_cli_report_view *view)
{
    if (!w->view || is_part_of(w->view, view))
        w->view = view;
    else if (!is_part_of(view, w->view)) {
        plumb_cli_usage(&plumb_cmd_report, "%s and %s are two views: one at a time",
                        w->view->head.name, view->head.name);
        return false;
    }
    return true;
}

static bool add_old_spellings(struct plumb_cli_wish *w)
{
    if (w->view && w->view->show == plumb_cli_show_activations && (w->given & BIT(OLD_STEPS))) {
        w->activations.kind = PLUMB_ACTIVATIONS_STEPS; /* as of plumb activations */
        w->given &= ~BIT(OLD_STEPS);
    }
    for (size_t i = 0; i < VIEWS; i++)
        if (views[i].old >= 0 && (w->given & BIT(views[i].old)) && !add_view(w, &views[i]))
            return false;
    return true;
}

enum { OPERANDS = 4 };
struct operands {
    const char *words[OPERANDS];
    size_t count;  /* may be more than there are words */
    size_t dashed; /* place of the first one after "--", which is never a view */
};

static void add_operand(struct operands *o, const char *word)
{
    if (o->count < OPERANDS)
        o->words[o->count] = word;
    o->count++;
}

static bool too_many(const struct operands *o, size_t used)
{
    const char *best = used == 0 && o->dashed > 0 ? nearest_view(o->words[0]) : NULL;
    if (best)
        plumb_cli_usage(&plumb_cmd_report, "'%s' is not a view: did you mean '%s'?", o->words[0],
                        best);
    else
        plumb_cli_usage(&plumb_cmd_report, "one run at a time, not %zu", o->count - used);
    return false;
}

/* [VIEW [NODE]] [RUN] */
static bool take_operands(struct plumb_cli_wish *w, const struct operands *o)
{
    size_t used = 0;
    if (o->dashed > 0)
        w->view = find_view(o->words[0]);
    if (w->view)
        used++;
    if (w->view && w->view->head.argument && !w->trace.node) {
        if (o->count == used) {
            plumb_cli_usage(&plumb_cmd_report, "%s wants the name of a node: plumb report %s %s",
                            w->view->head.name, w->view->head.name, w->view->head.argument);
            return false;
        }
        w->trace.node = o->words[used++];
    }
    if (o->count > used + 1)
        return too_many(o, used);
    w->run = o->count > used ? o->words[used] : NULL;
    w->nearest = w->run && used == 0 && o->dashed > 0 ? nearest_view(w->run) : NULL;
    return true;
}

/* Without a view, a trace is shown as one and everything else as the table of nodes. */
static bool settle_view(struct plumb_cli_wish *w)
{
    char takers[256];
    if (!add_old_spellings(w))
        return false;
    bool trace = (!w->view || w->view->show == plumb_cli_show_report) && plumb_cli_is_trace(w->run);
    if (trace && w->view) {
        list_views(takers, sizeof takers, -1);
        plumb_cli_usage(&plumb_cmd_report,
                        "'%s' is a trace, which has no view '%s': it has %s, and 'plumb export "
                        "--format folded' has its stacks for a flame graph",
                        w->run, w->view->head.name, takers);
        return false;
    }
    if (!w->view)
        w->view = find_view(trace ? "trace" : "nodes");
    w->options.tree = w->view->old == OLD_TREE;
    if (w->view->of_a_trace)
        w->trace.kind = w->view->kind;
    else
        w->options.view = w->view->kind;
    return true;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct plumb_cli_wish w = {.options = plumb_report_options_default(),
                               .trace = plumb_trace_view_default(),
                               .activations = plumb_activation_log_view_default()};
    struct operands operands = {.count = 0};
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_report, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == PLUMB_ARGS_OPERAND)
            add_operand(&operands, args.value);
        else if (!plumb_cli_report_take(&w, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    operands.dashed = operands.count;
    for (int i = args.operand; i < argc; i++)
        add_operand(&operands, argv[i]);
    if (!take_operands(&w, &operands) || !settle_view(&w) || !takes_options(w.view, &w) ||
        !plumb_cli_report_take_by(&w))
        return PLUMB_EXIT_TROUBLE;
    return w.view->show(&w);
}

const struct plumb_cli_command plumb_cmd_report = {
    .name = "report",
    .summary = "show where the time of a run went",
    .synopsis = "[VIEW] [OPTION]... [RUN | timing.json | TRACE]",
    .description =
        "Prints a view of a run. Without VIEW it is the table of nodes, with the longest\n"
        "total first. RUN is a run directory, a folder of runs (the newest one is used),\n"
        "or the name of a run below the output folder. Without RUN it is the newest run\n"
        "there (PLUMB_DIR, by default plumb-out). If a run has the name of a view, write\n"
        "./tree, or put it after --.\n"
        "\n"
        "A run that was killed is recovered first; a run that still records is shown as\n"
        "it is now. Open spans, dropped data and failures are reported on standard\n"
        "error.\n"
        "\n"
        "TOTAL and the average per frame add the time of outermost runs only, so that\n"
        "a node inside another is not counted twice. Without --frames an average is\n"
        "shown if the outermost nodes are the body of a loop: all nodes that ran more\n"
        "than once ran equally often.\n"
        "\n"
        "Each column of times has a unit that fits it, with at least three digits. A\n"
        "table or tree of more than 40 lines shows the layers of a model as one row and\n"
        "says so (--fold=off shows each).\n"
        "\n"
        "The timeline views read the trace of a run that was recorded with\n"
        "PLUMB_TRACE=1, or a file TRACE of any tool, in Perfetto's format or in Chrome's\n"
        "JSON. For such a file the view trace is the default. Figures of a trace are\n"
        "exact but do not include dropped spans; those of the other views include all\n"
        "runs.\n"
        "\n"
        "An option that has no effect on the view is refused.",
    .examples = "plumb report                        # the newest run\n"
                "plumb report --frames 103 --wide    # more columns, average over 100 frames\n"
                "plumb report tree --top 5 RUN       # five largest nodes of each level\n"
                "plumb report tree --depth 3 --fold  # layer.0 to layer.79 as layer.*\n"
                "plumb report --node 'attn|rope' --unit us\n"
                "plumb report --format csv RUN >rows.csv\n"
                "plumb report --format svg -o flame.svg    # open it in a browser\n"
                "plumb report memory RUN             # nodes, pools, owners, checkpoints\n"
                "plumb report counts --by step --format csv RUN\n"
                "plumb report trace                  # the trace of the newest run\n"
                "plumb report slowest denoise_step --top 3    # where its longest runs went\n"
                "plumb report gaps trace.pftrace     # when its threads were idle\n"
                "plumb report kernels --by stage --top 20 RUN    # where devices spent it",
    .status = "0 success; 2 wrong usage, no such run, a report that cannot be read, a phase\n"
              "or pipeline that the run does not have, or output that cannot be written.",
    .options = plumb_cli_report_options,
    .view = view_at,
    .in_order = true,
    .run = run,
};
