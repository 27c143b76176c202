/* read_recording.c: finds the activations that a user means, and reads them. Any thread.
 *
 * Apart from read/activation, which reads what lies at a path: this knows runs and their names. */
#include "api/read_recording.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <plumb/read/run.h>

#include "base/error.h"
#include "read/run/runs.h"

enum { PATH_BYTES = 4096 };

/* The path if there is such a file, else the run of that name, else the newest run. */
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

int plumb_read_recording(struct plumb_activations *out, const char *path, plumb_error *err)
{
    char found[PATH_BYTES];
    int rc = find(found, path, err);
    if (rc < 0)
        return rc;
    rc = plumb_activations_read(out, found, err);
    /* A folder that holds none itself may hold runs. */
    if (rc == PLUMB_ERR_NOT_FOUND && newest_in(found, sizeof found))
        rc = plumb_activations_read(out, found, err);
    return rc;
}
