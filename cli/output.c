/* output.c: results into a file. A report that is written over an older one must not destroy it on
 * a full disk, so a plain file is written beside its place and renamed; whatever else the path
 * names (a pipe, a device, a link) is written through. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { PATH_BYTES = 4096 };

static bool same_file(const char *run, const char *suffix, const struct stat *file)
{
    char path[PATH_BYTES];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s%s", run, suffix);
    return n > 0 && n < (int)sizeof path && stat(path, &st) == 0 && st.st_dev == file->st_dev &&
           st.st_ino == file->st_ino;
}

bool plumb_cli_is_run(const char *run, const char *path)
{
    struct stat st;
    static const char *const kept[] = {"", "/timing.json", "/timing_io_signature.json",
                                       "/live.plumb"};
    if (stat(path, &st) < 0)
        return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (same_file(run, kept[i], &st))
            return true;
    return false;
}

/* Opens what is to be written: `path` itself, or a new file whose name is left in `beside`. */
static FILE *open_for(const char *path, char beside[PATH_BYTES])
{
    struct stat st;
    bool there = lstat(path, &st) == 0;
    mode_t mask;
    int fd;
    beside[0] = '\0';
    if (there && !S_ISREG(st.st_mode))
        return fopen(path, "w");
    if (there && access(path, W_OK) < 0)
        return NULL;
    if (snprintf(beside, PATH_BYTES, "%s.XXXXXX", path) >= PATH_BYTES) {
        beside[0] = '\0';
        errno = ENAMETOOLONG;
        return NULL;
    }
    if ((fd = mkstemp(beside)) < 0) {
        beside[0] = '\0';
        return NULL;
    }
    mask = umask(0);
    umask(mask);
    fchmod(fd, there ? st.st_mode & 07777 : 0666 & ~mask);
    return fdopen(fd, "w");
}

/* 0, or an errno. */
static int write_to(const char *path, const char *text, char beside[PATH_BYTES])
{
    int why = 0;
    FILE *file = open_for(path, beside);
    if (!file)
        return errno;
    if (fputs(text, file) < 0 || fputc('\n', file) == EOF)
        why = errno ? errno : EIO;
    if (fclose(file) != 0 && !why)
        why = errno;
    if (!why && beside[0] && rename(beside, path) < 0)
        why = errno;
    return why;
}

void plumb_cli_stdout_failed(int why)
{
    plumb_cli_say(NULL, "cannot write to standard output: %s",
                  why ? strerror(why) : "an earlier write failed");
    clearerr(stdout); /* it is said */
}

bool plumb_cli_output(const struct plumb_cli_command *command, const char *path, const char *text)
{
    char beside[PATH_BYTES];
    int why;
    if (!path || strcmp(path, "-") == 0) {
        if (puts(text) != EOF && fflush(stdout) == 0)
            return true;
        plumb_cli_stdout_failed(errno);
        return false;
    }
    why = write_to(path, text, beside);
    if (why) {
        plumb_cli_say(command, "cannot write '%s': %s", path, strerror(why));
        if (beside[0])
            unlink(beside);
    }
    return !why;
}
