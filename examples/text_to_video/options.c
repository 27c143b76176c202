/* Owns the command line: one table of options, from which parsing and help are made.
 *
 * Why not getopt_long: its table knows names only, and ranges, defaults and help would then live in
 * three other places. */
#include "options.h"

#include "latents.h"
#include "text_encoder.h"
#include "vae.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attention needs memory in the square of the tokens: 8192 of them take 1 GiB. */
enum { MAX_TOKENS = 8192, MAX_SIZE = 1024, SIZE_UNIT = VAE_SPACE_FACTOR * LATENT_PATCH };

enum id {
    PROMPT,
    OUT,
    SEED,
    STEPS,
    FRAMES,
    SIZE,
    FPS,
    GUIDANCE,
    PRECISION,
    THREADS,
    SAVE_WEIGHTS,
    QUICK,
    TINY,
    FAULT,
    HELP
};

static const struct {
    const char *name, *value, *help;
} table[] = {
    [PROMPT] = {"--prompt", "TEXT", "what the video should show (at most 255 bytes)"},
    [OUT] = {"--out", "FILE.mp4", "where to write it (text_to_video.mp4)"},
    [SEED] = {"--seed", "N", "starting noise (1)"},
    [STEPS] = {"--steps", "N", "denoise steps, 1 to 1000 (24)"},
    [FRAMES] = {"--frames", "N", "1 to 256 (16)"},
    [SIZE] = {"--size", "WxH", "multiples of 16, or one number for a square (192)"},
    [FPS] = {"--fps", "N", "frames per second, 1 to 120 (8)"},
    [GUIDANCE] = {"--guidance", "X", "weight of the prompt, 0 to 100; 1 follows it plainly (4)"},
    [PRECISION] = {"--precision", "TYPE", "of activations: f32, bf16 (weights too), f16 (f32)"},
    [THREADS] = {"--threads", "N", "at most the cores this process may use (all of them)"},
    [SAVE_WEIGHTS] = {"--save-weights", "FILE", "write weights and inputs there, as safetensors"},
    [QUICK] = {"--quick", NULL, "small defaults, for tests: 4 steps, 8 frames, size 64"},
    [TINY] = {"--tiny", NULL, "smaller still: 4 steps, 4 frames, size 32, models of width 64"},
    [FAULT] = {"--fault", "KIND:PLACE[:STEP[:SIZE]]", NULL}, /* fault.h */
    [HELP] = {"--help", NULL, "print this"},
};

enum { TABLE_LENGTH = sizeof(table) / sizeof(table[0]) };

static void print_help(void)
{
    printf("usage: text_to_video [options]\n\n"
           "Makes a short video from a text with a diffusion transformer. The weights are random\n"
           "numbers from a fixed seed: the work is real, the picture is not.\n\n");
    for (int i = 0; i < TABLE_LENGTH; i++) {
        char left[32];
        if (!table[i].help)
            continue;
        snprintf(left, sizeof(left), "%s %s", table[i].name, table[i].value ? table[i].value : "");
        printf("  %-21s %s\n", left, table[i].help);
    }
    printf("\nexample:\n"
           "  OMP_WAIT_POLICY=passive text_to_video --prompt \"a paper boat on a lake\" --out "
           "boat.mp4\n");
}

static enum options_result wrong(const char *text, const char *argument)
{
    fprintf(stderr, "text_to_video: %s '%s' (see --help)\n", text, argument);
    return OPTIONS_WRONG;
}

static bool parse_i64(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0 && *out >= least && *out <= most;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    int64_t value;

    if (!parse_i64(text, least, most, &value))
        return false;
    *out = (int)value;
    return true;
}

/* "192" or "320x192". */
static bool parse_size(const char *text, struct options *o)
{
    char width[8] = "";
    const char *x = strchr(text, 'x');
    size_t length = x ? (size_t)(x - text) : strlen(text);

    if (length >= sizeof(width))
        return false;
    memcpy(width, text, length);
    return parse_int(width, SIZE_UNIT, MAX_SIZE, &o->width) &&
           parse_int(x ? x + 1 : width, SIZE_UNIT, MAX_SIZE, &o->height) &&
           o->width % SIZE_UNIT == 0 && o->height % SIZE_UNIT == 0;
}

static bool parse_float(const char *text, float least, float most, float *out)
{
    char *end = NULL;

    *out = strtof(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= least && *out <= most;
}

static const char *const precisions[] = {
    [ELEMENT_F32] = "f32", [ELEMENT_BF16] = "bf16", [ELEMENT_F16] = "f16"};

static bool parse_precision(const char *text, enum element *out)
{
    for (int i = 0; i < (int)(sizeof(precisions) / sizeof(precisions[0])); i++) {
        if (strcmp(precisions[i], text) == 0) {
            *out = (enum element)i;
            return true;
        }
    }
    return false;
}

static bool parse_value(struct options *o, enum id id, const char *text)
{
    int64_t seed;

    switch (id) {
    case PROMPT:
        o->prompt = text;
        return strlen(text) <= TEXT_MAX_BYTES;
    case OUT:
        o->out_path = text;
        return *text != '\0';
    case SEED:
        if (!parse_i64(text, 0, INT64_MAX, &seed))
            return false;
        o->seed = (uint64_t)seed;
        return true;
    case STEPS:
        return parse_int(text, 1, 1000, &o->steps);
    case FRAMES:
        return parse_int(text, 1, 256, &o->frames);
    case SIZE:
        return parse_size(text, o);
    case FPS:
        return parse_int(text, 1, 120, &o->fps);
    case GUIDANCE:
        return parse_float(text, 0.0f, 100.0f, &o->guidance);
    case PRECISION:
        return parse_precision(text, &o->precision);
    case FAULT:
        return fault_parse(&o->fault, text);
    case THREADS:
        return parse_int(text, 1, 4096, &o->threads);
    case SAVE_WEIGHTS:
        o->weights_path = text;
        return *text != '\0';
    case QUICK:
    case TINY:
    case HELP:
        break;
    }
    return false;
}

static int find_option(const char *argument)
{
    for (int i = 0; i < TABLE_LENGTH; i++)
        if (strcmp(argument, table[i].name) == 0)
            return i;
    return -1;
}

/* More threads than cores make each OpenMP barrier wait for the scheduler. */
static void limit_threads(struct options *o)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    if (o->threads > cores)
        fprintf(stderr, "text_to_video: using %d threads, one for each core, not %d\n", cores,
                o->threads);
    if (o->threads == 0 || o->threads > cores)
        o->threads = cores;
}

struct latent_grid options_grid(const struct options *o)
{
    return (struct latent_grid){
        .frames = (o->frames + VAE_TIME_FACTOR - 1) / VAE_TIME_FACTOR,
        .rows = o->height / SIZE_UNIT,
        .columns = o->width / SIZE_UNIT,
    };
}

static enum options_result check(struct options *o)
{
    const struct latent_grid grid = options_grid(o);
    int64_t tokens = latent_tokens(&grid);

    if (tokens > MAX_TOKENS) {
        fprintf(stderr,
                "text_to_video: %dx%d with %d frames makes %lld tokens, more than %d; choose a "
                "smaller --size or --frames\n",
                o->width, o->height, o->frames, (long long)tokens, MAX_TOKENS);
        return OPTIONS_WRONG;
    }
    limit_threads(o);
    return OPTIONS_RUN;
}

/* Before the loop that stores values, because an option wins over --quick on either side of it. */
static bool is_given(enum id wanted, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int id = find_option(argv[i]);
        if (id == (int)wanted)
            return true;
        if (id >= 0 && table[id].value)
            i++;
    }
    return false;
}

struct options options_default(bool quick, bool tiny)
{
    return (struct options){
        .prompt = "a paper boat drifting across a quiet lake at dawn",
        .out_path = "text_to_video.mp4",
        .seed = 1,
        .steps = quick || tiny ? 4 : 24,
        .frames = tiny    ? 4
                  : quick ? 8
                          : 16,
        .width = tiny    ? 32
                 : quick ? 64
                         : 192,
        .height = tiny    ? 32
                  : quick ? 64
                          : 192,
        .fps = 8,
        .guidance = 4.0f,
        .model_width = tiny ? 64 : 256,
    };
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
    *o = options_default(is_given(QUICK, argc, argv), is_given(TINY, argc, argv));
    for (int i = 1; i < argc; i++) {
        int id = find_option(argv[i]);
        if (id < 0)
            return wrong(argv[i][0] == '-' ? "unknown option" : "unexpected argument", argv[i]);
        if (id == HELP) {
            print_help();
            return OPTIONS_DONE;
        }
        if (!table[id].value)
            continue;
        if (i + 1 == argc)
            return wrong("a value is missing after", argv[i]);
        if (!parse_value(o, (enum id)id, argv[++i])) {
            fprintf(stderr, "text_to_video: %s does not take '%.40s': %s\n", table[id].name,
                    argv[i], table[id].help ? table[id].help : table[id].value);
            return OPTIONS_WRONG;
        }
    }
    return check(o);
}

void options_text(char *out, size_t size, const struct options *o)
{
    bool tiny = o->model_width == options_default(false, true).model_width;

    snprintf(out, size, "%s--size %dx%d --frames %d --steps %d --seed %llu --precision %s",
             tiny ? "--tiny " : "", o->width, o->height, o->frames, o->steps,
             (unsigned long long)o->seed, precisions[o->precision]);
}
