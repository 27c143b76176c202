/* export_otlp.c: plumb export --to otlp: the requests of a run as one file of OTLP traces. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "export_to.h"

static bool is_folder(const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    return (n > 0 && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Where it goes: a file of the default name, in the working directory or a folder, or `output`. */
static void choose_path(char *out, size_t size, const char *output, const char *name)
{
    size_t n = output ? strlen(output) : 0;
    if (!output)
        snprintf(out, size, "%s", name);
    else if (is_folder(output))
        snprintf(out, size, "%s%s%s", output, output[n - 1] == '/' ? "" : "/", name);
    else
        snprintf(out, size, "%s", output);
}

static void say(const plumb_otlp_batch *b)
{
    if (b->requests_lost)
        plumb_cli_say(&plumb_cmd_export, "%" PRIu64 " older requests are not kept by the run",
                      b->requests_lost);
    if (b->stages_lost)
        plumb_cli_say(&plumb_cmd_export,
                      "%" PRIu64 " runs of stages are not kept by the run, and missing here",
                      b->stages_lost);
    if (b->parents_ignored)
        plumb_cli_say(&plumb_cmd_export, "%" PRIu64 " traceparent%s ignored; the first: %s",
                      b->parents_ignored, b->parents_ignored == 1 ? " is" : "s are",
                      b->why_ignored);
    plumb_cli_say(&plumb_cmd_export, "%" PRIu64 " request%s, %" PRIu64 " span%s%s", b->requests,
                  b->requests == 1 ? "" : "s", b->spans, b->spans == 1 ? "" : "s",
                  b->over ? "" : "; the run still records, and has more later");
}

static bool put(const plumb_otlp_batch *b, const char *run, const char *output)
{
    char path[4096];
    if (output && strcmp(output, "-") == 0)
        return plumb_cli_output(&plumb_cmd_export, NULL, b->json);
    choose_path(path, sizeof path, output, b->name);
    if (run && plumb_cli_is_run(run, path)) {
        plumb_cli_say(&plumb_cmd_export, "'%s' is the run itself: give the output another name",
                      path);
        return false;
    }
    if (!plumb_cli_output(&plumb_cmd_export, path, b->json))
        return false;
    puts(path);
    return true;
}

int plumb_cli_export_otlp(const char *run, const char *output)
{
    plumb_otlp_options o = plumb_otlp_options_default();
    plumb_otlp *otlp = NULL;
    plumb_otlp_batch batch;
    plumb_error err = {0, ""};
    int rc, status = PLUMB_EXIT_TROUBLE;
    const char *service = getenv("OTEL_SERVICE_NAME");
    o.service = service && *service ? service : NULL;
    o.pretty = 1;
    if ((rc = plumb_otlp_open(&otlp, run, &o, &err)) == PLUMB_OK)
        rc = plumb_otlp_next(&batch, otlp, &err);
    if (rc < 0) {
        plumb_cli_say(&plumb_cmd_export, "%s", err.message);
    } else if (rc == 0) {
        plumb_cli_say(&plumb_cmd_export,
                      "the run has no requests%s: mark them with plumb_request_begin()",
                      batch.over ? "" : " that have ended");
    } else {
        if (put(&batch, run, output)) {
            say(&batch);
            status = PLUMB_EXIT_OK;
        }
        plumb_read_free(batch.json);
    }
    plumb_otlp_close(otlp);
    return status;
}
