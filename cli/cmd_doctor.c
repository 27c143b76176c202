/* cmd_doctor.c: plumb doctor: one line a check, seen, not seen or blocked, and the cure. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "launch.h"
#include "record_count.h"
#include "target.h"
#include <plumb/collector.h>

static const struct plumb_cli_option options[] = {{NULL, NULL, NULL, false}};

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Checks that have been made and not been printed yet. */
struct tally {
    plumb_check checks[64];
    size_t count;
    int blocked;
    bool failed; /* some could not be printed */
};

/* Prints them, as one table. */
static void flush(struct tally *tally)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    if (tally->count == 0)
        return;
    if (plumb_doctor_render(&text, tally->checks, tally->count, plumb_cli_colour(), &err) < 0) {
        plumb_cli_say(&plumb_cmd_doctor, "%s", err.message);
        tally->failed = true;
    } else {
        tally->failed |= !plumb_cli_output(&plumb_cmd_doctor, NULL, text);
    }
    plumb_read_free(text);
    tally->count = 0;
}

static void show(struct tally *tally, const plumb_check *c)
{
    if (tally->count == sizeof tally->checks / sizeof *tally->checks)
        flush(tally);
    tally->checks[tally->count++] = *c;
    tally->blocked += c->state >= PLUMB_CHECK_BLOCKED;
}

static void line(struct tally *tally, const char *name, enum plumb_check_state state,
                 const char *cure, const char *format, ...) __attribute__((format(printf, 5, 6)));

static void line(struct tally *tally, const char *name, enum plumb_check_state state,
                 const char *cure, const char *format, ...)
{
    plumb_check c = {name, state, "", ""};
    va_list args;
    va_start(args, format);
    vsnprintf(c.detail, sizeof c.detail, format, args);
    va_end(args);
    snprintf(c.cure, sizeof c.cure, "%s", cure ? cure : "");
    show(tally, &c);
}

/* ---- Collectors ------------------------------------------------------------------------------ */

static void show_collector(struct tally *tally, const struct plumb_cli_collector *c)
{
    const char *whose = c->built_in ? "built in" : "plug-in";
    switch (c->state) {
    case PLUMB_COLLECTOR_IDLE:
        line(tally, "collector", PLUMB_CHECK_NOT_SEEN, NULL,
             "%s (%s): not asked for; PLUMB_COLLECT=%s starts it", c->name, whose, c->name);
        break;
    case PLUMB_COLLECTOR_ABSENT:
        line(tally, "collector", PLUMB_CHECK_NOT_SEEN, NULL, "%s (%s): absent: %.150s", c->name,
             whose, c->why);
        break;
    case PLUMB_COLLECTOR_FAILED:
    case PLUMB_COLLECTOR_ABANDONED:
        line(tally, "collector", PLUMB_CHECK_BLOCKED, "PLUMB_COLLECT without it, or repair it",
             "%s (%s): %s: %.150s", c->name, whose,
             c->state == PLUMB_COLLECTOR_FAILED ? "failed" : "given up", c->why);
        break;
    default:
        line(tally, "collector", PLUMB_CHECK_SEEN, NULL, "%s (%s): works", c->name, whose);
        break;
    }
}

static bool has_collector(const struct plumb_cli_log *log, const char *name)
{
    struct plumb_cli_collector c;
    for (size_t i = 0; plumb_cli_log_collector(log, i, &c); i++)
        if (strcmp(c.name, name) == 0)
            return true;
    return false;
}

/* Reports the names in PLUMB_COLLECT that no collector has. With `program` the list includes its
 * plug-ins. */
static void check_names(struct tally *tally, const struct plumb_cli_log *log, bool program)
{
    const char *setting = getenv("PLUMB_COLLECT");
    for (const char *p = setting ? setting : ""; *p; p += *p == ',') {
        char name[64];
        size_t word = strcspn(p, ":,");
        snprintf(name, sizeof name, "%.*s", (int)(word < 63 ? word : 63), p);
        p += strcspn(p, ",");
        if (!word || strcmp(name, "auto") == 0 || strcmp(name, "none") == 0 ||
            has_collector(log, name))
            continue;
        if (program)
            line(tally, "collector", PLUMB_CHECK_BLOCKED, "PLUMB_COLLECT with one of those above",
                 "PLUMB_COLLECT names '%s', which neither plumb nor the program has", name);
        else
            line(tally, "collector", PLUMB_CHECK_NOT_SEEN, NULL,
                 "PLUMB_COLLECT names '%s', which is not built in: only a plug-in can be called so",
                 name);
    }
}

static void show_collectors(struct tally *tally, const struct plumb_cli_log *log, bool program)
{
    struct plumb_cli_collector c;
    for (size_t i = 0; plumb_cli_log_collector(log, i, &c); i++)
        show_collector(tally, &c);
    check_names(tally, log, program);
}

/* Opens and ends a run in a child process without a program, so that the collectors start there. */
static void record_nothing(const char *library, const char *dir, const char *log)
{
    const struct plumb_api *(*table)(void);
    const struct plumb_api *api = NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    void *handle;
    setenv("PLUMB_DIR", dir, 1);
    unsetenv("PLUMB_RUN_DIR");
    setenv("PLUMB_RECORD_LOG", log, 1);
    setenv("PLUMB_QUIET", "1", 1);
    unsetenv("PLUMB_TIMING_REPORT");
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    *(void **)&table = handle ? dlsym(handle, "plumb_api_1") : NULL;
    if (table)
        api = table();
    if (api && api->start(NULL, NULL) >= 0)
        api->stop(NULL);
    _exit(0);
}

/* The folder for the runs of a trial, and its log. */
struct trial {
    char dir[4096];
    struct plumb_cli_log log;
};

/* Returns false after a line under `name` that says why. */
static bool trial_begin(struct trial *t, struct tally *tally, const char *name)
{
    bool made = plumb_cli_temporary(t->dir, sizeof t->dir, "plumb-doctor") && mkdtemp(t->dir);
    if (made && plumb_cli_log_open(&t->log))
        return true;
    line(tally, name, PLUMB_CHECK_BLOCKED, "set TMPDIR to a folder that can be written",
         "no temporary files: %s", strerror(errno));
    if (made)
        rmdir(t->dir);
    return false;
}

static void trial_end(struct trial *t)
{
    plumb_run_list *list = NULL;
    plumb_prune_options all = {sizeof all, 0, 1};
    if (plumb_run_list_open(&list, t->dir, NULL) == PLUMB_OK)
        plumb_run_list_prune(NULL, list, &all, NULL);
    plumb_run_list_close(list);
    rmdir(t->dir);
    plumb_cli_log_close(&t->log);
}

static void check_collectors(struct tally *tally, const char *library)
{
    struct trial t;
    if (!trial_begin(&t, tally, "collectors"))
        return;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        record_nothing(library, t.dir, t.log.path);
    if (pid < 0)
        line(tally, "collectors", PLUMB_CHECK_BLOCKED, "allow more processes (ulimit -u)",
             "they cannot be tried: %s", strerror(errno));
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    plumb_cli_log_read(&t.log);
    if (pid > 0)
        show_collectors(tally, &t.log, false);
    trial_end(&t);
}

/* ---- libplumb and preloading ----------------------------------------------------------------- */

static void check_preload(struct tally *tally, const char *library)
{
    static char name[] = "true";
    static char *const argv[] = {name, NULL};
    struct plumb_cli_log log;
    struct plumb_launched end;
    if (!plumb_cli_log_open(&log)) {
        line(tally, "preload", PLUMB_CHECK_BLOCKED, "set TMPDIR to a folder that can be written",
             "no temporary file: %s", strerror(errno));
        return;
    }
    struct plumb_launch how = {.argv = argv, .preload = library, .log = log.path};
    how.stdout_to_stderr = true;
    bool ran = plumb_cli_launch(&end, &how);
    plumb_cli_log_read(&log);
    if (ran && log.loads > 0)
        line(tally, "preload", PLUMB_CHECK_SEEN, NULL, "a program without libplumb loads it");
    else
        line(tally, "preload", PLUMB_CHECK_BLOCKED, "link programs with libplumb",
             "libplumb did not arrive in '%s' (it ended with %d)", name, ran ? end.status : -1);
    plumb_cli_log_close(&log);
}

static void check_interposers(struct tally *tally, const char *library)
{
    char path[4096];
    if (plumb_cli_beside(path, sizeof path, library, PLUMB_CLI_MALLOC_LIBRARY))
        line(tally, "malloc", PLUMB_CHECK_SEEN, NULL, "%.200s, for 'plumb record --malloc'", path);
    else
        line(tally, "malloc", PLUMB_CHECK_NOT_SEEN, "install plumb again",
             "no %.150s: 'plumb record --malloc' does not work", path);
    const char *why = plumb_cli_count_obstacle(path, sizeof path, library);
    if (why)
        line(tally, "count", PLUMB_CHECK_NOT_SEEN, "mark the calls with plumb_dispatch()",
             "'plumb record --count' does not work: %.200s", why);
    else
        line(tally, "count", PLUMB_CHECK_SEEN, NULL,
             "calls of library functions, for 'plumb record --count'");
    if (plumb_cli_beside(path, sizeof path, library, PLUMB_CLI_ONEDNN_LIBRARY))
        line(tally, "onednn", PLUMB_CHECK_SEEN, NULL, "%.200s, for 'plumb record --collect onednn'",
             path);
    else
        line(tally, "onednn", PLUMB_CHECK_NOT_SEEN, "install plumb again",
             "no %.150s: 'plumb record --collect onednn' does not work", path);
    if (plumb_cli_beside(path, sizeof path, library, PLUMB_CLI_OPENCL_LIBRARY))
        line(tally, "opencl", PLUMB_CHECK_SEEN, NULL, "%.200s, for 'plumb record --collect opencl'",
             path);
    else
        line(tally, "opencl", PLUMB_CHECK_NOT_SEEN, "build plumb with the OpenCL headers",
             "no %.150s: 'plumb record --collect opencl' does not work", path);
}

static void check_library(struct tally *tally, bool program)
{
    char library[4096];
    if (!plumb_cli_library(library, sizeof library)) {
        line(tally, "libplumb", PLUMB_CHECK_BLOCKED, "set PLUMB_LIBRARY to libplumb.so.0",
             "not found at %.150s", library);
        return;
    }
    line(tally, "libplumb", PLUMB_CHECK_SEEN, NULL, "%.200s", library);
    check_preload(tally, library);
    check_interposers(tally, library);
    if (!program)
        check_collectors(tally, library);
}

/* With `program` a program is checked as well, and reports its collectors itself. */
static void check_machine(struct tally *tally, bool program)
{
    plumb_check c;
    for (size_t i = 0; plumb_doctor_check(&c, i); i++)
        show(tally, &c);
    check_library(tally, program);
    for (size_t i = 0; plumb_doctor_setting(&c, i); i++)
        show(tally, &c);
    plumb_predecessors *names = plumb_cli_predecessors(&plumb_cmd_doctor);
    for (size_t i = 0; names && plumb_doctor_variable(&c, names, i); i++)
        show(tally, &c);
    flush(tally); /* their names lie in the table */
    plumb_predecessors_close(names);
}

/* ---- A program ------------------------------------------------------------------------------- */

static void check_allocator(struct tally *tally, const char *name, const struct plumb_cli_target *t)
{
    const char *why = plumb_cli_target_allocator(t);
    if (why)
        line(tally, "allocator", PLUMB_CHECK_NOT_SEEN, NULL,
             "'plumb record --malloc' sees nothing: %.150s %s", name, why);
    else if (t->known)
        line(tally, "allocator", PLUMB_CHECK_SEEN, NULL, "malloc can be followed");
}

static void check_file(struct tally *tally, const char *name, const struct plumb_cli_target *t)
{
    if (!t->known)
        line(tally, "program", PLUMB_CHECK_NOT_SEEN, NULL,
             "%.150s is not a program that can be "
             "looked into",
             t->binary);
    else if (t->foreign)
        line(tally, "program", PLUMB_CHECK_BLOCKED, "use the plumb that was built for it",
             "%.150s is for another processor or word size", t->binary);
    else
        line(tally, "program", PLUMB_CHECK_SEEN, NULL, "%.200s", t->binary);
    if (t->links_plumb)
        line(tally, "link", PLUMB_CHECK_SEEN, NULL, "%.150s links libplumb.so", name);
    else if (t->holds_plumb)
        line(tally, "link", PLUMB_CHECK_SEEN, NULL, "%.150s holds libplumb itself", name);
    else if (t->known && t->is_static)
        line(tally, "link", PLUMB_CHECK_BLOCKED, "link it with libplumb.a",
             "%.150s is statically linked: nothing can be preloaded", name);
    else if (t->other_loader)
        line(tally, "link", PLUMB_CHECK_BLOCKED, "use the plumb that was built for it",
             "%.150s has the dynamic linker of another C library (musl?): libplumb cannot be "
             "preloaded",
             name);
    else if (t->privileged)
        line(tally, "link", PLUMB_CHECK_BLOCKED,
             "link it with libplumb, or run a copy without these rights",
             "%.150s changes the user or gains capabilities: LD_PRELOAD is ignored", name);
    else if (t->wants_first)
        line(tally, "link", PLUMB_CHECK_BLOCKED, "link it with libplumb",
             "%.150s is built with AddressSanitizer, which ends a program when anything is "
             "preloaded",
             name);
    else
        line(tally, "link", PLUMB_CHECK_SEEN, NULL, "no libplumb inside: it will be preloaded");
    check_allocator(tally, name, t);
    if (t->known && t->is_marked)
        line(tally, "trace points", PLUMB_CHECK_SEEN, NULL, "the program has some");
    else if (t->known)
        line(tally, "trace points", PLUMB_CHECK_NOT_SEEN, NULL,
             "none in the program itself; its libraries may have some");
}

/* Checks whether the program can be recorded: runs it with a folder for its runs, which is removed
 * again. */
static void check_run(struct tally *tally, char **argv, const struct plumb_cli_target *t)
{
    char library[4096];
    struct trial trial;
    struct plumb_launched end = {0};
    if (!trial_begin(&trial, tally, "recording"))
        return;
    const struct plumb_cli_log *log = &trial.log;
    bool preload = !t->links_plumb && !t->holds_plumb && !plumb_cli_target_obstacle(t);
    preload = preload && plumb_cli_library(library, sizeof library);
    setenv("PLUMB_DIR", trial.dir, 1);
    setenv("PLUMB", "1", 1);
    setenv("PLUMB_QUIET", "1", 1);
    unsetenv("PLUMB_RUN_DIR");
    struct plumb_launch how = {.argv = argv, .preload = preload ? library : NULL, .log = log->path};
    how.stdout_to_stderr = true;
    bool ran = plumb_cli_launch(&end, &how);
    plumb_cli_log_read(&trial.log);
    if (!ran || end.exec_error)
        line(tally, "recording", PLUMB_CHECK_BLOCKED, NULL, "it could not be run: %s",
             strerror(end.exec_error ? end.exec_error : errno));
    else if (log->runs > 0)
        line(tally, "recording", PLUMB_CHECK_SEEN, NULL,
             "%" PRIu64 " of %" PRIu64 " processes with libplumb recorded nodes (status %d)",
             log->runs, log->loads, end.status);
    else if (log->figures > 0)
        line(tally, "recording", PLUMB_CHECK_SEEN, NULL,
             "%" PRIu64 " of %" PRIu64 " processes with libplumb recorded figures without a node "
             "(status %d)",
             log->figures, log->loads, end.status);
    else if (log->loads > 0)
        line(tally, "recording", PLUMB_CHECK_NOT_SEEN, "mark nodes with PLUMB_SPAN(\"name\")",
             "libplumb was loaded, but no trace point ran (status %d)", end.status);
    else if (t->links_plumb && end.status == PLUMB_LAUNCH_NOT_FOUND)
        line(tally, "recording", PLUMB_CHECK_BLOCKED, "run ldconfig, or set LD_LIBRARY_PATH",
             "the loader seems not to find libplumb.so (status %d)", end.status);
    else
        line(tally, "recording", PLUMB_CHECK_BLOCKED, "look for what clears LD_PRELOAD (sudo, env)",
             "no process loaded libplumb (status %d)", end.status);
    show_collectors(tally, log, true);
    trial_end(&trial);
}

static void check_program(struct tally *tally, char **argv)
{
    struct plumb_cli_target *t = malloc(sizeof *t);
    if (!t) {
        line(tally, "program", PLUMB_CHECK_BLOCKED, NULL, "out of memory");
        return;
    }
    plumb_cli_target_find(t, argv[0]);
    if (t->error) {
        line(tally, "program", PLUMB_CHECK_BLOCKED, "check the name and PATH", "%.150s: %s",
             argv[0], strerror(t->error));
    } else {
        check_file(tally, argv[0], t);
        flush(tally); /* the program may run for long */
        check_run(tally, argv, t);
    }
    free(t);
}

/* ---- A run ----------------------------------------------------------------------------------- */

static void check_remarks(struct tally *tally, const plumb_report *report)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    if (plumb_report_remarks(&text, report, &err) < 0) {
        line(tally, "remark", PLUMB_CHECK_BLOCKED, NULL, "%.200s", err.message);
        return;
    }
    for (char *at = text, *next; *at; at = next) {
        size_t n = strcspn(at, "\n");
        next = at + n + (at[n] == '\n');
        line(tally, "remark", PLUMB_CHECK_NOT_SEEN, NULL, "%.*s", (int)n, at);
    }
    plumb_read_free(text);
}

static void check_recorded(struct tally *tally, const char *run)
{
    static const char *const states[] = {"ended by itself", "was killed, and is recovered",
                                         "still records"};
    plumb_report *report;
    plumb_error err = {0, ""};
    if (plumb_report_open(&report, run, &err) < 0) {
        line(tally, "run", PLUMB_CHECK_BLOCKED, NULL, "%.250s", err.message);
        return;
    }
    line(tally, "run", PLUMB_CHECK_SEEN, NULL, "%.150s %s", plumb_report_path(report),
         states[plumb_report_state(report)]);
    if (plumb_report_nodes(report) > 0)
        line(tally, "nodes", PLUMB_CHECK_SEEN, NULL, "%" PRIu64 " rows, %" PRIu64 " samples",
             plumb_report_nodes(report), plumb_report_samples(report));
    else
        line(tally, "nodes", PLUMB_CHECK_NOT_SEEN, "mark nodes with PLUMB_SPAN(\"name\")", "none");
    check_remarks(tally, report);
    plumb_report_close(report);
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct tally tally = {.count = 0};
    plumb_cli_args_init(&args, &plumb_cmd_doctor, argc, argv);
    int option = plumb_cli_next(&args);
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (args.dashes && args.operand == argc)
        return plumb_cli_args_status(plumb_cli_usage(&plumb_cmd_doctor, "no program after --"));
    if (!args.dashes && argc - args.operand > 1)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_doctor, "one run at a time; a program goes after --"));
    check_machine(&tally, args.dashes);
    if (args.dashes)
        check_program(&tally, argv + args.operand);
    else if (args.operand < argc)
        check_recorded(&tally, argv[args.operand]);
    flush(&tally);
    if (tally.failed)
        return PLUMB_EXIT_TROUBLE;
    return tally.blocked ? PLUMB_EXIT_FOUND : PLUMB_EXIT_OK;
}

const struct plumb_cli_command plumb_cmd_doctor = {
    .name = "doctor",
    .summary = "check what can be recorded here, and what prevents it",
    .synopsis = "[RUN | -- CMD [ARG]...]",
    .description =
        "Prints one line for each check: seen, not seen, or blocked, with what was found\n"
        "and the cure. With CMD it examines the program and runs it once, recording into\n"
        "a temporary folder; the program's output goes to standard error. With RUN it\n"
        "examines that run. It lists the collectors with their state: those that are\n"
        "built in, and with CMD those of the program. It also lists the settings of the\n"
        "trace, and each PLUMB_* variable that is unknown, invalid or without effect.\n"
        "\n"
        "A variable of FastVideo, TeleFuser, TorchFX or CUVIS.AI that is set gets a line\n"
        "too: its purpose, and what to set for plumb ('plumb help coming-from').",
    .examples = "plumb doctor                # this machine\n"
                "plumb doctor -- ./prog      # would it be recorded?\n"
                "plumb doctor plumb-out      # the newest run",
    .status = "0 nothing is blocked; 1 something is; 2 wrong usage.",
    .options = options,
    .run = run,
};
