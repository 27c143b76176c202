/* iir_launches: the chain as the command that `plumb count-launches` runs without another one: one
 * iteration to warm up, then {iters} iterations over the same samples, the last of which it writes.
 * Unfused, each of K filters of one section is a pass; fused, the same sections are one cascade. */
#include "wave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/plumb.h>

struct wish {
    double depth, fused, seconds, channels, rate, iters;
    const char *output;
};

static int parse(struct wish *w, int argc, char **argv)
{
    const struct {
        const char *name;
        double *value, least, most;
    } table[] = {
        {"--depth", &w->depth, 1, EFFECTS_MAX}, {"--fused", &w->fused, 0, 1},
        {"--seconds", &w->seconds, 1e-6, 3600}, {"--channels", &w->channels, 1, 64},
        {"--rate", &w->rate, 1000, 768000},     {"--iters", &w->iters, 1, 1e9},
    };
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t k = 0;
        char *end;
        if (strcmp(argv[i], "--output") == 0) {
            w->output = argv[i + 1];
            continue;
        }
        while (k < sizeof(table) / sizeof(table[0]) && strcmp(table[k].name, argv[i]) != 0)
            k++;
        if (k == sizeof(table) / sizeof(table[0])) {
            fprintf(stderr, "iir_launches: unknown option '%s'\n", argv[i]);
            return -1;
        }
        *table[k].value = strtod(argv[i + 1], &end);
        if (*end || !(*table[k].value >= table[k].least && *table[k].value <= table[k].most)) {
            fprintf(stderr, "iir_launches: %s wants %g to %g, not '%s'\n", argv[i], table[k].least,
                    table[k].most, argv[i + 1]);
            return -1;
        }
    }
    if (argc % 2 == 1)
        return 0;
    fprintf(stderr, "iir_launches: no value after '%s'\n", argv[argc - 1]);
    return -1;
}

/* The samples are the same ones in each iteration; filling them is not part of it. */
static int filter(struct wave *w, const struct effect *effects, int depth)
{
    for (int i = 0; i < depth; i++)
        if (wave_pipe(w, &effects[i]) < 0)
            return -1;
    PLUMB_SPAN("iteration");
    return wave_read(w) ? 0 : -1;
}

static int iterate(struct wave *w, const struct wish *wish)
{
    struct effect effects[EFFECTS_MAX];
    int depth = (int)wish->depth;
    size_t bytes = w->channels * w->frames * iir_bytes(w->type);
    void *samples = malloc(bytes + 1);
    int rc = -1;

    if (!samples || effects_of_depth(effects, depth, w->rate) < 0)
        goto out;
    memcpy(samples, w->samples, bytes);
    {
        PLUMB_PHASE("warmup");
        rc = filter(w, effects, depth);
    }
    for (double i = 0; rc == 0 && i < wish->iters; i++) {
        memcpy(w->samples, samples, bytes);
        rc = filter(w, effects, depth);
    }
out:
    free(samples);
    return rc;
}

static int save(const struct wave *w, const char *path)
{
    size_t count = w->channels * w->frames;
    FILE *file = path ? fopen(path, "wb") : NULL;
    int bad = path && (!file || fwrite(w->samples, iir_bytes(w->type), count, file) != count);

    if (file)
        bad |= fclose(file) != 0;
    if (bad)
        perror(path);
    return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct wish wish = {2, 1, 5, 2, 48000, 30, NULL};
    struct wave w;
    int status = EXIT_FAILURE;

    if (parse(&wish, argc, argv) < 0)
        return 2;
    if (wave_open(&w, IIR_F64, (size_t)wish.channels, (size_t)(wish.seconds * wish.rate),
                  wish.rate) == 0) {
        wave_noise(&w, 1);
        w.fuse = wish.fused != 0;
        if (iterate(&w, &wish) < 0)
            fprintf(stderr, "iir_launches: out of memory\n");
        else if (save(&w, wish.output) == 0)
            status = EXIT_SUCCESS;
    }
    wave_close(&w);
    return status;
}
