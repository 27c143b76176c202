/* ab_files.c: samples of plumb ab as JSON of google/benchmark, so that `plumb gate`, `plumb bench
 * --aggregate` and other tools read them, and the summary of a folder that several machines write
 * to: the host is part of each file's name. */
#include "ab.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const metrics[PLUMB_AB_FIGURES] = {"wall_clock", "cpu_time", "time"};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 127)
            fprintf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

/* "A" and the size and type, as the families of google/benchmark are named. */
static void put_name(FILE *out, const struct plumb_ab *ab, const struct plumb_ab_pair *pair,
                     int side, const char *suffix)
{
    char name[256];
    int n = snprintf(name, sizeof name, "%s", side ? pair->b : pair->a);
    if (pair->size)
        n += snprintf(name + n, sizeof name - (size_t)n, "/%s:%" PRIu64, ab->size_name, pair->size);
    if (pair->type[0])
        n += snprintf(name + n, sizeof name - (size_t)n, "/%s", pair->type);
    snprintf(name + n, sizeof name - (size_t)n, "%s", suffix);
    put_text(out, name);
}

static void begin_entry(FILE *out, const struct plumb_ab *ab, const struct plumb_ab_pair *pair,
                        int side, const char *suffix, bool first)
{
    fprintf(out, "%s\n    {\"name\": ", first ? "" : ",");
    put_name(out, ab, pair, side, suffix);
    fputs(", \"run_name\": ", out);
    put_name(out, ab, pair, side, "");
    fprintf(out, ", \"repetitions\": %zu, \"threads\": 1", pair->rounds);
}

/* The size and type of the samples, and the fields of the user. */
static void put_extra(FILE *out, const struct plumb_ab_pair *pair, const char *const *fields,
                      size_t n)
{
    if (pair->size)
        fprintf(out, ", \"T\": %" PRIu64, pair->size);
    if (pair->type[0]) {
        fputs(", \"dtype\": ", out);
        put_text(out, pair->type);
    }
    if (pair->crossover.threshold)
        fprintf(out, ", \"parallel_threshold\": %" PRIu64, pair->crossover.threshold);
    for (size_t i = 0; i < n; i++) {
        char key[128];
        const char *equals = strchr(fields[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - fields[i]), fields[i]);
        fputs(", ", out);
        put_text(out, key);
        fputs(": ", out);
        put_text(out, equals + 1);
    }
}

static void put_round(FILE *out, const struct plumb_ab *ab, const struct plumb_ab_pair *pair,
                      int side, size_t i, const char *const *fields, size_t n)
{
    enum plumb_ab_figure figure = plumb_ab_figure(ab);
    fprintf(out,
            ", \"run_type\": \"iteration\", \"repetition_index\": %zu, \"iterations\": 1, "
            "\"real_time\": %.0f, \"cpu_time\": %.0f, \"time_unit\": \"ns\", "
            "\"plumb\": {\"side\": \"%c\", \"metric\": \"%s\", \"node\": ",
            i, pair->ns[side][figure][i], pair->ns[side][PLUMB_AB_CPU][i], "AB"[side],
            metrics[figure]);
    put_text(out, ab->node ? ab->node : "");
    if (figure == PLUMB_AB_NODE && pair->resolution > 0)
        fprintf(out, ", \"resolution\": %.6f", pair->resolution);
    fputc('}', out);
    put_extra(out, pair, fields, n);
    fputc('}', out);
}

/* The fields of the sweeps of TorchFX. `threshold` 0: not a sweep, or no size was found. */
static void put_figures(FILE *out, const struct plumb_ab *ab, const struct plumb_ab_pair *pair,
                        int side, const char *const *fields, size_t n, double *scratch)
{
    struct plumb_ab_spread s =
        plumb_ab_spread(pair->ns[side][plumb_ab_figure(ab)], pair->rounds, scratch);
    fprintf(out,
            ", \"run_type\": \"aggregate\", \"aggregate_name\": \"median\", "
            "\"aggregate_unit\": \"time\", \"iterations\": %zu, \"real_time\": %.0f, "
            "\"cpu_time\": %.0f, \"time_unit\": \"ns\", \"median_us\": %.3f, \"p95_us\": %.3f, "
            "\"min_us\": %.3f, \"samples\": %zu",
            pair->rounds, s.median, s.median, s.median / 1e3, s.p95 / 1e3, s.min / 1e3,
            pair->rounds);
    put_extra(out, pair, fields, n);
    fputc('}', out);
}

static void put_document(FILE *out, const struct plumb_ab *ab, const char *host,
                         const char *const *fields, size_t n, double *scratch)
{
    char date[40] = "";
    time_t now = time(NULL);
    struct tm tm;
    bool first = true;
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S+00:00", &tm);
    fprintf(out, "{\n  \"context\": {\"date\": \"%s\", \"host_name\": ", date);
    put_text(out, host);
    fputs("},\n  \"benchmarks\": [", out);
    for (size_t p = 0; p < ab->pair_count; p++)
        for (int side = 0; side < 2; side++) {
            const struct plumb_ab_pair *pair = &ab->pairs[p];
            for (size_t i = 0; i < pair->rounds; i++, first = false) {
                begin_entry(out, ab, pair, side, "", first);
                put_round(out, ab, pair, side, i, fields, n);
            }
            begin_entry(out, ab, pair, side, "_median", first);
            put_figures(out, ab, pair, side, fields, n, scratch);
            first = false;
        }
    fprintf(out, "\n  ],\n  \"plumb\": {\"ab\": {\"in_turn\": true, \"pairs\": %zu}}\n}",
            ab->pair_count);
}

static bool save(const struct plumb_ab *ab, const char *path, const char *text, size_t n)
{
    plumb_error err = {0, ""};
    if (plumb_read_save(path, text, n, &err) == 0)
        return true;
    plumb_cli_say(ab->command, "%s", err.message);
    return false;
}

static bool write_samples(const struct plumb_ab *ab, const char *path, const char *host,
                          const char *const *fields, size_t n)
{
    size_t most = 0, bytes = 0;
    char *text = NULL;
    for (size_t p = 0; p < ab->pair_count; p++)
        most = ab->pairs[p].rounds > most ? ab->pairs[p].rounds : most;
    double *scratch = calloc(most + 1, sizeof *scratch);
    FILE *out = scratch ? open_memstream(&text, &bytes) : NULL;
    bool done = out != NULL;
    if (done)
        put_document(out, ab, host, fields, n, scratch);
    if (out)
        done = fclose(out) == 0;
    if (!done)
        plumb_cli_say(ab->command, "out of memory");
    done = done && save(ab, path, text, bytes);
    free(text);
    free(scratch);
    return done;
}

/* ---- Summary --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The paths of the folder's JSON files, sorted. Returns how many; they and the list are the
 * caller's. */
static size_t list_files(char ***out, const char *folder)
{
    DIR *dir = opendir(folder);
    char **files = NULL;
    size_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *end = strrchr(entry->d_name, '.');
        char **grown;
        if (!end || strcmp(end, ".json") != 0 || entry->d_name[0] == '.')
            continue;
        grown = realloc(files, (n + 1) * sizeof *files);
        if (!grown)
            break;
        files = grown;
        if (asprintf(&files[n], "%s/%s", folder, entry->d_name) < 0)
            break;
        n++;
    }
    if (dir)
        closedir(dir);
    if (n > 0)
        qsort(files, n, sizeof *files, by_name);
    *out = files;
    return n;
}

static bool write_summary(const struct plumb_ab *ab, const char *folder)
{
    static const char *const formats[][2] = {{"csv", "csv"}, {"text", "txt"}};
    char **files;
    size_t n = list_files(&files, folder);
    plumb_error err = {0, ""};
    bool done = true;
    for (int i = 0; i < 2 && done; i++) {
        char *tables[2] = {NULL, NULL}, path[4200];
        snprintf(path, sizeof path, "%s/summary.%s", folder, formats[i][1]);
        done =
            plumb_bench_aggregate(tables, (const char *const *)files, n, formats[i][0], &err) == 0;
        if (!done)
            plumb_cli_say(ab->command, "no summary: %s", err.message);
        done = done && save(ab, path, tables[0], strlen(tables[0]));
        plumb_read_free(tables[0]);
        plumb_read_free(tables[1]);
    }
    for (size_t i = 0; i < n; i++)
        free(files[i]);
    free(files);
    return done;
}

bool plumb_ab_write(const struct plumb_ab *ab, const char *folder, const char *name,
                    const char *host, const char *const *fields, size_t n)
{
    char path[4500];
    plumb_error err = {0, ""};
    if (plumb_read_make_folder(folder, &err) < 0) {
        plumb_cli_say(ab->command, "%s", err.message);
        return false;
    }
    snprintf(path, sizeof path, "%s/%s-%s.json", folder, name, host);
    return write_samples(ab, path, host, fields, n) && write_summary(ab, folder);
}
