/* deep_ncu.c: runs a program under NVIDIA Nsight Compute for one kernel, and shows the result.
 *
 * ncu writes to a file (--log-file), never to stdout, which is the program's. All options are
 * documented ones of "Nsight Compute CLI" (docs.nvidia.com/nsight-compute/NsightComputeCli). */
#include "deep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"
#include "target.h"

static const char *const default_csv = "plumb-ncu.csv";

bool plumb_cli_is_ncu(const char *path)
{
    static const char *const ends[] = {".csv", ".csv.gz", ".ncu-rep"};
    size_t n = path ? strlen(path) : 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && strcmp(path + n - m, ends[i]) == 0)
            return true;
    }
    return false;
}

/* Renders after `status`, which an error of ours replaces only if it is 0. */
static int show(const struct plumb_cli_ncu *w, const char *path, int status)
{
    plumb_ncu_report *kernels = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    bool done = false;
    if (w->output && strcmp(w->output, path) == 0)
        plumb_cli_say(&plumb_cmd_deep, "'%s' is the report of ncu: choose another --output",
                      w->output);
    else if (plumb_ncu_report_open(&kernels, path, &err) < 0 ||
             plumb_ncu_report_render(&text, kernels, &w->view, &err) < 0)
        plumb_cli_say(&plumb_cmd_deep, "%s", err.message);
    else
        done = plumb_cli_output(&plumb_cmd_deep, w->output, text);
    plumb_read_free(text);
    plumb_ncu_report_close(kernels);
    return status != 0 || done ? status : PLUMB_EXIT_TROUBLE;
}

int plumb_cli_ncu_show(const struct plumb_cli_ncu *w, const char *path)
{
    return show(w, path, PLUMB_EXIT_OK);
}

/* ---- Command line ---------------------------------------------------------------------------- */

/* The command line, and texts that its words point to. */
struct command {
    char skip[24], count[24], filter[600], metrics[4096];
    const char **argv;
    size_t n;
};

static void add(struct command *c, const char *word)
{
    c->argv[c->n++] = word;
}

static void add_two(struct command *c, const char *option, const char *value)
{
    add(c, option);
    add(c, value);
}

/* The filter of a push/pop range, which ends in '/'. Characters with a meaning in the filter become
 * dots of a regular expression. Returns false if the name is too long. */
static bool make_filter(char *out, size_t size, const char *stage)
{
    static const char marks[] = "@,/[]*+\\";
    bool plain = !strpbrk(stage, marks) && strncmp(stage, "regex:", 6) != 0;
    size_t n = (size_t)snprintf(out, size, plain ? "%s/" : "regex:^%s$/", stage);
    if (n >= size)
        return false;
    if (!plain)
        for (size_t i = 7; i + 2 < n; i++) /* between "regex:^" and "$/" */
            if (strchr("@,/[]*+\\.^$|(){}?", out[i]))
                out[i] = '.';
    return true;
}

static bool make(struct command *c, const struct plumb_cli_ncu *w, const char *csv,
                 char *const *program)
{
    size_t words = 0;
    while (program[words])
        words++;
    if (!(c->argv = calloc(words + 32, sizeof *c->argv))) {
        plumb_cli_say(&plumb_cmd_deep, "out of memory");
        return false;
    }
    size_t n = (size_t)snprintf(c->metrics, sizeof c->metrics, "%s%s%s", plumb_ncu_report_metrics(),
                                w->metrics ? "," : "", w->metrics ? w->metrics : "");
    if (n >= sizeof c->metrics ||
        (w->stage && !make_filter(c->filter, sizeof c->filter, w->stage))) {
        plumb_cli_say(&plumb_cmd_deep, "the %s too long",
                      n >= sizeof c->metrics ? "list of metrics is" : "name of the stage is");
        return false;
    }
    snprintf(c->skip, sizeof c->skip, "%" PRIu64, w->skip);
    snprintf(c->count, sizeof c->count, "%" PRIu64, w->count ? w->count : 1);
    add(c, "ncu");
    add_two(c, "--target-processes", "all");
    if (w->kernel)
        add_two(c, "--kernel-name", w->kernel);
    if (w->stage) {
        add(c, "--nvtx");
        add_two(c, "--nvtx-include", c->filter);
    }
    add_two(c, "--launch-skip", c->skip);
    add_two(c, "--launch-count", c->count);
    add_two(c, "--metrics", c->metrics);
    add(c, "--csv");
    add_two(c, "--page", "raw");
    add_two(c, "--print-units", "base");
    add_two(c, "--log-file", csv);
    for (size_t i = 0; i < words; i++)
        add(c, program[i]);
    return true;
}

/* The command as a shell takes it. Returns NULL when out of memory; the caller frees it. */
static char *quoted(const struct command *c)
{
    size_t size = 1;
    for (size_t i = 0; i < c->n; i++)
        size += 4 * strlen(c->argv[i]) + 3;
    char *text = malloc(size);
    char *to = text;
    for (size_t i = 0; text && i < c->n; i++) {
        const char *from = c->argv[i];
        bool plain =
            *from && from[strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+=:,./@%")] == '\0';
        if (i > 0)
            *to++ = ' ';
        if (!plain)
            *to++ = '\'';
        for (; *from; from++) {
            if (*from == '\'') {
                memcpy(to, "'\\'", 3);
                to += 3;
            }
            *to++ = *from;
        }
        if (!plain)
            *to++ = '\'';
    }
    if (text)
        *to = '\0';
    return text;
}

/* ---- Run ------------------------------------------------------------------------------------- */

/* Ranges of plumb reach ncu through NVTX, which a recording emits only on request. */
static bool set_ranges(const struct plumb_cli_ncu *w)
{
    return !w->stage || (setenv("PLUMB", "1", 0) == 0 && setenv("PLUMB_NVTX", "1", 0) == 0);
}

static bool is_there(void)
{
    struct plumb_cli_target ncu;
    plumb_cli_target_find(&ncu, "ncu");
    if (ncu.error == 0)
        return true;
    plumb_cli_say(&plumb_cmd_deep,
                  "ncu %s: install NVIDIA Nsight Compute (the CUDA toolkit has it in "
                  "/usr/local/cuda/bin), or run the command that --print shows where it is, and "
                  "show its CSV with 'plumb deep FILE.csv'",
                  ncu.error == ENOENT ? "is not in PATH" : strerror(ncu.error));
    return false;
}

/* Returns the status of ncu, or 2 after a message. */
static int launch(const struct command *c)
{
    struct plumb_launch how = {.argv = (char *const *)c->argv};
    struct plumb_launched ended = {.status = 0};
    if (plumb_cli_launch(&ended, &how) && !ended.exec_error)
        return ended.status;
    plumb_cli_say(&plumb_cmd_deep, "cannot run ncu: %s",
                  strerror(ended.exec_error ? ended.exec_error : errno));
    return PLUMB_EXIT_TROUBLE;
}

int plumb_cli_ncu_run(const struct plumb_cli_ncu *w, char *const *program)
{
    struct command c = {.n = 0};
    struct plumb_cli_ncu shown = *w;
    const char *csv = w->csv ? w->csv : default_csv;
    char *text = NULL;
    int status = PLUMB_EXIT_TROUBLE;
    if (!make(&c, w, csv, program) || !(text = quoted(&c)))
        goto out;
    if (w->print) {
        status = plumb_cli_output(&plumb_cmd_deep, w->output, text) ? PLUMB_EXIT_OK : status;
        goto out;
    }
    status = PLUMB_LAUNCH_NOT_FOUND;
    if (!is_there())
        goto out;
    status = PLUMB_EXIT_TROUBLE;
    /* A report of before must not pass for that of a failed run. */
    if ((unlink(csv) < 0 && errno != ENOENT) || !set_ranges(w)) {
        plumb_cli_say(&plumb_cmd_deep, "cannot prepare '%s': %s", csv, strerror(errno));
        goto out;
    }
    status = launch(&c);
    shown.view.command = text;
    if (access(csv, F_OK) == 0)
        status = show(&shown, csv, status);
    else {
        plumb_cli_say(&plumb_cmd_deep, "ncu ended with status %d and left no report in '%s'",
                      status, csv);
        status = status ? status : PLUMB_EXIT_TROUBLE;
    }
out:
    free(text);
    free(c.argv);
    return status;
}
