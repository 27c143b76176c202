/* git_commit.c: see git_commit.h. Every file is outside data: only regular files are read (a FIFO
 * would wait for a writer), each up to a bound, and no name of a ref leads out of the repository.
 */
#include "base/process/git_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LINE_BYTES = 1024, ABOVE_MAX = 128, REFS_MAX = 5 };
enum { PACKED_LINES_MAX = 100000 };

struct repository {
    char own[PATH_BYTES];    /* has HEAD */
    char shared[PATH_BYTES]; /* has the branches; `own` except in worktrees */
};

static FILE *open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *f = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        f = fdopen(fd, "r");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

/* "`folder`/`name`"; false: too long. */
static bool join(char out[PATH_BYTES], const char *folder, const char *name)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", folder, name);
    return n > 0 && n < PATH_BYTES;
}

/* The first line of a file, without its end. */
static bool first_line(char out[LINE_BYTES], const char *folder, const char *name)
{
    char path[PATH_BYTES];
    FILE *f = join(path, folder, name) ? open_file(path) : NULL;
    bool read = f && fgets(out, LINE_BYTES, f);
    if (f)
        fclose(f);
    if (read)
        out[strcspn(out, "\r\n")] = '\0';
    return read;
}

static bool take_commit(char out[PLUMB_GIT_COMMIT_BYTES], const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    if ((n != 40 && n != 64) || (text[n] && text[n] != ' '))
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

/* A path that a file of the repository names, relative to `base`. */
static bool resolve(char out[PATH_BYTES], const char *base, const char *path)
{
    int n;
    if (path[0] != '/')
        return path[0] && join(out, base, path);
    n = snprintf(out, PATH_BYTES, "%s", path);
    return n < PATH_BYTES;
}

/* `.git` of `folder` is the repository, or a file that names it. */
static bool open_at(struct repository *r, const char *folder)
{
    char line[LINE_BYTES];
    struct stat st;
    if (!join(r->own, folder, ".git") || stat(r->own, &st) < 0)
        return false;
    if (!S_ISDIR(st.st_mode) &&
        (!first_line(line, folder, ".git") || strncmp(line, "gitdir: ", 8) != 0 ||
         !resolve(r->own, folder, line + 8)))
        return false;
    memcpy(r->shared, r->own, sizeof r->shared);
    return !first_line(line, r->own, "commondir") || resolve(r->shared, r->own, line);
}

static bool find_packed(char out[PLUMB_GIT_COMMIT_BYTES], const char *folder, const char *ref)
{
    char line[LINE_BYTES], path[PATH_BYTES];
    FILE *f = join(path, folder, "packed-refs") ? open_file(path) : NULL;
    bool found = false;
    for (int i = 0; f && !found && i < PACKED_LINES_MAX && fgets(line, sizeof line, f); i++) {
        const char *name = strchr(line, ' ');
        line[strcspn(line, "\r\n")] = '\0';
        found = name && strcmp(name + 1, ref) == 0 && take_commit(out, line);
    }
    if (f)
        fclose(f);
    return found;
}

/* The text of HEAD or of a ref: a commit, or "ref: " and the name of another. */
static bool follow(char out[PLUMB_GIT_COMMIT_BYTES], const struct repository *r)
{
    char text[LINE_BYTES], ref[LINE_BYTES];
    if (!first_line(text, r->own, "HEAD"))
        return false;
    for (int i = 0; i < REFS_MAX; i++) {
        if (strncmp(text, "ref: ", 5) != 0)
            return take_commit(out, text);
        memcpy(ref, text + 5, sizeof ref - 5);
        if (strncmp(ref, "refs/", 5) != 0 || strstr(ref, ".."))
            return false;
        if (!first_line(text, r->own, ref) && !first_line(text, r->shared, ref))
            return find_packed(out, r->shared, ref);
    }
    return false;
}

/* The frame holds paths and lines of files: 7 KiB. The helper calls this function when a run opens
 * or the program asks for the commit. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
bool plumb_git_commit(char out[PLUMB_GIT_COMMIT_BYTES], const char *folder)
{
    char at[PATH_BYTES];
    struct repository r;
    int saved = errno;
    bool found = false;
    out[0] = '\0';
    if (folder[0] == '/' && snprintf(at, sizeof at, "%s", folder) < (int)sizeof at) {
        for (int i = 0; i < ABOVE_MAX; i++) {
            char *slash;
            if (open_at(&r, at)) {
                found = follow(out, &r);
                break;
            }
            if (!(slash = strrchr(at, '/')) || !at[0])
                break;
            *slash = '\0';
        }
    }
    errno = saved;
    return found;
}
#pragma GCC diagnostic pop
