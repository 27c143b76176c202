/* Owns the command line: one table of options, from which parsing and help are made. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum id {
    IN,
    OUT,
    SECONDS,
    RATE,
    CHANNELS,
    SEED,
    TYPE,
    CHAIN,
    DEPTH,
    BLOCK,
    REPEAT,
    NO_FUSE,
    HELP
};

static const struct {
    const char *name, *value, *help;
} table[] = {
    [IN] = {"--in", "FILE", "audio to filter; default: seeded noise"},
    [OUT] = {"--out", "FILE", "where the filtered audio goes, as WAV; default: nowhere"},
    [SECONDS] = {"--seconds", "X", "of noise, 0 to 3600 (60)"},
    [RATE] = {"--rate", "HZ", "of noise, 1000 to 768000 (48000)"},
    [CHANNELS] = {"--channels", "N", "of noise, 1 to 64 (2)"},
    [SEED] = {"--seed", "N", "of the noise (1)"},
    [TYPE] = {"--type", "TYPE", "of samples and arithmetic, f32 or f64 (f64)"},
    [CHAIN] = {"--chain", "LIST", "effects, see below"},
    [DEPTH] = {"--depth", "N", "instead of --chain: N filters of second order, 1 to 64"},
    [BLOCK] = {"--block", "N", "frames that are computed at a time; 0 (default): all"},
    [REPEAT] = {"--repeat", "N", "runs over the same samples, 1 to 10000 (1)"},
    [NO_FUSE] = {"--no-fuse", NULL, "a pass for each effect"},
    [HELP] = {"--help", NULL, "print this"},
};

enum { TABLE_LENGTH = sizeof(table) / sizeof(table[0]) };

static const char default_chain[] =
    "highpass:2:40,highpass:4:80,gain:-3,lowpass:6:14000,echo:0.2:0.3,lowpass:3:9000,gain:2";

static void print_help(void)
{
    printf("usage: audio_filter_chain [options]\n\n"
           "Filters audio with a chain of effects, adjacent filters fused into one pass.\n\n");
    for (int i = 0; i < TABLE_LENGTH; i++) {
        char left[32];
        snprintf(left, sizeof(left), "%s %s", table[i].name, table[i].value ? table[i].value : "");
        printf("  %-15s %s\n", left, table[i].help);
    }
    printf("\neffects, separated by commas:\n"
           "  lowpass:ORDER:HZ, highpass:ORDER:HZ   Butterworth, order 1 to 10\n"
           "  gain:DB                               -120 to 60\n"
           "  echo:SECONDS:MIX                      at most 10 s, mix -1 to 1\n"
           "default:\n  %s\n",
           default_chain);
}

static enum options_result wrong(const char *text, const char *argument)
{
    fprintf(stderr, "audio_filter_chain: %s '%.40s' (see --help)\n", text, argument);
    return OPTIONS_WRONG;
}

static bool parse_real(const char *text, double least, double most, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && *out >= least && *out <= most;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    double x;

    if (!parse_real(text, least, most, &x) || x != floor(x))
        return false;
    *out = (int)x;
    return true;
}

static bool parse_seed(const char *text, unsigned long long *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

static bool parse_type(const char *text, enum iir_type *out)
{
    *out = strcmp(text, "f32") == 0 ? IIR_F32 : IIR_F64;
    return *out == IIR_F32 || strcmp(text, "f64") == 0;
}

static bool set(struct options *o, enum id id, const char *value)
{
    switch (id) {
    case IN:
        o->in_path = value;
        return *value;
    case OUT:
        o->out_path = value;
        return *value;
    case SECONDS:
        return parse_real(value, 0.0, 3600.0, &o->seconds);
    case RATE:
        return parse_int(value, 1000, 768000, &o->rate);
    case CHANNELS:
        return parse_int(value, 1, 64, &o->channels);
    case SEED:
        return parse_seed(value, &o->seed);
    case TYPE:
        return parse_type(value, &o->type);
    case CHAIN:
        o->chain = value;
        return true;
    case DEPTH:
        return parse_int(value, 1, EFFECTS_MAX, &o->depth);
    case BLOCK:
        return parse_int(value, 0, 1 << 30, &o->block);
    case REPEAT:
        return parse_int(value, 1, 10000, &o->repeat);
    case NO_FUSE:
        o->fuse = false;
        return true;
    case HELP:
        break;
    }
    return true;
}

static int find(const char *name)
{
    int i = 0;

    while (i < TABLE_LENGTH && strcmp(table[i].name, name) != 0)
        i++;
    return i;
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.seconds = 60.0,
                          .rate = 48000,
                          .channels = 2,
                          .seed = 1,
                          .type = IIR_F64,
                          .chain = default_chain,
                          .fuse = true,
                          .repeat = 1};
    for (int i = 1; i < argc; i++) {
        int id = find(argv[i]);
        if (id == HELP) {
            print_help();
            return OPTIONS_DONE;
        }
        if (id == TABLE_LENGTH)
            return wrong("unknown option", argv[i]);
        if (table[id].value && i + 1 == argc)
            return wrong("no value after", argv[i]);
        if (!set(o, (enum id)id, table[id].value ? argv[++i] : NULL))
            return wrong(table[id].name, argv[i]);
    }
    return OPTIONS_RUN;
}
