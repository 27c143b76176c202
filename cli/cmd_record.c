/* cmd_record.c: plumb record. Owns the promise that a recording is never empty in silence: when no
 * node was seen, it says why and what to do. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "energy.h"
#include "functions.h"
#include "launch.h"
#include "record_count.h"
#include "target.h"

enum { MALLOC, CALLS, ENERGY, ENERGY_OUTPUT, POWERCAP };

static const struct plumb_cli_option options[] = {
    [MALLOC] = {"malloc", NULL,
                "count what the program and its libraries allocate with malloc(), by node", false},
    [CALLS] = {"calls", "ROOT",
               "make spans of the functions below the folder ROOT (-g -finstrument-functions)",
               false},
    [ENERGY] = {"energy", NULL, "joules of processors and GPUs, of the program and its stages",
                false},
    [ENERGY_OUTPUT] = {"energy-output", "FILE",
                       "the same, also written to FILE, where {host} is this machine", false},
    [POWERCAP] = {"powercap", "DIR", "folder of energy counters (/sys/class/powercap)", false},
    {NULL, NULL, NULL, false},
};

struct interposer {
    const char *name, *option;
    char path[4096];
    bool preload;
};

struct record {
    char *const *argv; /* of the program */
    struct plumb_cli_target target;
    char library[4096];
    char list[16400];        /* for LD_PRELOAD */
    const char *calls_below; /* the folder of --calls; NULL: not given */
    char functions[4096];    /* the table that is made for it; "" */
    bool has_library;
    bool preload;
    bool wants_malloc;
    bool counts; /* calls, by PLUMB_COUNT */
    struct interposer malloc, onednn, calls;
    char layer[4096]; /* of OpenCL; "": none */
    bool forbidden;   /* PLUMB=0 */
    struct plumb_cli_log log;
    struct plumb_cli_energy *energy;
    int status;     /* of the program */
    time_t started; /* it */
};

/* ---- Before ---------------------------------------------------------------------------------- */

static bool set_setting(size_t i, const char *value)
{
    struct plumb_cli_option option;
    plumb_setting_info info;
    plumb_error err = {0, ""};
    if (!plumb_cli_setting(i, &option, &info))
        return false;
    value = value ? value : "1";
    if (plumb_setting_check(info.variable, value, &err) < 0) {
        plumb_cli_usage(&plumb_cmd_record, "--%s: %s", option.name, err.message);
        return false;
    }
    if (setenv(info.variable, value, 1) < 0) {
        plumb_cli_say(&plumb_cmd_record, "cannot set %s: %s", info.variable, strerror(errno));
        return false;
    }
    return true;
}

static bool says_no(const char *text)
{
    static const char *const words[] = {"0", "false", "no", "off"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Returns why libplumb cannot be preloaded, NULL if it can be or need not be. */
static const char *obstacle(const struct record *r)
{
    const struct plumb_cli_target *t = &r->target;
    return t->links_plumb || t->holds_plumb ? NULL : plumb_cli_target_obstacle(t);
}

static const char *obstacle_cure(const struct record *r)
{
    if (r->target.foreign || r->target.other_loader)
        return "use the plumb that was built for it";
    if (r->target.known && r->target.is_static)
        return "link it with libplumb.a";
    if (r->target.wants_first)
        return "link it with libplumb";
    return "link it with libplumb, or record a copy without these rights";
}

static bool can_be_listed(const char *library)
{
    if (!strpbrk(library, " :"))
        return true;
    plumb_cli_say(&plumb_cmd_record,
                  "'%s' cannot be preloaded: LD_PRELOAD takes no path with "
                  "a space or a colon; running without it",
                  library);
    return false;
}

static void prepare_library(struct record *r)
{
    const char *why = obstacle(r);
    if (r->forbidden || r->target.links_plumb || r->target.holds_plumb || r->target.error)
        return;
    if (why) {
        plumb_cli_say(&plumb_cmd_record, "'%s' %s: %s; running it anyway", r->argv[0], why,
                      obstacle_cure(r));
        return;
    }
    r->has_library = plumb_cli_library(r->library, sizeof r->library);
    if (!r->has_library)
        plumb_cli_say(&plumb_cmd_record,
                      "libplumb is not at '%s': set PLUMB_LIBRARY to "
                      "libplumb.so.0; running without it",
                      r->library);
    r->preload = r->has_library && can_be_listed(r->library);
}

/* Returns false if the library is not in the folder of libplumb. */
static bool find_interposer(struct record *r, struct interposer *i)
{
    if (!r->has_library)
        plumb_cli_library(r->library, sizeof r->library);
    if (plumb_cli_beside(i->path, sizeof i->path, r->library, i->name)) {
        i->preload = can_be_listed(i->path);
        return true;
    }
    plumb_cli_say(&plumb_cmd_record,
                  "%s needs '%s', which is not there: install plumb again, or record without %s",
                  i->option, i->path, i->option);
    return false;
}

/* Returns false if malloc is to be followed and cannot be. */
static bool prepare_malloc(struct record *r)
{
    const struct plumb_cli_target *t = &r->target;
    const char *why = plumb_cli_target_allocator(t);
    if (!r->wants_malloc || r->forbidden || t->error)
        return true;
    if (why && !obstacle(r)) /* else it has been told */
        plumb_cli_say(&plumb_cmd_record, "'%s' %s: its malloc is not followed", r->argv[0], why);
    if (why)
        return true;
    return find_interposer(r, &r->malloc);
}

/* The same for oneDNN. Primitives are events of a trace, so PLUMB_TRACE is set unless it is set
 * already. */
static bool prepare_onednn(struct record *r)
{
    const char *why = plumb_cli_target_obstacle(&r->target);
    if (!plumb_cli_collects("onednn") || r->forbidden || r->target.error)
        return true;
    if (why && !obstacle(r)) /* otherwise it has been reported */
        plumb_cli_say(&plumb_cmd_record, "'%s' %s: its oneDNN is not followed", r->argv[0], why);
    if (why)
        return true;
    return setenv("PLUMB_TRACE", "1", 0) == 0 && find_interposer(r, &r->onednn);
}

/* The same for entries and returns of functions. */
static bool prepare_calls(struct record *r)
{
    if (!r->calls_below || r->forbidden || r->target.error)
        return true;
    return find_interposer(r, &r->calls) &&
           plumb_cli_functions_prepare(r->functions, sizeof r->functions, &r->target,
                                       r->calls_below);
}

/* The same for OpenCL, whose loader loads the layer. Without libplumb it would do nothing. */
static bool prepare_opencl(struct record *r)
{
    if (!plumb_cli_collects("opencl") || r->forbidden || r->target.error || obstacle(r))
        return true;
    if (!r->has_library)
        plumb_cli_library(r->library, sizeof r->library);
    if (!plumb_cli_beside(r->layer, sizeof r->layer, r->library, PLUMB_CLI_OPENCL_LIBRARY)) {
        plumb_cli_say(&plumb_cmd_record,
                      "--collect opencl needs '%s', which is not there: build plumb with the "
                      "OpenCL headers, or record without --collect opencl",
                      r->layer);
        return false;
    }
    if (strchr(r->layer, ':')) {
        plumb_cli_say(&plumb_cmd_record,
                      "'%s' cannot be a layer: OPENCL_LAYERS takes no path with a colon; running "
                      "without it",
                      r->layer);
        r->layer[0] = '\0';
        return true;
    }
    return setenv("PLUMB_TRACE", "1", 0) == 0;
}

/* The same for calls. */
static bool prepare_count(struct record *r)
{
    const char *list = getenv("PLUMB_COUNT");
    r->counts = list && list[0] && !r->forbidden && !r->target.error;
    if (!r->counts)
        return true;
    if (!r->has_library)
        plumb_cli_library(r->library, sizeof r->library);
    return plumb_cli_count_prepare(&r->target, r->argv[0], r->library);
}

static void list(struct record *r, const char *library, bool wanted)
{
    size_t n = strlen(r->list);
    if (wanted)
        snprintf(r->list + n, sizeof r->list - n, "%s%s", n ? ":" : "", library);
}

/* The interposers come first. Of functions that several libraries have, those of the first library
 * are called, and the user may preload others. */
static const char *preloads(struct record *r)
{
    list(r, r->malloc.path, r->malloc.preload);
    list(r, r->onednn.path, r->onednn.preload);
    list(r, r->calls.path, r->calls.preload);
    list(r, r->library, r->preload);
    return r->list[0] ? r->list : NULL;
}

static bool prepare(struct record *r)
{
    plumb_cli_target_find(&r->target, r->argv[0]);
    r->forbidden = says_no(getenv("PLUMB"));
    if (!r->forbidden && setenv("PLUMB", "1", 1) < 0) {
        plumb_cli_say(&plumb_cmd_record, "cannot set PLUMB: %s", strerror(errno));
        return false;
    }
    if (!prepare_count(r))
        return false;
    prepare_library(r);
    if (!prepare_malloc(r) || !prepare_onednn(r) || !prepare_opencl(r) || !prepare_calls(r))
        return false;
    if (!plumb_cli_log_open(&r->log))
        plumb_cli_say(&plumb_cmd_record,
                      "no temporary file (%s): cannot tell afterwards what was "
                      "recorded",
                      strerror(errno));
    return true;
}

/* ---- After ----------------------------------------------------------------------------------- */

/* Returns true if the run holds samples. */
static bool recover_run(const struct record *r, const struct plumb_cli_left *left)
{
    plumb_recovered facts;
    plumb_error err = {0, ""};
    int rc = plumb_recover(&facts, left->dir, &err);
    if (rc == 0 || err.code == PLUMB_ERR_STATE) /* whole already, or still at work */
        return rc == 0 && facts.nodes > 0;
    if (rc < 0) {
        plumb_cli_say(&plumb_cmd_record, "%s", err.message);
        return false;
    }
    /* A wrapper (env, sh -c) that became the program is of no interest. */
    if (facts.nodes > 0 || !left->by_exec)
        plumb_cli_say(&plumb_cmd_record,
                      "recovered %" PRIu64 " sample%s of %" PRIu64 " node%s (open spans: %" PRIu64
                      "): %s",
                      facts.samples, facts.samples == 1 ? "" : "s", facts.nodes,
                      facts.nodes == 1 ? "" : "s", facts.open_spans, left->dir);
    return facts.nodes > 0 || ((r->malloc.preload || r->onednn.preload) && !left->by_exec);
}

/* Recovers the runs that were not ended: their processes were most likely killed, or called exec().
 * Returns true if one of them holds samples. */
static bool recover_left(const struct record *r)
{
    struct plumb_cli_left left;
    bool found = false;
    for (size_t i = 0; plumb_cli_log_left(&r->log, i, &left); i++)
        found |= recover_run(r, &left);
    return found;
}

/* The loader's own message, which names the library and no cure, is above ours. */
static void say_not_loaded(const struct record *r)
{
    char library[4096];
    char *slash = plumb_cli_library(library, sizeof library) ? strrchr(library, '/') : NULL;
    if (slash)
        *slash = '\0';
    plumb_cli_say(&plumb_cmd_record,
                  "nothing was recorded: '%s' links libplumb.so, and the loader seems not to find "
                  "it: run 'sudo ldconfig', or set LD_LIBRARY_PATH=%s",
                  r->argv[0], slash ? library : "to its folder");
}

/* ---- Python ---------------------------------------------------------------------------------- */

static bool is_python(const struct record *r)
{
    const char *slash = strrchr(r->target.binary, '/');
    return strncmp(slash ? slash + 1 : r->target.binary, "python", strlen("python")) == 0;
}

/* Finds the newest file that the hooks of plumb_torch_activations wrote since the program was
 * started: at PLUMB_ACTIVATIONS_OUTPUT, or in the current folder. Returns false if there is
 * none. */
static bool find_activations(const struct record *r, char *out, size_t size)
{
    const char *where = getenv("PLUMB_ACTIVATIONS_OUTPUT");
    struct stat st;
    time_t newest = r->started;
    bool found = false;
    if (where && where[0] && !strchr(where, '%') && !strchr(where, '<'))
        return snprintf(out, size, "%s", where) < (int)size && stat(where, &st) == 0 &&
               st.st_mtime >= r->started;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (fnmatch("torch_activations_*.jsonl", entry->d_name, 0) != 0 ||
            stat(entry->d_name, &st) < 0 || st.st_mtime < newest)
            continue;
        newest = st.st_mtime;
        found = snprintf(out, size, "%s", entry->d_name) < (int)size;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Says what to do next, in Python's terms. */
static void say_python(const struct record *r)
{
    char path[512];
    if (find_activations(r, path, sizeof path)) {
        char clean[512];
        plumb_cli_clean(clean, sizeof clean, path);
        plumb_cli_say(
            &plumb_cmd_record,
            "no spans, but activations: the program left '%s'; 'plumb activations %s' shows "
            "it, and 'plumb diverge GOOD %s' names the module that differs from a good run",
            clean, clean, clean);
        return;
    }
    plumb_cli_say(
        &plumb_cmd_record,
        "nothing was recorded: a Python program is marked by its extension modules, or, "
        "for what modules of PyTorch give out, by 'import plumb_torch_activations; "
        "plumb_torch_activations.attach(model)' with PLUMB_ACTIVATIONS=1 (the file is in "
        "share/plumb of the installation); times of torch.profiler's trace.json are shown "
        "by 'plumb report trace trace.json'");
}

/* ---- Nothing --------------------------------------------------------------------------------- */

static void say_nothing_seen(const struct record *r)
{
    const char *name = r->argv[0];
    const struct plumb_cli_command *us = &plumb_cmd_record;
    if (r->log.activations[0])
        plumb_cli_say(us, "no spans, but activations: 'plumb activations %s' shows them",
                      r->log.activations);
    else if (r->forbidden)
        plumb_cli_say(us, "nothing was recorded: PLUMB=%s forbids it; unset PLUMB",
                      getenv("PLUMB"));
    else if (r->log.loads > 0 && r->malloc.preload)
        plumb_cli_say(
            us,
            "nothing was recorded: '%s' ended without passing by its exit handlers, and no "
            "process below it passed a trace point or lived for a second; record the "
            "program itself, not what starts it",
            name);
    else if (r->log.loads > 0 && r->onednn.preload)
        plumb_cli_say(
            us,
            "nothing was recorded: no trace point ran, and no call of dnnl_primitive_execute() "
            "came by: '%s' ran no primitive of oneDNN, or has oneDNN inside another library, as "
            "PyTorch's wheels have (Debian's python3-torch is linked with libdnnl.so)",
            name);
    else if (r->log.loads > 0 && r->layer[0])
        plumb_cli_say(us,
                      "nothing was recorded: no trace point ran, and '%s' made no queue of OpenCL "
                      "through a loader that knows layers (ocl-icd 2.3, Khronos 2021), or none "
                      "with a driver",
                      name);
    else if (r->log.loads > 0 && is_python(r))
        say_python(r);
    else if (r->log.loads > 0)
        plumb_cli_say(us, "nothing was recorded: libplumb was there, but no trace point ran while "
                          "recording was on; mark nodes with PLUMB_SPAN(\"name\"); marks are "
                          "compiled out by -DPLUMB_DISABLE and switched off by plumb_configure()");
    else if (obstacle(r)) /* the cure stands there already */
        plumb_cli_say(us, "nothing was recorded: '%s' %s", name, obstacle(r));
    else if (r->target.links_plumb && r->status == PLUMB_LAUNCH_NOT_FOUND)
        say_not_loaded(r);
    else if (!r->preload && !r->target.links_plumb && !r->target.holds_plumb)
        plumb_cli_say(us,
                      "nothing was recorded: libplumb could not be preloaded: see 'plumb "
                      "doctor -- %s'",
                      name);
    else
        plumb_cli_say(us,
                      "nothing was recorded: no process loaded libplumb; something on the way "
                      "clears LD_PRELOAD or the environment (sudo, env -i), or it ended before "
                      "its libraries were loaded: see 'plumb doctor -- %s'",
                      name);
}

static void say_no_malloc(const struct record *r)
{
    plumb_cli_say(&plumb_cmd_record,
                  "malloc was followed in no process: see what was said above, or 'plumb doctor -- "
                  "%s'",
                  r->argv[0]);
}

static void say_end(const struct record *r, const struct plumb_launched *end)
{
    if (end->exec_error)
        plumb_cli_say(&plumb_cmd_record, "cannot run '%s': %s", r->argv[0],
                      strerror(end->exec_error));
    else if (end->signal)
        plumb_cli_say(&plumb_cmd_record, "'%s' was ended by signal %d (%s)", r->argv[0],
                      end->signal, strsignal(end->signal));
}

static int record(char *const *argv, bool with_malloc, const char *calls_below,
                  struct plumb_cli_energy *energy)
{
    struct plumb_launched end;
    int status = PLUMB_LAUNCH_OWN;
    struct record *r = calloc(1, sizeof *r);
    if (!r) {
        plumb_cli_say(&plumb_cmd_record, "out of memory");
        return status;
    }
    r->energy = energy;
    r->argv = argv;
    r->wants_malloc = with_malloc;
    r->calls_below = calls_below;
    r->malloc = (struct interposer){.name = PLUMB_CLI_MALLOC_LIBRARY, .option = "--malloc"};
    r->onednn = (struct interposer){.name = PLUMB_CLI_ONEDNN_LIBRARY, .option = "--collect onednn"};
    r->calls = (struct interposer){.name = PLUMB_CLI_CALLS_LIBRARY, .option = "--calls"};
    r->started = time(NULL);
    if (!prepare(r))
        goto out;
    struct plumb_launch how = {
        .argv = argv,
        .preload = preloads(r),
        .layer = r->layer[0] ? r->layer : NULL,
        .log = r->log.path[0] ? r->log.path : NULL,
    };
    plumb_cli_energy_begin(r->energy);
    bool launched = plumb_cli_launch(&end, &how);
    int cause = errno;
    plumb_cli_energy_end(r->energy);
    if (!launched) {
        plumb_cli_say(&plumb_cmd_record, "cannot start a process: %s", strerror(cause));
        goto out;
    }
    status = r->status = end.status;
    /* The status stays that of the program, also if stderr is a broken pipe. */
    signal(SIGPIPE, SIG_IGN);
    say_end(r, &end);
    if (end.exec_error)
        goto out;
    if (how.log)
        plumb_cli_log_read(&r->log);
    bool recovered = recover_left(r);
    plumb_cli_energy_show(r->energy, argv, &r->log);
    if (r->counts && how.log)
        plumb_cli_count_tell(&r->log, argv[0]);
    if (recovered || !how.log || r->energy->wanted) /* that is recorded in any case */
        goto out;
    if (r->log.runs == 0 && r->log.mallocs == 0 && r->log.collected == 0 && r->log.counted == 0 &&
        r->log.refused == 0 && (r->log.figures == 0 || r->log.activations[0]))
        say_nothing_seen(r);
    else if (r->malloc.preload && r->log.loads > 0 && r->log.mallocs == 0)
        say_no_malloc(r);
out:
    plumb_cli_energy_free(r->energy);
    if (r->functions[0])
        unlink(r->functions);
    plumb_cli_log_close(&r->log);
    free(r);
    return status;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct plumb_cli_energy energy = {.wanted = false};
    bool with_malloc = false;
    const char *calls_below = NULL;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_record, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == MALLOC)
            with_malloc = true;
        else if (option == ENERGY)
            energy.wanted = true;
        else if (option == ENERGY_OUTPUT)
            energy.output = args.value;
        else if (option == POWERCAP)
            energy.powercap = args.value;
        else if (option == CALLS)
            calls_below = args.value;
        else if (!set_setting((size_t)(option - PLUMB_ARGS_SETTING), args.value))
            return PLUMB_LAUNCH_OWN;
    }
    if (option == PLUMB_ARGS_HELP)
        return PLUMB_EXIT_OK;
    if (option == PLUMB_ARGS_END && args.operand == argc)
        option = plumb_cli_usage(&plumb_cmd_record, "no program to run");
    if (option != PLUMB_ARGS_END)
        return PLUMB_LAUNCH_OWN;
    energy.wanted = energy.wanted || energy.output || energy.powercap;
    return record(argv + args.operand, with_malloc, calls_below, &energy);
}

const struct plumb_cli_command plumb_cmd_record = {
    .name = "record",
    .summary = "run a program and record where its time goes",
    .synopsis = "[OPTION]... -- CMD [ARG]...",
    .description =
        "Runs CMD with recording on. The run is written to a directory of its own,\n"
        "plumb-out/<pipeline>/<time>-<host>-<pid>, which is printed on standard error\n"
        "when the program ends. If the program does not link libplumb, it is preloaded,\n"
        "so that libraries which only have marks are recorded too.\n"
        "\n"
        "--malloc also preloads libplumb-malloc.so, which counts the calls and bytes of\n"
        "malloc() and related functions, by node and in total. The program then leaves a\n"
        "run even without marks. A child process leaves one if it has a trace point or\n"
        "lives for a second.\n"
        "\n"
        "--collect onednn also preloads libplumb-onednn.so, which records each primitive\n"
        "of oneDNN with its implementation, shapes, FLOPs and bytes in the trace. It sets\n"
        "--trace, if that is not set.\n"
        "--collect opencl adds libplumb-opencl.so to OPENCL_LAYERS, the layers of OpenCL:\n"
        "kernels, copies and waits are recorded in the trace. It sets --trace as well.\n"
        "\n"
        "--energy measures the joules of the processors (RAPL counters) and of NVIDIA's\n"
        "GPUs while CMD runs, whether or not it is recorded. They count the whole\n"
        "machine. Each run directory gets energy.json, with the joules of each stage.\n"
        "\n"
        "--count LIBRARY:FUNCTION,... loads libplumb-count.so as an auditor of the\n"
        "dynamic linker. It counts calls of these functions from other objects, by node,\n"
        "step and phase: 'plumb report counts' shows them. Both names are shell patterns;\n"
        "without LIBRARY, every object is meant. Calls inside a library, and of static,\n"
        "inlined or hidden functions, are not seen. Needs x86-64 and glibc 2.35.\n"
        "\n"
        "--calls ROOT records each call of a function whose source lies below the\n"
        "folder ROOT as a span, named 'function (file:line)'. The program, or a library\n"
        "that it is linked with, has to be built with -g -finstrument-functions.\n"
        "\n"
        "Each other option sets the variable of the same name (--skip-first is\n"
        "PLUMB_SKIP_FIRST) and wins over it; 'plumb help environment' lists them. PLUMB=0\n"
        "in the environment forbids recording and wins over everything.\n"
        "\n"
        "SIGINT, SIGQUIT, SIGTERM and SIGHUP are passed on to the program, as strace\n"
        "does; those of the terminal reach it by themselves, and only once. The exit\n"
        "status is the program's. A run that was killed is recovered. If nothing was\n"
        "recorded, the reason and the cure are printed on standard error.",
    .examples = "plumb record -- ./prog --steps 20\n"
                "plumb record --skip-first 3 --pipeline decoder -- ./prog\n"
                "plumb record --run-dir out/run1 -- python3 pipeline.py\n"
                "plumb record --malloc -- ./prog\n"
                "plumb record --energy --energy-output joules.json -- ./prog\n"
                "plumb record --count 'libdnnl.so.2:dnnl_primitive_execute' -- python3 infer.py\n"
                "plumb record --calls src --trace -- ./prog\n"
                "plumb record --collect opencl -- ./blur in.mp4\n"
                "plumb record --collect onednn -- python3 infer.py",
    .status = "that of the program; 128 + N if signal N ended it; 125 if plumb itself failed,\n"
              "126 if the program cannot be run, 127 if it does not exist.",
    .options = options,
    .settings = true,
    .stops = true,
    .run = run,
};
