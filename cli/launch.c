/* launch.c: fork, exec, wait, and the log of what recorded. One launch at a time: signal handlers
 * are the process's. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The program ----------------------------------------------------------------------------- */

static volatile sig_atomic_t child; /* for the handler: whom to pass signals to */

static void pass_on(int signal)
{
    int saved = errno;
    if (child > 0)
        kill((pid_t)child, signal);
    errno = saved;
}

enum { SIGNALS = 4 };
static const int handled[SIGNALS] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

struct dispositions {
    struct sigaction before[SIGNALS];
    sigset_t mask;
};

/* Signals stay blocked until the child is known: one that comes earlier must reach it too. */
static void take_signals(struct dispositions *d)
{
    sigset_t block;
    sigemptyset(&block);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&block, handled[i]);
    sigprocmask(SIG_BLOCK, &block, &d->mask);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = i < 2 ? SIG_IGN : pass_on, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(handled[i], NULL, &d->before[i]);
        if (d->before[i].sa_handler != SIG_IGN) /* nohup: stays ignored, here and in the child */
            sigaction(handled[i], &action, NULL);
    }
}

static void give_signals_back(const struct dispositions *d)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(handled[i], &d->before[i], NULL);
    sigprocmask(SIG_SETMASK, &d->mask, NULL);
}

static bool set_preload(const char *libraries)
{
    const char *before = getenv("LD_PRELOAD");
    char *value = NULL;
    if (!before || !*before)
        return setenv("LD_PRELOAD", libraries, 1) == 0;
    bool ok = asprintf(&value, "%s:%s", libraries, before) >= 0;
    ok = ok && setenv("LD_PRELOAD", value, 1) == 0;
    free(value);
    return ok;
}

static void become(const struct plumb_launch *how, const struct dispositions *d, int report)
{
    char pid[32];
    bool ready;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ready = setenv("PLUMB_RECORD_PID", pid, 1) == 0;
    if (how->log)
        ready = ready && setenv("PLUMB_RECORD_LOG", how->log, 1) == 0;
    if (how->preload)
        ready = ready && set_preload(how->preload);
    unsetenv("PLUMB_LIBRARY"); /* ours alone: the runtime would call it unknown */
    if (how->stdout_to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    give_signals_back(d);
    if (ready)
        execvp(how->argv[0], how->argv);
    int cause = errno;
    while (write(report, &cause, sizeof cause) < 0 && errno == EINTR)
        ;
    _exit(PLUMB_LAUNCH_OWN);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void set_result(struct plumb_launched *out, int wait_status, int exec_error)
{
    *out = (struct plumb_launched){.exec_error = exec_error};
    if (exec_error)
        out->status = exec_error == ENOENT || exec_error == ENOTDIR ? PLUMB_LAUNCH_NOT_FOUND
                                                                    : PLUMB_LAUNCH_DENIED;
    else if (WIFSIGNALED(wait_status))
        out->signal = WTERMSIG(wait_status);
    else
        out->status = WEXITSTATUS(wait_status);
    if (out->signal)
        out->status = 128 + out->signal;
}

bool plumb_cli_launch(struct plumb_launched *out, const struct plumb_launch *how)
{
    struct dispositions d;
    int report[2];
    int exec_error = 0;
    if (pipe2(report, O_CLOEXEC) < 0)
        return false;
    fflush(NULL);
    child = 0;
    take_signals(&d);
    pid_t pid = fork();
    if (pid == 0) {
        close(report[0]);
        become(how, &d, report[1]);
    }
    int cause = errno;
    close(report[1]);
    if (pid > 0) {
        child = pid;
        sigprocmask(SIG_SETMASK, &d.mask, NULL);
        ssize_t n;
        while ((n = read(report[0], &exec_error, sizeof exec_error)) < 0 && errno == EINTR)
            ;
        if (n != (ssize_t)sizeof exec_error)
            exec_error = 0; /* closed by the exec */
        set_result(out, wait_for(pid), exec_error);
    }
    close(report[0]);
    give_signals_back(&d);
    errno = cause;
    return pid > 0;
}

/* ---- The log --------------------------------------------------------------------------------- */

bool plumb_cli_temporary(char *out, size_t size, const char *name)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    int n = snprintf(out, size, "%s/%s-XXXXXX", dir, name);
    if (n < (int)size)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

bool plumb_cli_log_open(struct plumb_cli_log *log)
{
    *log = (struct plumb_cli_log){.text = NULL};
    int fd =
        plumb_cli_temporary(log->path, sizeof log->path, "plumb-record") ? mkstemp(log->path) : -1;
    if (fd < 0) {
        log->path[0] = '\0';
        return false;
    }
    /* Processes append to it in silence: on a full disk it would tell that there were none. */
    static const char probe[4096];
    ssize_t written = write(fd, probe, sizeof probe);
    int why = written < 0 ? errno : written < (ssize_t)sizeof probe ? ENOSPC : 0;
    if (ftruncate(fd, 0) < 0 && !why)
        why = errno;
    close(fd);
    if (why) {
        plumb_cli_log_close(log);
        errno = why;
    }
    return !why;
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t cap = 0;
    FILE *file = fopen(path, "r");
    if (file && getdelim(&text, &cap, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

struct entry {
    char kind[8];
    uint64_t pid;
    uint64_t number, other; /* of nodes and samples, of calls and bytes */
    char dir[1024];         /* to the end of the line */
};

static bool read_entry(const char *line, struct entry *out)
{
    return sscanf(line, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %1023[^\n]", out->kind, &out->pid,
                  &out->number, &out->other, out->dir) == 5;
}

void plumb_cli_log_read(struct plumb_cli_log *log)
{
    struct entry e;
    log->text = log->path[0] ? read_text(log->path) : NULL;
    for (const char *line = log->text; line && *line; line = next_line(line)) {
        if (!read_entry(line, &e))
            continue;
        log->loads += strcmp(e.kind, "load") == 0;
        log->refused += strcmp(e.kind, "refused") == 0;
        log->runs += strcmp(e.kind, "run") == 0 && e.number > 0;
        log->mallocs += strcmp(e.kind, "malloc") == 0 && e.number > 0;
    }
}

/* Whether the run that `opened` tells of has an end below `line`. */
static bool has_end(const char *line, const struct entry *opened, bool *by_exec)
{
    struct entry e;
    *by_exec = false;
    for (; *line; line = next_line(line)) {
        if (!read_entry(line, &e) || e.pid != opened->pid)
            continue;
        if (strcmp(e.kind, "run") == 0 && strcmp(e.dir, opened->dir) == 0)
            return true;
        *by_exec |= strcmp(e.kind, "load") == 0;
    }
    return false;
}

bool plumb_cli_log_left(const struct plumb_cli_log *log, size_t i, struct plumb_cli_left *out)
{
    struct entry e;
    for (const char *line = log->text; line && *line; line = next_line(line)) {
        if (!read_entry(line, &e) || strcmp(e.kind, "open") != 0 || e.dir[0] != '/' ||
            has_end(line, &e, &out->by_exec) || i-- > 0)
            continue;
        memcpy(out->dir, e.dir, sizeof out->dir);
        return true;
    }
    return false;
}

static bool read_collector(const char *line, struct plumb_cli_collector *out)
{
    struct entry e;
    if (!read_entry(line, &e) || strcmp(e.kind, "collect") != 0)
        return false;
    size_t n = strcspn(e.dir, " ");
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, e.dir);
    snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1,
             e.dir + n + (e.dir[n] == ' '));
    out->state = e.number;
    out->built_in = e.other != 0;
    return true;
}

/* Whether an earlier line tells of it. */
static bool is_told(const struct plumb_cli_log *log, const char *line, const char *name)
{
    struct plumb_cli_collector c;
    for (const char *p = log->text; p < line; p = next_line(p))
        if (read_collector(p, &c) && strcmp(c.name, name) == 0)
            return true;
    return false;
}

bool plumb_cli_log_collector(const struct plumb_cli_log *log, size_t i,
                             struct plumb_cli_collector *out)
{
    for (const char *line = log->text; line && *line; line = next_line(line))
        if (read_collector(line, out) && !is_told(log, line, out->name) && i-- == 0)
            return true;
    return false;
}

void plumb_cli_log_close(struct plumb_cli_log *log)
{
    if (log->path[0])
        unlink(log->path);
    free(log->text);
    *log = (struct plumb_cli_log){.text = NULL};
}
