#include "isolate/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "read/run/runs.h"
#include "read/run/signature.h"

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* A folder may have the file and not be a run: a copy, or what the predecessor wrote. */
static bool has_file(struct plumb_source *s, const char *folder)
{
    int n = folder ? snprintf(s->path, sizeof s->path, "%s/%s", folder, PLUMB_SIGNATURE_FILE) : -1;
    return n > 0 && (size_t)n < sizeof s->path && is_file(s->path);
}

static int find_file(struct plumb_source *s, const char *what, const char *runs, plumb_error *err)
{
    char run[PLUMB_SOURCE_PATH];
    int rc, n;
    if (what && is_file(what)) {
        n = snprintf(s->path, sizeof s->path, "%s", what);
    } else if (has_file(s, what)) {
        return PLUMB_OK;
    } else {
        rc = plumb_runs_resolve(run, sizeof run, what, runs, err);
        if (rc < 0)
            return rc;
        n = snprintf(s->path, sizeof s->path, "%s/%s", run, PLUMB_SIGNATURE_FILE);
        if (n > 0 && (size_t)n < sizeof s->path && !is_file(s->path))
            return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                              "'%s' has no signatures: its program recorded no input of a stage "
                              "(plumb_stage_input)",
                              run);
    }
    if (n < 0 || (size_t)n >= sizeof s->path)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", what ? what : run);
    return PLUMB_OK;
}

static void fill_folder(struct plumb_source *s)
{
    const char *slash = strrchr(s->path, '/');
    if (!slash)
        strcpy(s->folder, ".");
    else
        snprintf(s->folder, sizeof s->folder, "%.*s", slash == s->path ? 1 : (int)(slash - s->path),
                 s->path);
}

int plumb_source_open(struct plumb_source *out, const char *what, const char *runs,
                      plumb_error *err)
{
    int rc = find_file(out, what, runs, err);
    if (rc < 0)
        return rc;
    fill_folder(out);
    return plumb_signature_read(&out->signature, out->path, err);
}

void plumb_source_close(struct plumb_source *source)
{
    plumb_signature_fini(&source->signature);
}

int plumb_source_stage(const struct plumb_signature_stage **out, const struct plumb_source *source,
                       const char *name, plumb_error *err)
{
    const struct plumb_signature *s = &source->signature;
    char list[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->stage_count; i++) {
        if (strcmp(s->stages[i].name, name) == 0) {
            *out = &s->stages[i];
            return PLUMB_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                     s->stages[i].name);
    }
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "'%s' has no stage '%s'; it has %s", source->path,
                      name, s->stage_count ? list : "none");
}

const char *plumb_source_config(const struct plumb_signature_stage *stage)
{
    const struct plumb_signature_items *items = &stage->last.metadata;
    for (size_t i = 0; i < items->count; i++)
        if (strcmp(items->at[i].name, "stage_config") == 0 &&
            items->at[i].value.kind == PLUMB_SIGNATURE_TEXT)
            return items->at[i].value.is.text;
    return "";
}
