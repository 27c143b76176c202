/* launches.c: see launches.h. One recording for each row, in a temporary folder that is removed. */
#include "launches.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"
#include "target.h"

enum { PATH_BYTES = 4096, WORDS = 4096, NUMBER = 40 };

static const struct plumb_cli_command *const us = &plumb_cmd_count_launches;

struct job {
    uint32_t runs; /* so far */
    struct plumb_cli_launches *w;
    char folder[PATH_BYTES];    /* "": none yet */
    char output[2][PATH_BYTES]; /* unfused, fused */
    char library[PATH_BYTES];   /* to preload; "": none */
    bool has_output;
};

/* ---- The words of the command ---------------------------------------------------------------- */

struct value {
    const char *name, *text;
};

static bool has_word(char *const *command, const char *name)
{
    for (size_t i = 0; command[i]; i++)
        if (strstr(command[i], name))
            return true;
    return false;
}

/* Returns the value whose name `text` begins with. */
static const struct value *value_at(const struct value *values, const char *text)
{
    for (; values->name; values++)
        if (strncmp(values->name, text, strlen(values->name)) == 0)
            return values;
    return NULL;
}

/* Returns the word with {depth}, {fused} and the other names in braces replaced, for free(); NULL:
 * out of memory. */
static char *replaced(const char *word, const struct value *values)
{
    size_t size = strlen(word) + 1;
    for (const char *p = word; *p; p++) {
        const struct value *v = *p == '{' ? value_at(values, p) : NULL;
        size += v ? strlen(v->text) : 0;
    }
    char *out = malloc(size);
    char *to = out;
    for (const char *p = word; out && *p;) {
        const struct value *v = *p == '{' ? value_at(values, p) : NULL;
        const char *text = v ? v->text : p;
        size_t n = v ? strlen(v->text) : 1;
        memcpy(to, text, n);
        to += n;
        p += v ? strlen(v->name) : 1;
    }
    if (out)
        *to = '\0';
    return out;
}

static void free_words(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

static char **make_words(const struct job *job, uint32_t depth, bool fused)
{
    char depth_text[NUMBER], duration[NUMBER], channels[NUMBER], fs[NUMBER], iters[NUMBER];
    const struct value values[] = {{"{depth}", depth_text},
                                   {"{fused}", fused ? "1" : "0"},
                                   {"{duration}", duration},
                                   {"{channels}", channels},
                                   {"{fs}", fs},
                                   {"{device}", job->w->device},
                                   {"{iters}", iters},
                                   {"{output}", job->output[fused]},
                                   {NULL, NULL}};
    size_t n = 0;
    snprintf(depth_text, sizeof depth_text, "%" PRIu32, depth);
    snprintf(duration, sizeof duration, "%.17g", job->w->duration_s);
    snprintf(channels, sizeof channels, "%" PRIu32, job->w->channels);
    snprintf(fs, sizeof fs, "%" PRIu32, job->w->fs);
    snprintf(iters, sizeof iters, "%" PRIu32, job->w->iters);
    while (job->w->command[n])
        n++;
    char **argv = calloc(n + 1, sizeof *argv);
    for (size_t i = 0; argv && i < n; i++) {
        if (!(argv[i] = replaced(job->w->command[i], values))) {
            free_words(argv);
            argv = NULL;
        }
    }
    if (!argv)
        plumb_cli_say(us, "out of memory");
    return argv;
}

/* ---- One recording --------------------------------------------------------------------------- */

static bool set_environment(const char *dir)
{
    return setenv("PLUMB", "1", 1) == 0 && setenv("PLUMB_QUIET", "1", 1) == 0 &&
           setenv("PLUMB_RUN_DIR", dir, 1) == 0;
}

static bool record(const struct job *job, char *const *argv, const char *dir)
{
    struct plumb_launch how = {
        .argv = argv, .preload = job->library[0] ? job->library : NULL, .stdout_to_stderr = true};
    struct plumb_launched ended = {.status = 0};
    if (!set_environment(dir) || !plumb_cli_launch(&ended, &how) || ended.exec_error) {
        plumb_cli_say(us, "cannot run '%s': %s", argv[0],
                      strerror(ended.exec_error ? ended.exec_error : errno));
        return false;
    }
    if (ended.status != 0) {
        plumb_cli_say(us, "'%s' ended with status %d: nothing is printed", argv[0], ended.status);
        return false;
    }
    return true;
}

static bool read_counts(const struct job *job, plumb_launch_counts *out, const char *dir)
{
    plumb_error err = {0, ""};
    char report[PATH_BYTES];
    out->size = sizeof *out;
    snprintf(report, sizeof report, "%.4000s/timing.json", dir);
    if (access(report, F_OK) < 0) {
        plumb_cli_say(us,
                      "'%s' recorded no iteration: mark each with PLUMB_SPAN(\"iteration\") of "
                      "plumb/plumb.h",
                      job->w->command[0]);
        return false;
    }
    if (plumb_launches_read(out, dir, &err) < 0) {
        plumb_cli_say(us, "%s", err.message);
        return false;
    }
    if (out->iterations == job->w->iters)
        return true;
    plumb_cli_say(us, "'%s' ran %" PRIu64 " iterations, not %" PRIu32 ": give it {iters}",
                  job->w->command[0], out->iterations, job->w->iters);
    return false;
}

static bool fill_row(struct job *job, plumb_launches_row *row, uint32_t depth, bool fused)
{
    char dir[PATH_BYTES];
    char **argv = make_words(job, depth, fused);
    bool done;
    /* By number: a depth may be on the list twice. */
    snprintf(dir, sizeof dir, "%.4000s/%" PRIu32, job->folder, ++job->runs);
    unlink(job->output[fused]); /* of the depth before */
    done = argv && record(job, argv, dir) && read_counts(job, &row->counted, dir);
    free_words(argv);
    row->size = sizeof *row;
    row->depth = depth;
    row->fused = fused;
    row->device = job->w->device;
    row->duration_s = job->w->duration_s;
    row->channels = job->w->channels;
    row->fs = job->w->fs;
    return done;
}

/* ---- Both outputs ---------------------------------------------------------------------------- */

static bool differ(const struct job *job, uint32_t depth, const char *how)
{
    plumb_cli_say(us, "depth %" PRIu32 ": %s: '%s' does not compute the same, nothing is printed",
                  depth, how, job->w->command[0]);
    return false;
}

static bool compare_files(const struct job *job, uint32_t depth, FILE *unfused, FILE *fused)
{
    double a = 0, b = 0;
    char how[160];
    for (uint64_t i = 0;; i++) {
        size_t n = fread(&a, 1, sizeof a, unfused), m = fread(&b, 1, sizeof b, fused);
        if (n != m || (n != 0 && n != sizeof a))
            return differ(job, depth, "the outputs are not equally many 64-bit floats");
        if (n == 0)
            return i > 0 || differ(job, depth, "the outputs are empty");
        if (fabs(a - b) <= job->w->tolerance || memcmp(&a, &b, sizeof a) == 0)
            continue;
        snprintf(how, sizeof how, "sample %" PRIu64 " is %.10g unfused and %.10g fused", i, a, b);
        return differ(job, depth, how);
    }
}

static bool compare(const struct job *job, uint32_t depth)
{
    FILE *file[2] = {NULL, NULL};
    bool same = false;
    int bad = -1;
    if (!job->has_output)
        return true;
    for (int i = 0; i < 2 && bad < 0; i++)
        if (!(file[i] = fopen(job->output[i], "rb")))
            bad = i;
    if (bad >= 0)
        plumb_cli_say(us, "'%s' left no {output}: %s", job->w->command[0], strerror(errno));
    else
        same = compare_files(job, depth, file[0], file[1]);
    for (int i = 0; i < 2; i++)
        if (file[i])
            fclose(file[i]);
    return same;
}

/* ---- All rows -------------------------------------------------------------------------------- */

static void put_progress(const plumb_launches_row *row)
{
    double n = (double)row->counted.iterations;
    fprintf(stderr,
            "depth %3" PRIu32 "  %-7s  native_calls %8g  cuda_launches %8g  wall %10.1f us\n",
            row->depth, row->fused ? "fused" : "unfused", (double)row->counted.native / n,
            (double)row->counted.launches / n, (double)row->counted.wall_ns / 1e3 / n);
}

static bool is_cuda_there(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    bool hidden = visible && (!*visible || strncmp(visible, "-1", 2) == 0);
    return !hidden && (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0);
}

static void settle_device(struct plumb_cli_launches *w)
{
    const char *why = NULL;
    if (strcmp(w->device, "cuda") != 0)
        return;
    if (!has_word(w->command, "{device}"))
        why = "the command takes no {device}";
    else if (!is_cuda_there())
        why = "this machine shows no GPU";
    if (!why)
        return;
    plumb_cli_say(us, "warning: --device cuda falls back to cpu: %s", why);
    w->device = "cpu";
}

static bool prepare(struct job *job)
{
    struct plumb_cli_target target;
    settle_device(job->w);
    job->has_output = has_word(job->w->command, "{output}");
    if (!job->has_output)
        plumb_cli_say(us, "warning: fused and unfused outputs are not compared: the command has no "
                          "{output}");
    plumb_cli_target_find(&target, job->w->command[0]);
    if (target.links_plumb || target.holds_plumb || plumb_cli_target_obstacle(&target) ||
        !plumb_cli_library(job->library, sizeof job->library))
        job->library[0] = '\0';
    if (!plumb_cli_temporary(job->folder, sizeof job->folder, "plumb-launches") ||
        !mkdtemp(job->folder)) {
        plumb_cli_say(us, "cannot make a temporary folder: %s", strerror(errno));
        job->folder[0] = '\0';
        return false;
    }
    for (int i = 0; i < 2; i++)
        snprintf(job->output[i], sizeof job->output[i], "%.4000s/output-%d", job->folder, i);
    return true;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clean_up(const struct job *job)
{
    if (job->folder[0] && nftw(job->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
        plumb_cli_say(us, "cannot remove '%s': %s", job->folder, strerror(errno));
}

bool plumb_cli_launches_run(plumb_launches_row *rows, struct plumb_cli_launches *w)
{
    struct job *job = calloc(1, sizeof *job);
    bool done;
    if (!job) {
        plumb_cli_say(us, "out of memory");
        return false;
    }
    job->w = w;
    done = prepare(job);
    for (size_t i = 0; done && i < w->depth_count; i++) {
        plumb_launches_row *pair = &rows[2 * i];
        done = fill_row(job, &pair[0], w->depths[i], false) &&
               fill_row(job, &pair[1], w->depths[i], true) && compare(job, w->depths[i]);
        if (done) {
            put_progress(&pair[0]);
            put_progress(&pair[1]);
        }
    }
    clean_up(job);
    free(job);
    return done;
}
