/* find.c: see find.h. A socket is stale when its process is gone and nothing listens: the pid alone
 * may belong to another process by now, and the process may be one of another pid namespace. */
#include "read/control/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/process.h"

struct list {
    struct plumb_found *items;
    size_t count, cap;
};

/* ---- The list -------------------------------------------------------------------------------- */

static int add(struct list *l, const struct plumb_found *found, plumb_error *err)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct plumb_found *grown = realloc(l->items, cap * sizeof *grown);
        if (!grown)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the list of processes");
        l->items = grown;
        l->cap = cap;
    }
    l->items[l->count++] = *found;
    return PLUMB_OK;
}

static void remove_if_stale(int folder, const char *name)
{
    int fd = plumb_control_dial(folder, name);
    if (fd >= 0)
        close(fd);
    else if (errno == ECONNREFUSED)
        unlinkat(folder, name, 0);
}

/* The lock of plumb attach (cli/attach_lock.c), once the socket is gone. */
static void remove_lock_if_stale(int folder, const char *name)
{
    char socket[PLUMB_CONTROL_NAME];
    const char *dot = strrchr(name, '.');
    uint32_t pid;
    uint64_t start_time;
    if (!dot || strcmp(dot, ".attach") != 0)
        return;
    snprintf(socket, sizeof socket, "%.*s", (int)(dot - name), name);
    if (plumb_control_parse(socket, &pid, &start_time) && plumb_process_start(pid) != start_time &&
        faccessat(folder, socket, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        unlinkat(folder, name, 0);
}

static int look_into(struct list *l, const char *path, int folder, plumb_error *err)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = PLUMB_OK;
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;
    struct plumb_found found;
    if (!dir) {
        if (again >= 0)
            close(again);
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    while (rc == PLUMB_OK && (entry = readdir(dir))) {
        if (!plumb_control_parse(entry->d_name, &found.pid, &found.start_time)) {
            remove_lock_if_stale(folder, entry->d_name);
            continue;
        }
        if (plumb_process_start(found.pid) != found.start_time) {
            remove_if_stale(folder, entry->d_name);
            continue;
        }
        snprintf(found.folder, sizeof found.folder, "%s", path);
        plumb_control_name(found.name, found.pid, found.start_time);
        rc = add(l, &found, err);
    }
    closedir(dir);
    return rc;
}

static int by_pid(const void *a, const void *b)
{
    const struct plumb_found *l = a, *r = b;
    return l->pid < r->pid ? -1 : l->pid > r->pid;
}

/* /run/user/<uid> is usually XDG_RUNTIME_DIR as well. */
static void drop_repeated(struct list *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (i == 0 || strcmp(l->items[i].name, l->items[kept - 1].name) != 0)
            l->items[kept++] = l->items[i];
    l->count = kept;
}

/* Anyone may make the folder of a user in /tmp. None of that user's processes has a socket there,
 * so that it must not keep the front end from those that are elsewhere. */
static bool is_of_another_user(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && st.st_uid != geteuid();
}

static int look_into_all(struct list *l, plumb_error *err)
{
    const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
    char path[PLUMB_CONTROL_PATH];
    plumb_error why = {0, ""}, foreign = {0, ""};
    int rc = PLUMB_OK;
    for (size_t i = 0;
         rc == PLUMB_OK && plumb_control_folder_path(path, sizeof path, i, runtime_dir, true);
         i++) {
        int folder = plumb_control_folder_open(path, false, &why);
        if (folder >= 0) {
            rc = look_into(l, path, folder, err);
            close(folder);
        } else if (folder == PLUMB_ERR_STATE && is_of_another_user(path)) {
            foreign = why;
        } else if (folder == PLUMB_ERR_STATE) {
            rc = plumb_fail(err, folder, "%s", why.message);
        }
    }
    if (rc == PLUMB_OK && !l->count && foreign.code)
        rc = plumb_fail(err, foreign.code, "%s", foreign.message);
    return rc;
}

int plumb_found_list(struct plumb_found **out, size_t *count, plumb_error *err)
{
    struct list l = {NULL, 0, 0};
    int rc = look_into_all(&l, err);
    if (rc < 0) {
        free(l.items);
        return rc;
    }
    if (l.count)
        qsort(l.items, l.count, sizeof *l.items, by_pid);
    drop_repeated(&l);
    *out = l.items;
    *count = l.count;
    return PLUMB_OK;
}

/* ---- One of them ----------------------------------------------------------------------------- */

void plumb_found_program(char *out, size_t size, uint32_t pid)
{
    char path[64];
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
}

static bool is_last_part(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

/* Reads a file of /proc. Returns its bytes; a NUL follows. */
static size_t read_proc(char *out, size_t size, uint32_t pid, const char *name)
{
    char path[64];
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    f = fopen(path, "re");
    n = f ? fread(out, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = '\0';
    return n;
}

/* Of the executable, of one of the first two arguments (an interpreter's script), or the name that
 * ps and pgrep show: servers write a title over their arguments, and a link to their program may be
 * called otherwise. */
static bool is_called(uint32_t pid, const char *name)
{
    char text[4096];
    size_t n, at = 0;
    plumb_found_program(text, sizeof text, pid);
    if (is_last_part(text, name))
        return true;
    n = read_proc(text, sizeof text, pid, "cmdline");
    for (int i = 0; i < 2 && at < n; i++, at += strlen(text + at) + 1)
        if (is_last_part(text + at, name))
            return true;
    n = read_proc(text, sizeof text, pid, "comm");
    if (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    /* The kernel keeps the first 15 bytes. */
    return n > 0 && (n < 15 ? strcmp(text, name) : strncmp(text, name, n)) == 0;
}

static bool is_number(const char *who, uint32_t *pid)
{
    char *end;
    unsigned long long n = strtoull(who, &end, 10);
    *pid = n <= INT32_MAX ? (uint32_t)n : 0;
    return who[0] >= '0' && who[0] <= '9' && *end == '\0';
}

static int by_path(struct plumb_found *out, const char *who, plumb_error *err)
{
    const char *slash = strrchr(who, '/');
    if (!plumb_control_parse(slash + 1, &out->pid, &out->start_time))
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "'%.300s' is not a control socket: their names are <pid>.<start time>",
                          who);
    snprintf(out->folder, sizeof out->folder, "%.*s", slash == who ? 1 : (int)(slash - who), who);
    plumb_control_name(out->name, out->pid, out->start_time);
    return PLUMB_OK;
}

/* Its socket is then named after the pid that it has there, or lies in a folder of its own. */
static bool is_in_container(uint32_t pid)
{
    static const char *const kinds[] = {"pid", "mnt"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint32_t there = plumb_process_namespace(pid, kinds[i]);
        uint32_t here = plumb_process_namespace(0, kinds[i]);
        if (there && here && there != here)
            return true;
    }
    return false;
}

static int no_such_pid(uint32_t pid, plumb_error *err)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (pid == 0 || stat(path, &st) < 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "process %u does not exist", pid);
    if (st.st_uid != geteuid())
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "process %u belongs to user %u: only that user can control it", pid,
                          (unsigned)st.st_uid);
    if (is_in_container(pid))
        return plumb_fail(
            err, PLUMB_ERR_NOT_FOUND,
            "process %u is in a container, or has other namespaces: run plumb in there "
            "(docker exec, nsenter -a -t %u)",
            pid, pid);
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                      "process %u cannot be controlled: start it with PLUMB_CONTROL=1, or let it "
                      "call plumb_control_open()",
                      pid);
}

static int several(const struct plumb_found *items, const size_t *match, size_t n, const char *who,
                   plumb_error *err)
{
    char pids[256] = "";
    size_t at = 0, i;
    for (i = 0; i < n && at < sizeof pids - 24; i++)
        at += (size_t)snprintf(pids + at, sizeof pids - at, "%s%u", i ? ", " : "",
                               items[match[i]].pid);
    if (i < n)
        snprintf(pids + at, sizeof pids - at, ", ...");
    return plumb_fail(err, PLUMB_ERR_STATE, "%zu processes are called '%.100s': name one of %s", n,
                      who, pids);
}

static int pick(struct plumb_found *out, const struct plumb_found *items, size_t count,
                const char *who, plumb_error *err)
{
    size_t match[256], n = 0;
    uint32_t pid;
    bool number = is_number(who, &pid);
    for (size_t i = 0; i < count && n < sizeof match / sizeof *match; i++)
        if (number ? items[i].pid == pid : is_called(items[i].pid, who))
            match[n++] = i;
    if (n == 1) {
        *out = items[match[0]];
        return PLUMB_OK;
    }
    if (n > 1)
        return several(items, match, n, who, err);
    if (number)
        return no_such_pid(pid, err);
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                      "no process called '%.200s' can be controlled: see 'plumb ps'; a process is "
                      "started with PLUMB_CONTROL=1 for that",
                      who);
}

int plumb_found_one(struct plumb_found *out, const char *who, plumb_error *err)
{
    struct plumb_found *items = NULL;
    size_t count = 0;
    int rc;
    if (strchr(who, '/'))
        return by_path(out, who, err);
    rc = plumb_found_list(&items, &count, err);
    if (rc == PLUMB_OK)
        rc = pick(out, items, count, who, err);
    free(items);
    return rc;
}
