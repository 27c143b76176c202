/* cmd_attach.c: plumb attach: record a running process for a while, and leave it as it was.
 *
 * A process that records nothing gets a run of its own in the folder, which is ended afterwards. A
 * run that is open goes on: its rows are read before and after, and the difference is written to
 * the folder, so the figures of the owner of that run stay whole. A trace is a window of the run
 * (docs/control.md), in the folder too. Everything that was switched on is switched off again,
 * whatever ends the wait: the time, the steps, a signal, or the end of the process. If this command
 * is killed, the process does that itself, because the connection ends. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <plumb/control.h>
#include <plumb/read/live.h>

#include "attach_lock.h"
#include "cli.h"

enum { FOR, STEPS, TRACE, REGIONS, NODES, OUTPUT };
enum { LOOK_MS = 100, BAR = 30, HINT_S = 3 };

static const struct plumb_cli_option options[] = {
    [FOR] = {"for", "TIME", "how long: 10s, 500ms, 2m, or seconds (until Ctrl-C)", false},
    [STEPS] = {"steps", "N", "until so many steps that begin from now on have ended", false},
    [TRACE] = {"trace", NULL, "write a trace of that time as well", false},
    [REGIONS] = {"regions", "NAMES", "keep the trace to these regions; implies --trace", false},
    [NODES] = {"nodes", "PATTERNS", "keep the trace to these nodes; implies --trace", false},
    [OUTPUT] = {"output", "DIR", "where the run goes: a folder that is not there, or empty", false},
    {NULL, NULL, NULL, false},
};

struct attach {
    const char *who, *output; /* as on the command line */
    plumb_control_trace trace;
    bool wants_trace;
    char dir[PATH_MAX], trace_path[PATH_MAX + 16];
    /* the process */
    plumb_control *control;
    uint32_t pid;
    char run_dir[PATH_MAX]; /* of the run that was open; "": none */
    struct plumb_attach_lock lock;
    /* what was switched on */
    bool run, window, keeps;
    char window_path[PATH_MAX + 16];
    plumb_watch *watch;
    plumb_reading *before;
    bool gone;       /* it has ended, or does not answer any more: nothing more can be asked */
    bool silent;     /* it does not answer any more: it may be stopped */
    bool lost;       /* there are no rows to be shown */
    plumb_error why; /* it is gone */
    double seconds;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
    stopped = sig;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until a time of now_s(), or a signal. */
static void sleep_until(double at_s)
{
    double left = at_s - now_s();
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    if (left > 0)
        nanosleep(&t, NULL);
}

static int say(const plumb_error *err)
{
    plumb_cli_say(&plumb_cmd_attach, "%s", err->message);
    return PLUMB_EXIT_TROUBLE;
}

/* ---- The command line ------------------------------------------------------------------------ */

/* "10s", "500ms", "2m", "10". */
static bool take_time(struct attach *a, const char *text)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != text && strcmp(end, units[i].unit) == 0 && value > 0 &&
            value * units[i].ns < 1e18 && value * units[i].ns >= 1) {
            a->trace.for_ns = (uint64_t)(value * units[i].ns);
            return true;
        }
    plumb_cli_usage(&plumb_cmd_attach, "--for wants a time (10s, 500ms, 2m), not '%s'", text);
    return false;
}

static bool take(struct attach *a, int option, const char *value)
{
    switch (option) {
    case FOR:
        return take_time(a, value);
    case STEPS:
        if (!plumb_cli_number(&plumb_cmd_attach, "steps", value, &a->trace.steps))
            return false;
        if (!a->trace.steps)
            plumb_cli_usage(&plumb_cmd_attach, "--steps wants one step or more");
        return a->trace.steps > 0;
    case REGIONS:
        a->trace.regions = value;
        break;
    case NODES:
        a->trace.nodes = value;
        break;
    case OUTPUT:
        a->output = value;
        return true;
    default:
        break;
    }
    a->wants_trace = true;
    return true;
}

/* Makes the path absolute: the process has a working directory of its own. */
static int place(struct attach *a)
{
    const char *dir = a->output;
    char here[PATH_MAX] = "";
    int n;
    if (*dir != '/' && !getcwd(here, sizeof here)) {
        plumb_cli_say(&plumb_cmd_attach, "no working directory: %s", strerror(errno));
        return PLUMB_EXIT_TROUBLE;
    }
    n = snprintf(a->dir, sizeof a->dir, "%s%s%s", here, *dir == '/' ? "" : "/", dir);
    if (n < 0 || (size_t)n >= sizeof a->dir) {
        plumb_cli_say(&plumb_cmd_attach, "the path of the folder is too long");
        return PLUMB_EXIT_TROUBLE;
    }
    snprintf(a->trace_path, sizeof a->trace_path, "%s/trace.pftrace", a->dir);
    return PLUMB_EXIT_OK;
}

/* The run makes its folder itself. rmdir() removes an empty one alone. */
static int clear_place(const struct attach *a)
{
    struct stat st;
    if (lstat(a->dir, &st) < 0 || rmdir(a->dir) == 0)
        return PLUMB_EXIT_OK;
    plumb_cli_say(&plumb_cmd_attach,
                  "'%s' is there already: name a folder that is not, or one that is empty",
                  a->output);
    return PLUMB_EXIT_TROUBLE;
}

/* ---- The process ----------------------------------------------------------------------------- */

static int find(struct attach *a)
{
    const plumb_process *p;
    plumb_error err = {0, ""};
    if (plumb_control_connect(&a->control, a->who, 0, &err) < 0 ||
        plumb_control_status(&p, a->control, &err) < 0)
        return say(&err);
    plumb_control_while_connected(a->control, 1);
    if (plumb_attach_lock(&a->lock, p->pid, p->socket) != PLUMB_EXIT_OK)
        return PLUMB_EXIT_TROUBLE;
    /* Another attach may have ended its run between the two. */
    if (plumb_control_status(&p, a->control, &err) < 0)
        return say(&err);
    if (p->recording > 1) {
        plumb_cli_say(
            &plumb_cmd_attach,
            "process %u has passed no trace point that opens its run: wait until 'plumb ps' "
            "says that it records; a program without marks never does",
            p->pid);
        return PLUMB_EXIT_TROUBLE;
    }
    a->pid = p->pid;
    a->run = !p->recording;
    snprintf(a->run_dir, sizeof a->run_dir, "%s", p->run_dir ? p->run_dir : "");
    return PLUMB_EXIT_OK;
}

/* Returns whether the folder that the run is to lie in is the same in the process; true where that
 * cannot be seen from here. */
static bool sees_the_folder(const struct attach *a)
{
    char path[PATH_MAX + 32];
    struct stat here, there;
    char *dir;
    snprintf(path, sizeof path, "/proc/%u/root", a->pid);
    dir = path + strlen(path);
    snprintf(dir, sizeof path - (size_t)(dir - path), "%s", a->dir);
    while (stat(dir[0] ? dir : "/", &here) < 0 && dir[0])
        *strrchr(dir, '/') = '\0'; /* what is above exists, or will be made */
    if (stat(path, &there) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int say_other_folders(const struct attach *a)
{
    plumb_cli_say(
        &plumb_cmd_attach,
        "process %u sees other folders (chroot, a container): its '%s' is not the one here", a->pid,
        a->dir);
    return PLUMB_EXIT_TROUBLE;
}

static int start_run(struct attach *a)
{
    char setting[PATH_MAX + 16];
    /* A child that is forked in the meantime would have a run that no front end ends. */
    const char *settings[] = {setting, "quiet=1", "fork=off", NULL};
    plumb_error err = {0, ""};
    bool sees = sees_the_folder(a);
    snprintf(setting, sizeof setting, "run_dir=%s", a->dir);
    if (!sees || plumb_control_start(a->control, settings, &err) < 0) {
        a->run = false;
        return sees ? say(&err) : say_other_folders(a);
    }
    return access(a->dir, F_OK) == 0 ? PLUMB_EXIT_OK : say_other_folders(a);
}

/* Removes a run that was opened in vain, and has no folders: the next attempt wants the name. */
static void discard(const struct attach *a)
{
    DIR *dir = opendir(a->dir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(a->dir);
}

static int watch_run(struct attach *a)
{
    plumb_error err = {0, ""};
    char pid[16];
    snprintf(pid, sizeof pid, "%u", a->pid);
    /* A process that opens a run makes them itself. */
    if (!plumb_cli_make_above(&plumb_cmd_attach, a->dir))
        return PLUMB_EXIT_TROUBLE;
    if (mkdir(a->dir, 0777) < 0) {
        plumb_cli_say(&plumb_cmd_attach, "cannot make '%s': %s", a->dir, strerror(errno));
        return PLUMB_EXIT_TROUBLE;
    }
    if (plumb_watch_open(&a->watch, pid, &err) < 0 ||
        plumb_watch_read(&a->before, a->watch, &err) < 0)
        return say(&err);
    return PLUMB_EXIT_OK;
}

/* Without a trace, steps are counted by a window that has no file. */
static int switch_on(struct attach *a)
{
    plumb_control_trace t = a->trace;
    plumb_error err = {0, ""};
    if (!a->wants_trace && !t.steps)
        return PLUMB_EXIT_OK;
    t.size = sizeof t;
    t.path = a->wants_trace ? a->trace_path : "";
    if (plumb_control_trace_on(a->window_path, sizeof a->window_path, a->control, &t, &err) ==
        PLUMB_OK) {
        a->window = true;
        return PLUMB_EXIT_OK;
    }
    /* A run in ring mode has the newest records already. */
    if (a->wants_trace && !t.steps && strstr(err.message, "PLUMB_TRACE_MODE=ring")) {
        a->keeps = true;
        return PLUMB_EXIT_OK;
    }
    return say(&err);
}

/* ---- The wait -------------------------------------------------------------------------------- */

static void show(const struct attach *a, double seconds, uint64_t spans)
{
    double all = (double)a->trace.for_ns * 1e-9;
    int part = all > 0 ? (int)(seconds / all * BAR) : 0;
    part = part > BAR ? BAR : part;
    if (a->trace.for_ns)
        fprintf(stderr, "\r[%.*s%*s] %.1f of %.1f s, %" PRIu64 " spans ", part,
                "##############################", BAR - part, "", seconds, all, spans);
    else
        fprintf(stderr, "\r%.1f s, %" PRIu64 " spans (Ctrl-C ends it) ", seconds, spans);
    fflush(stderr);
}

/* A program that marks no steps would be waited for without a word. */
static void hint(const struct attach *a, bool bar)
{
    if (bar)
        fprintf(stderr, "\r%78s\r", "");
    plumb_cli_say(&plumb_cmd_attach,
                  "waits for the end of %" PRIu64 " steps, which the program marks with "
                  "PLUMB_STEPS() or PLUMB_STEP(); Ctrl-C ends the recording",
                  a->trace.steps);
}

static void wait_for_end(struct attach *a)
{
    double from = now_s(), until = from + (double)a->trace.for_ns * 1e-9;
    bool bar = isatty(STDERR_FILENO), hinted = !a->trace.steps;
    while (!stopped) {
        const plumb_process *p;
        double asked = now_s(), left = until - asked, nap = LOOK_MS * 1e-3;
        if (a->trace.for_ns && left <= 0)
            break;
        /* The rows go on until this sees the end of the steps. */
        int rc = plumb_control_wait(&p, a->control, a->trace.steps ? LOOK_MS : 0, &a->why);
        if (rc < 0) {
            a->gone = true;
            a->silent = rc == PLUMB_ERR_STATE;
            break;
        }
        /* A run that is traced as a whole stays so. */
        if (a->trace.steps && a->window && p->tracing != 2)
            break;
        if (!hinted && now_s() - from > HINT_S) {
            hint(a, bar);
            hinted = true;
        }
        if (bar)
            show(a, now_s() - from, p->spans);
        if (a->trace.for_ns && left < nap)
            nap = left;
        sleep_until(asked + nap);
    }
    a->seconds = now_s() - from;
    if (bar)
        fprintf(stderr, "\r%78s\r", "");
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Copies a piece of the ring into the folder. */
static int copy(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "rbe"), *out = in ? fopen(to, "wbxe") : NULL;
    bool good = out != NULL;
    size_t n;
    while (good && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        good = fwrite(bytes, 1, n, out) == n;
    good = good && !ferror(in);
    if (in)
        fclose(in);
    if (out && fclose(out) != 0)
        good = false;
    if (good)
        return PLUMB_EXIT_OK;
    plumb_cli_say(&plumb_cmd_attach, "cannot copy '%s' to '%s': %s", from, to, strerror(errno));
    return PLUMB_EXIT_TROUBLE;
}

static int keep(const struct attach *a)
{
    plumb_error err = {0, ""};
    char path[PATH_MAX];
    if (plumb_control_keep(path, sizeof path, a->control, "plumb attach", &err) < 0)
        return say(&err);
    return copy(path, a->trace_path);
}

/* The rows of the time between two readings, as the report of a run. */
static int write_difference(struct attach *a)
{
    plumb_reading *after = NULL, *since = NULL;
    plumb_error err = {0, ""};
    int rc = plumb_watch_read(&after, a->watch, &err);
    if (rc == PLUMB_OK)
        rc = plumb_reading_since(&since, after, a->before, &err);
    if (rc == PLUMB_OK)
        rc = plumb_reading_write(since, a->dir, &err);
    plumb_reading_free(since);
    plumb_reading_free(after);
    return rc < 0 ? say(&err) : PLUMB_EXIT_OK;
}

/* A process that was killed has left a run whose trace any reading command completes. */
static void recover(const struct attach *a)
{
    plumb_report *report = NULL;
    if (*a->run_dir && plumb_report_open(&report, a->run_dir, NULL) == PLUMB_OK)
        plumb_report_close(report);
}

/* A process that is only stopped notices the end of the connection when it goes on. One that ends,
 * or calls plumb_control_close(), has ended the recording. */
static void say_gone(const struct attach *a)
{
    plumb_cli_say(&plumb_cmd_attach, "%s, after %.1f s%s", a->why.message, a->seconds,
                  a->silent ? ": it ends the recording itself when it goes on" : "");
}

/* Prints the lines of the process about the run, which its own stderr does not get. */
static void say_notes(const struct attach *a)
{
    const char *notes = plumb_control_notes(a->control);
    for (size_t n; *notes; notes += n + (notes[n] == '\n')) {
        n = strcspn(notes, "\n");
        plumb_cli_say(&plumb_cmd_attach, "process %u: %.*s", a->pid, (int)n, notes);
    }
}

/* Switches off what was switched on, in the opposite order. */
static int restore(struct attach *a)
{
    plumb_error err = {0, ""};
    int status = a->silent ? PLUMB_EXIT_TROUBLE : PLUMB_EXIT_OK;
    if (a->gone)
        say_gone(a);
    if (a->keeps && !a->gone)
        status = keep(a);
    if (a->window && !a->gone && plumb_control_trace_end(a->control, a->window_path, &err) < 0)
        status = say(&err);
    if (a->run && !a->gone && plumb_control_stop(a->control, &err) < 0) {
        /* A line about it may say more. */
        status =
            strstr(plumb_control_notes(a->control), err.message) ? PLUMB_EXIT_TROUBLE : say(&err);
    }
    say_notes(a);
    if (a->gone && !a->silent && a->window && !a->run)
        recover(a);
    a->lost = a->watch && a->before && write_difference(a) != PLUMB_EXIT_OK;
    return a->lost ? PLUMB_EXIT_TROUBLE : status;
}

static int summary(const struct attach *a, bool whole)
{
    plumb_report *report = NULL;
    plumb_report_options o = plumb_report_options_default();
    plumb_error err = {0, ""};
    char *text = NULL;
    int rc = plumb_report_open(&report, a->dir, &err);
    bool done = false;
    if (rc == PLUMB_OK)
        rc = plumb_report_render(&text, report, &o, &err);
    if (rc == PLUMB_OK)
        done = plumb_cli_output(&plumb_cmd_attach, NULL, text);
    plumb_read_free(text);
    plumb_report_close(report);
    if (rc < 0)
        return whole ? say(&err) : PLUMB_EXIT_TROUBLE; /* it has been said why */
    plumb_cli_say(&plumb_cmd_attach,
                  whole ? "%.1f s of process %u are in %s%s"
                        : "what could be written of %.1f s of process %u is in %s%s",
                  a->seconds, a->pid, a->dir, a->wants_trace ? ", with trace.pftrace" : "");
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static void take_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction mine = {.sa_handler = on_signal};
    sigemptyset(&mine.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &mine, NULL);
}

static int attach(struct attach *a)
{
    int status, restored;
    take_signals();
    status = find(a);
    if (status == PLUMB_EXIT_OK)
        status = clear_place(a);
    if (status != PLUMB_EXIT_OK)
        return status;
    status = a->run ? start_run(a) : watch_run(a);
    if (status == PLUMB_EXIT_OK)
        status = switch_on(a);
    if (status == PLUMB_EXIT_OK)
        wait_for_end(a);
    else if (!a->run) {
        rmdir(a->dir); /* nothing is in it */
        return status;
    }
    restored = restore(a);
    if (status != PLUMB_EXIT_OK) {
        if (!a->gone)
            discard(a);
        return status;
    }
    if (a->lost)
        return restored;
    return summary(a, restored == PLUMB_EXIT_OK || a->gone) != PLUMB_EXIT_OK ? PLUMB_EXIT_TROUBLE
                                                                             : restored;
}

static int run(int argc, char **argv)
{
    static struct attach a;
    struct plumb_cli_args args;
    int option, status;
    a.lock.fd = -1;
    plumb_cli_args_init(&args, &plumb_cmd_attach, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(&a, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (!a.output || !*a.output)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_attach, "a folder is missing: -o DIR"));
    if (argc - args.operand != 1)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_attach, "name one process, by its pid or its program"));
    if (a.trace.for_ns && a.trace.steps)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_attach, "--for and --steps exclude each other"));
    a.who = argv[args.operand];
    status = place(&a);
    if (status == PLUMB_EXIT_OK)
        status = attach(&a);
    plumb_reading_free(a.before);
    plumb_watch_close(a.watch);
    plumb_control_disconnect(a.control);
    plumb_attach_unlock(&a.lock);
    return status;
}

const struct plumb_cli_command plumb_cmd_attach = {
    .name = "attach",
    .summary = "record a running process for a while, and leave it as it was",
    .synopsis = "[OPTION]... PID|NAME -o DIR",
    .description =
        "Records a running process for a time or a number of steps, or until Ctrl-C,\n"
        "writes a run directory, and prints its report. The process takes part if it\n"
        "was started with PLUMB_CONTROL=1, or has called plumb_control_open(); 'plumb ps'\n"
        "lists these. NAME is the name of its program, where one process has it.\n"
        "\n"
        "A process that records nothing gets a run in DIR, which is ended afterwards. A\n"
        "run that is open goes on undisturbed: DIR gets the difference of its rows\n"
        "before and after. Counts, sums and histograms are exact; minimum, maximum and\n"
        "quantiles are those of the histogram's difference, within 0.8 %.\n"
        "\n"
        "With --trace, DIR/trace.pftrace has the spans of that time. Spans that were open\n"
        "before are in it with their own begin. Of a run in ring mode\n"
        "(PLUMB_TRACE_MODE=ring) the newest records are kept at the end of the time. A\n"
        "run that is traced from its begin is not traced a second time.\n"
        "\n"
        "Ctrl-C ends the time early: what was switched on is switched off, and DIR has\n"
        "what was recorded. If the process ends, DIR has what it recorded until then.",
    .examples = "plumb attach 4711 --for 10s -o slow            # what is it doing?\n"
                "plumb attach server --for 10s --trace -o slow  # with a trace\n"
                "plumb attach train --steps 20 --trace -o twenty\n"
                "plumb attach 4711 --for 2s --regions my_part -o part",
    .status = "0 success; 2 wrong usage, no such process, one that does not take part or that\n"
              "another attach is at work on, one that stops answering, or output that\n"
              "cannot be written.",
    .options = options,
    .run = run,
};
