/* read_activations.c: recorded activations of the public interface. Any thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <plumb/read/activation.h>
#include <plumb/read/run.h>

#include "api/take.h"
#include "base/error.h"
#include "read/activation/read.h"
#include "read/run/runs.h"
#include "report/activation/view.h"

enum { PATH_BYTES = 4096 };

struct plumb_activation_log {
    struct plumb_activations table;
};

/* What is there, else a run by its name, else the newest run; of a folder of runs the newest. */
static int find(char *out, const char *path, plumb_error *err)
{
    char dir[PATH_BYTES];
    struct stat st;
    if (path && strlen(path) >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", path);
    if (path && (stat(path, &st) == 0 || strchr(path, '/') || strchr(path, '.'))) {
        strcpy(out, path);
        return PLUMB_OK;
    }
    int rc = plumb_runs_dir(dir, sizeof dir, err);
    return rc < 0 ? rc : plumb_runs_resolve(out, PATH_BYTES, path, dir, err);
}

static bool newest_in(char *path, size_t size)
{
    char run[PATH_BYTES];
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || plumb_runs_is_run(path) ||
        plumb_runs_resolve(run, sizeof run, path, path, NULL) < 0)
        return false;
    snprintf(path, size, "%s", run);
    return true;
}

int plumb_activation_log_open(plumb_activation_log **out, const char *path, plumb_error *err)
{
    char found[PATH_BYTES];
    struct plumb_activation_log *log;
    int rc = find(found, path, err);
    if (rc < 0)
        return rc;
    if (!(log = malloc(sizeof *log)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", found);
    rc = plumb_activations_read(&log->table, found, err);
    /* A folder that holds none itself may hold runs. */
    if (rc == PLUMB_ERR_NOT_FOUND && newest_in(found, sizeof found))
        rc = plumb_activations_read(&log->table, found, err);
    if (rc < 0) {
        free(log);
        return rc;
    }
    *out = log;
    return PLUMB_OK;
}

void plumb_activation_log_close(plumb_activation_log *log)
{
    if (!log)
        return;
    plumb_activations_fini(&log->table);
    free(log);
}

uint64_t plumb_activation_log_records(const plumb_activation_log *log)
{
    return log->table.count;
}

int plumb_activation_log_render(char **out, const plumb_activation_log *log,
                                const plumb_activation_log_view *view, plumb_error *err)
{
    plumb_activation_log_view given = plumb_activation_log_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&given, sizeof given, view, err);
    if (rc < 0)
        return rc;
    if (given.kind > PLUMB_ACTIVATIONS_SUSPECTS)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown view of activations: %u",
                          (unsigned)given.kind);
    struct plumb_activations_view o = {.format = given.format,
                                       .module = given.module,
                                       .top = given.top,
                                       .kind = given.kind,
                                       .explain = given.explain != 0};
    rc = plumb_activations_render(&text, &log->table, &o, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
