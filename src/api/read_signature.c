/* read_signature.c: signatures of the public interface: those next to a report, or of a file alone.
 * Any thread. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/read_report.h"
#include "base/error.h"
#include "model/timing.h"
#include "read/run/signature.h"
#include "report/run/render.h"

enum { PATH_BYTES = 4096 };

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* `report` is a run's folder or a report. */
static int path_beside(char out[PATH_BYTES], const char *report, plumb_error *err)
{
    char inside[PATH_BYTES];
    int length;
    if (is_file(report))
        return plumb_timing_signature_path(out, PATH_BYTES, report, err);
    length = snprintf(inside, sizeof inside, "%s/timing.json", report);
    if (length < 0 || length >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", report);
    return plumb_timing_signature_path(out, PATH_BYTES, inside, err);
}

int plumb_signature_of_report(struct plumb_signature *out, bool *there, const char *report,
                              plumb_error *err)
{
    char path[PATH_BYTES];
    int rc = path_beside(path, report, err);
    *there = false;
    if (rc < 0 || !is_file(path))
        return rc;
    rc = plumb_signature_read(out, path, err);
    *there = rc == PLUMB_OK;
    return rc;
}

int plumb_signatures_render(char **out, const char *path, const plumb_report_options *options,
                            plumb_error *err)
{
    struct plumb_signature signature;
    struct plumb_timing nothing; /* a file alone has no run */
    struct plumb_buf text = {0};
    struct plumb_render_options o;
    plumb_report_options given;
    int rc = plumb_report_options_take(&given, options, err);
    if (rc < 0 || (rc = plumb_signature_read(&signature, path, err)) < 0)
        return rc;
    plumb_timing_init(&nothing);
    plumb_render_options_fill(&o, &given);
    o.view = PLUMB_VIEW_SIGNATURES;
    o.signature = &signature;
    o.run = path;
    rc = plumb_render(&text, &nothing, given.format ? given.format : "text", &o, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    plumb_timing_fini(&nothing);
    plumb_signature_fini(&signature);
    return rc;
}
