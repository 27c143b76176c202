/* output.c: results into a file, or to stdout. */
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

/* The text and a newline. */
static int write_to(const char *path, const char *text, plumb_error *err)
{
    size_t n = strlen(text);
    char *line = malloc(n + 1);
    int rc;
    if (!line) {
        snprintf(err->message, sizeof err->message, "cannot write '%s': out of memory", path);
        return PLUMB_ERR_MEMORY;
    }
    memcpy(line, text, n);
    line[n] = '\n';
    rc = plumb_read_save(path, line, n + 1, err);
    free(line);
    return rc;
}

void plumb_cli_stdout_failed(int why)
{
    plumb_cli_say(NULL, "cannot write to standard output: %s",
                  why ? strerror(why) : "an earlier write failed");
    clearerr(stdout); /* it is said */
}

bool plumb_cli_output(const struct plumb_cli_command *command, const char *path, const char *text)
{
    plumb_error err = {0, ""};
    if (!path || strcmp(path, "-") == 0) {
        if (puts(text) != EOF && fflush(stdout) == 0)
            return true;
        plumb_cli_stdout_failed(errno);
        return false;
    }
    if (write_to(path, text, &err) == PLUMB_OK)
        return true;
    plumb_cli_say(command, "%s", err.message);
    return false;
}

const char *plumb_cli_step_summary(void)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    return path && *path ? path : NULL;
}

bool plumb_cli_append(const struct plumb_cli_command *command, const char *path, const char *text)
{
    FILE *file = fopen(path, "ae");
    bool done = file && fprintf(file, "%s\n\n", text) >= 0;
    if (file && fclose(file) != 0)
        done = false;
    if (!done)
        plumb_cli_say(command, "cannot append to '%s' (GITHUB_STEP_SUMMARY): %s", path,
                      strerror(errno));
    return done;
}

bool plumb_cli_host_path(const struct plumb_cli_command *command, char out[4096], const char *path)
{
    static const char mark[] = "{host}";
    char host[256] = "";
    size_t n = 0;
    if (gethostname(host, sizeof host - 1) < 0 || !host[0])
        snprintf(host, sizeof host, "host");
    for (const char *p = path; *p && n < 4096;) {
        bool here = strncmp(p, mark, sizeof mark - 1) == 0;
        n += (size_t)snprintf(out + n, 4096 - n, "%.*s", here ? 255 : 1, here ? host : p);
        p += here ? sizeof mark - 1 : 1;
    }
    if (n < 4096) {
        out[n] = '\0';
        return true;
    }
    plumb_cli_say(command, "the path '%.60s...' is too long", path);
    return false;
}

bool plumb_cli_make_above(const struct plumb_cli_command *command, const char *path)
{
    char above[PATH_BYTES];
    if (strcmp(path, "-") == 0 || strlen(path) >= sizeof above)
        return true; /* too long: what is to be made there says so */
    strcpy(above, path);
    for (char *p = above[0] ? strchr(above + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(above, 0777) < 0 && errno != EEXIST) {
            plumb_cli_say(command, "cannot make the folder '%s': %s", above, strerror(errno));
            return false;
        }
        *p = '/';
    }
    return true;
}
