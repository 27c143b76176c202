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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <plumb/collector.h>

/* ---- The program ----------------------------------------------------------------------------- */

static volatile sig_atomic_t child; /* for the handler: whom to pass signals to */

static void pass_on(int signal)
{
    int saved = errno;
    if (child > 0)
        kill((pid_t)child, signal);
    errno = saved;
}

/* SIGINT and SIGQUIT of the terminal come from the kernel, which sends them to the program too: a
 * second one ends programs that clean up at the first. Another process sent it to this one. */
static void pass_on_if_sent(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0)
        pass_on(signal);
}

enum { SIGNALS = 4 };
static const int handled[SIGNALS] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

struct dispositions {
    struct sigaction before[SIGNALS];
    sigset_t mask;
};

/* Signals stay blocked until the child is known: one that comes earlier must reach it too. */
static void take_signals(struct dispositions *d, bool whole)
{
    sigset_t block;
    sigemptyset(&block);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&block, handled[i]);
    sigprocmask(SIG_BLOCK, &block, &d->mask);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
        if (i < 2 && !whole) {
            action.sa_sigaction = pass_on_if_sent;
            action.sa_flags |= SA_SIGINFO;
        }
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

/* Sets a variable to a list of both, of which one may be NULL or "". */
static bool set_list(const char *variable, const char *first, const char *second)
{
    char *value = NULL;
    if (!first || !*first || !second || !*second)
        return setenv(variable, first && *first ? first : second, 1) == 0;
    bool ok = asprintf(&value, "%s:%s", first, second) >= 0;
    ok = ok && setenv(variable, value, 1) == 0;
    free(value);
    return ok;
}

static void become(const struct plumb_launch *how, const struct dispositions *d, pid_t parent,
                   int report)
{
    char pid[32];
    bool ready;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ready = setenv("PLUMB_RECORD_PID", pid, 1) == 0;
    if (how->log)
        ready = ready && setenv("PLUMB_RECORD_LOG", how->log, 1) == 0;
    if (how->preload)
        ready = ready && set_list("LD_PRELOAD", how->preload, getenv("LD_PRELOAD"));
    if (how->layer) /* those of the user are nearer to the program */
        ready = ready && set_list("OPENCL_LAYERS", getenv("OPENCL_LAYERS"), how->layer);
    unsetenv("PLUMB_LIBRARY"); /* ours alone: the runtime would call it unknown */
    if (how->whole) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(PLUMB_LAUNCH_OWN);
    }
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

/* Waits until the process has ended, or `seconds` have passed: then it is killed. */
static int wait_for(pid_t pid, double seconds, bool *timed_out)
{
    const struct timespec pause = {0, 5000000};
    struct timespec begin, now;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (; seconds > 0; nanosleep(&pause, NULL)) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 >
            seconds) {
            *timed_out = true;
            kill(pid, SIGKILL);
            break;
        }
    }
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
    take_signals(&d, how->whole);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(report[0]);
        become(how, &d, parent, report[1]);
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
        bool timed_out = false;
        set_result(out, wait_for(pid, how->timeout_s, &timed_out), exec_error);
        out->timed_out = timed_out;
    }
    close(report[0]);
    give_signals_back(&d);
    errno = cause;
    return pid > 0;
}

/* ---- The log --------------------------------------------------------------------------------- */

bool plumb_cli_collects(const char *name)
{
    return plumb_cli_lists(getenv("PLUMB_COLLECT"), name);
}

bool plumb_cli_lists(const char *collect, const char *name)
{
    const char *p = collect;
    for (; p && *p; p += *p == ',') {
        size_t word = strcspn(p, ":,");
        if (word == strlen(name) && memcmp(p, name, word) == 0)
            return true;
        p += strcspn(p, ",");
    }
    return false;
}

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
    /* Processes append to the log and ignore errors: on a full disk the log would say that no
     * process recorded. */
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

struct plumb_cli_entry {
    char kind[8];
    uint64_t pid;
    uint64_t number, other; /* of nodes and samples, of calls and bytes */
    const char *dir;        /* to the end of the line */
    bool left, by_exec; /* of "open": the process has not ended the run; struct plumb_cli_left */
};

static bool read_entry(const char *line, struct plumb_cli_entry *out)
{
    int at = 0;
    *out = (struct plumb_cli_entry){.pid = 0};
    if (sscanf(line, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %n", out->kind, &out->pid,
               &out->number, &out->other, &at) != 4)
        return false;
    out->dir = line + at;
    return at > 0 && line[at] != '\0';
}

static bool is(const struct plumb_cli_entry *e, const char *kind)
{
    return strcmp(e->kind, kind) == 0;
}

/* Each line on its own: sscanf() looks for the end of all that it is given. */
static void read_entries(struct plumb_cli_log *log)
{
    size_t lines = 1;
    for (const char *p = log->text; *p; p++)
        lines += *p == '\n';
    log->entries = calloc(lines, sizeof *log->entries);
    if (!log->entries)
        return;
    for (char *line = log->text, *next; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        log->count += read_entry(line, &log->entries[log->count]);
    }
}

/* Sorts by process; the entries of one process keep their order. */
static int by_process(const void *a, const void *b)
{
    const struct plumb_cli_entry *x = *(struct plumb_cli_entry *const *)a;
    const struct plumb_cli_entry *y = *(struct plumb_cli_entry *const *)b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x > y) - (x < y);
}

/* Returns whether the process of `*opened` reported no end of that run afterwards. */
static bool is_left(struct plumb_cli_entry *const *opened, struct plumb_cli_entry *const *end)
{
    struct plumb_cli_entry *run = *opened;
    for (opened++; opened < end && (*opened)->pid == run->pid; opened++) {
        if (is(*opened, "run") && strcmp((*opened)->dir, run->dir) == 0)
            return false;
        run->by_exec |= is(*opened, "load");
    }
    return true;
}

static void find_left(struct plumb_cli_log *log)
{
    struct plumb_cli_entry **sorted = calloc(log->count + 1, sizeof *sorted);
    if (!sorted)
        return;
    for (size_t i = 0; i < log->count; i++)
        sorted[i] = &log->entries[i];
    qsort(sorted, log->count, sizeof *sorted, by_process);
    for (size_t i = 0; i < log->count; i++)
        sorted[i]->left = is(sorted[i], "open") && sorted[i]->dir[0] == '/' &&
                          is_left(sorted + i, sorted + log->count);
    free(sorted);
}

/* A program may report activations and have no span. */
static void find_activations(struct plumb_cli_log *log, const char *dir)
{
    char path[sizeof log->activations];
    struct stat st;
    if (dir[0] == '/' &&
        snprintf(path, sizeof path, "%s/activations.jsonl", dir) < (int)sizeof path &&
        stat(path, &st) == 0 && st.st_size > 0)
        memcpy(log->activations, path, sizeof path);
}

static bool read_collector(const struct plumb_cli_entry *e, struct plumb_cli_collector *out)
{
    if (!is(e, "collect"))
        return false;
    size_t n = strcspn(e->dir, " ");
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, e->dir);
    snprintf(out->why, sizeof out->why, "%s", e->dir + n + (e->dir[n] == ' '));
    out->state = e->number;
    out->built_in = e->other != 0;
    return true;
}

/* One that has seen nothing says so: its state is another one then. */
static bool has_collected(const struct plumb_cli_entry *e)
{
    struct plumb_cli_collector c;
    return read_collector(e, &c) && !c.built_in && c.state == PLUMB_COLLECTOR_STOPPED;
}

void plumb_cli_log_read(struct plumb_cli_log *log)
{
    log->text = log->path[0] ? read_text(log->path) : NULL;
    if (!log->text)
        return;
    read_entries(log);
    find_left(log);
    for (size_t i = 0; i < log->count; i++) {
        const struct plumb_cli_entry *e = &log->entries[i];
        log->loads += is(e, "load");
        log->refused += is(e, "refused");
        log->runs += is(e, "run") && e->number > 0;
        if (is(e, "run") && e->number == 0)
            find_activations(log, e->dir);
        log->figures += is(e, "figures");
        log->mallocs += is(e, "malloc") && e->number > 0;
        log->counted += is(e, "calls");
        log->collected += has_collected(e);
    }
}

bool plumb_cli_log_left(const struct plumb_cli_log *log, size_t i, struct plumb_cli_left *out)
{
    for (size_t k = 0; k < log->count; k++) {
        const struct plumb_cli_entry *e = &log->entries[k];
        if (!e->left || i-- > 0)
            continue;
        snprintf(out->dir, sizeof out->dir, "%s", e->dir);
        out->by_exec = e->by_exec;
        return true;
    }
    return false;
}

bool plumb_cli_log_run(const struct plumb_cli_log *log, size_t i, char *out, size_t size)
{
    for (size_t k = 0; k < log->count; k++) {
        const struct plumb_cli_entry *e = &log->entries[k];
        if (!is(e, "run") || e->number == 0 || e->dir[0] != '/' || i-- > 0)
            continue;
        return snprintf(out, size, "%s", e->dir) < (int)size;
    }
    return false;
}

/* Returns whether an earlier entry has the same name. */
static bool is_told(const struct plumb_cli_log *log, size_t before, const char *name)
{
    struct plumb_cli_collector c;
    for (size_t k = 0; k < before; k++)
        if (read_collector(&log->entries[k], &c) && strcmp(c.name, name) == 0)
            return true;
    return false;
}

bool plumb_cli_log_collector(const struct plumb_cli_log *log, size_t i,
                             struct plumb_cli_collector *out)
{
    for (size_t k = 0; k < log->count; k++)
        if (read_collector(&log->entries[k], out) && !is_told(log, k, out->name) && i-- == 0)
            return true;
    return false;
}

bool plumb_cli_log_saw(const struct plumb_cli_log *log, uint64_t i)
{
    for (size_t k = 0; k < log->count; k++)
        if (is(&log->entries[k], "seen") && log->entries[k].number == i)
            return true;
    return false;
}

void plumb_cli_log_close(struct plumb_cli_log *log)
{
    if (log->path[0])
        unlink(log->path);
    free(log->entries);
    free(log->text);
    *log = (struct plumb_cli_log){.text = NULL};
}
