/* paths.c: the paths of the settings, as this process uses them. They are expanded and made
 * absolute once, so a chdir() of the program changes nothing. They differ from those of other
 * processes with the same settings: a forked child, or another rank. No malloc, because a forked
 * child calls this. */
#include "record/runtime/paths.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process/environment.h"
#include "base/process/rank.h"
#include "record/runtime/runtime.h"

/* Expands `pattern`. On failure reports it, sets `out` to "" and returns false. */
static bool expand(char *out, size_t size, const char *pattern, const char *else_what)
{
    struct plumb_expand values;
    struct plumb_rank rank;
    char host[256] = "localhost";
    plumb_error err = {0, ""};
    gethostname(host, sizeof host - 1);
    plumb_rank_find(&rank, plumb_environ());
    values = (struct plumb_expand){host, plumb_rt.pid, rank.rank, plumb_environ()};
    if (plumb_settings_expand(out, size, pattern, &values, &err) == PLUMB_OK)
        return true;
    plumb_say("plumb: '%.400s': %s; %s", pattern, err.message, else_what);
    return false;
}

static void strip_slashes(char *path)
{
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
}

/* Copies `from` to `path` [PLUMB_SETTINGS_PATH], made absolute unless the working directory is
 * gone. Returns false if it is too long. */
static bool put_absolute(char *path, const char *from)
{
    size_t n = 0, room = PLUMB_SETTINGS_PATH;
    if (from[0] && from[0] != '/' && getcwd(path, room))
        n = strlen(path);
    return (size_t)snprintf(path + n, room - n, "%s%s", n ? "/" : "", from) < room - n;
}

/* Expands `path` [PLUMB_SETTINGS_PATH] and makes it absolute. On failure uses `fallback` and
 * reports that. */
static void resolve(char *path, const char *fallback)
{
    char expanded[PLUMB_SETTINGS_PATH], what[64];
    if (!path[0])
        return;
    snprintf(what, sizeof what, fallback[0] ? "using '%s'" : "ignored", fallback);
    if (!expand(expanded, sizeof expanded, path, what))
        snprintf(expanded, sizeof expanded, "%s", fallback);
    if (!put_absolute(path, expanded)) {
        plumb_say("plumb: the path '%s' is too long; using /tmp/plumb-out", expanded);
        snprintf(path, PLUMB_SETTINGS_PATH, "/tmp/plumb-out");
    }
    strip_slashes(path);
}

/* ---- The copy of the report ------------------------------------------------------------------ */

static bool names(const char *pattern, char sequence)
{
    for (const char *p = strchr(pattern, '%'); p && p[1]; p = strchr(p + 2, '%'))
        if (p[1] == sequence)
            return true;
    return false;
}

bool plumb_path_insert(char *path, size_t size, const char *tag)
{
    size_t n = strlen(path), more = strlen(tag);
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t at = dot && dot > base ? (size_t)(dot - path) : n;
    if (n + more >= size)
        return false;
    memmove(path + at + more, path + at, n - at + 1);
    memcpy(path + at, tag, more);
    return true;
}

/* A path with %p is already this process's own, one with %r its rank's. */
static bool make_distinct(char *path, size_t size, const char *pattern)
{
    struct plumb_rank rank;
    char tag[32];
    if (names(pattern, 'p'))
        return true;
    plumb_rank_find(&rank, plumb_environ());
    if (rank.rank > 0 && !names(pattern, 'r')) {
        snprintf(tag, sizeof tag, ".rank%d", (int)rank.rank);
        if (!plumb_path_insert(path, size, tag))
            return false;
    }
    snprintf(tag, sizeof tag, ".%u", plumb_rt.pid);
    return !plumb_rt.forked || plumb_path_insert(path, size, tag);
}

bool plumb_path_own(char *path, size_t size, const char *pattern, const char *none)
{
    char expanded[PLUMB_SETTINGS_PATH];
    int n;
    path[0] = '\0';
    if (!expand(expanded, sizeof expanded, pattern, none))
        return false;
    if (expanded[0] == '/')
        n = snprintf(path, size, "%s", expanded);
    else
        n = snprintf(path, size, "%s/%s", plumb_rt.report_base, expanded);
    if (n < 0 || (size_t)n >= size || !make_distinct(path, size, pattern)) {
        plumb_say("plumb: a path is too long; %s: '%.400s'", none, expanded);
        path[0] = '\0';
    }
    return path[0] != '\0';
}

static void resolve_report(void)
{
    char *path = plumb_rt.settings.timing_report;
    path[0] = '\0';
    if (plumb_rt.report_pattern[0])
        plumb_path_own(path, sizeof plumb_rt.settings.timing_report, plumb_rt.report_pattern,
                       "no copy of the report is written");
}

/* Turns "<pid>", FastVideo's spelling, into "%p". */
static void resolve_output(void)
{
    char *path = plumb_rt.settings.activations_output;
    for (char *p = path; (p = strstr(p, "<pid>")); p += 2) {
        memcpy(p, "%p", 2);
        memmove(p + 2, p + 5, strlen(p + 5) + 1);
    }
}

void plumb_paths_resolve(void)
{
    struct plumb_settings *s = &plumb_rt.settings;
    resolve(s->dir, "plumb-out");
    resolve(s->run_dir, "");
    memcpy(plumb_rt.report_pattern, s->timing_report, sizeof plumb_rt.report_pattern);
    if (!getcwd(plumb_rt.report_base, sizeof plumb_rt.report_base))
        plumb_rt.report_base[0] = '\0';
    resolve_report();
    resolve_output();
}

void plumb_paths_forked(void)
{
    char *dir = plumb_rt.settings.run_dir;
    size_t n = strlen(dir);
    plumb_rt.forked = true;
    if (dir[0])
        snprintf(dir + n, sizeof plumb_rt.settings.run_dir - n, ".%u", plumb_rt.pid);
    resolve_report();
}
