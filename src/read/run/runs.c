/* runs.c: run directories as files. Owns the rules of what counts as a run and which is newest, and
 * the only code of plumb that deletes. Any thread; no state.
 *
 * Newest is decided by the stamp in the name, which says when a run began: a recovered run gets its
 * report later than runs that began after it. Deleting walks by directory handles and never follows
 * a link, so that a tree that changes at the same time cannot lead it elsewhere. */
#include "read/run/runs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "live/layout.h"

enum { SEARCH_DEPTH = 2, STAMP_LEN = 15 };

/* ---- One run --------------------------------------------------------------------------------- */

static bool is_stamp(const char *name)
{
    for (int i = 0; i < STAMP_LEN; i++)
        if (i == 8 ? name[i] != '-' : !isdigit((unsigned char)name[i]))
            return false;
    return name[STAMP_LEN] == '-';
}

/* Whether the file is there, and when it last changed. */
static bool find_file(int dir, const char *name, uint64_t *changed_ns)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return false;
    uint64_t ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    if (ns > *changed_ns)
        *changed_ns = ns;
    return true;
}

/* Returns 1 and the facts if the open directory is a run, otherwise 0. */
static int look_at(int dir, struct plumb_found_run *run)
{
    run->changed_ns = 0;
    run->ended = find_file(dir, PLUMB_TIMING_NAME, &run->changed_ns);
    return find_file(dir, PLUMB_LIVE_NAME, &run->changed_ns) || run->ended;
}

static void set_stamp(struct plumb_found_run *run)
{
    time_t seconds = (time_t)(run->changed_ns / 1000000000u);
    struct tm local;
    run->stamped = is_stamp(run->name);
    if (run->stamped)
        snprintf(run->stamp, sizeof run->stamp, "%.*s", STAMP_LEN, run->name);
    else if (localtime_r(&seconds, &local))
        strftime(run->stamp, sizeof run->stamp, "%Y%m%d-%H%M%S", &local);
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A stream over a directory; `fd` stays open. */
static DIR *list_dir(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list && copy >= 0)
        close(copy);
    return list;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static uint64_t bytes_in(int dir, int depth)
{
    uint64_t sum = 0;
    struct dirent *entry;
    DIR *list = list_dir(dir);
    while (list && (entry = readdir(list))) {
        struct stat st;
        if (is_dot(entry->d_name) || fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += (uint64_t)st.st_blocks * 512;
        int below = S_ISDIR(st.st_mode) && depth > 0 ? open_dir(dir, entry->d_name) : -1;
        if (below >= 0) {
            sum += bytes_in(below, depth - 1);
            close(below);
        }
    }
    if (list)
        closedir(list);
    return sum;
}

bool plumb_runs_is_run(const char *path)
{
    struct plumb_found_run run;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool yes = dir >= 0 && look_at(dir, &run);
    if (dir >= 0)
        close(dir);
    return yes;
}

/* ---- All runs -------------------------------------------------------------------------------- */

static int newest_first(const void *a, const void *b)
{
    const struct plumb_found_run *x = a;
    const struct plumb_found_run *y = b;
    int order = strcmp(y->stamp, x->stamp);
    if (order == 0)
        order = (y->changed_ns > x->changed_ns) - (y->changed_ns < x->changed_ns);
    return order ? order : strcmp(x->path, y->path);
}

static void add_run(struct plumb_found_runs *out, size_t *cap, int dir, const char *path,
                    const char *parent, const struct plumb_found_run *facts)
{
    struct plumb_found_run *runs =
        plumb_arena_grow(&out->arena, out->runs, cap, out->count + 1, sizeof *runs);
    if (!runs)
        return;
    out->runs = runs;
    struct plumb_found_run *run = &runs[out->count];
    *run = *facts;
    run->path = plumb_arena_strdup(&out->arena, path);
    run->pipeline = plumb_arena_strdup(&out->arena, parent);
    if (!run->path || !run->pipeline)
        return;
    const char *slash = strrchr(run->path, '/');
    run->name = slash ? slash + 1 : run->path;
    run->bytes = bytes_in(dir, 8);
    set_stamp(run);
    out->count++;
}

static void search(struct plumb_found_runs *out, size_t *cap, int dir, const char *path,
                   const char *parent, const char *name, int depth)
{
    struct plumb_found_run facts = {.path = NULL};
    struct dirent *entry;
    if (look_at(dir, &facts)) {
        add_run(out, cap, dir, path, parent, &facts);
        return;
    }
    DIR *list = depth > 0 ? list_dir(dir) : NULL;
    while (list && (entry = readdir(list))) {
        int below = is_dot(entry->d_name) ? -1 : open_dir(dir, entry->d_name);
        if (below < 0)
            continue;
        char *child = plumb_arena_printf(&out->arena, "%s/%s", path, entry->d_name);
        if (child)
            search(out, cap, below, child, name, entry->d_name, depth - 1);
        close(below);
    }
    if (list)
        closedir(list);
}

/* `path` without slashes at its end, in `arena`. */
static char *trimmed(struct plumb_arena *arena, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return plumb_arena_strndup(arena, path, n);
}

int plumb_runs_find(struct plumb_found_runs *out, const char *dir, plumb_error *err)
{
    size_t cap = 0;
    struct plumb_found_runs found = {.runs = NULL};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", dir, strerror(errno));
    if (fd >= 0) {
        const char *root = trimmed(&found.arena, dir);
        if (root)
            search(&found, &cap, fd, root, "", "", SEARCH_DEPTH);
        close(fd);
    }
    if (found.arena.failed) {
        plumb_runs_fini(&found);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while listing '%s'", dir);
    }
    if (found.count > 1)
        qsort(found.runs, found.count, sizeof *found.runs, newest_first);
    *out = found;
    return PLUMB_OK;
}

void plumb_runs_fini(struct plumb_found_runs *runs)
{
    plumb_arena_fini(&runs->arena);
    *runs = (struct plumb_found_runs){.runs = NULL};
}

static int copy_path(char *out, size_t size, const char *path, plumb_error *err)
{
    if (strlen(path) >= size)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", path);
    memcpy(out, path, strlen(path) + 1);
    return PLUMB_OK;
}

/* The newest run, the one of that name, or the newest of the pipeline of that name. */
static const struct plumb_found_run *find_named(const struct plumb_found_runs *found,
                                                const char *name)
{
    if (found->count > 0 && (!name || strcmp(name, PLUMB_LATEST_NAME) == 0))
        return &found->runs[0];
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->runs[i].name, name) == 0)
            return &found->runs[i];
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->runs[i].pipeline, name) == 0)
            return &found->runs[i];
    return NULL;
}

/* "'plumb-out' has a, b and 3 more pipelines" */
static void list_pipelines(struct plumb_buf *out, const struct plumb_found_runs *found)
{
    enum { LISTED = 5 };
    size_t n = 0;
    for (size_t i = 0; i < found->count; i++) {
        bool seen = found->runs[i].pipeline[0] == '\0';
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(found->runs[k].pipeline, found->runs[i].pipeline) == 0;
        if (!seen && n++ < LISTED)
            plumb_buf_printf(out, "%s%s", n == 1 ? "" : ", ", found->runs[i].pipeline);
    }
    if (n > LISTED)
        plumb_buf_printf(out, " and %zu more", n - LISTED);
}

static int fail_without(const struct plumb_found_runs *found, const char *name, const char *dir,
                        plumb_error *err)
{
    struct plumb_buf pipelines = {0};
    if (found->count == 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "no run%s%s%s in '%s': record one with 'plumb record -- CMD'",
                          name ? " '" : "", name ? name : "", name ? "'" : "", dir);
    list_pipelines(&pipelines, found);
    plumb_fail(err, PLUMB_ERR_NOT_FOUND,
               "no run '%s' in '%s', which has %zu run%s%s%s: see 'plumb runs'", name, dir,
               found->count, found->count == 1 ? "" : "s", pipelines.len ? " of " : "",
               pipelines.len ? pipelines.data : "");
    plumb_buf_fini(&pipelines);
    return PLUMB_ERR_NOT_FOUND;
}

/* The newest run below `dir`, or the one that `name` means. */
static int pick(char *out, size_t size, const char *name, const char *dir, plumb_error *err)
{
    struct plumb_found_runs found;
    int rc = plumb_runs_find(&found, dir, err);
    if (rc < 0)
        return rc;
    const struct plumb_found_run *run = find_named(&found, name);
    rc = run ? copy_path(out, size, run->path, err) : fail_without(&found, name, dir, err);
    plumb_runs_fini(&found);
    return rc;
}

int plumb_runs_resolve(char *out, size_t size, const char *what, const char *dir, plumb_error *err)
{
    struct stat st;
    if (!what)
        return pick(out, size, NULL, dir, err);
    if (plumb_runs_is_run(what))
        return copy_path(out, size, what, err);
    errno = 0;
    if (stat(what, &st) == 0 && S_ISDIR(st.st_mode))
        return pick(out, size, NULL, what, err);
    /* A regular file of that name is not a run: it is the program whose pipeline has the same
     * name. */
    if ((errno == 0 || errno == ENOENT) && !strchr(what, '/'))
        return pick(out, size, what, dir, err);
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no run at '%s': %s", what,
                      errno == ENOENT ? "no such file or directory" : "not a directory");
}

/* ---- Removing -------------------------------------------------------------------------------- */

static int remove_below(int parent, const char *name, int depth)
{
    struct dirent *entry;
    int rc = 0;
    int dir = depth > 0 ? open_dir(parent, name) : -1;
    if (dir < 0)
        return -1;
    DIR *list = list_dir(dir);
    while (list && rc == 0 && (entry = readdir(list))) {
        if (is_dot(entry->d_name))
            continue;
        if (unlinkat(dir, entry->d_name, 0) < 0)
            rc = errno == EISDIR || errno == EPERM ? remove_below(dir, entry->d_name, depth - 1)
                                                   : -1;
    }
    if (list)
        closedir(list);
    close(dir);
    if (rc == 0)
        rc = unlinkat(parent, name, AT_REMOVEDIR);
    return rc;
}

int plumb_runs_remove_folder(const char *path, plumb_error *err)
{
    char parent[PATH_MAX], name[NAME_MAX + 1];
    size_t end = strlen(path), at;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (at = end; at > 0 && path[at - 1] != '/';)
        at--;
    if (at >= sizeof parent || end - at >= sizeof name)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot remove '%s': %s", path,
                          strerror(ENAMETOOLONG));
    snprintf(parent, sizeof parent, "%.*s", (int)at, path);
    snprintf(name, sizeof name, "%.*s", (int)(end - at), path + at);
    int dir = open(parent[0] ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = dir < 0 ? -1 : remove_below(dir, name, 8);
    int cause = errno;
    if (dir >= 0)
        close(dir);
    if (rc < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot remove '%s': %s", path, strerror(cause));
    return PLUMB_OK;
}

/* In the folder of the removed run: points `latest` to the newest run that is left, or removes it
 * and then the folder. rmdir() keeps a folder that holds other files. */
static void settle_folder(const struct plumb_found_runs *runs, const bool *gone, size_t removed)
{
    char folder[4096];
    char link[4096 + sizeof PLUMB_LATEST_NAME];
    size_t n = (size_t)(runs->runs[removed].name - runs->runs[removed].path);
    const char *newest = NULL;
    struct stat st;
    if (n < 2 || runs->runs[removed].pipeline[0] == '\0')
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)n, runs->runs[removed].path);
    snprintf(link, sizeof link, "%s" PLUMB_LATEST_NAME, folder);
    for (size_t i = 0; i < runs->count && !newest; i++)
        if (!gone[i] && strncmp(runs->runs[i].path, folder, n) == 0)
            newest = runs->runs[i].name;
    if (lstat(link, &st) == 0 && S_ISLNK(st.st_mode) && stat(link, &st) < 0) {
        unlink(link);
        if (newest && symlink(newest, link) < 0)
            return; /* only a convenience is lost */
    }
    if (!newest)
        rmdir(folder);
}

int plumb_runs_prune(struct plumb_pruned *out, const struct plumb_found_runs *runs,
                     const struct plumb_prune *rules, plumb_error *err)
{
    struct plumb_pruned done = {0, 0};
    uint64_t kept_bytes = 0;
    int rc = PLUMB_OK;
    bool *gone = calloc(runs->count + 1, sizeof *gone);
    if (!gone)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while pruning runs");
    for (size_t i = 0; i < runs->count && rc == PLUMB_OK; i++) {
        const struct plumb_found_run *run = &runs->runs[i];
        bool old = run->changed_ns < rules->older_than_ns;
        bool much = kept_bytes > rules->max_bytes || run->bytes > rules->max_bytes - kept_bytes;
        bool busy = !run->ended && rules->busy && rules->busy(run->path, rules->arg);
        if (!run->stamped || busy || !(old || much)) {
            kept_bytes += run->bytes;
            continue;
        }
        if ((rc = plumb_runs_remove_folder(run->path, err)) < 0)
            break;
        gone[i] = true;
        done.runs++;
        done.bytes += run->bytes;
    }
    for (size_t i = 0; i < runs->count; i++)
        if (gone[i])
            settle_folder(runs, gone, i);
    free(gone);
    if (rc == PLUMB_OK)
        *out = done;
    return rc;
}
