/* cmd_count_launches.c: plumb count-launches. Runs a command for each depth, unfused and fused,
 * records it, and prints dispatches and launches per iteration.
 *
 * The command is a separate program, because the libraries that are counted belong to the user: a
 * table of numbers that this command had built in would prove nothing about them. Without one it
 * runs iir_launches, which is built from examples/audio_filter_chain. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "launch.h"
#include "launches.h"
#include "target.h"

enum { DEPTHS, DURATION, CHANNELS, FS, DEVICE, ITERS, TOLERANCE, OUT };

static const struct plumb_cli_option options[] = {
    [DEPTHS] = {"depths", "LIST", "lengths of the chain, as 2,5,10,20 or as 2 5 10 20 (2,5,10,20)",
                false},
    [DURATION] = {"duration", "S", "seconds of the signal (5.0)", false},
    [CHANNELS] = {"channels", "N", "channels of the signal (2)", false},
    [FS] = {"fs", "HZ", "its sampling rate (48000)", false},
    [DEVICE] = {"device", "cpu|cuda", "where it is computed (cpu)", false},
    [ITERS] = {"iters", "N", "iterations that are counted, after one to warm up (30)", false},
    [TOLERANCE] = {"tolerance", "X",
                   "largest difference of a fused sample from the unfused one (1e-6)", false},
    [OUT] = {"out", "FILE",
             "write the result to FILE, whose folders are made; {host} is this machine; - is "
             "stdout (-)",
             false},
    {NULL, NULL, NULL, false},
};

struct wish {
    struct plumb_cli_launches l;
    const char *out;
    char path[4096];
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool add_depth(struct wish *w, const char *text, size_t n)
{
    char word[24];
    uint64_t depth;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
    if (!plumb_cli_number(&plumb_cmd_count_launches, "depths", word, &depth))
        return false;
    if (depth < 1 || depth > 100000 || w->l.depth_count == PLUMB_CLI_DEPTHS) {
        plumb_cli_usage(&plumb_cmd_count_launches,
                        "--depths wants up to %d numbers from 1 to 100000, not '%s'",
                        PLUMB_CLI_DEPTHS, word);
        return false;
    }
    w->l.depths[w->l.depth_count++] = (uint32_t)depth;
    return true;
}

/* Commas or blanks between numbers. */
static bool add_depths(struct wish *w, const char *text)
{
    size_t before = w->l.depth_count;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ", ");
        if (n > 0 && !add_depth(w, p, n))
            return false;
        p += n + (p[n] != '\0');
    }
    if (w->l.depth_count > before)
        return true;
    plumb_cli_usage(&plumb_cmd_count_launches, "--depths wants numbers, not '%s'", text);
    return false;
}

static bool take_whole(const char *option, const char *text, uint64_t most, uint32_t *out)
{
    uint64_t n;
    if (!plumb_cli_number(&plumb_cmd_count_launches, option, text, &n))
        return false;
    if (n < 1 || n > most) {
        plumb_cli_usage(&plumb_cmd_count_launches, "--%s wants a number from 1 to %llu, not '%s'",
                        option, (unsigned long long)most, text);
        return false;
    }
    *out = (uint32_t)n;
    return true;
}

static bool take_device(struct wish *w, const char *text)
{
    static const char *const devices[] = {"cpu", "cuda"};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(devices[i], text) == 0) {
            w->l.device = devices[i];
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_count_launches, "device", devices, 2, text);
}

static bool take_positive(const char *option, const char *text, double *out)
{
    if (!plumb_cli_decimal(&plumb_cmd_count_launches, option, text, out))
        return false;
    if (*out > 0)
        return true;
    plumb_cli_usage(&plumb_cmd_count_launches, "--%s wants a number above 0, not '%s'", option,
                    text);
    return false;
}

/* A number such as 1e-6. */
static bool take_tolerance(struct wish *w, const char *text)
{
    char *end;
    w->l.tolerance = strtod(text, &end);
    if (end != text && !*end && w->l.tolerance >= 0 && w->l.tolerance < 1e300)
        return true;
    plumb_cli_usage(&plumb_cmd_count_launches, "--tolerance wants a number of 0 or more, not '%s'",
                    text);
    return false;
}

static bool take(struct wish *w, int option, const char *value)
{
    switch (option) {
    case DEPTHS:
        return add_depths(w, value);
    case DURATION:
        return take_positive("duration", value, &w->l.duration_s);
    case CHANNELS:
        return take_whole("channels", value, 65536, &w->l.channels);
    case FS:
        return take_whole("fs", value, 1000000000, &w->l.fs);
    case DEVICE:
        return take_device(w, value);
    case ITERS:
        return take_whole("iters", value, 1000000000, &w->l.iters);
    case TOLERANCE:
        return take_tolerance(w, value);
    default:
        w->out = w->path;
        return *value && plumb_cli_host_path(&plumb_cmd_count_launches, w->path, value);
    }
}

/* ---- The command ----------------------------------------------------------------------------- */

/* The folder of this command, or ../libexec/plumb next to it. */
static bool find_own(char *out, size_t size)
{
    static const char *const places[] = {"iir_launches", "../libexec/plumb/iir_launches"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        if ((size_t)snprintf(out, size, "%.*s/%s", (int)(slash - self), self, places[i]) < size &&
            access(out, X_OK) == 0)
            return true;
    }
    plumb_cli_say(&plumb_cmd_count_launches,
                  "no command, and iir_launches, which would run without one, is not installed: "
                  "give a command after --");
    return false;
}

static char own_path[PATH_MAX];
static char *own_command[] = {own_path,
                              (char *)"--depth",
                              (char *)"{depth}",
                              (char *)"--fused",
                              (char *)"{fused}",
                              (char *)"--seconds",
                              (char *)"{duration}",
                              (char *)"--channels",
                              (char *)"{channels}",
                              (char *)"--rate",
                              (char *)"{fs}",
                              (char *)"--iters",
                              (char *)"{iters}",
                              (char *)"--output",
                              (char *)"{output}",
                              NULL};

static bool choose_command(struct wish *w, char **given)
{
    w->l.command = given;
    if (given[0])
        return true;
    w->l.command = own_command;
    return find_own(own_path, sizeof own_path);
}

/* ---- Output ---------------------------------------------------------------------------------- */

static int print(const struct wish *w, const plumb_launches_row *rows)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    if (plumb_launches_render(&text, rows, 2 * w->l.depth_count, &err) < 0) {
        plumb_cli_say(&plumb_cmd_count_launches, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    bool done = plumb_cli_output(&plumb_cmd_count_launches, w->out, text);
    plumb_read_free(text);
    return done ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static int work(struct wish *w)
{
    plumb_launches_row *rows = calloc(2 * w->l.depth_count, sizeof *rows);
    int status = PLUMB_EXIT_TROUBLE;
    if (!rows)
        plumb_cli_say(&plumb_cmd_count_launches, "out of memory");
    else if (plumb_cli_make_above(&plumb_cmd_count_launches, w->out) &&
             plumb_cli_launches_run(rows, &w->l))
        status = print(w, rows);
    free(rows);
    return status;
}

static int run(int argc, char **argv)
{
    struct wish w = {.l = {.duration_s = 5,
                           .channels = 2,
                           .fs = 48000,
                           .device = "cpu",
                           .iters = 30,
                           .tolerance = 1e-6},
                     .out = "-"};
    struct plumb_cli_args args;
    int option, last = -1;
    plumb_cli_args_init(&args, &plumb_cmd_count_launches, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == PLUMB_ARGS_OPERAND && last == DEPTHS) {
            if (!add_depths(&w, args.value))
                return PLUMB_EXIT_TROUBLE;
        } else if (option == PLUMB_ARGS_OPERAND) {
            return plumb_cli_args_status(
                plumb_cli_usage(&plumb_cmd_count_launches,
                                "unexpected '%s': a command comes after --", args.value));
        } else {
            last = option;
            if (!take(&w, option, args.value))
                return PLUMB_EXIT_TROUBLE;
        }
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (w.l.depth_count == 0)
        add_depths(&w, "2,5,10,20");
    return choose_command(&w, argv + args.operand) ? work(&w) : PLUMB_EXIT_TROUBLE;
}

const struct plumb_cli_command plumb_cmd_count_launches = {
    .name = "count-launches",
    .summary = "count dispatches and launches per iteration",
    .synopsis = "[OPTION]... [-- COMMAND [ARG]...]",
    .description =
        "Runs COMMAND twice for each depth, unfused and then fused, records it, and\n"
        "prints what one iteration took: a JSON array with two objects for each depth.\n"
        "native_calls are dispatches (plumb_dispatch()), cuda_launches the launches that\n"
        "a collector saw (0 on a CPU), wall_us the mean time. Nothing is rounded: 31\n"
        "calls in 30 iterations are 1.0333333333333334.\n"
        "\n"
        "In the arguments of COMMAND, {depth}, {fused} (0 or 1), {duration}, {channels},\n"
        "{fs}, {device}, {iters} and {output} are replaced. It has to run one iteration\n"
        "to warm up, in PLUMB_PHASE(\"warmup\"), and then {iters} more, each in\n"
        "PLUMB_SPAN(\"iteration\"). It writes the samples of the last one to {output}, as\n"
        "64-bit floats of this machine: fused and unfused ones have to agree, or nothing\n"
        "is printed. Without {output} they are not compared, and a warning says so.\n"
        "\n"
        "Without COMMAND it is the filter chain of examples/audio_filter_chain, which\n"
        "runs on the CPU: --device cuda falls back to it with a warning. So it does for\n"
        "a COMMAND without {device}, and on a machine without a GPU.\n"
        "\n"
        "Progress, and what COMMAND prints, go to standard error.",
    .examples = "plumb count-launches\n"
                "plumb count-launches --depths 2 5 10 20 --out results/launches-cpu-{host}.json\n"
                "plumb count-launches --depths 4,8 -- ./chain {depth} {fused} {iters} {output}",
    .status = "0 success; 2 wrong usage, a command that fails, that has other iterations or\n"
              "whose outputs differ, or output that cannot be written.",
    .options = options,
    .in_order = true,
    .run = run,
};
