/* report_options.c: the options of plumb report. */
#include "report_options.h"

#include <stdlib.h>
#include <string.h>

const struct plumb_cli_option plumb_cli_report_options[OPTIONS + 1] = {
    [FORMAT] = {"format", "text|json|csv|md|svg",
                "form of the output (text); svg is a picture: a flame graph of nodes and tree, "
                "memory over time of memory",
                false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    [PIPELINE] = {"pipeline", "NAME", "only this pipeline", false},
    [PHASE] = {"phase", "NAME", "only this phase", false},
    [SORT] = {"sort", "total|self|mean|p95",
              "figure that the rows are sorted by, largest first (total); the tree has no p95",
              false},
    [TOP] = {"top", "N", "show the first N rows of each table; sums still cover all rows", false},
    [FRAMES] = {"frames", "N",
                "number of frames of one phase: shown in the title, and (less skip_first_n) the "
                "divisor of the average; not used if the table has several phases",
                false},
    [WIDE] = {"wide", NULL, "more columns: self time, share, percentiles, device time", false},
    [EXPLAIN] = {"explain", NULL, "explain the columns below the output", false},
    [REQUEST] = {"request", "ID",
                 "show only this request; in the view requests its stages and time", false},
    [MIN_WIDTH] =
        {"min-width", "PX",
         "svg: combine rectangles narrower than PX pixels (0.1); the picture is 1180 pixels "
         "wide",
         false},
    [NODE] = {"node", "REGEX",
              "only nodes whose names match; in the tree and the flame graph together with the "
              "nodes around and inside them",
              false},
    [DEPTH] = {"depth", "N", "only the first N levels of the call tree", false},
    [FOLD] = {"fold", "on|off",
              "show nodes whose names differ only in a number as one: layer.0 to layer.31 as "
              "layer.*, with the spread over them; default if there are more than 40 lines",
              true},
    [UNIT] = {"unit", "auto|ns|us|ms|s",
              "unit of times in tables for people (auto: one that fits each column)", false},
    [MODULE] = {"module", "REGEX", "only modules in whose name REGEX is found", false},
    [SUSPECTS] = {"suspects", NULL, "show only the suspects, and all of them", false},
    [BY_STEP] = {"by-step", NULL,
                 "a row for each layer and step, with its change since the last step", false},
    [BY] = {"by", "name|shape|stage|step|node|phase",
            "what a row stands for: of kernels name, shape, stage or step (name); of counts node, "
            "step or phase (each of them)",
            false},
    [OLD_TREE] = {"tree", NULL, NULL, false},
    [OLD_SUMMARY] = {"summary", NULL, NULL, false},
    [OLD_MEMORY] = {"memory", NULL, NULL, false},
    [OLD_REQUESTS] = {"requests", NULL, NULL, false},
    [OLD_SIGNATURES] = {"signatures", NULL, NULL, false},
    [OLD_STREAMS] = {"streams", NULL, NULL, false},
    [OLD_TRACE] = {"trace", NULL, NULL, false},
    [OLD_GAPS] = {"gaps", NULL, NULL, false},
    [OLD_STEPS] = {"steps", NULL, NULL, false},
    [OLD_SLOWEST] = {"slowest", "NODE", NULL, false},
    [OPTIONS] = {NULL, NULL, NULL, false},
};
_Static_assert(OPTIONS <= 32, "an option of a view is a bit of 32");

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

bool plumb_cli_report_take_by(struct plumb_cli_wish *w)
{
    static const char *const of_kernels[] = {"name", "shape", "stage", "step", NULL};
    static const char *const of_counts[] = {"node", "step", "phase", NULL};
    bool counts = w->options.view == PLUMB_VIEW_COUNTS;
    const char *const *names = counts ? of_counts : of_kernels;
    uint32_t i = 0;
    while (w->by && names[i] && strcmp(names[i], w->by) != 0)
        i++;
    if (w->by && !names[i]) {
        plumb_cli_usage(&plumb_cmd_report, "--by wants %s, not '%s'",
                        counts ? "node, step or phase" : "name, shape, stage or step", w->by);
        return false;
    }
    if (counts)
        w->options.by = w->by ? i + 1 : PLUMB_BY_ALL;
    else if (w->by)
        w->trace.by = i;
    return true;
}

static bool take_text(struct plumb_cli_wish *w, int option, const char *value)
{
    plumb_report_options *o = &w->options;
    switch (option) {
    case OUTPUT:
        w->output = value;
        break;
    case PIPELINE:
        o->pipeline = value;
        break;
    case PHASE:
        o->phase = value;
        break;
    case REQUEST:
        o->request = value;
        break;
    case NODE:
        o->node = value;
        break;
    case BY:
        w->by = value;
        break;
    case MODULE:
        w->activations.module = value;
        break;
    default:
        break;
    }
    return true;
}

bool plumb_cli_report_take(struct plumb_cli_wish *w, int option, const char *value)
{
    plumb_report_options *o = &w->options;
    w->given |= BIT(option);
    switch (option) {
    case FORMAT:
        return take_format(o, value);
    case MIN_WIDTH:
        return take_min_width(o, value);
    case SORT:
        return take_sort(o, value);
    case TOP:
        return plumb_cli_number(&plumb_cmd_report, "top", value, &o->top);
    case FRAMES:
        return plumb_cli_number(&plumb_cmd_report, "frames", value, &o->frames);
    case DEPTH:
        return plumb_cli_depth(&plumb_cmd_report, value, &o->depth);
    case FOLD:
        return plumb_cli_fold(&plumb_cmd_report, value, &o->fold);
    case UNIT:
        return plumb_cli_unit(&plumb_cmd_report, value, &o->unit);
    case WIDE:
        o->wide = 1;
        return true;
    case EXPLAIN:
        o->explain = 1;
        return true;
    case SUSPECTS:
        w->activations.kind = PLUMB_ACTIVATIONS_SUSPECTS;
        return true;
    case BY_STEP:
        w->activations.kind = PLUMB_ACTIVATIONS_STEPS;
        return true;
    case OLD_SLOWEST:
        w->trace.node = value;
        return true;
    default:
        return take_text(w, option, value);
    }
}
