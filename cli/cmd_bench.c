/* cmd_bench.c: plumb bench: one stage alone, from its recorded signature. This process never loads
 * the stage library: it starts itself again for that (bench_alone.c), and puts together what that
 * process leaves: times, trace, breakdown, and a program that does the same without plumb. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "launch.h"
#include "target.h"

struct job {
    struct plumb_cli_bench bench;
    char temporary[4096]; /* the shared folder; "": none */
    char run[4200];       /* in it: the recording */
    char folder[4096];    /* of the signature */
    char file[200];       /* stage and suffix, as parts of file names */
    bool newest;          /* no signature was named */
    char *config;
    struct plumb_cli_bench_shared *shared;
    plumb_bench_result result;
    plumb_bench_facts facts;
    char trace[8400], breakdown[8400], program[8400], json[8400];
};

/* ---- Names ----------------------------------------------------------------------------------- */

static void name_files(struct job *job)
{
    char stage[128];
    snprintf(job->file, sizeof job->file, "%s%s",
             plumb_bench_file_name(stage, sizeof stage, job->bench.stage), job->bench.suffix);
}

/* Makes sure of the folder of the files before the stage runs: that may take minutes. */
static bool check_folder(const struct job *job)
{
    const char *given = job->bench.out;
    const char *path = given ? given : job->folder;
    plumb_error err = {0, ""};
    if (given && plumb_read_make_folder(path, &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", err.message);
        return false;
    }
    if (access(path, W_OK | X_OK) == 0)
        return true;
    plumb_cli_say(&plumb_cmd_bench, "cannot write to the folder '%s': %s%s", path, strerror(errno),
                  given ? "" : " (--out DIR names another)");
    return false;
}

static void place(char out[8400], const struct job *job, const char *before, const char *after)
{
    snprintf(out, 8400, "%s/%s%s%s", job->bench.out ? job->bench.out : job->folder, before,
             job->file, after);
}

static void place_files(struct job *job)
{
    place(job->trace, job, "", "_trace.json.gz");
    place(job->breakdown, job, "", "_breakdown.json");
    place(job->program, job, "profile_", ".c");
    snprintf(job->json, sizeof job->json, "%s/bench%s.json",
             job->bench.out ? job->bench.out : job->folder, job->bench.suffix);
}

/* ---- The stage's process --------------------------------------------------------------------- */

static bool set_up(struct job *job)
{
    const char *why = NULL;
    if (!plumb_cli_temporary(job->temporary, sizeof job->temporary, "plumb-bench") ||
        !mkdtemp(job->temporary)) {
        why = strerror(errno);
        job->temporary[0] = '\0';
    } else if (!(job->shared = plumb_cli_bench_map(job->temporary, true)))
        why = strerror(errno);
    if (why)
        plumb_cli_say(&plumb_cmd_bench, "no temporary folder: %s", why);
    snprintf(job->run, sizeof job->run, "%s/" PLUMB_CLI_BENCH_RUN, job->temporary);
    return !why;
}

/* Removes the variables that would change the recording of the stage's process, or begin it before
 * bench_alone.c does. PLUMB=0 stays: it forbids recording. PLUMB_COLLECT is passed on. */
static void clear_environment(const struct job *job)
{
    static const char *const names[] = {
        "PLUMB_RUN_DIR",  "PLUMB_DIR",         "PLUMB_TRACE_DIR",   "PLUMB_TIMING_REPORT",
        "PLUMB_REGIONS",  "PLUMB_TRACE_NODES", "PLUMB_TRACE_STEPS", "PLUMB_TRACE",
        "PLUMB_KEEP_IF",  "PLUMB_TRACE_MODE",  "PLUMB_KEEP_SIGNAL", "PLUMB_REGION_SCOPE",
        "PLUMB_PIPELINE", "PLUMB_SKIP_FIRST",  "PLUMB_ACTIVATIONS", "PLUMB_CAPTURE"};
    const char *record = getenv("PLUMB"), *collect = getenv("PLUMB_COLLECT");
    snprintf(job->shared->collect, sizeof job->shared->collect, "%s", collect ? collect : "");
    unsetenv("PLUMB_COLLECT");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    if (record && strcmp(record, "0") != 0)
        unsetenv("PLUMB");
}

static bool read_result(struct job *job)
{
    char path[4200];
    FILE *file;
    uint32_t n = job->shared->result.runs;
    job->result = job->shared->result;
    job->result.remarks = job->shared->remarks;
    job->result.run_ns = calloc(n ? n : 1, sizeof *job->result.run_ns);
    snprintf(path, sizeof path, "%s/%s", job->temporary, PLUMB_CLI_BENCH_TIMES);
    file = fopen(path, "rb");
    bool ok = file && job->result.run_ns &&
              fread(job->result.run_ns, sizeof *job->result.run_ns, n, file) == n;
    if (file)
        fclose(file);
    if (!ok)
        plumb_cli_say(&plumb_cmd_bench, "the times of the runs cannot be read from '%s'", path);
    return ok;
}

/* Lists the libraries that the stage's process preloads: libplumb, and before it the interposer of
 * oneDNN, which does nothing for a stage without oneDNN. */
static void list_preloads(char out[8200], const char *library)
{
    char onednn[4096];
    bool there = plumb_cli_beside(onednn, sizeof onednn, library, PLUMB_CLI_ONEDNN_LIBRARY);
    snprintf(out, 8200, "%s%s%s", there ? onednn : "", there ? ":" : "", library);
}

/* Finds the layer of OpenCL, whose loader loads it in a stage that uses OpenCL and in no other. It
 * is left out where PLUMB_COLLECT names other collectors: it would make every queue measure times,
 * and record nothing. */
static const char *find_layer(char out[4096], const struct job *job, const char *library)
{
    const char *collect = job->shared->collect;
    bool wanted =
        !collect[0] || plumb_cli_lists(collect, "auto") || plumb_cli_lists(collect, "opencl");
    return wanted && plumb_cli_beside(out, 4096, library, PLUMB_CLI_OPENCL_LIBRARY) &&
                   !strchr(out, ':')
               ? out
               : NULL;
}

static bool run_alone(struct job *job, int argc, char **argv)
{
    char library[4096], layer[4096], preload[8200] = "";
    char **again = calloc((size_t)argc + 7, sizeof *again);
    struct plumb_launched end = {0};
    const char *record = getenv("PLUMB");
    bool there = plumb_cli_library(library, sizeof library);
    int n = 0;
    if (!again) {
        plumb_cli_say(&plumb_cmd_bench, "out of memory");
        return false;
    }
    again[n++] = (char *)"/proc/self/exe";
    again[n++] = (char *)"bench";
    again[n++] = (char *)"--alone";
    again[n++] = job->temporary;
    for (int i = 1; i < argc; i++)
        again[n++] = argv[i];
    if (job->newest) /* that of now, not of later */
        again[n++] = job->folder;
    if (!there)
        plumb_cli_say(&plumb_cmd_bench,
                      "libplumb is not at '%s', so nothing is recorded; set PLUMB_LIBRARY",
                      library);
    else if (record && strcmp(record, "0") == 0)
        plumb_cli_say(&plumb_cmd_bench, "PLUMB=0 forbids recording: no trace, no breakdown");
    else
        list_preloads(preload, library);
    struct plumb_launch how = {.argv = again,
                               .preload = preload[0] ? preload : NULL,
                               .layer = preload[0] ? find_layer(layer, job, library) : NULL,
                               .stdout_to_stderr = true,
                               .whole = true,
                               .timeout_s = job->bench.timeout_s};
    bool ok = plumb_cli_launch(&end, &how);
    if (!ok)
        plumb_cli_say(&plumb_cmd_bench, "cannot start a process: %s", strerror(errno));
    free(again);
    return ok && plumb_cli_bench_ended(&job->bench, job->shared, &end) && read_result(job);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void export_trace(struct job *job)
{
    plumb_export_options o = plumb_export_options_default();
    plumb_exported exported = {.remarks = NULL};
    plumb_error err = {0, ""};
    o.output = job->trace;
    if (plumb_export(&exported, job->run, &o, &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "no trace: %s", err.message);
        return;
    }
    job->facts.trace = job->trace;
    job->facts.trace_bytes = exported.bytes;
    plumb_read_free(exported.remarks);
}

/* The measured runs by kernels and operators. */
static void write_breakdown(struct job *job)
{
    plumb_trace *trace = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    if (plumb_trace_open(&trace, job->run, &err) < 0 ||
        plumb_trace_breakdown(&text, trace, job->bench.stage, &err) < 0 ||
        plumb_read_save(job->breakdown, text, strlen(text), &err) < 0)
        plumb_cli_say(&plumb_cmd_bench, "no breakdown: %s", err.message);
    else
        job->facts.breakdown = job->breakdown;
    plumb_read_free(text);
    plumb_trace_close(trace);
}

/* A path that holds wherever the program is started. */
static const char *absolute(char out[PATH_MAX], const char *path)
{
    return realpath(path, out) ? out : path;
}

static void write_program(struct job *job)
{
    const struct plumb_cli_bench *b = &job->bench;
    char library[PATH_MAX], signature[PATH_MAX];
    struct stat st;
    bool is_file = stat(b->signature, &st) == 0 && S_ISREG(st.st_mode);
    plumb_error err = {0, ""};
    char *text = NULL;
    int rc = plumb_bench_program(&text, absolute(signature, is_file ? b->signature : job->folder),
                                 b->stage, job->file, absolute(library, b->library), b->config,
                                 &job->result, &b->options, &err);
    if (rc == PLUMB_OK)
        rc = plumb_read_save(job->program, text, strlen(text), &err);
    plumb_read_free(text);
    if (rc < 0)
        plumb_cli_say(&plumb_cmd_bench, "no program: %s", err.message);
    else
        job->facts.program = job->program;
}

static void say_harness(const struct job *job)
{
    const plumb_bench_result *r = &job->result;
    fprintf(stderr, "[Harness] Inputs: %s\n", r->captured ? "captured" : "random");
    fprintf(stderr, "[Harness] Warm-up: %u\n", r->warmups);
    fprintf(stderr, "[Harness] Profile: %u\n", r->runs);
    if (job->facts.trace)
        fprintf(stderr, "[Harness] Trace: %s\n", job->facts.trace);
    if (job->facts.breakdown)
        fprintf(stderr, "[Harness] Breakdown: %s\n", job->facts.breakdown);
    if (job->facts.program)
        fprintf(stderr, "[Harness] Program: %s\n", job->facts.program);
    fprintf(stderr, "[Harness] Average iteration time: %.2f ms\n", r->mean_ms);
}

static bool show(const struct job *job, const char *format, const char *path)
{
    plumb_error err = {0, ""};
    char *text;
    if (plumb_bench_render(&text, &job->result, &job->facts, format, &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", err.message);
        return false;
    }
    bool ok = plumb_cli_output(&plumb_cmd_bench, path, text);
    plumb_read_free(text);
    return ok;
}

static bool finish(struct job *job)
{
    plumb_error err = {0, ""};
    place_files(job);
    if (access(job->run, F_OK) == 0) { /* otherwise the reason was printed */
        export_trace(job);
        write_breakdown(job);
    }
    write_program(job);
    if (plumb_bench_pipeline(&job->facts, &job->result, job->bench.signature, &err) < 0)
        plumb_cli_say(&plumb_cmd_bench, "no comparison with the pipeline: %s", err.message);
    say_harness(job);
    return show(job, "json", job->json) && show(job, job->bench.format, NULL);
}

static int bench(struct job *job, int argc, char **argv)
{
    plumb_error err = {0, ""};
    struct plumb_cli_bench *b = &job->bench;
    if (plumb_bench_config(&job->config, job->folder, sizeof job->folder, b->signature, b->stage,
                           &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    if (!b->config)
        b->config = job->config;
    if (b->alone)
        return plumb_cli_bench_alone(b);
    job->newest = !b->signature;
    if (job->newest)
        b->signature = job->folder;
    job->facts = plumb_bench_facts_default();
    job->facts.stage = b->stage;
    job->facts.library = b->library;
    job->facts.signature = b->signature;
    job->facts.seed = b->options.seed;
    name_files(job);
    if (!check_folder(job) || !set_up(job))
        return PLUMB_EXIT_TROUBLE;
    clear_environment(job);
    if (!run_alone(job, argc, argv) || !finish(job))
        return PLUMB_EXIT_TROUBLE;
    return PLUMB_EXIT_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clean_up(struct job *job)
{
    if (job->shared)
        munmap(job->shared, sizeof *job->shared);
    if (job->temporary[0] && nftw(job->temporary, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
        plumb_cli_say(&plumb_cmd_bench, "cannot remove '%s': %s", job->temporary, strerror(errno));
    free(job->result.run_ns);
    plumb_read_free(job->config);
    free(job);
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct job *job = calloc(1, sizeof *job);
    int instead = 0; /* of running a stage: PLUMB_CLI_BENCH_LIST, PLUMB_CLI_BENCH_AGGREGATE */
    int option, status = PLUMB_EXIT_TROUBLE;
    if (!job)
        return status;
    job->bench = (struct plumb_cli_bench){
        .suffix = "", .format = "text", .first_step = -1, .timeout_s = 600};
    job->bench.options = plumb_bench_options_default();
    plumb_cli_args_init(&args, &plumb_cmd_bench, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!plumb_cli_bench_take(&job->bench, &instead, option, args.value)) {
            option = PLUMB_ARGS_WRONG;
            break;
        }
    if (option == PLUMB_ARGS_END && instead == PLUMB_CLI_BENCH_AGGREGATE && args.operand >= argc)
        option = plumb_cli_usage(&plumb_cmd_bench, "--aggregate takes FILE...");
    if (option == PLUMB_ARGS_END && instead != PLUMB_CLI_BENCH_AGGREGATE && args.operand + 1 < argc)
        option = plumb_cli_usage(&plumb_cmd_bench, "one signature at a time");
    if (option == PLUMB_ARGS_END && !instead && (!job->bench.stage || !job->bench.library))
        option = plumb_cli_usage(&plumb_cmd_bench, "%s is needed (--list-stages lists the stages)",
                                 job->bench.stage ? "--from LIB.so" : "--stage NAME");
    job->bench.signature = args.operand < argc ? argv[args.operand] : NULL;
    if (option != PLUMB_ARGS_END)
        status = plumb_cli_args_status(option);
    else if (instead == PLUMB_CLI_BENCH_AGGREGATE)
        status =
            plumb_cli_bench_aggregate(argv + args.operand, argc - args.operand, job->bench.format);
    else
        status = instead ? plumb_cli_bench_list(job->bench.signature) : bench(job, argc, argv);
    clean_up(job);
    return status;
}

const struct plumb_cli_command plumb_cmd_bench = {
    .name = "bench",
    .summary = "run one stage alone, from its signature, and measure it",
    .synopsis = "[OPTION]... --stage NAME --from LIB.so [SIGNATURE]",
    .description =
        "SIGNATURE is a run with signatures of its stages, or its file\n"
        "timing_io_signature.json; the newest run by default. The stage library LIB.so\n"
        "exports the stage (plumb/stage_library.h). Inputs are those that PLUMB_CAPTURE\n"
        "recorded, or random ones of the recorded shapes, types and statistics. Of a\n"
        "stage with a loop of PLUMB_STEPS only --steps steps are run.\n"
        "\n"
        "Next to the signature, or in --out, it leaves NAME_trace.json.gz,\n"
        "NAME_breakdown.json, bench.json (in the form of google/benchmark), and\n"
        "profile_NAME.c, a program that does the same without plumb. The result is\n"
        "compared with the same work in the pipeline that was recorded.\n"
        "\n"
        "--aggregate makes a table of FILE...: bench.json, or files of google/benchmark\n"
        "and pytest-benchmark. Any other file is skipped, with a note.\n"
        "\n"
        "The stage runs in a process of its own: where it crashes or hangs, the message\n"
        "names the run and the step.",
    .examples = "plumb bench --list-stages                              # of the newest run\n"
                "plumb bench --stage denoise --from ./libengine.so      # one step of its loop\n"
                "plumb bench --stage denoise --from ./libengine.so --first-step 7 --repeat 50\n"
                "plumb bench --stage vae_decode --from ./libengine.so --deadline 20ms --energy\n"
                "plumb bench --aggregate a/bench.json b/bench.json --format csv",
    .status = "0 measured; 2 trouble: wrong usage, a stage that failed, crashed or hung.",
    .options = plumb_cli_bench_options,
    .run = run,
};
