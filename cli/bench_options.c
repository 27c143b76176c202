/* bench_options.c: the options of plumb bench. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGE,
    FROM,
    LIST_STAGES = PLUMB_CLI_BENCH_LIST,
    AGGREGATE = PLUMB_CLI_BENCH_AGGREGATE,
    WARMUP,
    STEPS,
    FIRST_STEP,
    REPEAT,
    MIN_TIME,
    INPUTS,
    SEED,
    CONFIG,
    DEADLINE,
    ENERGY,
    POWERCAP,
    TIMEOUT,
    OUT,
    SUFFIX,
    FORMAT,
    ALONE
};

const struct plumb_cli_option plumb_cli_bench_options[] = {
    [STAGE] = {"stage", "NAME", "the stage to run", false},
    [FROM] = {"from", "LIB.so", "the stage library that has it (plumb/stage_library.h)", false},
    [LIST_STAGES] = {"list-stages", NULL, "list the stages of the signature and end", false},
    [AGGREGATE] = {"aggregate", NULL, "one table of the benchmarks in files, and end", false},
    [WARMUP] = {"warmup", "N", "runs before the measured ones (1)", false},
    [STEPS] = {"steps", "N", "steps of the stage's loop in each run (1)", false},
    [FIRST_STEP] = {"first-step", "N", "the first of them (the captured one, else 0)", false},
    [REPEAT] = {"repeat", "N", "measured runs (5, or fewer that take 10 s)", false},
    [MIN_TIME] = {"min-time", "SECONDS", "measure until runs took this long", false},
    [INPUTS] = {"inputs", "auto|captured|random", "where inputs come from (auto)", false},
    [SEED] = {"seed", "N", "of random inputs (0)", false},
    [CONFIG] = {"config", "TEXT", "configuration of the model (the recorded one)", false},
    [DEADLINE] = {"deadline", "TIME", "count runs that take longer: 20ms, 500us, 1s", false},
    [ENERGY] = {"energy", NULL, "joules of the processor a run (RAPL counters)", false},
    [POWERCAP] = {"powercap", "DIR", "folder of energy counters (/sys/class/powercap)", false},
    [TIMEOUT] = {"timeout", "SECONDS", "end a stage that takes longer in all (600; 0: never)",
                 false},
    [OUT] = {"out", "DIR", "folder of the files (that of the signature)", false},
    [SUFFIX] = {"suffix", "TEXT", "follows the stage's name in names of files", false},
    [FORMAT] = {"format", "text|json|csv|md", "of the result on standard output (text)", false},
    [ALONE] = {"alone", "DIR", NULL, false},
    {NULL, NULL, NULL, false},
};

static bool take_inputs(struct plumb_cli_bench *b, const char *value)
{
    static const char *const words[] = {"auto", "captured", "random"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(words[i], value) == 0) {
            b->options.inputs = i;
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_bench, "inputs", words, 3, value);
}

static bool take_deadline(struct plumb_cli_bench *b, const char *value)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
    char *end;
    double n = strtod(value, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != value && n > 0 && isfinite(n) && strcmp(end, units[i].unit) == 0) {
            b->options.deadline_ms = n * units[i].ms;
            return true;
        }
    plumb_cli_usage(&plumb_cmd_bench, "--deadline takes a time with its unit (20ms), not '%s'",
                    value);
    return false;
}

static bool take_number(uint32_t *out, const char *option, const char *value, uint64_t least)
{
    uint64_t n;
    if (!plumb_cli_number(&plumb_cmd_bench, option, value, &n))
        return false;
    if (n < least || n > 1000000) {
        plumb_cli_usage(&plumb_cmd_bench, "--%s takes a number from %" PRIu64 " to 1000000", option,
                        least);
        return false;
    }
    *out = (uint32_t)n;
    return true;
}

static bool take_warmup(struct plumb_cli_bench *b, const char *value)
{
    uint32_t n;
    if (!take_number(&n, "warmup", value, 0))
        return false;
    b->options.warmup = n ? (int32_t)n : -1;
    return true;
}

static bool take_first(struct plumb_cli_bench *b, const char *value)
{
    uint32_t n;
    if (!take_number(&n, "first-step", value, 0))
        return false;
    b->first_step = n;
    return true;
}

static bool take_suffix(struct plumb_cli_bench *b, const char *value)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    b->suffix = value;
    if (strlen(value) <= 64 && value[strspn(value, letters)] == '\0')
        return true;
    plumb_cli_usage(&plumb_cmd_bench,
                    "--suffix takes at most 64 letters, digits, '.', '_' and '-', "
                    "not '%s'",
                    value);
    return false;
}

static bool take_format(struct plumb_cli_bench *b, const char *value)
{
    static const char *const words[] = {"text", "json", "csv", "md"};
    b->format = value;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(words[i], value) == 0)
            return true;
    return plumb_cli_wants(&plumb_cmd_bench, "format", words, 4, value);
}

bool plumb_cli_bench_take(struct plumb_cli_bench *b, int *instead, int option, const char *value)
{
    const struct plumb_cli_command *us = &plumb_cmd_bench;
    switch (option) {
    case STAGE:
        b->stage = value;
        return true;
    case FROM:
        b->library = value;
        return true;
    case LIST_STAGES:
    case AGGREGATE:
        *instead = option;
        return true;
    case WARMUP:
        return take_warmup(b, value);
    case STEPS:
        return take_number(&b->options.steps, "steps", value, 1);
    case FIRST_STEP:
        return take_first(b, value);
    case REPEAT:
        return take_number(&b->options.repeat, "repeat", value, 1);
    case MIN_TIME:
        return plumb_cli_decimal(us, "min-time", value, &b->options.min_time_s);
    case INPUTS:
        return take_inputs(b, value);
    case SEED:
        return plumb_cli_number(us, "seed", value, &b->options.seed);
    case CONFIG:
        b->config = value;
        return true;
    case DEADLINE:
        return take_deadline(b, value);
    case ENERGY:
        b->options.energy = 1;
        return true;
    case POWERCAP:
        b->options.energy = 1;
        b->options.powercap = value;
        return true;
    case TIMEOUT:
        return plumb_cli_decimal(us, "timeout", value, &b->timeout_s);
    case OUT:
        b->out = value;
        return true;
    case SUFFIX:
        return take_suffix(b, value);
    case FORMAT:
        return take_format(b, value);
    default:
        b->alone = value;
        return true;
    }
}
