/* dir.c: the run directory: its path, which no two runs share, and files that appear in it whole or
 * not at all. Under life_lock. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/new_file.h"
#include "base/text/sanitize.h"
#include "base/whole_file.h"
#include "record/run/run.h"
#include "record/runtime/carve.h"

static int make_dirs(char *path, mode_t last, plumb_error *err)
{
    int rc = plumb_make_above(path, 0777, err);
    if (rc < 0)
        return rc;
    if (mkdir(path, last) < 0)
        return plumb_fail(err, errno == EEXIST ? PLUMB_ERR_STATE : PLUMB_ERR_IO,
                          "cannot make directory '%s': %s", path, strerror(errno));
    return PLUMB_OK;
}

/* A run that ends during the check writes its report before its mapping is removed: in this order,
 * one of the two is found. */
static bool holds_run(const char *dir)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_LIVE_NAME);
    if (access(path, F_OK) == 0)
        return true;
    snprintf(path, sizeof path, "%s/timing.json", dir);
    return access(path, F_OK) == 0;
}

/* Makes the directory that the settings name: it may exist, but not hold a run. */
static int given_dir(char *dir, plumb_error *err)
{
    int rc = make_dirs(dir, 0700, err);
    if (rc != PLUMB_ERR_STATE)
        return rc;
    if (holds_run(dir))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' already holds a run; remove it or choose another PLUMB_RUN_DIR",
                          dir);
    if (access(dir, W_OK) < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot write to '%s': %s", dir, strerror(errno));
    if (err)
        err->code = PLUMB_OK;
    return PLUMB_OK;
}

/* <dir>/<pipeline>/latest -> the run; best effort: it is a convenience. Only a link of this user is
 * replaced, and the temporary link is this process's own, because the run's name contains its
 * number. */
static void link_latest(const char *dir)
{
    char link[1100], temporary[1200];
    const char *name = strrchr(dir, '/') + 1;
    struct stat st;
    snprintf(link, sizeof link, "%.*s/latest", (int)(name - dir - 1), dir);
    snprintf(temporary, sizeof temporary, "%s.latest", dir);
    if (lstat(link, &st) == 0 && !(S_ISLNK(st.st_mode) && st.st_uid == geteuid()))
        return;
    if (symlink(name, temporary) == 0 && rename(temporary, link) < 0)
        unlink(temporary);
}

/* The frame holds paths: 3 KiB. It is needed once, when a run opens. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
static int stamped_dir(char *dir, size_t size, const char *host, int32_t rank, plumb_error *err)
{
    char pipeline[PLUMB_SAFE_NAME_MAX + 1], stamp[32], suffix[32] = "",
                                                       safe_host[PLUMB_SAFE_NAME_MAX + 1];
    time_t now = time(NULL);
    struct tm tm;
    int rc = PLUMB_ERR_STATE;
    plumb_sanitize(pipeline, plumb_rt.pipelines[0].name);
    plumb_sanitize(safe_host, host);
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    if (rank >= 0)
        snprintf(suffix, sizeof suffix, "-rank%d", rank);
    /* Runs of one process within a second get a number. */
    for (int again = 1; rc == PLUMB_ERR_STATE && again < 10000; again++) {
        int n = snprintf(dir, size, "%s/%s/%s-%s-%u%s", plumb_rt.settings.dir, pipeline, stamp,
                         safe_host, plumb_rt.pid, suffix);
        if (again > 1 && n > 0 && (size_t)n < size)
            n += snprintf(dir + n, size - (size_t)n, "-%d", again);
        if (n < 0 || (size_t)n >= size)
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "the run directory's path is longer than %zu bytes", size - 1);
        rc = make_dirs(dir, 0700, err);
    }
    if (rc == PLUMB_OK)
        link_latest(dir);
    return rc;
}
#pragma GCC diagnostic pop

int plumb_run_dir_make(char *dir, size_t size, const char *host, int32_t rank, plumb_error *err)
{
    if (!plumb_rt.settings.run_dir[0])
        return stamped_dir(dir, size, host, rank, err);
    snprintf(dir, size, "%s", plumb_rt.settings.run_dir);
    return given_dir(dir, err);
}

int plumb_run_make_parents(const char *path, plumb_error *err)
{
    char copy[PLUMB_SETTINGS_PATH];
    snprintf(copy, sizeof copy, "%s", path);
    return plumb_make_above(copy, 0777, err);
}

int plumb_run_replace(const char *path, const struct plumb_buf *b, plumb_error *err)
{
    int code = plumb_whole_file_write(path, 0, 0600, b->data, b->len);
    if (code)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path,
                          code == EPERM ? "there is a file of another user" : strerror(code));
    return PLUMB_OK;
}

int plumb_run_write(const char *dir, const char *name, const struct plumb_buf *b, plumb_error *err)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return plumb_run_replace(path, b, err);
}
