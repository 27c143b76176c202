/* report_show.c: the views of `plumb report`, rendered by libplumb-read and written. */
#include "report.h"

#include <string.h>

/* `what` is the run, or the file that was read. */
static bool put_text(const struct plumb_cli_wish *w, const char *what, const char *text)
{
    if (w->output && plumb_cli_is_run(what, w->output)) {
        plumb_cli_say(&plumb_cmd_report, "'%s' is the report itself: give --output another name",
                      w->output);
        return false;
    }
    return plumb_cli_output(&plumb_cmd_report, w->output, text);
}

/* A file of signatures has no run around it. PLUMB_ERR_FORMAT: the file has no signatures. */
static int read_signatures(const struct plumb_cli_wish *w, char **text, plumb_error *err)
{
    bool asked = w->run && w->options.view == PLUMB_VIEW_SIGNATURES;
    return asked ? plumb_signatures_render(text, w->run, &w->options, err) : PLUMB_ERR_NOT_FOUND;
}

/* ---- Traces -----------------------------------------------------------------------------------
 */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool plumb_cli_is_trace(const char *path)
{
    if (!path || ends_in(path, ".plumb"))
        return false;
    return ends_in(path, ".pftrace") || ends_in(path, ".perfetto-trace") ||
           plumb_trace_looks(path) == 1;
}

int plumb_cli_show_trace(const struct plumb_cli_wish *w)
{
    plumb_trace *trace = NULL;
    plumb_trace_view view = w->trace;
    plumb_error err = {0, ""};
    char *text = NULL;
    char *remarks = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    view.format = w->options.format;
    view.top = w->options.top;
    view.explain = w->options.explain;
    if (plumb_trace_open(&trace, w->run, &err) < 0 ||
        plumb_trace_render(&text, trace, &view, &err) < 0 ||
        plumb_trace_remarks(&remarks, trace, &err) < 0) {
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

int plumb_cli_show_report(const struct plumb_cli_wish *w)
{
    plumb_report *report = NULL;
    plumb_error err = {0, ""};
    plumb_error other = {0, ""};
    char *text = NULL;
    char *remarks = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (read_signatures(w, &text, &other) == PLUMB_OK) {
        status = put_text(w, w->run, text) ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
        goto out;
    }
    if (plumb_report_open(&report, w->run, &err) < 0 ||
        plumb_report_render(&text, report, &w->options, &err) < 0 ||
        plumb_report_remarks(&remarks, report, &err) < 0) {
        bool same = !report && other.code == PLUMB_ERR_FORMAT && err.code == PLUMB_ERR_FORMAT;
        bool hint = w->nearest && err.code == PLUMB_ERR_NOT_FOUND;
        plumb_cli_say(&plumb_cmd_report, "%s%s%s%s", same ? other.message : err.message,
                      hint ? " (did you mean the view '" : "", hint ? w->nearest : "",
                      hint ? "'?)" : "");
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

/* ---- Activations ------------------------------------------------------------------------------
 */

int plumb_cli_show_activations(const struct plumb_cli_wish *w)
{
    plumb_activation_log_view view = w->activations;
    view.format = w->options.format;
    view.top = w->options.top;
    view.explain = w->options.explain;
    return plumb_cli_show_activation_log(&plumb_cmd_report, w->run, &view, w->output);
}
